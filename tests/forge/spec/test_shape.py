"""The small types: what each takes, and what it says of the rest."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from forge.spec import shape

TYPES: dict[str, TypeAdapter[Any]] = {
    name: TypeAdapter(getattr(shape, name))
    for name in (
        "Label", "Filled", "ImageName", "Duration", "Pause", "RelativePath", "AbsolutePath", "Variable", "Address",
        "Subnet", "Zone", "AnyZone", "Upstream", "HttpsUrl", "Sha256", "Port", "Text", "Flag", "Whole", "ObjectName", "DataKey", "SecretName",
    )
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("Label", "a"), ("Label", "a-1"), ("Label", "9"), ("Label", "x" * 63),
        ("ImageName", "ghcr.io/x/y:v1@sha256:" + "0" * 64), ("ImageName", "x" * 512),
        ("Duration", "500ms"), ("Duration", "2s"), ("Duration", "1.5s"), ("Duration", "2m"), ("Duration", "1h"),
        ("Duration", "90d"), ("Pause", "0s"),
        ("RelativePath", "a/b"), ("RelativePath", ".forge/x"), ("RelativePath", "../x"), ("AbsolutePath", "/etc"),
        ("Variable", "_A1"), ("Variable", "x" * 256),
        ("Address", "127.0.0.1"), ("Address", "::1"), ("Subnet", "172.30.0.0/16"),
        ("Zone", "lab.test"), ("AnyZone", "test"), ("AnyZone", "a.b.c"),
        ("Upstream", "10.0.0.2"), ("Upstream", "10.0.0.2:53"), ("Upstream", "dns.lab.test:5353"), ("Upstream", "[::1]:53"),
        ("HttpsUrl", "https://x/{{ a }}"), ("Sha256", "aB" * 32), ("Sha256", "{{ cluster.properties.sha }}"),
        ("ObjectName", "kube-root-ca.crt"), ("ObjectName", "a"), ("DataKey", "tls.crt"), ("DataKey", "A_b-1"), ("SecretName", "k"),
        ("Port", 1), ("Port", 65535), ("Text", ""), ("Flag", False), ("Whole", 0),
    ],
)  # fmt: skip
def test_what_a_type_takes(kind: str, value: object) -> None:
    assert TYPES[kind].validate_python(value) == value


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("Label", ""), ("Label", "x" * 64), ("Label", "A"), ("Label", "a_b"), ("Label", "-a"), ("Label", "a-"),
        ("Label", "a.b"), ("Label", "ä"), ("Label", 1), ("Label", "a\n"),
        ("Filled", " "), ("ImageName", ""), ("ImageName", "a b"), ("ImageName", "x" * 513),
        ("Duration", "2"), ("Duration", 2), ("Duration", "0s"), ("Duration", "-1s"), ("Duration", "1 s"),
        ("Duration", "1w"), ("Duration", "1h30m"), ("Duration", "s"), ("Duration", "99999999d"), ("Duration", "2s\n"),
        ("RelativePath", ""), ("RelativePath", "/etc"), ("AbsolutePath", "etc"), ("AbsolutePath", ""),
        ("Variable", "1A"), ("Variable", ""), ("Variable", "A-B"), ("Variable", "x" * 257),
        ("Address", "localhost"), ("Address", "1.2.3"), ("Address", ""), ("Subnet", "10.0.0.1/16"), ("Subnet", "10.0.0.0"),
        ("Subnet", "fd00::/64"),
        ("Zone", "test"), ("Zone", "a..b"), ("Zone", ".a.b"), ("Zone", "a.b."), ("Zone", "A.b"), ("Zone", "a." * 130 + "b"),
        ("AnyZone", ""), ("AnyZone", "a..b"),
        ("Upstream", ""), ("Upstream", "10.0.0.256"), ("Upstream", "1host"), ("Upstream", "h:0"), ("Upstream", "h:65536"),
        ("Upstream", "h:x"), ("Upstream", "h\n}"), ("Upstream", "a b"), ("Upstream", "h:53:53"),
        ("HttpsUrl", "http://x"), ("HttpsUrl", "https://"), ("HttpsUrl", "ftp://x"),
        ("Sha256", "ab"), ("Sha256", "g" * 64), ("Sha256", "x{{ a }}"), ("Sha256", "{{ a }}{{ b }}"),
        ("ObjectName", ""), ("ObjectName", "A"), ("ObjectName", "a..b"), ("ObjectName", "a." * 127 + "b"), ("DataKey", ""), ("DataKey", "a/b"),
        ("DataKey", ".."), ("DataKey", "x" * 254), ("SecretName", "A"),
        ("Port", 0), ("Port", 65536), ("Port", "80"), ("Port", True), ("Port", 80.0),
        ("Text", 1), ("Text", None), ("Flag", "true"), ("Flag", 1), ("Whole", 1.0), ("Whole", True),
    ],
)  # fmt: skip
def test_what_a_type_refuses(kind: str, value: object) -> None:
    with pytest.raises(ValidationError):
        TYPES[kind].validate_python(value)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("500ms", 0.5), ("2s", 2.0), ("1.5s", 1.5), ("2m", 120.0), ("1h", 3600.0), ("1d", 86400.0)],
)
def test_durations_are_seconds(text: str, seconds: float) -> None:
    assert shape.seconds(text) == seconds


def test_a_text_that_is_no_duration_has_no_seconds() -> None:
    with pytest.raises(ValueError, match="not a duration"):
        shape.seconds("soon")


@settings(deadline=None)
@given(st.text(max_size=70))
def test_a_label_is_a_dns_label_or_refused(text: str) -> None:
    try:
        found = TYPES["Label"].validate_python(text)
    except ValidationError:
        return
    assert 0 < len(found) <= 63
    assert set(found) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert found[0] != "-" != found[-1]
