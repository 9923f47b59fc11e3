"""Who may do what: tokens, roles, and the words of a refusal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forge.embedded.api import status
from forge.embedded.api.cluster import ANONYMOUS, User
from forge.embedded.api.rbac import Question, allows
from tests.kit.embedded_cluster import config_map
from tests.kit.embedded_machine import MAPS, Machine

BOT = User("system:serviceaccount:default:bot", ("system:serviceaccounts", "system:authenticated"))
RBAC = "/apis/rbac.authorization.k8s.io/v1"


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path / "store")
    made.settle()
    yield made
    made.journal.close()


def grant(machine: Machine, *rules: dict[str, Any], cluster: bool = False) -> None:
    place = RBAC if cluster else f"{RBAC}/namespaces/default"
    kind = "ClusterRole" if cluster else "Role"
    machine.made(f"{place}/{kind.lower()}s", {"metadata": {"name": "r"}, "rules": list(rules)})
    subject = {"kind": "ServiceAccount", "name": "bot", "namespace": "default"}
    body = {"metadata": {"name": "b"}, "subjects": [subject], "roleRef": {"kind": kind, "name": "r"}}
    machine.made(f"{place}/{kind.lower()}bindings", body)


def rule(verbs: str, resources: str, **more: Any) -> dict[str, Any]:
    return {"verbs": verbs.split(), "apiGroups": [""], "resources": resources.split(), **more}


@pytest.mark.parametrize(
    ("held", "asked", "expected"),
    [
        pytest.param(rule("get", "pods"), Question("get", "", "pods"), True, id="the verb and the resource"),
        pytest.param(rule("get", "pods"), Question("list", "", "pods"), False, id="another verb"),
        pytest.param(rule("get", "pods"), Question("get", "apps", "pods"), False, id="another group"),
        pytest.param(rule("*", "*"), Question("delete", "", "pods/log"), True, id="everything"),
        pytest.param(
            rule("get", "pods"), Question("get", "", "pods/log"), False, id="a subresource is apart"
        ),
        pytest.param(
            rule("get", "*/log"), Question("get", "", "pods/log"), True, id="a subresource of anything"
        ),
        pytest.param(
            rule("get", "pods", resourceNames=["a"]), Question("get", "", "pods", name="a"), True, id="a name"
        ),
        pytest.param(
            rule("get", "pods", resourceNames=["a"]),
            Question("get", "", "pods", name="b"),
            False,
            id="another name",
        ),
        pytest.param(
            rule("get", "pods", resourceNames=["a"]), Question("get", "", "pods"), False, id="no name"
        ),
        pytest.param(
            {"verbs": ["get"], "nonResourceURLs": ["/api/*"]},
            Question("get", path="/api/v1"),
            True,
            id="a path",
        ),
        pytest.param(
            {"verbs": ["get"], "nonResourceURLs": ["/api"]},
            Question("get", path="/api/v1"),
            False,
            id="below a path",
        ),
    ],
)
def test_rules(held: dict[str, Any], asked: Question, expected: bool) -> None:
    assert allows(held, asked) == expected


def test_a_role_holds_in_its_namespace_only(machine: Machine) -> None:
    grant(machine, rule("get list", "configmaps"))
    assert machine.call("GET", MAPS, user=BOT)[0] == 200
    code, refused = machine.call("GET", "/api/v1/configmaps", user=BOT)
    who = 'User "system:serviceaccount:default:bot"'
    said = f'configmaps is forbidden: {who} cannot list resource "configmaps" in API group "" at the cluster scope'
    assert (code, refused["message"]) == (403, said)


def test_a_right_that_is_taken_away_is_gone_at_once(machine: Machine) -> None:
    grant(machine, rule("list", "configmaps"), cluster=True)
    assert machine.call("GET", "/api/v1/configmaps", user=BOT)[0] == 200
    machine.call("DELETE", f"{RBAC}/clusterrolebindings/b")
    assert machine.call("GET", "/api/v1/configmaps", user=BOT)[0] == 403


def test_a_lack_of_rights_is_told_before_an_unknown_resource(machine: Machine) -> None:
    assert machine.call("GET", "/api/v1/namespaces/default/frobs", user=BOT)[0] == 403
    assert machine.call("GET", "/api/v1/namespaces/default/frobs")[0] == 404


def test_nobody_grants_what_they_do_not_hold(machine: Machine) -> None:
    grant(machine, {"verbs": ["create"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"]})
    body = {"metadata": {"name": "more"}, "rules": [rule("*", "secrets")]}
    code, refused = machine.call("POST", f"{RBAC}/namespaces/default/roles", body, user=BOT)
    assert code == 403
    assert "attempting to grant RBAC permissions not currently held" in refused["message"]


@pytest.mark.parametrize("path", ["/healthz", "/version", "/readyz"])
def test_anybody_may_ask_how_it_is(machine: Machine, path: str) -> None:
    assert machine.ask("GET", path, user=ANONYMOUS).code == 200  # type: ignore[union-attr]


def token(machine: Machine, **spec: Any) -> str:
    path = "/api/v1/namespaces/default/serviceaccounts"
    machine.call("POST", path, {"metadata": {"name": "bot"}})
    return str(machine.made(f"{path}/bot/token", {"spec": spec})["status"]["token"])


def bearer(machine: Machine, value: str) -> str:
    try:
        return machine.service.user(None, {"Authorization": f"Bearer {value}"}, [], "/").name
    except status.ApiError as error:
        return f"{error.code} {error.message}"


def test_a_token_is_its_account_until_it_expires(machine: Machine) -> None:
    given = token(machine, expirationSeconds=600)
    assert bearer(machine, given) == "system:serviceaccount:default:bot"
    machine.pass_time(601)
    assert bearer(machine, given) == "401 Unauthorized"


def test_a_token_for_others_is_none_here(machine: Machine) -> None:
    assert bearer(machine, token(machine, audiences=["vault"])) == "401 Unauthorized"


def test_a_token_ends_with_its_account(machine: Machine) -> None:
    given = token(machine)
    machine.call("DELETE", "/api/v1/namespaces/default/serviceaccounts/bot")
    machine.call("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "bot"}})
    assert bearer(machine, given) == "401 Unauthorized"


@pytest.mark.parametrize("change", [lambda t: t[:-4] + "AAAA", lambda t: t.split(".")[0], lambda _: "x.y.z"])
def test_a_forged_token_is_refused(machine: Machine, change: Any) -> None:
    assert bearer(machine, change(token(machine))) == "401 Unauthorized"


def test_a_review_tells_why(machine: Machine) -> None:
    grant(machine, rule("get", "configmaps"))
    machine.made(MAPS, config_map("a"))
    asked = {"resourceAttributes": {"namespace": "default", "verb": "get", "resource": "configmaps"}}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    answered = machine.call("POST", path, {"spec": asked}, user=BOT)[1]["status"]
    said = 'RBAC: allowed by RoleBinding "b/default" of Role "r" to ServiceAccount "bot/default"'
    assert answered == {"allowed": True, "reason": said}
