"""A wanted service or network becomes the body an engine makes it from, written out whole."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forge.host.docker_body import Caller, network_body, service_body, stopped_policy
from forge.host.docker_labels import labels
from forge.host.docker_read import POLICY
from forge.plan.resources import (
    Mount,
    NetworkMode,
    NetworkResource,
    PortBinding,
    RestartPolicy,
    Secret,
    ServiceResource,
)
from forge.plan.values import Key, Owner

WEB = Key("service", "web")
LAB = Key("network", "lab")
OWNER = Owner("lab", "0011")
USER = Caller("1000:1000", 44)
ROOT = Caller(None, 44)
SERVICE = ServiceResource(
    name="web",
    container="lab-web",
    image="example/web:1",
    args=("--port", "80"),
    env={"TOKEN": Secret("hush")},
    mounts=(Mount("/srv/lab/site", "/site", read_only=True),),
    ports=(PortBinding("127.0.0.1", 8080, 80), PortBinding("::1", 8080, 80)),
    network=NetworkMode.ENVIRONMENT,
    network_name="lab-net",
    address="10.64.1.2",
    restart=RestartPolicy.UNLESS_STOPPED,
    inherit_host_group=True,
)


def test_a_service_is_written_out_whole() -> None:
    assert service_body(WEB, SERVICE, OWNER, "f1", USER) == {
        "Image": "example/web:1",
        "Cmd": ["--port", "80"],
        "User": "1000:1000",
        "Env": ["POD_IP=10.64.1.2", "TOKEN=hush"],
        "Labels": {**labels(WEB, OWNER, "f1"), POLICY: "unless-stopped"},
        "ExposedPorts": {"80/tcp": {}},
        "HostConfig": {
            "NetworkMode": "lab-net",
            "RestartPolicy": {"Name": "unless-stopped"},
            "LogConfig": {"Type": "json-file", "Config": {"max-size": "20m", "max-file": "3"}},
            "Mounts": [{"Type": "bind", "Source": "/srv/lab/site", "Target": "/site", "ReadOnly": True}],
            "GroupAdd": ["44"],
            "PortBindings": {
                "80/tcp": [
                    {"HostIp": "127.0.0.1", "HostPort": "8080"},
                    {"HostIp": "::1", "HostPort": "8080"},
                ]
            },
        },
        "NetworkingConfig": {
            "EndpointsConfig": {"lab-net": {"Aliases": ["web"], "IPAMConfig": {"IPv4Address": "10.64.1.2"}}}
        },
    }


def test_without_args_the_image_says_what_runs() -> None:
    assert "Cmd" not in service_body(WEB, replace(SERVICE, args=()), OWNER, "f1", USER)


def test_root_leaves_the_user_to_the_image() -> None:
    assert "User" not in service_body(WEB, SERVICE, OWNER, "f1", ROOT)


def test_files_that_are_root_s_alone_are_read_as_root() -> None:
    mounts = (Mount("/srv/lab/.forge/secrets/key", "/key", read_only=True, create=True),)
    seen = replace(SERVICE, mounts=mounts, inherit_host_group=False)
    assert service_body(WEB, seen, OWNER, "f1", ROOT)["User"] == "0:0"
    assert service_body(WEB, seen, OWNER, "f1", USER)["User"] == "1000:1000"


def test_the_group_is_given_only_where_it_is_asked_for() -> None:
    body = service_body(WEB, replace(SERVICE, inherit_host_group=False), OWNER, "f1", ROOT)
    assert "GroupAdd" not in body["HostConfig"]


def test_a_service_may_say_its_own_pod_ip() -> None:
    body = service_body(WEB, replace(SERVICE, env={"POD_IP": Secret("::")}), OWNER, "f1", USER)
    assert body["Env"] == ["POD_IP=::"]


@pytest.mark.parametrize(
    ("network", "mode", "publishes"),
    [
        pytest.param(NetworkMode.HOST, "host", False, id="the host's network has all its ports anyway"),
        pytest.param(NetworkMode.NONE, "bridge", True, id="the engine's default network"),
    ],
)
def test_other_networks_have_no_address_of_ours(network: NetworkMode, mode: str, publishes: bool) -> None:
    wanted = replace(SERVICE, network=network, network_name=None, address=None)
    body = service_body(WEB, wanted, OWNER, "f1", USER)
    assert body["HostConfig"]["NetworkMode"] == mode
    assert ("PortBindings" in body["HostConfig"], "ExposedPorts" in body) == (publishes, publishes)
    assert "NetworkingConfig" not in body
    assert body["Env"] == ["TOKEN=hush"]


def test_a_secret_is_in_the_env_alone() -> None:
    body = service_body(WEB, SERVICE, OWNER, "f1", USER)
    assert "hush" not in str({name: value for name, value in body.items() if name != "Env"})


@pytest.mark.parametrize("wanted", RestartPolicy)
def test_a_stopped_policy_differs_and_starts_nothing(wanted: RestartPolicy) -> None:
    assert stopped_policy(wanted) != wanted
    assert stopped_policy(wanted) in ("no", "unless-stopped")


def test_a_network_is_written_out_whole() -> None:
    wanted = NetworkResource("lab-net", "10.64.0.0/22", "10.64.0.0/24")
    assert network_body(LAB, wanted, OWNER, "f1") == {
        "Name": "lab-net",
        "CheckDuplicate": True,
        "Driver": "bridge",
        "IPAM": {
            "Driver": "default",
            "Config": [{"Subnet": "10.64.0.0/22", "Gateway": "10.64.0.1", "IPRange": "10.64.0.0/24"}],
        },
        "Labels": labels(LAB, OWNER, "f1"),
    }
    plain = network_body(LAB, replace(wanted, dynamic=None), OWNER, "f1")
    assert plain["IPAM"]["Config"] == [{"Subnet": "10.64.0.0/22", "Gateway": "10.64.0.1"}]
