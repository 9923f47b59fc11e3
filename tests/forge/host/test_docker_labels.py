"""A label says whose a thing is and which; what lacks one is nobody's."""

from __future__ import annotations

import pytest

from forge.host import docker_labels
from forge.plan.values import Key, Owner

WEB = Key("service", "web")
OWNER = Owner("lab", "0011")


def test_labels_can_be_read_back() -> None:
    written = docker_labels.labels(WEB, OWNER, "f1")
    assert written == {
        "dev.praxis.forge/managed": "true",
        "dev.praxis.forge/environment": "lab",
        "dev.praxis.forge/environment-id": "0011",
        "dev.praxis.forge/resource": "service/web",
        "dev.praxis.forge/spec-hash": "f1",
    }
    assert docker_labels.owner_of(written) == OWNER
    assert docker_labels.key_of(written) == WEB


@pytest.mark.parametrize("found", [None, {}, {"maintainer": "me"}, {docker_labels.ENVIRONMENT: "lab"}])
def test_without_an_id_it_is_nobodys(found: dict[str, str] | None) -> None:
    assert docker_labels.owner_of(found) is None
    assert docker_labels.key_of(found) is None
    assert not docker_labels.is_of(found, WEB, OWNER)


@pytest.mark.parametrize(
    ("key", "owner", "is_ours"),
    [
        pytest.param(WEB, OWNER, True, id="ours"),
        pytest.param(WEB, Owner("renamed", "0011"), True, id="ours, from before the file gave another name"),
        pytest.param(WEB, Owner("lab", "2233"), False, id="another checkout of the same lab"),
        pytest.param(Key("service", "db"), OWNER, False, id="another resource of ours"),
    ],
)
def test_ours_is_told_by_the_id_and_the_key(key: Key, owner: Owner, is_ours: bool) -> None:
    assert docker_labels.is_of(docker_labels.labels(key, owner, "f1"), WEB, OWNER) is is_ours
