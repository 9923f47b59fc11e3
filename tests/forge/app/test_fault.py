"""What is held down stays down until it is restored, and comes back as it was, whatever was cut off."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge.app import fault as use_case
from forge.app.recorder import Recorder
from forge.app.status import status
from forge.errors import UsageError
from forge.kinds import fault as kinds_fault
from forge.plan.faults import Fault, How
from forge.plan.lab_ports import ObjectRef
from forge.plan.values import Key, Observed, Owner, Phase, Recorded, RecordPhase
from forge.state.model import State
from forge.state.store import StateStore
from tests.kit.deployments import SIM, Place
from tests.kit.fake_host import FakeHost, Killed, Machine
from tests.kit.labs import FakeLab, checked, file

WEB = "name: web, args: [serve], restart: always"
DB = f"name: db, args: [serve], {checked(5432)}"


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeLab:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    fake = FakeLab(tmp_path / "lab")
    fake.write(file(WEB, DB, "name: tool, autoStart: false, args: [serve]"))
    fake.up()
    return fake


def hold(lab: FakeLab, *names: str, how: How = How.STOP) -> tuple[Fault, ...]:
    return use_case.hold(lab.lab, names, how, lab.listener, lab.cancel, request=lab.request)


def restore(lab: FakeLab, *names: str) -> bool:
    ended = use_case.restore(lab.lab, names, lab.listener, lab.cancel, request=lab.request)
    assert ended is not None
    return ended[1].is_complete


def held(lab: FakeLab) -> list[str]:
    return [str(fault) for fault in use_case.listed(lab.lab)]


@pytest.mark.parametrize("how", list(How))
def test_a_service_is_held_down_and_restored(lab: FakeLab, how: How) -> None:
    hold(lab, "web", how=how)
    assert lab.running() == {"db"}
    assert held(lab) == [f"fault {how} service/web"]
    assert lab.machine.containers["lab-web"].killed is (how is How.KILL)
    assert restore(lab, "web")
    assert lab.running() == {"web", "db"}
    assert held(lab) == []


def test_up_ends_all_faults_and_says_so(lab: FakeLab) -> None:
    hold(lab, "web", "db")
    assert lab.plan() == (
        "start service/db, fault stop service/db is ended\nstart service/web, fault stop service/web is ended\n"
    )
    lab.up()
    assert lab.running() == {"web", "db"}
    assert held(lab) == []
    assert lab.plan() == ""


def test_restoring_one_leaves_the_others(lab: FakeLab) -> None:
    hold(lab, "web", "db")
    assert restore(lab, "service/db")
    assert lab.running() == {"db"}
    assert held(lab) == ["fault stop service/web"]
    assert restore(lab)
    assert lab.running() == {"web", "db"}


def test_a_service_that_does_not_start_by_itself_is_restored_too(lab: FakeLab) -> None:
    from dataclasses import replace

    lab.up(replace(lab.request, only=(Key("service", "tool"),)))
    hold(lab, "tool")
    lab.up()
    assert lab.running() == {"web", "db", "tool"}


def test_holding_down_twice_is_one_fault(lab: FakeLab) -> None:
    hold(lab, "web")
    hold(lab, "web", how=How.KILL)
    assert held(lab) == ["fault kill service/web"]
    assert restore(lab)
    assert lab.running() == {"web", "db"}


def test_status_does_not_call_it_drift(lab: FakeLab) -> None:
    hold(lab, "web")
    assert status(lab.lab, lab.notes.append, lab.request).ok


@pytest.mark.parametrize(
    ("names", "code", "why"),
    [
        (["wbe"], "FG0780", "nothing called 'wbe'"),
        (["web", "east/deployment/sim"], "FG0780", "nothing called 'east'"),
        (["a/b/c/d/e"], "FG0780", "names nothing"),
        (["cluster/web"], "FG0780", "nothing called"),
        (["tool"], "FG0780", "nothing called 'tool'"),
    ],
)
def test_a_name_that_means_nothing_changes_nothing(
    lab: FakeLab, names: list[str], code: str, why: str
) -> None:
    with pytest.raises(UsageError, match=why) as raised:
        hold(lab, *names)
    assert raised.value.code == code
    assert held(lab) == []
    assert lab.running() == {"web", "db"}


def test_what_does_not_run_cannot_be_held_down(lab: FakeLab) -> None:
    from forge.app import services

    services.stop(lab.lab, ["web"], lab.listener, open_host=lab.open_host)
    with pytest.raises(UsageError) as raised:
        hold(lab, "web")
    assert raised.value.code == "FG0781"


def test_restoring_what_is_not_held_down_is_refused(lab: FakeLab) -> None:
    hold(lab, "web")
    with pytest.raises(UsageError, match="'db' is not held down") as raised:
        restore(lab, "db")
    assert raised.value.hint == "what is: service/web"


def test_nothing_held_down_is_nothing_to_restore(lab: FakeLab) -> None:
    assert use_case.restore(lab.lab, (), lab.listener, lab.cancel, request=lab.request) is None


@pytest.mark.parametrize("when", ["before", "after"])
def test_one_that_was_cut_off_is_listed_and_restored(lab: FakeLab, when: str) -> None:
    def killed(name: str) -> None:
        if name == "stop_service web":
            raise Killed

    setattr(lab.machine, when, killed)
    with pytest.raises(Killed):
        hold(lab, "web")
    setattr(lab.machine, when, lambda _: None)
    assert held(lab) == ["fault stop service/web"]
    lab.up()
    assert lab.running() == {"web", "db"}
    assert held(lab) == []
    assert lab.plan() == ""


def test_down_takes_what_is_held_down_too(lab: FakeLab) -> None:
    hold(lab, "web")
    lab.down()
    assert lab.machine.inventory() == set()
    assert use_case.listed(lab.lab) == ()


def test_a_service_that_left_the_file_takes_its_fault_along(lab: FakeLab) -> None:
    hold(lab, "web")
    lab.write(file(DB))
    lab.up()
    assert held(lab) == []


EAST = Key("cluster", "east")


@pytest.mark.parametrize(
    ("kept", "ours", "count"),
    [
        pytest.param(True, False, 2, id="somebody else's, in a cluster that stays: given back"),
        pytest.param(True, True, 0, id="our own: it goes anyway"),
        pytest.param(False, False, 0, id="in a cluster that goes"),
    ],
)
def test_down_gives_back_what_is_not_ours(tmp_path: Path, kept: bool, ours: bool, count: int) -> None:
    place = Place()
    fault = place.fault()
    kinds_fault.hold(fault, place.site)
    made = (ObjectRef(*SIM, uid=fault.uid),) if ours else ()
    step = Recorded(Key("step", "east/app/01-manifest"), RecordPhase.CREATED, objects=made)
    state = State(Owner("lab", "1"), resources={step.key: step}, faults=(fault,))
    recorder = Recorder(StateStore(tmp_path), state, lambda: 1.0)
    scene = use_case.Scene(recorder, FakeHost(Machine()), place, place.said.append, place.cancel)  # type: ignore[arg-type]  # the port it uses
    use_case.let_go(scene, {EAST: Observed(EAST, Owner("lab", "1"), "f", Phase.RUNNING, kept=kept)})
    assert place.thing["spec"]["replicas"] == count
    assert (recorder.state.faults == ()) is (count == 2)


def test_down_goes_on_where_it_cannot_give_back(tmp_path: Path) -> None:
    place = Place()
    fault = place.fault()
    kinds_fault.hold(fault, place.site)
    place.cluster.down = True
    recorder = Recorder(StateStore(tmp_path), State(Owner("lab", "1"), faults=(fault,)), lambda: 1.0)
    scene = use_case.Scene(recorder, FakeHost(Machine()), place, place.said.append, place.cancel)  # type: ignore[arg-type]  # the port it uses
    use_case.let_go(scene, {EAST: Observed(EAST, Owner("lab", "1"), "f", Phase.RUNNING, kept=True)})
    assert "stays without its 2 replicas" in place.said[-1]
