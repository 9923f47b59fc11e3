"""A reference names one image, and a pull's progress is read in bytes, wherever the stream is cut."""

from __future__ import annotations

import json

import pytest

from forge.host.docker_image import documents, split, watch


@pytest.mark.parametrize(
    ("reference", "name", "tag"),
    [
        ("nginx", "nginx", "latest"),
        ("nginx:1.27", "nginx", "1.27"),
        ("localhost:5000/web", "localhost:5000/web", "latest"),
        ("localhost:5000/web:dev", "localhost:5000/web", "dev"),
        ("web@sha256:abc", "web", "sha256:abc"),
    ],
)
def test_a_reference_has_a_name_and_a_tag(reference: str, name: str, tag: str) -> None:
    assert split(reference) == (name, tag)


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_documents_are_lines_wherever_they_are_cut(size: int) -> None:
    text = b'{"status": "one"}\r\n\r\n{"status": "two"}'
    pieces = [text[i : i + size] for i in range(0, len(text), size)]
    assert list(documents(pieces)) == [{"status": "one"}, {"status": "two"}]


def layer(name: str, status: str, current: int = 0, total: int = 0) -> dict[str, object]:
    return {"id": name, "status": status, "progressDetail": {"current": current, "total": total}}


def test_progress_is_the_sum_of_the_layers_and_never_said_twice() -> None:
    said: list[str] = []
    failure = watch(
        [
            {"status": "Pulling from web", "id": "latest"},
            layer("a", "Pulling fs layer"),
            layer("a", "Downloading", 1_000_000, 10_000_000),
            layer("a", "Downloading", 1_000_001, 10_000_000),
            layer("b", "Downloading", 2_000_000, 30_000_000),
            layer("a", "Download complete"),
            layer("b", "Downloading", 3_000_000, 30_000_000),
            layer("b", "Extracting", 1, 30_000_000),
        ],
        said.append,
    )
    assert failure == ""
    assert said == ["pulling, 1 of 10 MB", "pulling, 3 of 40 MB", "pulling, 13 of 40 MB"]


def test_an_error_in_the_stream_is_the_outcome() -> None:
    lines = [{"status": "Pulling"}, {"errorDetail": {"message": "m"}, "error": "no space left on device"}]
    assert watch(documents([json.dumps(line).encode() + b"\n" for line in lines]), print) == (
        "no space left on device"
    )
