"""The configuration is shown as it loads again, with defaults if asked, and without its secrets."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forge.spec.compose import compose
from forge.spec.load import load, load_text
from forge.spec.nodes import plain
from forge.spec.show import config, derived, show, yaml_text
from tests.forge.spec.reading import HEAD, SHARED
from tests.forge.spec.test_model import EVERYTHING

SECRET = HEAD + """\
  inputs: [{name: KEY, default: CANARY-default}, {name: TAG, default: v1}]
  clusters: [{name: c, properties: {apiKey: CANARY, region: us}}, {name: far, driver: existing, context: prod}]
  images: [{name: "x:v1", build: {context: src, args: {TOKEN: CANARY}}}]
  services:
    - name: a
      image: "x:${env:TAG}"
      network: environment
      env: {PASSWORD: CANARY, EMPTY: "", FROM: "{{ services.a.address }}"}
      args: [--listen, "0", --token=CANARY, --api-key, CANARY, "https://u:CANARY@h/", "${env:KEY}"]
    - {name: b, image: x, dependsOn: [a], ports: [{host: 80, container: 80}]}
  stacks:
    s:
      steps:
        - {type: exec, command: [x, --password=CANARY], env: {A: CANARY}}
        - {type: secret, name: n, data: {k: CANARY}}
        - {type: helm, release: r, chart: c, version: "1", values: {auth: {password: CANARY, pin: {token: 123456}}, existingSecret: name}}
"""  # fmt: skip


@pytest.mark.parametrize("resolved", [False, True], ids=["as written", "resolved"])
def test_no_secret_is_shown_unless_it_is_asked_for(resolved: bool) -> None:
    loaded = load_text(SECRET, environ={"KEY": "CANARY-from-outside"})
    shown = show(loaded, resolved=resolved)
    assert "CANARY" not in shown
    assert "123456" not in shown
    assert "--token=***" in shown
    assert "existingSecret: name" in shown
    assert "region: us" in shown
    assert "{{ services.a.address }}" in shown
    assert "CANARY" in show(loaded, resolved=resolved, reveal=True)


@pytest.mark.parametrize("text", [SECRET, EVERYTHING], ids=["secrets", "every key"])
def test_what_is_shown_loads_again(text: str) -> None:
    loaded = load_text(text)
    again = load_text(show(loaded, reveal=True))
    assert again.environment == loaded.environment
    load_text(show(loaded))
    load_text(show(loaded, resolved=True))


def test_resolved_leaves_nothing_open() -> None:
    spec = config(load_text(SECRET), resolved=True)["spec"]
    b = spec["services"][1]
    assert b["dependsOn"] == [{"name": "a", "condition": "started"}]
    assert b["ports"] == [{"bindAddress": "0.0.0.0", "host": 80, "container": 80, "protocol": "tcp"}]
    assert (b["restart"], b["healthGate"], spec["root"]) == ("no", True, ".")
    resolved = config(load_text(EVERYTHING), resolved=True)["spec"]
    assert resolved["certificates"]["leaves"][0]["directory"] == ".forge/runtime/web"
    assert resolved["network"]["dnsZone"] == "lab.test"


def test_resolved_names_what_is_derived() -> None:
    loaded = load_text(SECRET)
    assert derived(loaded.environment) == {
        "network": "lab-net",
        "containers": {"a": "lab-a", "b": "lab-b"},
        "clusters": {"c": {"kind": "forge-c", "context": "kind-forge-c"}, "far": {"context": "prod"}},
    }
    assert "#   network: lab-net\n" in show(loaded, resolved=True)


def test_a_resolved_file_means_the_same() -> None:
    loaded = load_text(EVERYTHING)
    again = load_text(show(loaded, resolved=True, reveal=True))
    assert again.environment.spec.stacks == loaded.environment.spec.stacks
    assert config(again, resolved=True, reveal=True) == config(loaded, resolved=True, reveal=True)


_TEXTS = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Zl", "Zp"]) | st.just("\n"), max_size=30
)


@settings(deadline=None)
@given(
    st.dictionaries(
        st.text("abc", min_size=1), _TEXTS | st.integers(-9, 9) | st.booleans() | st.none(), max_size=5
    )
)
def test_texts_come_back_as_texts(data: dict[str, object]) -> None:
    root = compose(yaml_text(data)).root
    assert root is not None
    assert plain(root) == data


@pytest.mark.parametrize(
    "text", ["no", "0o17", "0x1f", "1e3", "~", "null", "010", "on", "2024-01-01", "1:30", ".5", "<<", "=", ""]
)
def test_a_text_that_looks_like_something_else_is_quoted(text: str) -> None:
    root = compose(yaml_text({"a": text})).root
    assert root is not None
    assert plain(root) == {"a": text}


@pytest.mark.shared
@pytest.mark.parametrize(
    "file", sorted(SHARED.rglob("forge*.yaml")), ids=lambda f: f"{f.parent.name}/{f.name}"
)
def test_topologies_come_back(file: object) -> None:
    loaded = load(SHARED.joinpath(str(file)))
    assert load_text(show(loaded, reveal=True)).environment == loaded.environment
