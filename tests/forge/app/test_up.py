"""`up` makes the machine what the file says, says what it does not, and repeats without harm."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from forge.errors import ForgeError, NotOurs, UsageError
from forge.plan.resources import ServiceResource
from forge.plan.run import Happening
from forge.plan.values import Key, Owner
from forge.state.store import StateStore
from tests.kit.fake_host import Killed, Thing
from tests.kit.labs import FakeLab, checked, file

WEB = "name: web, network: environment, dependsOn: [db], " + checked(8080)
DB = "name: db, network: environment, args: [serve, '0.05'], " + checked(5432)


@pytest.fixture
def lab(tmp_path: Path) -> FakeLab:
    lab = FakeLab(tmp_path / "lab")
    lab.write(file(WEB, DB))
    return lab


@pytest.fixture(autouse=True)
def _own_host_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))


def svc(name: str) -> Key:
    return Key("service", name)


def test_the_plan_of_a_new_lab_touches_nothing(lab: FakeLab) -> None:
    lab.machine.frozen = True
    assert lab.plan() == (
        "create network/lab, not found\n"
        "create image/app:1, not found\n"
        "create service/db, not found <- image/app:1, network/lab\n"
        "create service/web, not found <- image/app:1, network/lab, service/db healthy\n"
    ).replace("create image/app:1, not found\n", "").replace("image/app:1, ", "")
    assert not (lab.folder / ".forge").exists()


def test_up_then_plan_is_empty_and_up_again_changes_nothing(lab: FakeLab) -> None:
    assert lab.up()[1].is_complete
    lab.machine.frozen = True
    assert lab.plan() == ""
    generation = _state(lab).generation
    plan, outcome = lab.up()
    assert plan.is_empty
    assert outcome.is_complete
    assert _state(lab).generation == generation


def test_a_run_without_changes_reads_no_file(lab: FakeLab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The outcome of reading is remembered, as long as the file's bytes are the same."""
    lab.up()
    with monkeypatch.context() as patch:
        patch.setitem(__import__("sys").modules, "forge.spec.load", None)
        assert lab.up()[0].is_empty
    lab.write(file(WEB, DB) + "\n")
    assert lab.up()[0].is_empty


def test_what_is_remembered_holds_no_value_of_the_file(lab: FakeLab) -> None:
    lab.write(file("name: web, env: {TOKEN: 'canary-5f1d'}, args: ['serve']"))
    lab.up()
    for path in (lab.folder / ".forge").rglob("*"):
        assert not path.is_file() or b"canary-5f1d" not in path.read_bytes()


def test_every_service_keeps_its_address_when_others_come(lab: FakeLab) -> None:
    lab.up()
    before = _state(lab).allocation
    lab.write(file("name: aaa, network: environment", WEB, DB))
    assert lab.plan() == "create service/aaa, not found\n"
    lab.up()
    after = _state(lab).allocation
    assert after.subnet == before.subnet
    assert {k: v for k, v in after.addresses.items() if k in before.addresses} == before.addresses


def test_a_lab_that_is_reached_by_a_link_is_the_same_one(lab: FakeLab) -> None:
    mounted = WEB + ", volumes: [{source: ./app, target: /app}]"
    (lab.folder / "app").mkdir()
    lab.write(file(mounted, DB))
    lab.up()
    link = lab.folder.with_name("link")
    link.symlink_to(lab.folder)
    linked = FakeLab(link, lab.machine)
    linked.write(file(mounted, DB) + "\n")
    assert linked.plan() == ""
    assert linked.up()[0].is_empty


def test_a_changed_service_is_replaced_and_nothing_else(lab: FakeLab) -> None:
    lab.up()
    ids = {name: thing.id for name, thing in lab.machine.containers.items()}
    lab.write(file(WEB + ", env: {A: b}", DB))
    assert lab.plan() == "replace service/web, configuration differs\n"
    lab.up()
    now = {name: thing.id for name, thing in lab.machine.containers.items()}
    assert now["lab-db"] == ids["lab-db"]
    assert now["lab-web"] != ids["lab-web"]


