"""Access files hold one context, are read in either form, and say what is wrong with others."""

from __future__ import annotations

import base64
import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from forge.host.clusters import kubeconfig
from forge.host.clusters.kubeconfig import Config, Unusable


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


CONFIG = Config(
    "lab",
    {"server": "https://127.0.0.1:6443", "certificate-authority-data": encoded("CA")},
    {"client-certificate-data": encoded("CRT"), "client-key-data": encoded("KEY")},
)


def document(**other: Any) -> dict[str, Any]:
    return {**json.loads(CONFIG.text()), **other}


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "k").write_bytes(CONFIG.text())
    found = kubeconfig.read(tmp_path / "k")
    assert found == CONFIG
    assert (found.server, found.ca, found.client) == ("https://127.0.0.1:6443", b"CA", b"CRT\nKEY")


def test_it_is_yaml_too(tmp_path: Path) -> None:
    assert yaml.safe_load(CONFIG.text()) == document()
    (tmp_path / "k").write_text(yaml.safe_dump(document()))
    assert kubeconfig.read(tmp_path / "k") == CONFIG


def test_another_address_changes_that_alone() -> None:
    moved = CONFIG.at("https://127.0.0.1:1")
    assert moved.server == "https://127.0.0.1:1"
    assert moved.at(CONFIG.server) == CONFIG


def test_no_key_shows_in_it() -> None:
    assert encoded("KEY") not in repr(CONFIG)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param(None, "No such file", id="missing"),
        pytest.param("{", "is no kubeconfig", id="broken JSON"),
        pytest.param("a: [", "is no kubeconfig", id="broken YAML"),
        pytest.param("[]", "no mapping", id="a list"),
        pytest.param("{}", "has no context ''", id="empty"),
        pytest.param(json.dumps(document(contexts=None)), "has no context 'lab'", id="no contexts"),
        pytest.param(
            json.dumps(document(contexts=[7, {"name": "lab"}])), "no context 'lab'", id="odd contexts"
        ),
        pytest.param(json.dumps(document(clusters=[])), "no cluster 'lab'", id="no cluster"),
        pytest.param(
            json.dumps(document(clusters=[{"name": "lab", "cluster": {}}])), "with a server", id="no server"
        ),
    ],
)
def test_what_cannot_be_used_says_why(tmp_path: Path, text: str | None, why: str) -> None:
    if text is not None:
        (tmp_path / "k").write_text(text)
    with pytest.raises(Unusable, match=why):
        kubeconfig.read(tmp_path / "k")


@given(st.text(max_size=80))
def test_any_text_is_a_document_or_no_kubeconfig(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert isinstance(kubeconfig.parse(text), dict)
