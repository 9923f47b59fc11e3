"""The command refuses what is no lab of the grid before anything is made, each with its exit code."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from e2e.lab import Lab
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
        pytest.param(["run", "--only", " , "], USAGE, "no scenario is named", id="no scenario at all"),
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


def test_a_failure_played_twice_leaves_two_folders_and_the_next_run_takes_them_away(tmp_path: Path) -> None:
    failed, passed = record(fault="it was not so"), record(fault="")
    write(Result("grid-edge", "embedded", "2 cores", BEGUN, (failed, failed)), tmp_path)
    assert sorted(p.name for p in tmp_path.glob("failed-*")) == ["failed-failover", "failed-failover-2"]
    write(Result("grid-edge", "embedded", "2 cores", BEGUN, (passed,)), tmp_path)
    assert not list(tmp_path.glob("failed-*"))


@pytest.mark.parametrize("text", [None, "{", "[]", '{"apiVersion": "another/v1"}'])
def test_a_folder_without_a_report_is_said_to_have_none(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "report.json").write_text(text)
    done = CliRunner().invoke(main, ["report", str(tmp_path)])
    assert done.exit_code == USAGE
    assert "holds no report" in " ".join(done.output.split())


def test_a_report_without_a_place_is_refused_before_anything_is_played(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = CliRunner().invoke(main, ["run", "--out", str(tmp_path / "file" / "report")])
    assert done.exit_code == USAGE
    assert "no report can be written" in " ".join(done.output.split())


def test_two_runs_do_not_play_on_one_lab(tmp_path: Path) -> None:
    config = tmp_path / "forge.yaml"
    config.write_text("spec: {services: []}")
    lab = Lab(config)
    with lab.for_this_run_alone():
        done = CliRunner().invoke(main, ["run", "-c", str(config), "--out", str(tmp_path / "out")])
    lab.close()
    assert done.exit_code == NO_LAB
    assert "another grid-e2e is playing" in " ".join(done.output.split())
