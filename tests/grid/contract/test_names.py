"""A ConfigMap's name is a DNS label whatever the gateway is called, and long names stay apart."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grid.contract.names import label_value, overlay_configmap

DNS_LABELS = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True)
DNS_NAMES = st.lists(DNS_LABELS, min_size=1, max_size=3).map(".".join)


@pytest.mark.parametrize(
    ("network", "gateway", "name"),
    [
        pytest.param(
            "production", "edge-us-east", "grid-overlay-production-edge-us-east", id="short names whole"
        ),
        pytest.param("n" * 24, "g" * 25, f"grid-overlay-{'n' * 24}-{'g' * 25}", id="63 characters whole"),
        pytest.param(
            "n" * 25,
            "g" * 25,
            f"grid-overlay-{'n' * 20}-{'g' * 20}-58aec09b",
            id="64 characters cut and tagged",
        ),
        pytest.param(
            "n" * 19 + "-xxxxxxxxx",
            "g" * 19 + ".yyyyyyyyyy",
            f"grid-overlay-{'n' * 19}-{'g' * 19}-3d0c3398",
            id="no cut ends in a dash or dot",
        ),
    ],
)
def test_names(network: str, gateway: str, name: str) -> None:
    assert overlay_configmap(network, gateway) == name


@given(DNS_NAMES, DNS_NAMES)
def test_a_name_is_a_dns_name_of_at_most_63(network: str, gateway: str) -> None:
    name = overlay_configmap(network, gateway)
    assert len(name) <= 63
    assert re.fullmatch(r"[a-z0-9]([-.a-z0-9]*[a-z0-9])?", name)


def test_a_long_label_value_keeps_its_start() -> None:
    assert label_value("n" * 64).startswith("n" * 54 + "-")
    assert label_value("n" * 64) != label_value("n" * 65)


@given(DNS_NAMES)
def test_a_label_value_is_at_most_63(name: str) -> None:
    assert re.fullmatch(r"[a-z0-9]([-.a-z0-9]{0,61}[a-z0-9])?", label_value(name))
    assert len(name) > 63 or label_value(name) == name
