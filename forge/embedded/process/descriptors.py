"""Room for descriptors: two for each connection through a relay, three for each process."""

from __future__ import annotations

import resource

_DESCRIPTORS = 65_536
"""Enough for 30,000 connections. No more: old programs close every number up to their limit one by one."""


def make_room() -> None:
    """Raises this process's limit as far as it may; what it starts inherits it, as it would get a
    container's."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(_DESCRIPTORS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
