"""`grid-e2e`: plays scenarios on a lab, says how it went, and leaves a report.

Exit codes: 0 all passed, 1 something failed, 2 usage, 3 the lab is not there, half up or in use by another
run, 130 stopped.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape

from e2e.forge_command import ForgeFailed
from e2e.kube import CORE, KubeRefused
from e2e.lab import CLUSTERS, EAST, EU, US, Lab, LabMissing
from e2e.numbers import Spread, accept_delays, failover
from e2e.play import Record, play_all
from e2e.report.documents import API_VERSION, Result, as_json, as_junit, spreads
from e2e.report.page import page
from e2e.scenario import Done, Scenario, Step
from e2e.scenarios import (
    affinity,
    boundary,
    control_plane_outage,
    drain,
    last_good,
    location,
    loss,
    operator_restart,
)
from e2e.scenarios import failover as failover_scenario

PROOF: tuple[Scenario, ...] = (
    failover_scenario.SCENARIO,
    boundary.SCENARIO,
    last_good.SCENARIO,
    affinity.SCENARIO,
    location.SCENARIO,
    drain.SCENARIO,
    operator_restart.SCENARIO,
    control_plane_outage.SCENARIO,
)
"""What a run plays where nothing is named."""

SCENARIOS = (*PROOF, loss.SCENARIO)
_WITH_LOSS = ("failover", "loss")
FAILED, USAGE, NO_LAB = 1, 2, 3
_LIMITS = {
    "embedded": (
        "The embedded runtime isolates nothing: every program shares this machine's loopback network.",
        "NetworkPolicies are stored and not enforced.",
    ),
    "docker": ("NetworkPolicies are enforced only where the cluster's network plug-in does.",),
}


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Prove on a lab that the grid keeps its promises."""


@main.command("list")
def list_() -> None:
    """Show the scenarios and what each proves."""
    width = max(len(s.name) for s in SCENARIOS)
    for scenario in SCENARIOS:
        click.echo(f"{scenario.name:<{width}}  {scenario.intent}")