def test_a_service_that_left_the_file_is_removed(lab: FakeLab) -> None:
    lab.up()
    lab.write(file(DB))
    assert lab.plan() == "remove service/web, no longer in forge.yaml\n"
    lab.up()
    assert lab.running() == {"db"}
    assert svc("web") not in _state(lab).resources


@pytest.mark.parametrize(
    ("services", "failed", "why", "skipped"),
    [
        pytest.param(("name: web, dependsOn: [db]", "name: db, args: [exit, '3']"), "db", "exited with 3", {"web"}, id="exits at once"),
        pytest.param(("name: web, dependsOn: [{name: job, condition: completed}]", "name: job, args: [exit, '2', '0.5']"), "job", "exited with 2", {"web"}, id="a one-shot that fails"),
        pytest.param(("name: web, dependsOn: [db]", "name: db, args: [sick], " + checked(1)), "db", "failed 3 times in a row: connection refused", {"web"}, id="never healthy"),
        pytest.param(("name: web, dependsOn: [db]", "name: db, args: [exit, '1', '0.1'], " + checked(1).replace("20ms, retries: 3", "20ms, retries: 300")), "db", "exited with 1", {"web"}, id="dies while it is waited for"),
        pytest.param(("name: db, restart: always, args: [exit, '7']",), "db", "keeps exiting (last with 7)", set(), id="a crash loop"),
    ],
)  # fmt: skip
def test_a_service_that_does_not_come_up_fails_what_needs_it(
    lab: FakeLab, services: tuple[str, ...], failed: str, why: str, skipped: set[str]
) -> None:
    lab.write(file(*services))
    _, outcome = lab.up()
    assert why in outcome.failed[svc(failed)].why
    assert outcome.failed[svc(failed)].exit_code == 6
    assert {key.name for key in outcome.skipped} == skipped
    assert _state(lab).last_operation.outcome == "failed"


def test_a_failure_shows_the_last_lines_without_secrets(lab: FakeLab) -> None:
    lab.write(file("name: db, env: {TOKEN: canary-77}, args: [say, 'token canary-77 is bad', 'giving up']"))
    lab.machine.after = lambda name: _stop(lab, name)
    _, outcome = lab.up()
    assert outcome.failed[svc("db")].detail == ("token *** is bad", "giving up", "ready")


def _stop(lab: FakeLab, mutation: str) -> None:
    if mutation == "create_service db":
        lab.machine.containers["lab-db"].stopped = True


def test_an_exit_is_seen_while_a_probe_hangs(lab: FakeLab) -> None:
    lab.machine.probes.clear()
    lab.write(file("name: db, args: [exit, '4', '0.2'], " + checked(1)))
    _, outcome = lab.up()
    lab.machine.probes.set()
    assert outcome.failed[svc("db")].why == "exited with 4"


def test_a_run_is_cancelled_while_a_probe_hangs(lab: FakeLab) -> None:
    lab.machine.probes.clear()
    lab.machine.after = lambda name: lab.cancel.set() if name == "create_service db" else None
    _, outcome = lab.up()
    lab.machine.probes.set()
    assert outcome.cancelled
    assert outcome.skipped[svc("db")] == "the run was stopped"


def test_a_service_that_never_gets_ready_ends_with_the_time_limit(lab: FakeLab) -> None:
    lab.write(file("name: db, args: [sick], " + checked(1).replace("retries: 3", "retries: 300")))
    _, outcome = lab.up(replace(lab.request, timeout_s=0.5))
    assert outcome.failed[svc("db")].why.startswith("not ready within 0.5 s (--timeout)")


def test_a_one_shot_that_exits_with_0_is_done(lab: FakeLab) -> None:
    lab.write(
        file(
            "name: web, dependsOn: [{name: job, condition: completed}]",
            "name: job, args: [exit, '0', '0.05']",
        )
    )
    assert lab.up()[1].is_complete
    assert lab.plan() == ""


def test_a_service_that_does_not_start_by_itself_is_left_alone(lab: FakeLab) -> None:
    lab.write(file("name: web, autoStart: false"))
    assert lab.up()[1].is_complete
    assert lab.running() == set()


