"""A service becomes one process as the table in as_process says, and comes back as what it was."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from forge.embedded.process.spec import Bind, Phase, ProcessSpec, Publish, Restart, Status
from forge.errors import OperationFailed
from forge.host import as_process
from forge.host.as_process import Place
from forge.plan import values
from forge.plan.resources import Mount, NetworkMode, PortBinding, RestartPolicy, Secret, ServiceResource
from forge.plan.values import Key, Observed, Owner

WEB = Key("service", "web")
OWNER = Owner("lab", "eid")
WILDCARD = ("127.0.0.1", "10.0.0.5")
PLACE = Place(
    {"PATH": "/bin", "COLOUR": "base"},
    "/lab/.forge/runtime",
    7,
    lambda b: WILDCARD if b == "0.0.0.0" else (b,),
)


def service(**fields: Any) -> ServiceResource:
    plain = ServiceResource(
        "web", "lab-web", "app:dev", process=("serve",), network=NetworkMode.ENVIRONMENT, address="127.77.1.1"
    )
    return replace(plain, **fields)


def spec(**fields: Any) -> ProcessSpec:
    return as_process.process_spec(WEB, service(**fields), OWNER, "fp", PLACE)


def test_a_service_becomes_a_process() -> None:
    made = spec(
        args=("--fast",),
        env={"COLOUR": Secret("green")},
        mounts=(Mount("/src", "/etc/app", read_only=True, create=True),),
        restart=RestartPolicy.ON_FAILURE,
        inherit_host_group=True,
    )
    assert made.name == "web"
    assert made.argv == ("serve", "--fast")
    assert made.root == "/lab/.forge/runtime/web/root"
    assert made.env == {"PATH": "/bin", "COLOUR": "green", "POD_IP": "127.77.1.1"}
    assert made.mounts == (Bind("/src", "/etc/app", create=True),)
    assert made.restart is Restart.ON_FAILURE
    assert made.groups == (7,)
    assert made.labels == {
        "kind": "service",
        "container": "lab-web",
        "environment": "lab",
        "owner": "eid",
        "fingerprint": "fp",
        "published": "",
    }


def test_an_empty_process_runs_the_args_as_they_are() -> None:
    assert spec(process=(), args=("python", "-V")).argv == ("python", "-V")


def test_an_image_without_a_process_is_refused_with_the_way_out() -> None:
    with pytest.raises(OperationFailed) as failure:
        spec(process=None)
    assert failure.value.code == "FG0501"
    assert "app:dev" in failure.value.what
    assert "spec.images" in failure.value.hint


def test_the_file_may_set_its_own_address_variable() -> None:
    assert spec(env={"POD_IP": Secret("0.0.0.0")}).env["POD_IP"] == "0.0.0.0"


@pytest.mark.parametrize(
    ("network", "address", "expected"),
    [
        pytest.param(NetworkMode.ENVIRONMENT, "127.77.1.1", "127.77.1.1", id="its own on the lab network"),
        pytest.param(NetworkMode.NONE, "127.77.1.1", "127.77.1.1", id="its own without a lab network"),
        pytest.param(NetworkMode.HOST, "127.77.1.1", "127.0.0.1", id="loopback on the host's network"),
        pytest.param(NetworkMode.HOST, None, "127.0.0.1", id="loopback without one"),
    ],
)
def test_a_service_is_told_where_it_listens(network: NetworkMode, address: str | None, expected: str) -> None:
    made = spec(network=network, address=address)
    assert (made.address, made.env["POD_IP"]) == (expected, expected)


@pytest.mark.parametrize(
    ("port", "network", "expected", "said"),
    [
        pytest.param(
            PortBinding("127.0.0.1", 8443, 443),
            NetworkMode.ENVIRONMENT,
            (Publish(8443, 443, ("127.0.0.1",)),),
            "publishes 127.0.0.1:8443 by relay",
            id="one address is one relay",
        ),
        pytest.param(
            PortBinding("0.0.0.0", 8443, 443),
            NetworkMode.ENVIRONMENT,
            (Publish(8443, 443, WILDCARD, ("10.0.0.5",)),),
            "publishes 0.0.0.0:8443 by relay",
            id="a wildcard is all addresses, of which only loopback must be there",
        ),
        pytest.param(
            PortBinding("127.77.1.1", 443, 443),
            NetworkMode.ENVIRONMENT,
            (),
            "publishes 127.77.1.1:443 by binding it",
            id="the very port it listens on needs none",
        ),
        pytest.param(
            PortBinding("127.0.0.1", 443, 443),
            NetworkMode.HOST,
            (),
            "publishes 127.0.0.1:443 by binding it",
            id="nor does one on the host's network",
        ),
        pytest.param(
            PortBinding("0.0.0.0", 443, 443),
            NetworkMode.HOST,
            (Publish(443, 443, ("10.0.0.5",), ("10.0.0.5",)),),
            "publishes 0.0.0.0:443 by relay",
            id="on the host's network the other addresses do",
        ),
        pytest.param(
            PortBinding("::1", 8443, 443),
            NetworkMode.ENVIRONMENT,
            (Publish(8443, 443, ("::1",)),),
            "publishes [::1]:8443 by relay",
            id="IPv6",
        ),
    ],
)
def test_ports_become_relays(
    port: PortBinding, network: NetworkMode, expected: tuple[Publish, ...], said: str
) -> None:
    made = spec(ports=(port,), network=network)
    assert made.publish == expected
    assert made.labels["published"] == said


def test_a_status_is_observed_as_the_service_it_is() -> None:
    labels = spec(ports=(PortBinding("127.0.0.1", 8443, 443),)).labels
    status = Status(
        "web.1",
        "web",
        Phase.RUNNING,
        labels,
        "127.77.1.1",
        pid=5,
        run=2,
        started_at=1.5,
        restarts=1,
        exit_code=3,
    )
    assert as_process.observed(status) == Observed(
        WEB,
        OWNER,
        "fp",
        values.Phase.RUNNING,
        id="web.1",
        pid=5,
        started_at=1.5,
        restarts=1,
        exit_code=3,
        address="127.77.1.1",
        detail="publishes 127.0.0.1:8443 by relay",
    )
    assert as_process.observed(replace(status, detail="not published")).detail == "not published"
    assert as_process.observed(replace(status, phase=Phase.STOPPED)).detail == ""


@pytest.mark.parametrize("phase", list(Phase))
def test_every_phase_has_its_like(phase: Phase) -> None:
    assert as_process.observed(Status("web.1", "web", phase)).phase.value == phase.value


@pytest.mark.parametrize("policy", list(RestartPolicy))
def test_every_policy_has_its_like(policy: RestartPolicy) -> None:
    assert spec(restart=policy).restart.value == policy.value
