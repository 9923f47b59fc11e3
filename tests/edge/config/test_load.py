"""Every problem of a file is reported at once, with its place and what was probably meant."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from edge.config import load
from edge.config.expand import Surroundings, expand
from edge.config.load import Loaded
from edge.config.problems import ConfigRejected

GOOD = """
listeners:
  - name: main
    address: 127.0.0.1:8080
    filter_chains: [main]
filter_chains:
  - name: main
    filters:
      - filter: static_response
        status: 200
"""


_WORDS = (
    "listeners",
    "filter_chains",
    "clusters",
    "filters",
    "filter",
    "name",
    "address",
    "tls",
    "when",
    "x",
)
_SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(_WORDS) | st.text(max_size=8)
)


def _nested(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(_WORDS), inner, max_size=5)


def parsed(text: str, **environ: str) -> Loaded:
    return load.parse("f.yaml", text, Surroundings(environ, Path("/etc/praxis")))


def problems(text: str, **environ: str) -> list[str]:
    with pytest.raises(ConfigRejected) as rejected:
        parsed(text, **environ)
    return str(rejected.value).splitlines()


def test_a_small_file_has_its_defaults() -> None:
    gateway = parsed(GOOD).gateway
    assert gateway.shutdown_timeout_secs == 30
    assert gateway.filter_chains[0].filters[0].options == {"status": 200}


def test_all_problems_come_at_once_with_places() -> None:
    text = """
listenrs: []
listeners:
  - name: main
    adress: 127.0.0.1:8080
    filter_chains: [main]
    tls:
      certificates: [{cert_path: a.crt}]
      client_cert_mode: requre
shutdown_timeout_secs: soon
"""
    assert problems(text) == [
        "f.yaml:2:1: listenrs: unknown key (did you mean 'listeners'?)",
        "f.yaml:4:5: listeners[0].address: is required",
        "f.yaml:5:5: listeners[0].adress: unknown key (did you mean 'address'?)",
        "f.yaml:6:21: listeners[0].filter_chains[0]: no chain 'main'",
        "f.yaml:8:22: listeners[0].tls.certificates[0].key_path: is required",
        (
            "f.yaml:9:7: listeners[0].tls.client_cert_mode: 'requre' is not 'none', 'request' or 'require' "
            "(did you mean 'require'?)"
        ),
        "f.yaml:10:1: shutdown_timeout_secs: should be a valid integer",
    ]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param(
            ("filter_chains: [main]", "filter_chains: [mian]"), "no chain 'mian' (did you mean", id="no chain"
        ),
        pytest.param(("127.0.0.1:8080", "localhost:8080"), "'localhost' is not an IP address", id="a name"),
        pytest.param(("127.0.0.1:8080", "127.0.0.1"), "is not host:port", id="no port"),
        pytest.param(("127.0.0.1:8080", '"::1:80"'), "needs brackets", id="an IPv6 address without brackets"),
        pytest.param(
            ("127.0.0.1:8080", "${HERE}:80"), "the variable HERE is not set", id="an unset variable"
        ),
        pytest.param(("127.0.0.1:8080", "${HE RE}:80"), "is not ${NAME}", id="not a reference"),
        pytest.param(
            ("\nlisteners:", "\nadmin: {address: 0.0.0.0:1}\nlisteners:"), "is not loopback", id="open admin"
        ),
        pytest.param(
            ("\nlisteners:", "\nadmin: {address: 8.8.8.8:1}\nlisteners:"),
            "is not loopback",
            id="public admin",
        ),
        pytest.param(
            ("\nlisteners:", "\nclusters: [{name: a, endpoints: [h:1], tls: {}}]\nlisteners:"),
            "clusters[0].tls: sni is required while certificates are verified",
            id="TLS without a name to check",
        ),
        pytest.param(
            ("\nlisteners:", "\nclusters: [{name: a, endpoints: [h:1, h:1]}]\nlisteners:"),
            "clusters[0].endpoints: an endpoint stands twice",
            id="an endpoint twice",
        ),
        pytest.param(
            ("\nlisteners:", "\nclusters: [{name: a, endpoints: ['{{ x }}:1']}]\nlisteners:"),
            "is not a host and a port to connect to",
            id="a placeholder",
        ),
        pytest.param(
            (
                "filter_chains: [main]",
                "filter_chains: [main]\n    tls: {certificates: [{cert_path: ../a, key_path: b}]}",
            ),
            "must not contain '..'",
            id="a path that climbs",
        ),
        pytest.param(
            (
                "filter_chains: [main]",
                "filter_chains: [main]\n    tls: {certificates: [{cert_path: a, key_path: b}], client_cert_mode: require}",
            ),
            "client_cert_mode require needs client_ca",
            id="a required certificate nobody can check",
        ),
    ],
)
def test_what_is_refused(change: tuple[str, str], said: str) -> None:
    found = problems(GOOD.replace(*change))
    assert len(found) == 1
    assert said in found[0]


def test_names_and_addresses_are_unique() -> None:
    listener = "  - {name: main, address: '127.0.0.1:8080', filter_chains: [main]}\n"
    found = problems(GOOD.replace("filter_chains:\n  - name", f"{listener}filter_chains:\n  - name", 1))
    assert [line.partition(": ")[2] for line in found] == [
        "listeners[1].name: 'main' stands twice",
        "listeners[1].address: main listens there already",
    ]


def test_variables_are_expanded_in_addresses_and_paths_only() -> None:
    text = GOOD.replace("127.0.0.1:8080", "${POD_IP:-127.0.0.1}:8080").replace(
        "status: 200", "status: 200\n        body: ${POD_IP}"
    )
    gateway = parsed(text, POD_IP="127.4.0.1").gateway
    assert gateway.listeners[0].address == "127.4.0.1:8080"
    assert gateway.filter_chains[0].filters[0].options["body"] == "${POD_IP}"
    assert parsed(text).gateway.listeners[0].address == "127.0.0.1:8080"


def test_paths_are_relative_to_the_file() -> None:
    text = GOOD.replace(
        "filter_chains: [main]",
        "filter_chains: [main]\n    tls: {certificates: [{cert_path: tls/a.crt, key_path: '${GRID_DIR:-/etc/grid}/k'}]}",
    )
    tls = parsed(text).gateway.listeners[0].tls
    assert tls is not None
    assert (tls.certificates[0].cert_path, tls.certificates[0].key_path) == (
        "/etc/praxis/tls/a.crt",
        "/etc/grid/k",
    )


def test_a_missing_file_is_a_problem_like_another(tmp_path: Path) -> None:
    with pytest.raises(ConfigRejected, match="cannot be read: No such file"):
        load.load(tmp_path / "none.yaml", {})


def test_an_empty_variable_counts_as_unset() -> None:
    assert expand("${A:-b}", {"A": ""}) == "b"


def _refusals(text: str) -> tuple[str, ...] | None:
    """Every problem; None when there is none. Any other error is the test's failure."""
    try:
        parsed(text)
    except ConfigRejected as rejected:
        return tuple(map(str, rejected.problems))
    return None


