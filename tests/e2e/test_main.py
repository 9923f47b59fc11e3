"""The command refuses what is no lab of the grid before anything is made, each with its exit code."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from e2e.main import FAILED, NO_LAB, PROOF, SCENARIOS, USAGE, main, write
from e2e.report.documents import Result
from tests.kit.records import BEGUN, record

ROOT = Path(__file__).parents[2]


def test_every_scenario_is_listed_with_what_it_proves() -> None:
    said = CliRunner().invoke(main, ["list"]).output
    assert all(scenario.name in said and scenario.intent in said for scenario in SCENARIOS)
    assert len({scenario.name for scenario in SCENARIOS}) == len(SCENARIOS)


def test_the_plan_s_seventeen_steps_and_six_assertions_are_all_there() -> None:
    by_name = {scenario.name: scenario for scenario in PROOF}
    assert [s.title.partition(".")[0] for s in by_name["failover"].steps] == [str(n) for n in range(1, 18)]
    assert len(by_name["boundary"].steps) >= 6


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        pytest.param(["run", "-c", "nowhere/forge.yaml"], NO_LAB, "there is no", id="no file"),
        pytest.param(["run", "-c", str(ROOT / "environments/minimal/forge.yaml")], NO_LAB, "another environment", id="another lab"),
        pytest.param(["run", "--only", "nothing"], USAGE, "no scenario called nothing", id="no such scenario"),
    ],
)  # fmt: skip
def test_what_cannot_be_played_is_said(words: list[str], code: int, said: str) -> None:
    done = CliRunner().invoke(main, words)
    assert done.exit_code == code
    assert said in " ".join(done.output.split())


@pytest.mark.parametrize(("fault", "code"), [("", 0), ("it was not so", FAILED)])
def test_a_report_is_shown_again_with_its_verdict(tmp_path: Path, fault: str, code: int) -> None:
    write(Result("grid-edge", "embedded", "2 cores", BEGUN, (record(fault=fault),)), tmp_path)
    shown = CliRunner().invoke(main, ["report", str(tmp_path)])
    assert shown.exit_code == code
    assert fault in shown.output


def test_a_failure_leaves_a_folder(tmp_path: Path) -> None:
    write(Result("grid-edge", "embedded", "2 cores", BEGUN, (record(fault="it was not so"),)), tmp_path)
    transcript = (tmp_path / "failed-failover" / "transcript.txt").read_text()
    assert "FAIL another <thing>" in transcript
    assert "it was not so" in transcript