def test_only_the_named_services_and_what_they_need(lab: FakeLab) -> None:
    lab.write(file(WEB, DB, "name: cron", "name: tool, autoStart: false"))
    lab.up(replace(lab.request, only=(Key("service", "web"), Key("service", "tool"))))
    assert lab.running() == {"web", "db", "tool"}
    with pytest.raises(UsageError, match="no service called 'wbe'"):
        lab.up(replace(lab.request, only=(Key("service", "wbe"),)))


def test_a_foreign_container_with_our_name_is_refused_before_anything_is_done(lab: FakeLab) -> None:
    lab.machine.containers["lab-web"] = Thing("lab-web", "x", None, None, None, svc("web"), running=True)
    lab.machine.frozen = True
    with pytest.raises(NotOurs) as raised:
        lab.up()
    assert raised.value.exit_code == 8
    assert _state_or_none(lab) is None


def test_a_port_that_is_taken_is_told_with_its_holder(lab: FakeLab) -> None:
    lab.machine.ports[5432] = "process 4711 (postgres)"
    _, outcome = lab.up()
    assert outcome.failed[svc("db")].why == "held by process 4711 (postgres)"
    assert svc("web") in outcome.skipped


def test_an_image_that_is_missing_fails_its_services(lab: FakeLab) -> None:
    lab.machine.images.clear()
    _, outcome = lab.up()
    assert outcome.failed[Key("image", "app:1")].code == "FG0303"
    assert {k.name for k in outcome.skipped} == {"db", "web"}


def test_a_subnet_in_use_is_avoided_and_a_fixed_one_refused(lab: FakeLab) -> None:
    lab.machine.taken["10.64.0.0/10"] = "route via tun0"
    with pytest.raises(ForgeError) as raised:
        lab.up()
    assert raised.value.code == "FG0601"
    assert lab.machine.inventory() == set()


def test_a_changed_name_is_refused_while_the_lab_is_up(lab: FakeLab) -> None:
    lab.up()
    lab.write(file(WEB, DB, name="other"))
    with pytest.raises(UsageError, match="up as 'lab'"):
        lab.up()


def test_another_runtime_is_refused_while_the_lab_is_up(lab: FakeLab) -> None:
    lab.up()
    lab.write(file(WEB, DB).replace("provider: docker", "provider: embedded"))
    with pytest.raises(UsageError, match="docker runtime"):
        lab.up()


