"""Manifests become objects with their places, or one error that names everything wrong with them."""

from __future__ import annotations

import json
import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from forge.errors import OperationFailed
from forge.stack.manifests import is_manifest, read

HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop}\n"


def one(text: str) -> dict[str, object]:
    (document,) = read([("a.yaml", text.encode())])
    return document.object


def refused(*files: tuple[str, bytes]) -> OperationFailed:
    with pytest.raises(OperationFailed) as caught:
        read(files)
    return caught.value


def test_documents_come_in_order_with_their_places() -> None:
    other = HEAD.replace("name: a", "name: b")
    found = read([("x.yaml", f"# head\n{HEAD}---\n---\n{other}".encode()), ("y.yaml", b"# nothing\n")])
    assert [(d.object["metadata"]["name"], d.place) for d in found] == [
        ("a", "x.yaml, document 1 (line 2)"),
        ("b", "x.yaml, document 3 (line 7)"),
    ]


def test_a_list_is_taken_apart() -> None:
    items = [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": n}} for n in "ab"]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    assert [(d.object["metadata"]["name"], d.place) for d in read([("l.json", text.encode())])] == [
        ("a", "l.json, document 1 (line 1), item 1"),
        ("b", "l.json, document 1 (line 1), item 2"),
    ]


def test_items_of_a_list_of_one_kind_get_its_kind() -> None:
    text = "apiVersion: apps/v1\nkind: DeploymentList\nitems: [{metadata: {name: a}}]\n"
    assert one(text) == {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        pytest.param("yes", True, id="yes is true"),
        pytest.param("'yes'", "yes", id="quoted"),
        pytest.param("0644", 420, id="octal"),
        pytest.param("0o17", 15, id="octal of 1.2"),
        pytest.param("0x1F", 31, id="hexadecimal"),
        pytest.param("-12", -12, id="negative"),
        pytest.param("08", "08", id="no octal"),
        pytest.param("12:30", "12:30", id="no sexagesimal number"),
        pytest.param("2024-01-01", "2024-01-01", id="no date"),
        pytest.param("1e3", 1000.0, id="exponent"),
        pytest.param(".5", 0.5, id="fraction"),
        pytest.param(".", ".", id="a dot"),
        pytest.param("~", None, id="null"),
        pytest.param("100m", "100m", id="quantity"),
    ],
)
def test_a_word_is_what_kubernetes_takes_it_for(written: str, value: object) -> None:
    assert one(f"{HEAD}data: {{x: {written}}}")["data"] == {"x": value}


def test_keys_are_texts() -> None:
    assert one(f"{HEAD}data: {{80: a, true: b}}")["data"] == {"80": "a", "true": "b"}


@pytest.mark.parametrize(
    ("text", "reason", "line"),
    [
        pytest.param("a: [1\nb: 2", "did not find expected", 2, id="yaml"),
        pytest.param("- a", "an object is wanted, and this is a list", 1, id="list"),
        pytest.param("--- text", "an object is wanted, and this is a text", 1, id="text"),
        pytest.param("\n\nkind: X", "it has no apiVersion", 3, id="no apiVersion"),
        pytest.param("apiVersion: v1\nkind: ''", "it has no kind", 1, id="empty kind"),
        pytest.param("apiVersion: v1\nkind: X", "X has no metadata", 1, id="no metadata"),
        pytest.param("{apiVersion: v1, kind: X, metadata: {}}", "no metadata.name", 1, id="no name"),
        pytest.param(
            "{apiVersion: v1, kind: X, metadata: {generateName: a}}", "needs a name", 1, id="generateName"
        ),
        pytest.param(
            "{apiVersion: v1, kind: X, metadata: {name: a/b}}", "is no name", 1, id="slash in a name"
        ),
        pytest.param(
            "{apiVersion: v1, kind: X, metadata: {name: 1}}", "is no name", 1, id="number as a name"
        ),
        pytest.param(HEAD + "data: {a: !!float .nan}", "a float has no place", 1, id="not a number"),
        pytest.param(HEAD + "data: {a: !!python/name:os.system x}", "tag", 4, id="foreign tag"),
        pytest.param(HEAD + "data: &a {a: *a}", "levels deep", 1, id="an alias of itself"),
        pytest.param("[" * 5000, "nesting depth", 1, id="brackets without end"),
        pytest.param(
            "{apiVersion: v1, kind: List, items: [3]}",
            "item 1: an object is wanted",
            1,
            id="number in a list",
        ),
        pytest.param(
            "{apiVersion: v1, kind: List, items: 3}", "an object is wanted", 1, id="list of no list"
        ),
    ],
)
def test_what_is_no_object_is_refused_with_its_place(text: str, reason: str, line: int) -> None:
    error = refused(("a.yaml", text.encode()))
    assert (error.code, error.changed) == ("FG0734", False)
    assert reason in error.why
    assert error.place is not None
    assert (error.place.file, error.place.line) == ("a.yaml", line)


