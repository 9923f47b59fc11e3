"""A .dockerignore hides what docker's own rules say it hides."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge.plan.ignore import Ignored


@pytest.mark.parametrize(
    ("text", "path", "hidden"),
    [
        pytest.param("", "a", False, id="nothing is named"),
        pytest.param("# a\n\n", "a", False, id="comments name nothing"),
        pytest.param("a", "a", True, id="a file"),
        pytest.param("a", "b/a", False, id="a name is of the context's own folder"),
        pytest.param("a", "a/b/c", True, id="a folder with all in it"),
        pytest.param("/a", "a", True, id="a leading slash is nothing"),
        pytest.param("./a/", "a/b", True, id="nor are dots and a last one"),
        pytest.param("*.pyc", "a.pyc", True, id="a star"),
        pytest.param("*.pyc", "b/a.pyc", False, id="a star stays in its folder"),
        pytest.param("**/*.pyc", "b/c/a.pyc", True, id="two stars do not"),
        pytest.param("**/*.pyc", "a.pyc", True, id="and may be none"),
        pytest.param("a/**", "a/b/c", True, id="two stars at the end"),
        pytest.param("?.md", "a.md", True, id="a question mark"),
        pytest.param("?.md", "ab.md", False, id="is one character"),
        pytest.param("*\n!keep", "keep", False, id="what is taken back"),
        pytest.param("*\n!keep", "lose", True, id="is all that is"),
        pytest.param("!keep\n*", "keep", True, id="the last one decides"),
        pytest.param("a\n!a/b", "a/b", False, id="one in a hidden folder is taken back"),
        pytest.param("a.b", "aXb", False, id="a dot is a dot"),
    ],
)
def test_hides(text: str, path: str, hidden: bool) -> None:
    assert Ignored.parse(text).hides(path) is hidden


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        pytest.param("a", True, id="hidden"),
        pytest.param("b", False, id="not hidden"),
        pytest.param("a\n!a/b", False, id="something may be taken back"),
    ],
)
def test_hides_all_of_a_folder(text: str, hidden: bool) -> None:
    assert Ignored.parse(text).hides_all_of("a") is hidden


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    Ignored.parse(text).hides("a/b")
