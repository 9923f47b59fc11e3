"""`${env:NAME}` takes declared variables, and only those; what was written stays what is shown."""

from __future__ import annotations

import pytest

from forge.spec.load import load_text
from tests.forge.spec.reading import HEAD, problems, told

INPUTS = "  inputs: [{name: TAG, default: v1}, {name: PORT}]\n"


def service(rest: str) -> str:
    return f"{INPUTS}  services:\n    - name: a\n{rest}"


def test_a_variable_is_taken_before_the_default() -> None:
    text = HEAD + service("      image: x:${env:TAG}\n")
    assert load_text(text, environ={"PORT": "1"}).environment.spec.services[0].image == "x:v1"
    loaded = load_text(text, environ={"PORT": "1", "TAG": "v2"})
    assert loaded.environment.spec.services[0].image == "x:v2"
    assert loaded.inputs == {"TAG": "v2"}


def test_a_whole_plain_value_may_become_a_number() -> None:
    plain = service("      image: x\n      ports:\n        - host: ${env:PORT}\n          container: 80\n")
    loaded = load_text(HEAD + plain, environ={"PORT": "8080"})
    assert loaded.environment.spec.services[0].ports[0].host == 8080
    quoted = plain.replace("${env:PORT}", '"${env:PORT}"')
    assert told(quoted, environ={"PORT": "8080"}) == ["FG0104 11:17 wants a whole number, has text"]


def test_two_dollars_are_the_text_itself() -> None:
    text = HEAD + service("      image: x\n      args: ['$${env:TAG}', '$${env:OTHER} ${env:TAG}']\n")
    assert load_text(text).environment.spec.services[0].args == ("${env:TAG}", "${env:OTHER} v1")


@pytest.mark.parametrize(
    ("rest", "expected", "way_out"),
    [
        ("      image: x:${env:TAGG}\n", "FG0134 9:14 the variable TAGG is not declared under spec.inputs", 'did you mean "TAG"?'),
        ("      image: x:${env:OTHER_THING}\n", "FG0134 9:14 the variable OTHER_THING is not declared under spec.inputs", "declare it: spec.inputs: [{name: OTHER_THING}]"),
        ("      image: x:${env:PORT}\n", "FG0134 9:14 the variable PORT is not set, and its input has no default", "set it: export PORT=..., or give the input a default"),
    ],
)  # fmt: skip
def test_a_variable_without_a_value(rest: str, expected: str, way_out: str) -> None:
    assert told(service(rest)) == [expected]
    assert problems(service(rest))[0].help == way_out


def test_a_missing_number_is_told_once() -> None:
    rest = "      image: x\n      ports:\n        - host: ${env:PORT}\n          container: 80\n"
    assert [p.code for p in problems(service(rest))] == ["FG0134"]


@pytest.mark.parametrize("text", ["${TAG}", "$TAG", "${env}", "${env:}", "${env:1A}", "$(env:TAG)"])
def test_nothing_else_is_touched(text: str) -> None:
    loaded = load_text(HEAD + service(f"      image: x\n      args: ['{text}']\n"))
    assert loaded.environment.spec.services[0].args == (text,)


def test_an_aliased_value_is_filled_in_once() -> None:
    text = HEAD + service("      image: &i x:${env:TAG}\n    - name: b\n      image: *i\n")
    assert {s.image for s in load_text(text, environ={"TAG": "${env:TAG}"}).environment.spec.services} == {
        "x:${env:TAG}"
    }


def test_the_value_of_an_input_is_in_no_excerpt() -> None:
    rest = "      image: x\n      network: ${env:TAG}\n"
    (problem,) = problems(service(rest), environ={"TAG": "CANARY"})
    assert "CANARY" not in str(problem)
