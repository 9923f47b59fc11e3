"""What could stand at a place is known from the models, and the word that was meant is found."""

from __future__ import annotations

import pytest

from forge.spec.known import description_at, did_you_mean, keys_at, nearest, step_types


@pytest.mark.parametrize(
    ("word", "expected"),
    [("Docker", "docker"), ("auto_start", "autoStart"), ("environment", "env"), ("xyz", ""), ("", "")],
)
def test_the_nearest_word(word: str, expected: str) -> None:
    assert nearest(word, ["docker", "autoStart", "env"]) == expected


def test_far_words_are_listed_while_they_are_few() -> None:
    assert did_you_mean("x", ["b", "a"]) == "known here: a, b"
    assert did_you_mean("x", [f"name{i}" for i in range(26)]) == ""
    assert did_you_mean("x", []) == ""


def test_known_keys_are_found_through_lists_mappings_and_step_types() -> None:
    assert "dependsOn" in keys_at(("spec", "services", 3))
    assert keys_at(("spec", "services", 0, "dependsOn", 0)) == ["condition", "name"]
    assert keys_at(("spec", "stacks", "any", "steps", 0, "steps", 1), "manifest") == [
        "path",
        "retries",
        "timeout",
        "type",
        "when",
    ]
    assert keys_at(("spec", "nowhere")) == []


def test_descriptions_are_those_of_the_models() -> None:
    assert description_at(("spec", "services", 0, "ports", 1, "host")) == "Port on this machine, 1 to 65535."
    assert description_at(("spec", "services", 0, "nope")) == ""


def test_there_are_nineteen_step_types() -> None:
    assert len(step_types()) == 19
    assert {"url", "for-each", "http-wait"} <= set(step_types())