@given(st.text(max_size=200) | st.recursive(_SCALARS, _nested, max_leaves=12).map(yaml.safe_dump))
def test_any_text_is_a_configuration_or_refused(text: str) -> None:
    assert _refusals(text) != ()


def _mutated(text: str, source: random.Random) -> str:
    """A good file with some of its lines gone, doubled or cut."""
    lines = text.splitlines()
    for _ in range(source.randint(1, 4)):
        at = source.randrange(len(lines))
        match source.randrange(3):
            case 0:
                lines[at] = lines[at][: source.randint(0, len(lines[at]))]
            case 1:
                lines.insert(at, lines[source.randrange(len(lines))])
            case _:
                lines[at] = lines[at].replace(source.choice(":-[]{}1 "), source.choice("xX0:[\t"))
    return "\n".join(lines)


@given(st.randoms(use_true_random=False))
def test_a_damaged_file_is_a_configuration_or_refused(source: random.Random) -> None:
    refusals = _refusals(_mutated(GOOD, source))
    assert refusals is None or all(refusal.startswith("f.yaml") for refusal in refusals)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("- a\n- b\n", ["f.yaml:1:1: should be a mapping"], id="a list"),
        pytest.param("hello", ["f.yaml:1:1: should be a mapping"], id="a word"),
        pytest.param(
            GOOD + '"k\\nlisteners: x\\u202e": 1\n',
            [r"f.yaml:11:1: 'k\nlisteners: x\u202e': unknown key (did you mean 'listeners'?)"],
            id="a key that would write a line of its own",
        ),
        pytest.param(
            GOOD.replace("address: 127", "address: &a [*a]\n    x: 127"),
            ["f.yaml: nested too deeply"],
            id="an alias of itself",
        ),
        pytest.param(
            GOOD.replace("name: main\n    address", "name: " + "9" * 9999 + "\n    address"),
            ["f.yaml:3:11: listeners[0].name: cannot be read as int"],
            id="a number nobody can hold, told once",
        ),
    ],
)
def test_odd_files(text: str, expected: list[str]) -> None:
    assert problems(text) == expected


def test_a_byte_order_mark_and_carriage_returns_are_no_problem() -> None:
    assert parsed("\ufeff" + GOOD.replace("\n", "\r\n")).gateway == parsed(GOOD).gateway


def test_of_very_many_problems_the_first_are_shown_and_the_rest_are_counted() -> None:
    found = problems(GOOD + "".join(f"k{n}: 1\n" for n in range(3000)))
    assert found[0] == "f.yaml:2:1: 2500 more problems are not shown"
    assert len(found) == 501
    assert found[1].endswith("k0: unknown key")


def test_a_file_without_end_is_not_read_to_its_end() -> None:
    with pytest.raises(ConfigRejected, match="larger than"):
        load.load(Path("/dev/zero"), {})
