"""Services wait for services that are there, start, and can come to what is waited for."""

from __future__ import annotations

import pytest

from tests.forge.spec.reading import problems, told


def services(*lines: str) -> str:
    """One service a line, from line 7."""
    return "  services:\n" + "".join(f"    - {{image: x, {line}}}\n" for line in lines)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(["name: a, dependsOn: [b]", "name: b"], [], id="one that is there"),
        pytest.param(["name: a, dependsOn: [a]"], ['FG0122 7:39 "a" depends on itself'], id="itself"),
        pytest.param(["name: a, dependsOn: [bb]", "name: b"], ['FG0121 7:39 "a" depends on "bb", and there is no such service'], id="nobody"),
        pytest.param(["name: a, dependsOn: [b, {name: b}]", "name: b"], ['FG0115 7:43 "a" names "b" twice in dependsOn'], id="twice"),
        pytest.param(["name: a, dependsOn: [b]", "name: b, autoStart: false"], ['FG0123 7:39 "a" starts with `up` and depends on "b", which does not'], id="one that is not started"),
        pytest.param(["name: a, autoStart: false, dependsOn: [b]", "name: b, autoStart: false"], [], id="both by hand"),
        pytest.param(["name: a, autoStart: false, dependsOn: [b]", "name: b"], [], id="by hand on one that starts"),
        pytest.param(["name: a, dependsOn: [{name: b, condition: healthy}]", "name: b"], ['FG0124 7:60 "b" has no health check, so it never becomes healthy'], id="healthy without a check"),
        pytest.param(["name: a, dependsOn: [{name: b, condition: completed}]", "name: b, restart: always"], ['FG0124 7:60 "b" is restarted whenever it ends, so it never completes'], id="completed and always restarted"),
        pytest.param(["name: a, dependsOn: [{name: b, condition: completed}]", "name: b, restart: on-failure"], [], id="completed and restarted on failure"),
    ],
)  # fmt: skip
def test_dependencies(lines: list[str], expected: list[str]) -> None:
    assert told(services(*lines)) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            ["name: a, dependsOn: [b]", "name: b, dependsOn: [a]"],
            ["FG0122 7:39 services wait for each other: a -> b -> a"],
            id="two",
        ),
        pytest.param(
            ["name: c, dependsOn: [x, a]", "name: a, dependsOn: [b]", "name: b, dependsOn: [c]", "name: x"],
            ["FG0122 7:42 services wait for each other: c -> a -> b -> c"],
            id="three, at the dependency that closes it",
        ),
        pytest.param(
            [
                "name: a, dependsOn: [b]",
                "name: b, dependsOn: [a]",
                "name: c, dependsOn: [d]",
                "name: d, dependsOn: [c]",
            ],
            [
                "FG0122 7:39 services wait for each other: a -> b -> a",
                "FG0122 9:39 services wait for each other: c -> d -> c",
            ],
            id="two circles, both",
        ),
        pytest.param(
            ["name: a, dependsOn: [b, c]", "name: b, dependsOn: [c]", "name: c"], [], id="no circle"
        ),
    ],
)
def test_circles_are_named(lines: list[str], expected: list[str]) -> None:
    assert told(services(*lines)) == expected


CHECK = "healthCheck: {type: tcp, port: 9901}"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(f"name: a, {CHECK}", ["FG0124 7:58 the health check asks port 9901, which is not published"], id="not published"),
        pytest.param(f"name: a, {CHECK}, ports: [{{host: 1, container: 9901}}]", [], id="published"),
        pytest.param(f"name: a, {CHECK}, network: environment", [], id="on the lab network"),
        pytest.param(f"name: a, {CHECK}, network: host", [], id="on the host's network"),
        pytest.param("name: a, healthCheck: {type: exec, command: [x]}", [], id="a command needs no port"),
    ],
)  # fmt: skip
def test_a_checked_port_can_be_reached(line: str, expected: list[str]) -> None:
    assert told(services(line)) == expected


def test_a_port_that_is_itself_broken_is_told_once() -> None:
    line = f"name: a, {CHECK}, ports: [{{host: 0, container: 9901}}]"
    assert [p.code for p in problems(services(line))] == ["FG0104"]


def test_a_broken_service_still_counts_as_there() -> None:
    assert [
        p.code for p in problems("  services:\n    - {name: a, image: x, dependsOn: [b]}\n    - {name: b}\n")
    ] == ["FG0105"]
