"""The provider's credential replaces the client's, and shows nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from edge.filters.credential_inject import CredentialInject
from edge.setup import Unusable
from tests.kit.filter_bench import Bench, field_of, on_body, status_of


@pytest.fixture
def token(tmp_path: Path) -> Path:
    made = tmp_path / "token"
    made.write_text("canary-token\n")
    return made


def options(token: Path, **more: object) -> dict[str, object]:
    return {"credentials": [{"name": "sim", "namespace": "grid", "key": "token", "file": str(token), **more}]}


@pytest.mark.parametrize(
    ("credential", "status", "sent"),
    [
        pytest.param("grid/sim/token", None, "Bearer canary-token", id="the one the route named"),
        pytest.param("grid/other/token", 503, None, id="one that is not here"),
        pytest.param(None, None, None, id="none named: none sent, not even the client's"),
    ],
)
def test_injection(token: Path, credential: str | None, status: int | None, sent: str | None) -> None:
    bench = Bench()
    exchange = bench.exchange(
        bench.build(CredentialInject, **options(token)), fields={"Authorization": "Bearer the client's"}
    )
    exchange.credential = credential
    assert status_of(on_body(exchange)) == status
    assert field_of(exchange, "authorization") == sent


def test_a_default_is_for_routes_that_name_none(token: Path) -> None:
    bench = Bench()
    exchange = bench.exchange(bench.build(CredentialInject, default="grid/sim/token", **options(token)))
    assert on_body(exchange) is None
    assert field_of(exchange, "authorization") == "Bearer canary-token"


def test_an_api_key_has_its_own_header(token: Path) -> None:
    bench = Bench()
    made = bench.build(CredentialInject, default="grid/sim/token", **options(token, strategy="api_key"))
    exchange = bench.exchange(made)
    on_body(exchange)
    assert (field_of(exchange, "x-api-key"), field_of(exchange, "authorization")) == ("canary-token", None)


def test_it_does_not_show_in_its_own_description(token: Path) -> None:
    assert "canary" not in repr(Bench().build(CredentialInject, **options(token)))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(None, "cannot be read", id="no file"),
        pytest.param(b" \n", "must hold 1 byte", id="an empty one"),
        pytest.param(b"canary\r\nX-Admin: 1", "cannot stand in a header", id="a header in it"),
        pytest.param(b"canary" * 5000, "16 KiB", id="a huge one"),
        pytest.param(b"canary" * 50000, "larger than", id="a file that is none"),
    ],
)
def test_what_is_no_credential(tmp_path: Path, content: bytes | None, said: str) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(Unusable, match=said) as unusable:
        Bench().build(CredentialInject, **options(file))
    assert "canary" not in str(unusable.value)
    assert unusable.value.path == ("credentials", 0, "file")
