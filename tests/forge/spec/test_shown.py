"""What may be a secret is masked wherever it stands; what only names one is not."""

from __future__ import annotations

import pytest

from forge.spec.shown import without_secrets


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("--token=x", "--token=***"),
        ("--db-password='a b' --port=1", "--db-password=*** --port=1"),
        ("API_KEY=x ./run", "API_KEY=*** ./run"),
        ("--from-literal=token=x", "--from-literal=token=***"),
        ("curl -H 'Authorization: Bearer abc.def'", "curl -H 'Authorization: Bearer ***'"),
        ("https://u:p@h/x", "https://***@h/x"),
        ("--token={{ captures.a.b }}", "--token={{ captures.a.b }}"),
        ("--token=${env:TOKEN}", "--token=${env:TOKEN}"),
        ("--secret-name=x", "--secret-name=x"),
        ("--port=8080", "--port=8080"),
        ("token", "token"),
    ],
)
def test_in_a_text(text: str, shown: str) -> None:
    assert without_secrets(text) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"env": {"A": "x", "B": "", "C": "{{ a.b }}"}}, {"env": {"A": "***", "B": "", "C": "{{ a.b }}"}}),
        ({"a": {"password": "x", "token": 5, "on": True}}, {"a": {"password": "***", "token": "***", "on": True}}),
        ({"a": {"apiKey": ["x", {"y": "z"}]}}, {"a": {"apiKey": ["***", {"y": "***"}]}}),
        ({"a": {"existingSecret": "x", "secretName": "y"}}, {"a": {"existingSecret": "x", "secretName": "y"}}),
        ({"type": "secret", "data": {"k": "x"}, "secrets": {"k": "n"}}, {"type": "secret", "data": {"k": "***"}, "secrets": {"k": "n"}}),
        ({"type": "configmap", "data": {"k": "x"}}, {"type": "configmap", "data": {"k": "x"}}),
        ({"build": {"args": {"A": "x"}}}, {"build": {"args": {"A": "***"}}}),
        (["--token", "x", "y"], ["--token", "***", "y"]),
        ({"spec": {"secrets": [{"name": "token"}]}}, {"spec": {"secrets": [{"name": "token"}]}}),
        ({"spec": {"inputs": [{"name": "A", "default": "x"}]}}, {"spec": {"inputs": [{"name": "A", "default": "***"}]}}),
    ],
)  # fmt: skip
def test_in_a_value(value: object, shown: object) -> None:
    assert without_secrets(value) == shown


def test_the_value_itself_is_left_as_it_is() -> None:
    value = {"env": {"A": ["x"]}}
    without_secrets(value)
    assert value == {"env": {"A": ["x"]}}
