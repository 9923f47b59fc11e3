"""Custom resources are judged, pruned, defaulted and tracked as real API servers recorded it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.forge.embedded.recorded import different, names, needs_recordings, replay, share

# Pairs decided elsewhere: negotiation, versions, paths, printing.
ELSEWHERE = {
    "kube-apiserver-1.32-cr-crd-lifecycle": {"migrate-1", "migrate-2", "cr-finalizer"},
    "kube-apiserver-1.32-cr-create-metadata": {"kind-missing", "system-fields-2", "fm-no-agent"},
    "kube-apiserver-1.32-cr-list": {"table-create"},
    "kube-apiserver-1.32-cr-update-patch": {"put-rv-bad"},
}
LEAST = {
    "kube-apiserver-1.32-cr-validation": 74,
    "kube-apiserver-1.32-cr-cel": 14,
    "kube-apiserver-1.32-cr-server-side-apply": 64,
    "kube-apiserver-1.32-cr-update-patch": 57,
    "kube-apiserver-1.32-cr-crd-lifecycle": 46,
}


@pytest.mark.shared
@needs_recordings
@pytest.mark.parametrize("name", list(names()))
def test_recorded_pairs_of_custom_resources(
    name: str, record_property: Callable[[str, object], None]
) -> None:
    outcomes = replay(name)
    record_property("recorded pairs equal", share(outcomes))
    assert set(different(outcomes)) <= ELSEWHERE.get(name, set())
    assert sum(o.equal for o in outcomes) >= LEAST.get(name, 1)
