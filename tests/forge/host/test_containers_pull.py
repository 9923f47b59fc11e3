"""An image that is missing is pulled with progress, with the user's login where one is wanted, until cancelled."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from forge.errors import Interrupted, OperationFailed
from forge.host.containers import DockerHost
from forge.host.engine import Engine
from forge.plan.resources import ImageResource
from forge.plan.values import Key
from tests.kit.host_contract import eventually
from tests.kit.registry import Registry, registry

pytestmark = pytest.mark.docker

IMAGE = Key("image", "app")


@pytest.fixture
def host(docker: Engine, tmp_path: Path) -> DockerHost:
    return DockerHost(tmp_path / "state", docker.socket_path)


@pytest.fixture
def shop() -> Iterator[Registry]:
    """A registry that lets everybody in."""
    with registry() as it:
        yield it


@pytest.fixture(autouse=True)
def docker_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The docker command's configuration, empty: whoever runs the tests may be logged in somewhere."""
    folder = tmp_path / "docker-config"
    folder.mkdir()
    monkeypatch.setenv("DOCKER_CONFIG", str(folder))
    return folder


def pull(host: DockerHost, reference: str, cancel: threading.Event | None = None) -> list[str]:
    """Makes the image present; gives what was said meanwhile."""
    said: list[str] = []
    assert host.ensure_image(IMAGE, ImageResource(reference), said.append, cancel or threading.Event())
    return said


def test_a_missing_image_is_pulled_once(host: DockerHost, docker: Engine, shop: Registry) -> None:
    assert pull(host, shop.reference)[0] == "pulling"
    assert pull(host, shop.reference) == []
    docker.delete(f"/images/{shop.reference}")


def test_a_pull_tells_how_far_it_is(host: DockerHost, docker: Engine, shop: Registry) -> None:
    said = threading.Event()
    shop.hold.set()

    def progress(line: str) -> None:
        if line == "pulling, 2 of 3 MB":
            said.set()
            shop.hold.clear()

    assert host.ensure_image(IMAGE, ImageResource(shop.reference), progress, threading.Event())
    assert said.is_set()
    docker.delete(f"/images/{shop.reference}")


def test_a_pull_that_is_cancelled_is_broken_off_at_the_engine_too(
    host: DockerHost, docker: Engine, shop: Registry
) -> None:
    cancel = threading.Event()
    shop.hold.set()

    def progress(line: str) -> None:
        if line == "pulling, 2 of 3 MB":  # a pull that is broken off before its first byte may go on unheard
            cancel.set()

    with pytest.raises(Interrupted):
        host.ensure_image(IMAGE, ImageResource(shop.reference), progress, cancel)
    eventually(lambda: shop.sending, lambda count: count == 0)
    assert docker.find(f"/images/{shop.reference}/json") is None


def test_an_unknown_image_says_so(host: DockerHost, shop: Registry) -> None:
    with pytest.raises(OperationFailed, match="cannot be pulled") as failed:
        pull(host, shop.reference.replace("v1", "v2"))
    assert (failed.value.code, failed.value.may_pass) == ("FG0307", False)


def test_a_registry_that_is_not_there_says_so(host: DockerHost) -> None:
    with pytest.raises(OperationFailed, match="connection refused") as failed:
        pull(host, "127.0.0.1:1/lab/app:v1")
    assert "docker load" in failed.value.hint


def test_a_registry_with_a_login_refuses_who_has_none(host: DockerHost) -> None:
    with registry("me:secret") as shop, pytest.raises(OperationFailed, match="cannot be pulled"):
        pull(host, shop.reference)


def test_the_docker_commands_login_is_used(host: DockerHost, docker: Engine, docker_config: Path) -> None:
    with registry("me:secret") as shop:
        auth = {"auth": base64.b64encode(b"me:secret").decode()}
        text = json.dumps({"auths": {f"127.0.0.1:{shop.port}": auth}})
        (docker_config / "config.json").write_text(text, encoding="utf-8")
        assert pull(host, shop.reference) == ["pulling", "pulling with the docker command's login"]
        docker.delete(f"/images/{shop.reference}")


def test_a_wrong_login_says_so(host: DockerHost, docker_config: Path) -> None:
    with registry("me:secret") as shop:
        auth = {"auth": base64.b64encode(b"me:wrong").decode()}
        text = json.dumps({"auths": {f"127.0.0.1:{shop.port}": auth}})
        (docker_config / "config.json").write_text(text, encoding="utf-8")
        with pytest.raises(OperationFailed, match="cannot be pulled") as failed:
            pull(host, shop.reference)
    assert "wrong" not in str(failed.value)