def test_a_state_that_cannot_be_saved_stops_before_the_next_action(
    lab: FakeLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.machine.after = lambda name: _fill(lab, name)
    _, outcome = lab.up()
    assert {e.code for e in outcome.failed.values()} == {"FG0203"}
    _empty(lab)
    lab.machine.after = lambda _: None
    assert lab.up()[1].is_complete


def _fill(lab: FakeLab, mutation: str) -> None:
    """A directory where the temporary file goes: writing it fails from here on."""
    if mutation.startswith("create_network"):
        (lab.folder / ".forge" / "state.json.tmp").mkdir()


def _empty(lab: FakeLab) -> None:
    (lab.folder / ".forge" / "state.json.tmp").rmdir()


def test_a_cancelled_run_saves_and_the_next_one_goes_on(lab: FakeLab) -> None:
    lab.machine.after = lambda name: lab.cancel.set() if name == "create_service db" else None
    _, outcome = lab.up()
    assert outcome.cancelled
    assert _state(lab).last_operation.outcome == "interrupted"
    assert lab.running() == {"db"}
    lab.cancel.clear()
    lab.machine.after = lambda _: None
    assert "wait service/db, not seen healthy yet\n" in lab.plan()
    assert lab.up()[1].is_complete
    assert lab.running() == {"db", "web"}


def test_twenty_independent_services_take_as_long_as_the_slowest(lab: FakeLab) -> None:
    """Not a timed test: every service waits at its gate until all twenty are made."""
    made = threading.Barrier(20, timeout=20)

    def wait(mutation: str) -> None:
        if mutation.startswith("create_service"):
            made.wait()

    lab.machine.after = wait
    lab.write(file(*(f"name: s{i}" for i in range(20))))
    lab.parallel = 20
    assert lab.up()[1].is_complete


def test_two_hundred_services_come_up(lab: FakeLab) -> None:
    lab.write(file(*(f"name: s{i:03}, network: environment" for i in range(200))))
    lab.parallel = 16
    assert len(lab.up()[1].done) == 201
    assert lab.plan() == ""
    assert lab.down() is not None
    assert lab.machine.inventory() == set()


@pytest.mark.parametrize("command", ["up", "down"])
def test_killed_after_every_entry_of_the_journal(tmp_path: Path, command: str) -> None:
    """However a command is cut off, `up` converges and `down` leaves what was there before."""
    points, killed = 0, True
    while killed:
        points += 1
        for then in ("up", "down"):
            lab = FakeLab(tmp_path / f"{points}-{then}", parallel=1)
            lab.machine.containers["foreign"] = Thing(
                "foreign", "x", None, None, None, svc("f"), running=True
            )
            before = lab.machine.inventory()
            lab.write(file(WEB, DB, "name: job, args: [exit, '0']"))
            if command == "down":
                lab.up()
            killed = _killed(lab, command, points)
            if then == "up":
                assert lab.up()[1].is_complete, (command, points)
                assert lab.plan() == "", (command, points)
                assert lab.running() >= {"web", "db"}
            lab.down()
            assert lab.machine.inventory() == before, (command, points, then)
            assert not (lab.folder / ".forge").exists()
    assert points > 8


def _killed(lab: FakeLab, command: str, point: int) -> bool:
    """Runs a command and kills it after the point-th write of its state; False when it has fewer."""
    writes = 0
    write = StateStore.write

    def counted(store: StateStore, state: object) -> object:
        nonlocal writes
        written = write(store, state)  # type: ignore[arg-type]
        writes += 1
        if writes == point:
            raise Killed
        return written

    StateStore.write = counted  # type: ignore[method-assign,assignment]
    try:
        lab.up() if command == "up" else lab.down()
    except Killed:
        return True
    finally:
        StateStore.write = write  # type: ignore[method-assign]
    return False


@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_round_every_change_of_the_machine(tmp_path: Path, when: str) -> None:
    """As above, at the points where the machine has changed and the journal does not know yet."""
    for point in range(1, 12):
        lab = FakeLab(tmp_path / f"{when}-{point}", parallel=1)
        lab.write(file(WEB, DB))
        count = 0

        def hook(_: str) -> None:
            nonlocal count
            count += 1
            if count == point:  # noqa: B023 - the hook lives no longer than this round
                raise Killed

        setattr(lab.machine, when, hook)
        with contextlib.suppress(Killed):
            lab.up()
        setattr(lab.machine, when, lambda _: None)
        assert lab.up()[1].is_complete
        assert lab.plan() == ""
        lab.down()
        assert lab.machine.inventory() == set()


def test_owner_of_what_was_made_is_this_environment(lab: FakeLab) -> None:
    lab.up()
    owners = {thing.owner for thing in lab.machine.containers.values()}
    assert owners == {Owner("lab", _state(lab).owner.environment_id)}


def test_events_tell_what_a_service_waits_for(lab: FakeLab) -> None:
    lab.up()
    gates = [e.text for e in lab.events if e.happening is Happening.GATE and e.key == svc("db")]
    assert gates[0] == "starting"


def _state(lab: FakeLab):  # type: ignore[no-untyped-def]  # noqa: ANN202
    state = lab.lab.store.read()
    assert state is not None
    return state


def _state_or_none(lab: FakeLab) -> object:
    return lab.lab.store.read()


def test_inputs_and_templates_are_filled_in_and_a_changed_input_is_seen(
    lab: FakeLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = "  inputs: [{name: LEVEL, default: low}]\n  services:"
    text = file(
        "name: db, network: environment",
        "name: web, env: {DB: '{{ services.db.address }}', L: '${env:LEVEL}'}",
    )
    lab.write(text.replace("  services:", inputs))
    lab.up()
    address = _state(lab).allocation.addresses["db"]
    resource = lab.machine.containers["lab-web"].resource
    assert isinstance(resource, ServiceResource)
    assert {k: v.reveal() for k, v in resource.env.items()} == {"DB": address, "L": "low"}
    assert lab.plan() == ""
    monkeypatch.setenv("LEVEL", "high")
    assert lab.plan() == "replace service/web, configuration differs\n"
