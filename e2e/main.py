"""`grid-e2e`: plays scenarios on a lab, says how it went, and leaves a report.

Exit codes: 0 all passed, 1 something failed, 2 usage, 3 the lab is not there or half up, 130 stopped.
"""

from __future__ import annotations

import os
import platform
import signal
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import click
from rich.console import Console

from e2e.forge_command import ForgeFailed
from e2e.kube import CORE, KubeRefused
from e2e.lab import CLUSTERS, EAST, EU, US, Lab, LabMissing
from e2e.numbers import Spread, accept_delays, failover
from e2e.play import Record, play_all
from e2e.report.documents import Result, as_json, as_junit, spreads
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
    lab = Lab(config.absolute(), runtime)
    console = Console(stderr=True, highlight=False)
    cancel = _cancel_on_signals()
    ours = False
    try:
        ours = _bring_up(lab, console)
        result = _play(lab, chosen * repeat, console, cancel)
        write(result, out)
        if not result.ok:
            keep_logs(lab, out / "logs")
    except (LabMissing, ForgeFailed) as missing:
        console.print(f"[red]the lab is not there as it should be:[/] {missing}", markup=True)
        sys.exit(NO_LAB)
    finally:
        if ours and not keep:
            console.print("taking the lab down")
            lab.forge.shown("down")
        lab.close()
    _say(result, out, console)
    if keep or not ours:
        _how_to_look(lab, console)
    if cancel.is_set():
        sys.exit(128 + signal.SIGINT)
    sys.exit(0 if result.ok else FAILED)


@main.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True), default=Path("e2e-report"))
def report(folder: Path) -> None:
    """Show what a run left in a folder."""
    import json

    found = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    for scenario in found["scenarios"]:
        passed = sum(step["ok"] for step in scenario["steps"])
        state = "skipped" if scenario["skipped"] else "passed" if scenario["ok"] else "FAILED"
        click.echo(f"{scenario['name']:<22} {state:<8} {passed} of {len(scenario['steps'])} steps")
        for step in scenario["steps"]:
            if not step["ok"]:
                click.echo(f"    {step['title']}\n        {step['fault']}")
    click.echo(f"see {folder / 'report.html'}")
    sys.exit(0 if found["ok"] else FAILED)


def _choose(only: str | None) -> tuple[Scenario, ...]:
    if only is None:
        return PROOF
    by_name = {s.name: s for s in SCENARIOS}
    names = [name.strip() for name in only.split(",") if name.strip()]
    unknown = [name for name in names if name not in by_name]
    if unknown or not names:
        raise click.UsageError(f"no scenario called {', '.join(unknown)}; there are {', '.join(by_name)}")
    return tuple(by_name[name] for name in names)


def _cancel_on_signals() -> threading.Event:
    cancel = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: cancel.set())
    return cancel


def _bring_up(lab: Lab, console: Console) -> bool:
    """Whether this command brought it up. A lab that is up already is used as it is."""
    if not lab.config.is_file():
        raise LabMissing(f"there is no {lab.config}")
    missing = {f"grid-edge-{edge}" for edge in (US, EU)} - set(lab.ports)
    if missing:
        raise LabMissing(
            f"{lab.config} is another environment: it has no service {', '.join(sorted(missing))}"
        )
    if (lab.state / "state.json").is_file() and lab.describe()["ok"]:
        console.print(f"the lab is up: {lab.config}")
        return False
    console.print("bringing the lab up")
    was_there = (lab.state / "state.json").is_file()
    lab.forge.shown("up")
    return not was_there


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
        console.print(f"  {sign} {done.title}  [dim]{done.ended_at - done.at:.2f} s[/]")
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
    """The three documents, and a folder for every scenario that failed."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "report.json").write_text(as_json(result), encoding="utf-8")
    (out / "junit.xml").write_text(as_junit(result), encoding="utf-8")
    (out / "report.html").write_text(page(result), encoding="utf-8")
    for record in result.records:
        if not record.played.ok:
            _failure(record, out / f"failed-{record.played.scenario.name}")


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
    console.print(f"report: {(out / 'report.html').absolute()}", soft_wrap=True)


def _how_to_look(lab: Lab, console: Console) -> None:
    """For a lab that is left running."""
    here = os.path.relpath(lab.config)
    forge = f"praxis-forge -c {here}"
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
    console.print("\n" + "\n".join(lines), markup=False, soft_wrap=True)


if __name__ == "__main__":
    main()
