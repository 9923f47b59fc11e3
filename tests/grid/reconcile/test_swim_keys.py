"""A Secret is a ring, or it is said why not, and no byte of it is."""

from __future__ import annotations

import base64

import pytest

from grid.crd.base import SecretRef
from grid.reconcile.swim_keys import NoKey, keys_of, ring_of
from grid.seal.aead import Keyring

REF = SecretRef(namespace="grid-system", name="grid-swim-key")
ONE, OTHER = b"1" * 32, b"2" * 32


def secret(**data: bytes) -> dict[str, object]:
    return {"data": {name: base64.b64encode(value).decode() for name, value in data.items()}}


@pytest.mark.parametrize(
    ("found", "keys"),
    [
        pytest.param(secret(key=ONE), (ONE,), id="one key"),
        pytest.param(secret(key=ONE, previous=OTHER), (ONE, OTHER), id="two while they rotate"),
        pytest.param(secret(key=ONE, previous=ONE), (ONE,), id="one said twice"),
    ],
)
def test_keys_are_read(found: dict[str, object], keys: tuple[bytes, ...]) -> None:
    assert keys_of(found, REF) == keys
    assert isinstance(ring_of(keys, "grid", REF, lambda: bytes(12)), Keyring)


def test_another_name_may_hold_the_key() -> None:
    assert keys_of(secret(mesh=ONE), REF.model_copy(update={"key": "mesh"})) == (ONE,)


@pytest.mark.parametrize(
    "found",
    [
        pytest.param({}, id="no data"),
        pytest.param(secret(other=ONE), id="another name"),
        pytest.param({"data": {"key": "no base64!"}}, id="no base64"),
        pytest.param({"data": {"key": 7}}, id="no text"),
        pytest.param(secret(key=b"short"), id="too short"),
        pytest.param(secret(key=ONE + b"\n"), id="a line's end too many"),
        pytest.param(secret(key=base64.b16encode(ONE)), id="written as hex"),
        pytest.param(secret(key=bytes(32)), id="all zeros"),
        pytest.param(secret(key=ONE, previous=b"short"), id="a previous one that is none"),
    ],
)
def test_what_is_no_key_is_refused_by_name_and_not_shown(found: dict[str, object]) -> None:
    keys = keys_of(found, REF)
    problem = keys if isinstance(keys, NoKey) else ring_of(keys, "grid", REF, lambda: bytes(12))
    assert isinstance(problem, NoKey)
    assert problem.reason == "SwimKeyMalformed"
    assert "grid-system/grid-swim-key" in problem.message
    assert "short" not in problem.message
    assert "1111" not in problem.message