def test_all_problems_of_all_files_are_told_at_once() -> None:
    error = refused(("a.yaml", b"kind: X\n---\n- 1\n"), ("b.yaml", b"\xff"))
    assert error.what == "3 documents of the manifests cannot be read"
    assert error.why == "document 1: it has no apiVersion"
    assert error.detail == (
        "a.yaml:3:1: document 2: an object is wanted, and this is a list",
        "b.yaml:1:1: this is not UTF-8 text",
    )


def test_many_aliases_are_no_bomb() -> None:
    rows = [f"b{i}: &b{i} [{', '.join([f'*b{i - 1}'] * 10)}]" for i in range(1, 9)]
    text = HEAD + "b0: &b0 [1,1,1,1,1,1,1,1,1,1]\n" + "\n".join(rows)
    assert "values once its aliases are followed" in refused(("a.yaml", text.encode())).why


def test_an_object_stands_once() -> None:
    error = refused(("a.yaml", HEAD.encode()), ("b.yaml", f"---\n{HEAD}".encode()))
    assert (error.code, error.what) == ("FG0748", "ConfigMap shop/a stands twice in one step")
    assert error.why == "a.yaml, document 1 (line 1) and b.yaml, document 1 (line 2)"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.yaml", True),
        ("d/a.yml", True),
        ("a.json", True),
        ("kustomization.yaml", False),
        ("a.txt", False),
        ("d/.a.yaml", False),
        ("kustomization.yml", False),
        ("README.md", False),
    ],
)
def test_which_files_of_a_folder_are_manifests(name: str, expected: bool) -> None:
    assert is_manifest(name) is expected


WORDS = "--- - { } [ ] &a *a : | > ' \" ? # <<:*a !!binary 0644 %TAG é kind:X kind:List items: apiVersion:v1 metadata: name:a"
PIECES = st.sampled_from(
    ["\n", "  ", "\t", "\x00", ": ", *WORDS.replace(":X", ": X").replace(":List", ": List").split(" ")]
)


@given(st.lists(PIECES, max_size=25).map("".join).map(str.encode) | st.binary(max_size=60))
def test_any_bytes_are_objects_or_one_error_with_a_place(data: bytes) -> None:
    try:
        found = read([("a.yaml", data)])
    except OperationFailed as error:
        found = ()
        assert error.code == "FG0748" or (error.place is not None and error.place.line > 0)  # noqa: PT017 - either end is right
    assert all(d.place.startswith("a.yaml, document ") for d in found)


WRITTEN = st.text(max_size=8).filter(lambda text: not re.fullmatch(r"[-+]?[0-9.]+[eE][-+]?[0-9]+", text))
"""Texts that the writer quotes where it must: to it `1e3` is no number, to kubectl it is one."""
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | WRITTEN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WRITTEN, inner, max_size=3),
    max_leaves=12,
)


@given(VALUES)
def test_what_a_writer_wrote_is_read_again(value: object) -> None:
    thing = {"apiVersion": "v1", "kind": "X", "metadata": {"name": "a"}, "spec": value}
    assert one(json.dumps(thing)) == thing
    assert one(yaml.safe_dump(thing)) == thing
