"""The engine's socket is where the docker command would find it, or a clear word why not."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from forge.errors import ToolMissing
from forge.host.docker_socket import DEFAULT, engine_socket


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home whose docker context `far` is far away, and `near` is near; `near` is chosen."""
    write(tmp_path, "near", {"docker": {"Host": "unix:///run/near.sock"}})
    write(tmp_path, "far", {"docker": {"Host": "ssh://far"}})
    write(tmp_path, "empty", {})
    (tmp_path / ".docker" / "config.json").write_text(json.dumps({"currentContext": "near"}))
    return tmp_path


def write(home: Path, name: str, endpoints: object) -> None:
    folder = home / ".docker" / "contexts" / "meta" / hashlib.sha256(name.encode()).hexdigest()
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text(json.dumps({"Name": name, "Endpoints": endpoints}))


@pytest.mark.parametrize(
    ("environ", "path"),
    [
        pytest.param({}, "/run/near.sock", id="the chosen context"),
        pytest.param({"DOCKER_HOST": "unix:///run/x.sock"}, "/run/x.sock", id="DOCKER_HOST before a context"),
        pytest.param({"DOCKER_CONTEXT": "default"}, DEFAULT, id="the default context"),
        pytest.param({"DOCKER_CONTEXT": "empty"}, DEFAULT, id="a context that says nothing"),
        pytest.param({"DOCKER_CONTEXT": "gone"}, DEFAULT, id="a context that is gone"),
        pytest.param({"DOCKER_CONFIG": "/nowhere"}, DEFAULT, id="another configuration"),
    ],
)
def test_the_socket_is_found(home: Path, environ: dict[str, str], path: str) -> None:
    assert engine_socket(environ, home) == path


def test_without_any_configuration_it_is_the_default(tmp_path: Path) -> None:
    assert engine_socket({}, tmp_path) == DEFAULT


@pytest.mark.parametrize("text", ["", "[]", "{", '{"currentContext": 7}'])
def test_a_broken_configuration_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / ".docker").mkdir()
    (tmp_path / ".docker" / "config.json").write_text(text)
    assert engine_socket({}, tmp_path) == DEFAULT


@pytest.mark.parametrize(
    "environ",
    [
        pytest.param({"DOCKER_HOST": "tcp://10.0.0.1:2375"}, id="tcp"),
        pytest.param({"DOCKER_HOST": "unix://"}, id="no path"),
        pytest.param({"DOCKER_CONTEXT": "far"}, id="a context by ssh"),
    ],
)
def test_an_engine_elsewhere_is_refused(home: Path, environ: dict[str, str]) -> None:
    with pytest.raises(ToolMissing) as refused:
        engine_socket(environ, home)
    assert refused.value.code == "FG0303"
