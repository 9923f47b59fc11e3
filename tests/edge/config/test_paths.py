"""No spelling of a path is a way round a rule for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.config.conditions import under
from edge.config.paths import normalise


@pytest.mark.parametrize(
    ("sent", "clean"),
    [
        pytest.param(b"/v1/models", b"/v1/models", id="clean already"),
        pytest.param(b"//admin", b"/admin", id="two slashes"),
        pytest.param(b"/x/../admin", b"/admin", id="dots"),
        pytest.param(b"/./admin/.", b"/admin/", id="a single dot"),
        pytest.param(b"/../../admin", b"/admin", id="above the root"),
        pytest.param(b"/%61dmin", b"/admin", id="an escaped letter"),
        pytest.param(b"/%2561dmin", b"/admin", id="escaped twice"),
        pytest.param(b"/x/%2e%2e/admin", b"/admin", id="escaped dots"),
        pytest.param(b"/x%2f..%2fadmin", b"/admin", id="escaped slashes"),
        pytest.param(b"/admin;v=1/x", b"/admin/x", id="a parameter"),
        pytest.param(b"\\admin", b"/admin", id="a backslash"),
        pytest.param(b"/admin/", b"/admin/", id="a trailing slash stays"),
        pytest.param(b"/a/b/..", b"/a/", id="dots at the end"),
        pytest.param(b"/%", b"/%", id="a percent sign alone"),
    ],
)
def test_one_form(sent: bytes, clean: bytes) -> None:
    assert normalise(sent) == clean


@given(st.binary(max_size=40))
def test_any_bytes_have_a_form_without_dots(path: bytes) -> None:
    clean = normalise(b"/" + path)
    assert b".." not in clean.split(b"/")


@pytest.mark.parametrize(
    ("path", "prefix", "inside"),
    [
        pytest.param(b"/api", b"/api", True, id="itself"),
        pytest.param(b"/api/x", b"/api", True, id="below"),
        pytest.param(b"/apiary", b"/api", False, id="a longer word"),
        pytest.param(b"/api/x", b"/api/", True, id="a prefix with a slash"),
        pytest.param(b"/api", b"/api/", False, id="the slash is asked for"),
        pytest.param(b"/x", b"/", True, id="everything"),
    ],
)
def test_prefixes_end_at_a_segment(path: bytes, prefix: bytes, inside: bool) -> None:
    assert under(path, prefix) is inside
