"""A fault is met by those it is meant for, as often and as long as it was told."""

from __future__ import annotations

import pytest

from edge.simulator.faults import Faults, UnknownFault


def test_a_fault_counts_itself_off() -> None:
    faults = Faults()
    faults.switch_on("error", b'{"requests": 2}', now=0)
    assert [faults.meet("error", f"r{n}", 0) is not None for n in range(3)] == [True, True, False]
    assert faults.shown(0) == {}


def test_a_fault_ends_with_its_time() -> None:
    faults = Faults()
    faults.switch_on("down", b'{"seconds": 5}', now=100)
    assert faults.next_end() == 105
    assert faults.present("down", 104.9) is not None
    assert faults.present("down", 105) is None
    assert faults.next_end() is None


def test_a_share_is_fixed_by_the_request() -> None:
    faults = Faults(seed=7)
    faults.switch_on("reset", b'{"share": 0.3}', now=0)
    met = [faults.meet("reset", f"r{n}", 0) is not None for n in range(1000)]
    assert met == [faults.meet("reset", f"r{n}", 0) is not None for n in range(1000)]
    assert 230 < sum(met) < 370


def test_switching_off_one_leaves_the_others() -> None:
    faults = Faults()
    faults.switch_on("slow", b"", now=0)
    faults.switch_on("hang", b"{}", now=0)
    faults.switch_off("slow")
    assert list(faults.shown(0)) == ["hang"]
    faults.switch_off()
    assert faults.shown(0) == {}


@pytest.mark.parametrize(
    ("kind", "parameters", "said"),
    [
        pytest.param("explode", b"{}", "no fault named 'explode'; there are down, slow", id="unknown kind"),
        pytest.param("slow", b'{"facto": 2}', "unknown field `facto`", id="unknown parameter"),
        pytest.param("slow", b"{", "truncated", id="not JSON"),
        pytest.param("error", b'{"status": 200}', "status is 400..599", id="an error that is none"),
        pytest.param("reset", b'{"after": -1}', "after is 0 or more", id="before the first chunk"),
        pytest.param("error", b'{"retry_after": -1}', "retry_after is 0 or more", id="a second ago"),
        pytest.param("error", b'{"requests": 0}', "requests is 1 or more", id="for nobody"),
        pytest.param("error", b'{"requests": -1}', "requests is 1 or more", id="for fewer than nobody"),
        pytest.param("hang", b'{"seconds": 0}', "seconds is above 0", id="for no time"),
        pytest.param("slow", b'{"factor": 0}', "factor is above 0", id="time that stands still"),
    ],
)
def test_what_does_not_read_switches_nothing(kind: str, parameters: bytes, said: str) -> None:
    faults = Faults()
    with pytest.raises(UnknownFault, match=said):
        faults.switch_on(kind, parameters, now=0)
    assert faults.shown(0) == {}
