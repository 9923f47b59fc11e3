"""The gateway runs on uvloop, so its proofs do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import pytest
import uvloop


@pytest.hookimpl(optionalhook=True)
def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """The loops every asynchronous test in this folder runs on."""
    return {"uvloop": uvloop.new_event_loop}
