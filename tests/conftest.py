"""The fixtures that every folder of tests may use, and the settings all of them share."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

pytest.register_assert_rewrite("tests.kit.host_contract", "tests.kit.material_contract")

from tests.kit.docker_engine import docker  # noqa: E402 - after what it imports is to be rewritten

__all__ = ["docker"]

# A busy machine is no failure. In CI the examples are the same in every run, so that a change is judged
# by what it changes; everywhere else they are new each time, and a failure prints how to repeat it.
settings.register_profile("default", deadline=None, print_blob=True)
settings.register_profile("ci", deadline=None, print_blob=True, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")
