"""The speaker wants the addresses that Services have been given, and knows its own by their label."""

from __future__ import annotations

from typing import Any

from tests.kind.node.speaker import labelled, wanted


def service(*addresses: str) -> Any:
    return {"status": {"loadBalancer": {"ingress": [{"ip": a} for a in addresses]}}}


def test_it_wants_what_services_have() -> None:
    assert wanted([service("10.0.0.1"), service("10.0.0.2", "10.0.0.3")]) == {
        "10.0.0.1",
        "10.0.0.2",
        "10.0.0.3",
    }


def test_it_wants_nothing_of_a_service_without_an_address() -> None:
    assert wanted([{}, {"status": {"loadBalancer": {}}}, {"status": {}}, service()]) == set()


def test_it_leaves_loopback_alone() -> None:
    assert wanted([service("127.1.0.1", "10.0.0.1")]) == {"10.0.0.1"}


def test_it_reads_what_ip_shows_with_the_others_left_out_as_empty_objects() -> None:
    assert labelled('[{"addr_info": [{}, {"local": "10.0.0.1", "label": "eth0:lb"}, {}]}]') == {"10.0.0.1"}
    assert labelled("") == labelled("[]") == labelled("[{}]") == set()
