"""What Forge's commands cost, against a bare interpreter, interleaved in one run.

Every round runs `python -c pass` and each command once; the ratio is taken round by round, so that
a machine whose speed drifts in between does not matter. Wall time of the whole process.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROUNDS = 15
FORGE = str(Path(sys.executable).with_name("praxis-forge"))
MINIMAL = Path(__file__).parents[2] / "environments" / "minimal"
GOALS = {"--version": 6.0, "--help": 6.0, "no-op up, embedded": 12.0, "no-op up, Docker": 25.0}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "XDG_STATE_HOME": f"{folder}/xdg"}
        commands = {"--version": [FORGE, "--version"], "--help": [FORGE, "--help"]}
        up = [FORGE, "-c", str(copy_of_minimal(folder, "embedded")), "--runtime", "embedded", "up"]
        subprocess.run(up, env=env, check=True, capture_output=True)
        commands["no-op up, embedded"] = up
        large = _large(folder)
        commands["config validate, 200 services"] = [FORGE, "-c", str(large), "config", "validate"]
        try:
            report(measure(commands, env))
        finally:
            subprocess.run([*up[:-1], "down"], env=env, check=True, capture_output=True)


def measure(commands: Mapping[str, Sequence[str]], env: Mapping[str, str]) -> Mapping[str, list[float]]:
    """Name -> seconds of each round; `bare` is the interpreter alone."""
    all_ = {"bare": [sys.executable, "-c", "pass"], **commands}
    times: dict[str, list[float]] = {name: [] for name in all_}
    for _ in range(ROUNDS + 1):
        for name, command in all_.items():
            begun = time.perf_counter()
            subprocess.run(command, env=dict(env), check=True, capture_output=True)
            times[name].append(time.perf_counter() - begun)
    return {name: values[1:] for name, values in times.items()}


def report(times: Mapping[str, list[float]]) -> None:
    bare = times["bare"]
    print(f"{'command':32} {'min':>8} {'median':>8} {'ratio':>7}  goal")
    for name, values in times.items():
        ratio = statistics.median(value / base for value, base in zip(values, bare, strict=True))
        goal = f"<= {GOALS[name]:.0f}x" if name in GOALS else "<= 1 s" if "200" in name else ""
        middle = statistics.median(values)
        print(f"{name:32} {min(values) * 1000:6.1f}ms {middle * 1000:6.1f}ms {ratio:6.1f}x  {goal}")


def copy_of_minimal(folder: str, name: str) -> Path:
    """The minimal lab in a folder of its own, on ports of its own."""
    target = Path(folder) / name
    (target / "app").mkdir(parents=True)
    for file in (MINIMAL / "app").glob("*.py"):
        (target / "app" / file.name).write_bytes(file.read_bytes())
    text = (MINIMAL / "forge.yaml").read_text().replace("name: minimal", f"name: bench-{name}")
    (target / "forge.yaml").write_text(text.replace("host: 1808", "host: 2808"))
    return target / "forge.yaml"


def _large(folder: str) -> Path:
    lines = [
        "apiVersion: forge.praxis.dev/v1alpha1",
        "kind: Environment",
        "metadata: {name: large}",
        "spec:",
        "  runtime: {}",
        "  services:",
    ]
    for n in range(200):
        needs = f"dependsOn: [s{n - 1}], " if n else ""
        lines.append(
            f"    - {{name: s{n}, image: 'app:1', network: environment, {needs}env: {{A: b, C: d}}, "
            f"ports: [{{bindAddress: 127.0.0.1, host: {30000 + n}, container: 80}}], args: [run, --fast], "
            "healthCheck: {type: tcp, port: 80, interval: 1s, timeout: 1s, retries: 3}}"
        )
    path = Path(folder) / "large.yaml"
    path.write_text("\n".join(lines) + "\n")
    return path
