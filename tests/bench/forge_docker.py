"""What an `up` without changes costs on Docker, against a bare interpreter, in one run.

Starts an engine of its own, as the tests do; where it cannot, it says so.
"""

from __future__ import annotations

import os
import subprocess
import tempfile

from tests.bench.forge_commands import FORGE, copy_of_minimal, measure, report
from tests.kit import docker_engine
from tests.kit.images import python_image


def main() -> None:
    why_not = docker_engine.missing()
    if why_not is not None:
        print(f"not measured: {why_not}")
        return
    home = docker_engine.start()
    try:
        python_image(home.engine, "python:3.12-slim")
        with tempfile.TemporaryDirectory() as folder:
            env = {**os.environ, "XDG_STATE_HOME": f"{folder}/xdg", "DOCKER_HOST": f"unix://{home.socket}"}
            up = [FORGE, "-c", str(copy_of_minimal(folder, "docker")), "--runtime", "docker", "up"]
            subprocess.run(up, env=env, check=True, capture_output=True)
            try:
                report(measure({"no-op up, Docker": up}, env))
            finally:
                subprocess.run([*up[:-1], "down"], env=env, check=True, capture_output=True)
    finally:
        docker_engine.end(home)
