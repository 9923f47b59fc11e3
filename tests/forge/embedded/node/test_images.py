"""Images are commands by name; the file may change at any time and may be wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forge.embedded.node.images import Images, argv, short


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        pytest.param("docker.io/library/app:latest", "app", id="an engine's long form"),
        pytest.param("docker.io/team/app:1", "team/app:1", id="a user's image"),
        pytest.param("registry.test:5000/app:1", "registry.test:5000/app:1", id="another registry"),
        pytest.param("app:1@sha256:abc", "app:1", id="a digest beside a tag"),
    ],
)
def test_references_are_compared_in_short(reference: str, expected: str) -> None:
    assert short(reference) == expected


@pytest.mark.parametrize(
    ("mapped", "command", "args", "expected"),
    [
        (["py", "-m", "app"], [], [], ("py", "-m", "app")),
        (["py", "-m", "app"], [], ["--x"], ("py", "-m", "app", "--x")),
        (["py", "-m", "app"], ["sh"], ["-c"], ("sh", "-c")),
        ([], ["sh"], [], ("sh",)),
        ([], [], [], ()),
    ],
)
def test_command_replaces_and_args_follow(
    mapped: list[str], command: list[str], args: list[str], expected: tuple[str, ...]
) -> None:
    assert argv(mapped, command, args) == expected


def test_the_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    file = tmp_path / "images.json"
    images = Images(file)
    assert images.find("app") is None
    assert "No such file" in images.why_not("app")
    file.write_text(json.dumps({"app:latest": ["run"]}))
    assert images.find("docker.io/library/app") == ("run",)
    fresh = tmp_path / "fresh"
    fresh.write_text('{"app": "run"}')
    fresh.replace(file)
    assert images.find("app") is None
    assert "the command of image 'app' is not a list of words" in images.why_not("app")


def test_without_a_file_every_image_is_unknown() -> None:
    assert Images(None).find("app") is None
    assert "started without --images" in Images(None).why_not("app")
