"""An image has a process where no engine is asked for."""

from __future__ import annotations

import pytest

from tests.forge.spec.reading import HEAD, told

EMBEDDED = HEAD.replace("runtime: {}", "runtime: {provider: embedded}")
WARNING = 'warning FG0128 6:31 no process stands for the image of "a" on the embedded runtime'


@pytest.mark.parametrize(
    ("images", "expected"),
    [
        pytest.param("", [WARNING], id="an image nobody names"),
        pytest.param("  images: [{name: x}]\n", [WARNING], id="an image without a process"),
        pytest.param("  images: [{name: x, process: []}]\n", [], id="its arguments as they are"),
        pytest.param("  images: [{name: x, process: [y]}]\n", [], id="a program of its own"),
    ],
)
def test_on_the_embedded_runtime(images: str, expected: list[str]) -> None:
    assert told("  services: [{name: a, image: x}]\n" + images, head=EMBEDDED) == expected


def test_a_service_that_is_not_started_needs_none() -> None:
    assert told("  services: [{name: a, image: x, autoStart: false}]\n", head=EMBEDDED) == []


def test_an_engine_needs_none() -> None:
    assert told("  services: [{name: a, image: x}]\n") == []
