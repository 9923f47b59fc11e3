"""Images by reference: one cluster, several or all of them may be named."""

from __future__ import annotations

import pytest

from forge.spec.load import load_text
from tests.forge.spec.reading import HEAD

CLUSTERS = "  clusters: [{name: a}, {name: b}]\n"


@pytest.mark.parametrize(
    ("load", "into"),
    [("all", ["a", "b"]), ("a", ["a"]), ("[b]", ["b"]), ("[a, b]", ["a", "b"]), ("[]", [])],
    ids=["all", "one by itself", "a list of one", "a list", "none"],
)
def test_where_an_image_is_loaded(load: str, into: list[str]) -> None:
    image = load_text(f"{HEAD}{CLUSTERS}  images: [{{name: x, load: {load}}}]\n").environment.spec.images[0]
    assert [name for name in ("a", "b") if image.is_loaded_into(name)] == into


def test_a_process_of_nothing_is_not_no_process() -> None:
    images = load_text(f"{HEAD}  images: [{{name: x, process: []}}, {{name: y}}]\n").environment.spec.images
    assert [image.process for image in images] == [(), None]