@main.command()
@click.option("-c", "--config", type=click.Path(path_type=Path), default=Path("environments/grid-edge/forge.yaml"), help="The lab's file.", show_default=True)  # fmt: skip  # noqa: E501
@click.option("--runtime", type=click.Choice(("auto", "docker", "embedded")), help="Instead of the file's.")
@click.option("--only", metavar="NAME,...", help="These scenarios, in this order; all of them by default.")
@click.option("--repeat", type=click.IntRange(1, 1000), default=1, help="Play them so many times.")
@click.option("--keep", is_flag=True, help="Leave the lab running, also where this command brought it up.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("e2e-report"), help="Where the report goes.", show_default=True)  # fmt: skip  # noqa: E501
def run(*, config: Path, runtime: str | None, only: str | None, repeat: int, keep: bool, out: Path) -> None:
    """Play scenarios; bring the lab up first where it is not, and down again then."""
    chosen = _choose(only)
    _must_be_writable(out)
    lab = Lab(config.absolute(), runtime)
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    cancel = _cancel_on_signals()
    try:
        with lab.for_this_run_alone():
            code = _run(lab, chosen * repeat, console, cancel, keep=keep, out=out)
    except LabMissing as missing:
        console.print(f"[red]the lab is not there as it should be:[/] {escape(str(missing))}")
        code = NO_LAB
    finally:
        lab.close()
    sys.exit(128 + signal.SIGINT if cancel.is_set() else code)


def _run(
    lab: Lab, chosen: Sequence[Scenario], console: Console, cancel: threading.Event, *, keep: bool, out: Path
) -> int:
    """The exit code. What this command began to bring up it takes down again, however it ended."""
    refuse_others(lab)
    ours = not (lab.state / "state.json").is_file()
    try:
        _bring_up(lab, console)
        result = _play(lab, chosen, console, cancel)
        _keep(lab, result, out)
    except ForgeFailed as failed:
        console.print(f"[red]the lab is not there as it should be:[/] {escape(str(failed))}")
        return NO_LAB
    except OSError as fault:
        console.print(f"[red]the report cannot be written:[/] {escape(str(fault))}")
        return FAILED
    finally:
        if ours and not keep:
            _take_down(lab, console)
    _say(result, out, console)
    if keep or not ours:
        _how_to_look(lab, console)
    return 0 if result.ok else FAILED


def _must_be_writable(out: Path) -> None:
    """A run takes minutes: that its report has a place is known before it starts."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise click.UsageError(f"no report can be written to {out}: {fault.strerror}") from fault
    if not os.access(out, os.W_OK | os.X_OK):
        raise click.UsageError(f"no report can be written to {out}: it is not yours to write")


def _keep(lab: Lab, result: Result, out: Path) -> None:
    write(result, out)
    if not result.ok:
        keep_logs(lab, out / "logs")


def _take_down(lab: Lab, console: Console) -> None:
    if not (lab.state / "state.json").is_file():
        return
    console.print("taking the lab down")
    try:
        lab.forge.shown("down")
    except ForgeFailed as failed:
        console.print(f"[red]the lab is still there, in part:[/] {escape(str(failed))}")
        console.print(f"take it away with:  {forge_words(lab)} down")


@main.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True), default=Path("e2e-report"))
def report(folder: Path) -> None:
    """Show what a run left in a folder."""
    found = _report_in(folder)
    if found is None:
        raise click.UsageError(f"{folder} holds no report: there is no report.json of grid-e2e in it")
    for scenario in found["scenarios"]:
        passed = sum(step["ok"] for step in scenario["steps"])
        state = "skipped" if scenario["skipped"] else "passed" if scenario["ok"] else "FAILED"
        click.echo(f"{scenario['name']:<22} {state:<8} {passed} of {len(scenario['steps'])} steps")
        for step in scenario["steps"]:
            if not step["ok"]:
                click.echo(f"    {step['title']}\n        {step['fault']}")
    click.echo(f"see {folder / 'report.html'}")
    sys.exit(0 if found["ok"] else FAILED)


def _report_in(folder: Path) -> dict[str, Any] | None:
    """What a run wrote there; None where none did, or where it cannot be read."""
    try:
        found = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.get("apiVersion") == API_VERSION else None


def _choose(only: str | None) -> tuple[Scenario, ...]:
    if only is None:
        return PROOF
    by_name = {s.name: s for s in SCENARIOS}
    names = [name.strip() for name in only.split(",") if name.strip()]
    unknown = [name for name in names if name not in by_name]
    if unknown or not names:
        said = f"no scenario called {', '.join(unknown)}" if unknown else "no scenario is named"
        raise click.UsageError(f"{said}; there are {', '.join(by_name)}")
    return tuple(by_name[name] for name in names)


def _cancel_on_signals() -> threading.Event:
    cancel = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: cancel.set())
    return cancel


def refuse_others(lab: Lab) -> None:
    """Raises LabMissing for a file that is no lab of the grid, before anything is made."""
    missing = {f"grid-edge-{edge}" for edge in (US, EU)} - set(lab.ports)
    if missing:
        raise LabMissing(
            f"{lab.config} is another environment: it has no service {', '.join(sorted(missing))}"
        )


def _bring_up(lab: Lab, console: Console) -> None:
    """A lab that is up already is used as it is; one that is half up is completed. Raises ForgeFailed."""
    if (lab.state / "state.json").is_file() and lab.describe()["ok"]:
        console.print(f"the lab is up: {escape(str(lab.config))}")
        return
    console.print("bringing the lab up")
    lab.forge.shown("up")


def _play(lab: Lab, chosen: Sequence[Scenario], console: Console, cancel: threading.Event) -> Result:
    begun = time.time()
    told: set[int] = set()

    def tell(scenario: Scenario, step: Step, done: Done | None) -> None:
        if done is None:
            if id(scenario) not in told or step is scenario.steps[0]:
                told.add(id(scenario))
                if step is scenario.steps[0]:
                    console.print(f"\n[bold]{scenario.name}[/]  [dim]{scenario.intent}[/]")
            return
        sign = "[green]✓[/]" if done.ok else "[red]✗[/]"
        console.print(f"  {sign} {escape(done.title)}  [dim]{done.ended_at - done.at:.2f} s[/]")
        for evidence in done.evidence:
            console.print(f"      {evidence.claim}: {evidence.seen}", style="dim", markup=False)
        if done.fault:
            console.print(f"      {done.fault}", style="red", markup=False)

    records = play_all(lab, chosen, tell, cancel)
    runtime = str(lab.describe()["runtime"])
    failovers = [f for r in records if r.played.scenario.name in _WITH_LOSS if (f := failover(r, EAST))]
    delays = [delay for record in records for delay in accept_delays(record)]
    return Result(
        environment=lab.config.parent.name,
        runtime=runtime,
        machine=", ".join(_machine()),
        at=begun,
        records=records,
        failovers=tuple(failovers),
        accept=Spread.of(delays),
        limits=_LIMITS.get(runtime, ()),
    )


def _machine() -> tuple[str, ...]:
    system = f"{platform.system()} {platform.release()}"
    return f"{os.cpu_count()} cores", system, f"Python {platform.python_version()}"


def write(result: Result, out: Path) -> None:
    """The three documents, and a folder for every playing that failed. What an earlier run left there of
    its failures goes: a report and the folders beside it are of one run."""
    out.mkdir(parents=True, exist_ok=True)
    if _report_in(out) is not None:
        for old in (*out.glob("failed-*"), out / "logs"):
            shutil.rmtree(old, ignore_errors=True)
    (out / "report.json").write_text(as_json(result), encoding="utf-8")
    (out / "junit.xml").write_text(as_junit(result), encoding="utf-8")
    (out / "report.html").write_text(page(result), encoding="utf-8")
    failed: Counter[str] = Counter()
    for record in result.records:
        if not record.played.ok:
            name = record.played.scenario.name
            failed[name] += 1
            _failure(
                record, out / (f"failed-{name}" if failed[name] == 1 else f"failed-{name}-{failed[name]}")
            )


def _failure(record: Record, folder: Path) -> None:
    """Transcript and overlays by revision of a scenario that failed."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"{record.played.scenario.name}: {record.played.scenario.intent}"]
    for step in record.played.steps:
        lines.append(f"{'ok  ' if step.ok else 'FAIL'} {step.title}")
        lines += [f"       {e.claim}: {e.seen}" for e in step.evidence]
        lines += [f"       {step.fault}"] if step.fault else []
    (folder / "transcript.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for noted in record.noted:
        if noted.overlay is not None:
            name = f"overlay-{noted.place}-{noted.revision}.txt"
            (folder / name).write_text(f"{noted.at}\n{noted.overlay}\n", encoding="utf-8")


def keep_logs(lab: Lab, folder: Path) -> None:
    """What every service and pod has said, a file each, before the lab goes. What cannot be had is left."""
    folder.mkdir(parents=True, exist_ok=True)
    with suppress(ForgeFailed, OSError):
        for service in lab.forge.data("service", "list")["services"]:
            text = lab.forge("service", "logs", service["name"], "--no-prefix")
            (folder / f"{service['name']}.log").write_text(text, encoding="utf-8")
    for cluster in CLUSTERS:
        with suppress(KubeRefused, LabMissing, OSError):
            kube = lab.kube(cluster)
            for pod in kube.items(f"{CORE}/pods"):
                name = pod["metadata"]["name"]
                lines = "\n".join(kube.log(name))
                (folder / f"{cluster}-{name}.log").write_text(lines + "\n", encoding="utf-8")


def _say(result: Result, out: Path, console: Console) -> None:
    passed = sum(r.played.ok and not r.played.skipped for r in result.records)
    shade = "green" if result.ok else "red"
    console.print(f"\n[{shade}]{passed} of {len(result.records)} scenarios passed[/]")
    for name, spread in spreads(result.failovers).items():
        if spread is not None:
            unit = "" if name.endswith("_ms") else " s"
            console.print(f"  failover {name}: p50 {spread.p50:.3f}{unit}, max {spread.max:.3f}{unit}")
    console.print(f"report: {escape(str((out / 'report.html').absolute()))}")


def forge_words(lab: Lab) -> str:
    """How this terminal calls Forge for the lab: by its path where it is not on PATH, as in a checkout
    whose `.venv` is not active."""
    beside = Path(sys.executable).parent / "praxis-forge"
    found = shutil.which("praxis-forge")
    same = found is not None and Path(found).samefile(beside) if beside.exists() else found is not None
    return f"{'praxis-forge' if same else os.path.relpath(beside)} -c {os.path.relpath(lab.config)}"


def _how_to_look(lab: Lab, console: Console) -> None:
    """For a lab that is left running."""
    forge = forge_words(lab)
    root = os.path.relpath(lab.certificate("public-ca") / "ca.crt")
    key = os.path.relpath(lab.state / "secrets" / "demo-api-key" / "value")
    lines = (
        "the lab is running; to look at it:",
        f"  {forge} status",
        f"  {forge} service logs --follow",
        f"  {forge} cluster kubectl edge-control -- get gridnetworks,gridsites",
        f"  curl --cacert {root} --resolve api.grid.test:8443:127.0.0.1 \\",
        "       https://api.grid.test:8443/v1/models \\",
        f'       -H "Authorization: Bearer $(cat {key})"',
        f"to break it:  {forge} fault stop provider-east/grid-system/deployment/sim-a",
        f"to stop it:   {forge} down",
    )
    console.print("\n" + "\n".join(lines), markup=False)


if __name__ == "__main__":
    main()
