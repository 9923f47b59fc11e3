"""Every way in which wanted, there and remembered can differ has its verb and its cause."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.errors import NotOurs
from forge.plan.diff import diff, removal
from forge.plan.order import order
from forge.plan.text import plan_text
from forge.plan.values import Change, Desired, Key, Observed, Owner, Phase, Plan, Recorded, RecordPhase, Verb
from tests.kit.plans import ME, NET, OTHER, live, network, record, service, svc

WEB = service("web")
GATED = service("web", health=True)
MANUAL = service("web", start=False)
IMAGE = Desired(Key("image", "app:1"), "app:1", "f", None, owned=False)
BUILT = replace(IMAGE, in_place=True)


@pytest.mark.parametrize(
    ("desired", "observed", "recorded", "expected"),
    [
        pytest.param(WEB, None, None, "create service/web, not found\n", id="missing"),
        pytest.param(BUILT, live(IMAGE), record(BUILT), "", id="an image built of the same"),
        pytest.param(
            BUILT,
            live(IMAGE),
            record(replace(BUILT, fingerprint="g")),
            "update image/app:1, what it is built of has changed\n",
            id="an image whose context has changed",
        ),
        pytest.param(
            BUILT,
            live(IMAGE),
            None,
            "update image/app:1, it was not built here yet\n",
            id="an image of that name that was not built here",
        ),
        pytest.param(
            BUILT,
            live(IMAGE),
            record(BUILT, RecordPhase.CREATING),
            "update image/app:1, it was not built here yet\n",
            id="an image whose build was cut off",
        ),
        pytest.param(
            WEB,
            None,
            record(WEB),
            "create service/web, not found, though it was made before\n",
            id="removed by hand",
        ),
        pytest.param(
            WEB,
            None,
            record(WEB, RecordPhase.CREATING),
            "create service/web, not found\n",
            id="killed before it was made",
        ),
        pytest.param(WEB, live(WEB), record(WEB), "", id="running as asked"),
        pytest.param(WEB, live(WEB), None, "", id="running, killed before it was recorded"),
        pytest.param(
            WEB,
            live(WEB, fingerprint="old"),
            record(WEB),
            "replace service/web, configuration differs\n",
            id="made differently",
        ),
        pytest.param(
            WEB,
            live(WEB),
            record(WEB, RecordPhase.REMOVING),
            "replace service/web, its removal was interrupted\n",
            id="killed while it was removed",
        ),
        pytest.param(
            WEB,
            live(WEB, Phase.BROKEN),
            record(WEB),
            "replace service/web, it was only half made\n",
            id="half made",
        ),
        pytest.param(
            WEB,
            live(WEB, Phase.FAILED, exit_code=3),
            record(WEB),
            "start service/web, it exited with 3\n",
            id="exited",
        ),
        pytest.param(
            WEB, live(WEB, Phase.STOPPED), record(WEB), "start service/web, it is stopped\n", id="stopped"
        ),
        pytest.param(WEB, live(WEB, Phase.COMPLETED), record(WEB), "", id="a one-shot that is done"),
        pytest.param(
            GATED,
            live(GATED),
            record(GATED, ready=False),
            "wait service/web, not seen healthy yet\n",
            id="started, then killed before it was healthy",
        ),
        pytest.param(GATED, live(GATED), record(GATED), "", id="seen healthy before"),
        pytest.param(MANUAL, None, None, "", id="not started by itself and absent"),
        pytest.param(
            MANUAL, live(MANUAL, Phase.STOPPED), record(MANUAL), "", id="not started by itself and stopped"
        ),
        pytest.param(MANUAL, live(MANUAL), record(MANUAL), "", id="not started by itself yet running"),
        pytest.param(IMAGE, None, None, "create image/app:1, not found\n", id="image absent"),
        pytest.param(IMAGE, live(IMAGE, owner=None), None, "", id="image present, whoever made it"),
    ],
)
def test_one_resource(
    desired: Desired, observed: Observed | None, recorded: Recorded | None, expected: str
) -> None:
    assert _plan([desired], [observed], [recorded]) == expected


def test_what_is_no_longer_in_the_file_is_removed() -> None:
    assert _plan([], [live(WEB)], [record(WEB)]) == "remove service/web, no longer in forge.yaml\n"


@pytest.mark.parametrize("owner", [None, OTHER, Owner("lab", "id-of-another-checkout")])
def test_nothing_of_others_is_ever_removed(owner: Owner | None) -> None:
    changes = diff(ME, [], {svc("web"): live(WEB, owner=owner)}, {})
    assert changes == ()
    assert removal(ME, {svc("web"): live(WEB, owner=owner)}) == ()


@pytest.mark.parametrize(
    ("owner", "why"),
    [
        pytest.param(None, "belongs to no environment", id="nobody's"),
        pytest.param(OTHER, "belongs to environment 'other'", id="another environment's"),
        pytest.param(Owner("lab", "id-9"), "another environment called 'lab'", id="of another checkout"),
    ],
)
def test_a_wanted_name_that_is_taken_is_refused(owner: Owner | None, why: str) -> None:
    with pytest.raises(NotOurs) as raised:
        diff(ME, [WEB], {svc("web"): live(WEB, owner=owner)}, {})
    assert raised.value.exit_code == 8
    assert why in raised.value.why


def test_all_names_that_are_taken_are_told_at_once() -> None:
    api = service("api")
    with pytest.raises(NotOurs) as raised:
        diff(ME, [WEB, api], {d.key: live(d, owner=OTHER) for d in (WEB, api)}, {})
    assert len(raised.value.detail) == 1


def test_a_replaced_network_takes_its_services_along() -> None:
    net, api = network(), service("api", on_network=True)
    text = _plan([net, api], [live(net, fingerprint="old"), live(api)], [record(net), record(api)])
    assert text == (
        "replace network/lab, configuration differs\n"
        "replace service/api, network/lab is replaced <- network/lab\n"
    )


def test_a_network_that_is_gone_takes_its_services_along() -> None:
    net, api = network(), service("api", on_network=True)
    assert _plan([net, api], [None, live(api)], [record(net), record(api)]) == (
        "create network/lab, not found, though it was made before\n"
        "replace service/api, network/lab is made anew <- network/lab\n"
    )


def test_removals_run_services_before_the_network() -> None:
    net, api = network(), service("api", on_network=True)
    assert _plan([], [live(net), live(api)], []) == (
        "remove service/api, no longer in forge.yaml\n"
        "remove network/lab, no longer in forge.yaml <- service/api\n"
    )


names = st.sampled_from(["a", "b", "c", "d"])
desires = st.dictionaries(
    names, st.builds(service, st.just("x"), start=st.booleans(), health=st.booleans()), max_size=4
).map(lambda d: [replace(v, key=svc(k)) for k, v in d.items()])


@given(desires)
def test_after_all_changes_are_made_nothing_is_left_to_do(desired: list[Desired]) -> None:
    observed = {d.key: live(d) for d in desired}
    recorded = {d.key: record(d) for d in desired}
    assert all(c.verb is Verb.KEEP for c in diff(ME, desired, observed, recorded))


@given(desires, st.dictionaries(names, st.sampled_from(Phase), max_size=4))
def test_every_wanted_key_has_exactly_one_change(desired: list[Desired], phases: dict[str, Phase]) -> None:
    observed = {svc(name): live(service(name), phase) for name, phase in phases.items()}
    keys = [c.key for c in diff(ME, desired, observed, {})]
    assert len(keys) == len(set(keys))
    assert {d.key for d in desired} | set(observed) == set(keys)


def _plan(desired: list[Desired], observed: list[Observed | None], recorded: list[Recorded | None]) -> str:
    wanted = {d.key: d for d in desired}
    changes = diff(ME, desired, {o.key: o for o in observed if o}, {r.key: r for r in recorded if r})
    return plan_text(Plan("lab", "docker", order(changes, wanted)))


def test_the_network_key_is_the_one_services_wait_for() -> None:
    assert Change(Verb.CREATE, NET, "not found").key in {n.key for n in service("x", on_network=True).needs}
