"""What could be a secret is covered, and what could not stays readable."""

from __future__ import annotations

import pytest

from edge.config.redact import COVER, redact


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        pytest.param({"token": "x"}, {"token": COVER}, id="a token"),
        pytest.param(
            {"api_key": "x", "sha256": "y"}, {"api_key": COVER, "sha256": COVER}, id="a key and its hash"
        ),
        pytest.param({"key_path": "/k"}, {"key_path": COVER}, id="where a key lies"),
        pytest.param({"cert_path": "/c"}, {"cert_path": "/c"}, id="where a certificate lies"),
        pytest.param(
            {"name": "X-Api-Key", "value": "x"}, {"name": "X-Api-Key", "value": COVER}, id="a header"
        ),
        pytest.param(
            {"name": "X-Frame", "value": "x"}, {"name": "X-Frame", "value": "x"}, id="a harmless header"
        ),
        pytest.param([{"a": {"password": "x"}}], [{"a": {"password": COVER}}], id="deep inside"),
        pytest.param(
            {"headers": {"Authorization": "x"}}, {"headers": {"Authorization": COVER}}, id="a condition"
        ),
        pytest.param(
            {"token": None, "max_tokens": 5}, {"token": None, "max_tokens": 5}, id="nothing to hide"
        ),
    ],
)
def test_covering(value: object, shown: object) -> None:
    assert redact(value) == shown
