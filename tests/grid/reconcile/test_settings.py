"""A process knows where it is from its environment, or does not begin."""

from __future__ import annotations

from pathlib import Path

import pytest

from grid.kube.lease import Terms
from grid.reconcile.settings import GatewayService, MeshSettings, SettingsInvalid, read_settings


def test_what_is_not_said_has_its_default() -> None:
    found = read_settings({"GRID_SITE": "east"}, "one")
    assert (found.site, found.namespace, found.instance) == ("east", "grid-system", "one")
    assert (found.admin_host, found.admin_port) == ("127.0.0.1", 9090)
    assert (found.tls, found.lease) == (Path("/etc/grid/site-tls"), Terms(15.0, 10.0, 2.5))


def test_a_pod_answers_on_its_own_address() -> None:
    assert read_settings({"GRID_SITE": "east", "POD_IP": "10.1.2.3"}, "one").admin_host == "10.1.2.3"


def test_a_lab_may_be_quicker() -> None:
    found = read_settings({"GRID_SITE": "e", "GRID_LEASE_S": "3", "GRID_PROBE_EVERY_S": "0.3"}, "one")
    assert found.lease == Terms(3.0, 2.0, 0.5)
    assert found.reach_every_s == 0.3


def test_where_the_mesh_is_heard_and_answered() -> None:
    assert read_settings({"GRID_SITE": "e"}, "one").mesh == MeshSettings()
    assert read_settings({"GRID_SITE": "e", "POD_IP": "10.1.2.3"}, "one").mesh.host == "10.1.2.3"
    env = {
        "GRID_SITE": "e",
        "GRID_SWIM_BIND": "[fd00::1]:7000",
        "GRID_SWIM_ADVERTISE": "lb.example:7946",
        "GRID_GATEWAY_SERVICE": "grid-system/provider-gateway:8443",
        "POD_NAME": "grid-operator-1",
        "GRID_TEST_FAULTS": "1",
    }
    service = GatewayService("grid-system", "provider-gateway", 8443)
    assert read_settings(env, "one").mesh == MeshSettings(
        "fd00::1", 7000, "lb.example:7946", service, "grid-operator-1", faults=True
    )


@pytest.mark.parametrize(
    ("env", "what"),
    [
        pytest.param({}, "GRID_SITE", id="no site"),
        pytest.param({"GRID_SITE": "a\n"}, "GRID_SITE", id="a site no overlay can name"),
        pytest.param(
            {"GRID_SITE": "a", "GRID_ADMIN_ADDR": "0.0.0.0:9090"}, "GRID_ADMIN_ADDR", id="everywhere"
        ),
        pytest.param(
            {"GRID_SITE": "a", "GRID_ADMIN_ADDR": "8.8.8.8:9090"}, "GRID_ADMIN_ADDR", id="in public"
        ),
        pytest.param({"GRID_SITE": "a", "GRID_ADMIN_ADDR": "127.0.0.1"}, "GRID_ADMIN_ADDR", id="no port"),
        pytest.param({"GRID_SITE": "a", "GRID_SWIM_BIND": "here:7946"}, "GRID_SWIM_BIND", id="a bound name"),
        pytest.param({"GRID_SITE": "a", "GRID_SWIM_BIND": "10.0.0.1"}, "GRID_SWIM_BIND", id="no mesh port"),
        pytest.param(
            {"GRID_SITE": "a", "GRID_SWIM_ADVERTISE": "10.0.0.1"},
            "GRID_SWIM_ADVERTISE",
            id="no advertised port",
        ),
        pytest.param(
            {"GRID_SITE": "a", "GRID_GATEWAY_SERVICE": "gateway:8443"},
            "GRID_GATEWAY_SERVICE",
            id="a Service without its namespace",
        ),
        pytest.param(
            {"GRID_SITE": "a", "GRID_GATEWAY_SERVICE": "grid-system/gateway"},
            "GRID_GATEWAY_SERVICE",
            id="a Service without its port",
        ),
        pytest.param({"GRID_SITE": "a", "GRID_LEASE_S": "soon"}, "GRID_LEASE_S", id="no number"),
        pytest.param({"GRID_SITE": "a", "GRID_LEASE_S": "nan"}, "GRID_LEASE_S", id="not a number"),
        pytest.param({"GRID_SITE": "a", "GRID_LEASE_S": "0"}, "GRID_LEASE_S", id="no time at all"),
    ],
)
def test_what_could_not_run_does_not_begin(env: dict[str, str], what: str) -> None:
    with pytest.raises(SettingsInvalid, match=what):
        read_settings(env, "one")
