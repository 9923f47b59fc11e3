"""One run names every problem of a file, however deep and whatever else is wrong; and none twice."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from edge.build import build
from edge.config import document, load
from edge.config.expand import Surroundings
from edge.config.model import Gateway
from edge.config.problems import ConfigRejected
from tests.kit.edges import outside

GOOD = """
shutdown_timeout_secs: 10
admin: {address: "127.0.0.1:9901", verbose: true}
listeners:
  - name: public
    address: 127.0.0.1:8080
    filter_chains: [main]
  - name: inner
    address: 127.0.0.1:8081
    filter_chains: [inner]
filter_chains:
  - name: main
    filters:
      - filter: request_id
        header_name: X-Id
      - filter: access_log
        sample_rate: 1.0
      - filter: ip_acl
        allow: [10.0.0.0/8]
      - filter: router
        routes:
          - {path_prefix: /v1/, cluster: models}
          - {path_prefix: /v2/, cluster: other}
      - filter: load_balancer
  - name: inner
    filters:
      - {filter: static_response, status: 200, body: x}
clusters:
  - name: models
    endpoints: ["10.0.0.1:80", "10.0.0.2:80"]
    tls: {verify: true, sni: x.test}
    health_check: {type: http, interval_ms: 1000, timeout_ms: 500}
  - name: other
    endpoints: ["10.0.0.3:80"]
    load_balancer_strategy: p2c
runtime: {threads: 1, log_level: DEBUG}
"""


@dataclass(frozen=True)
class Fault:
    """Text that is replaced, by what, and what is said of it, at the line where the new text ends."""

    old: str
    new: str
    said: str


FAULTS = (
    Fault("shutdown_timeout_secs", "shutdwon_timeout_secs", "unknown key (did you mean 'shutdown_timeout_secs'?)"),
    Fault("verbose", "verbos", "admin.verbos: unknown key (did you mean 'verbose'?)"),
    Fault("127.0.0.1:9901", "8.8.8.8:9901", "admin.address: 8.8.8.8 is not loopback or private"),
    Fault("address: 127.0.0.1:8080", "adress: 127.0.0.1:8080", "adress: unknown key (did you mean 'address'?)"),
    Fault("filter_chains: [main]", "filter_chains: [mian, main]", "no chain 'mian' (did you mean 'main'?)"),
    Fault(
        "filter_chains: [inner]",
        "filter_chains: [inner]\n    tls: {certificates: [{cert_path: a, key_path: b}], hotreload: true}",
        "tls.hotreload: unknown key (did you mean 'hot_reload'?)",
    ),
    Fault("127.0.0.1:8081", "localhost:8081", "'localhost' is not an IP address"),
    Fault("header_name", "header_nam", "header_nam: unknown key (did you mean 'header_name'?)"),
    Fault("filter: access_log", "filter: access_logs", "'access_logs' is not supported (did you mean 'access_log'?)"),
    Fault("10.0.0.0/8]", "10.0.0.1/8]", "allow[0]: 10.0.0.1/8 has host bits set"),
    Fault("/v1/, cluster:", "/v1/, clustr:", "routes[0].clustr: unknown key (did you mean 'cluster'?)"),
    Fault("/v2/, cluster: other", "/v2/, cluster: othr", "no cluster 'othr' (did you mean 'other'?)"),
    Fault("status: 200", "status: 20", "status: should be greater than or equal to"),
    Fault("body: x", "bodi: x", "bodi: unknown key (did you mean 'body'?)"),
    Fault('"10.0.0.2:80"', "nonsense", "endpoints[1]: 'nonsense' is not host:port"),
    Fault("sni: x.test", "sin: x.test", "tls.sin: unknown key (did you mean 'sni'?)"),
    Fault("type: http", "type: htp", "health_check.type: 'htp' is not 'http' or 'tcp' (did you mean 'http'?)"),
    Fault("timeout_ms: 500", "timeout_ms: 5000", "health_check: timeout_ms must be shorter than interval_ms"),
    Fault("strategy: p2c", "strategy: p2cc", "load_balancer_strategy: 'p2cc' is not"),
    Fault("threads: 1", "threads: 4", "runtime.threads: should be less than or equal to 1"),
    Fault("DEBUG", "debug", "runtime.log_level: 'debug' is not"),
)  # fmt: skip


def found(text: str, folder: Path = Path("/nowhere")) -> list[str]:
    """What one run says, without the file's name; `line:column: path: why`."""
    file = folder / "f.yaml"
    try:
        folder.mkdir(exist_ok=True)
        file.write_text(textwrap.dedent(text))
        build(load.look(file, {}), outside([]))
    except ConfigRejected as rejected:
        return [str(problem).removeprefix(f"{file}:") for problem in rejected.problems]
    return []


def planted(faults: list[Fault]) -> str:
    text = GOOD
    for fault in faults:
        assert text.count(fault.old) >= 1
        text = text.replace(fault.old, fault.new, 1)
    return text


def test_the_file_is_good(tmp_path: Path) -> None:
    assert found(GOOD, tmp_path) == []


@given(st.lists(st.sampled_from(FAULTS), min_size=1, unique=True))
def test_every_planted_fault_is_told_with_its_line(
    tmp_path_factory: pytest.TempPathFactory, faults: list[Fault]
) -> None:
    text = planted(faults)
    said = found(text, tmp_path_factory.getbasetemp() / "planted")
    for fault in faults:
        line = text[: text.index(fault.new) + len(fault.new)].count("\n") + 1
        assert any(told.startswith(f"{line}:") and fault.said in told for told in said), (fault, said)


def test_all_of_them_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    said = found(planted(list(FAULTS)), tmp_path)
    assert all(any(fault.said in line for line in said) for fault in FAULTS)
    places = [tuple(map(int, line.split(":")[:2])) for line in said]
    assert places == sorted(places)
    assert len(said) == len(set(said))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param(
            [("\nlisteners:", "\nlistenrs:"), ("address: 127.0.0.1:8081", "port: 1")],
            [
                "2:1: listeners: is required",
                "4:1: listenrs: unknown key (did you mean 'listeners'?)",
                "8:5: listenrs[1].address: is required",
                "9:5: listenrs[1].port: unknown key",
            ],
            id="below a key that is misspelt",
        ),
        pytest.param(
            [("name: main\n", "nmae: main\n"), ("sample_rate: 1.0", "sample_rate: 7.0")],
            [
                "12:5: filter_chains[0].name: is required",
                "12:5: filter_chains[0].nmae: unknown key (did you mean 'name'?)",
                "17:9: filter_chains[0].filters[1].sample_rate: should be less than or equal to 1",
            ],
            id="in a chain without a name, to which nobody is told not to refer",
        ),
        pytest.param(
            [('["10.0.0.1:80", "10.0.0.2:80"]', "[a, b]"), ("/v2/, cluster: other", "/v2/, cluster: x")],
            [
                "23:33: filter_chains[0].filters[3].routes[1].cluster: no cluster 'x'",
                "30:17: clusters[0].endpoints[0]: 'a' is not host:port",
                "30:20: clusters[0].endpoints[1]: 'b' is not host:port",
            ],
            id="a reference to nothing, beside one to a cluster that is wrong itself",
        ),
        pytest.param(
            [("- filter: router", "- filter: ruoter\n        x: 1"), ("allow: [10.0.0.0/8]", "alow: []")],
            [
                "18:9: filter_chains[0].filters[2]: needs allow or deny",
                "19:9: filter_chains[0].filters[2].alow: unknown key (did you mean 'allow'?)",
                "20:9: filter_chains[0].filters[3].filter: the filter 'ruoter' is not supported (did you mean 'router'?)",
            ],
            id="an unknown filter, without what the filters after it would have had from it",
        ),
        pytest.param(
            [
                ("      - filter: ip_acl\n        allow: [10.0.0.0/8]\n", ""),
                (
                    "      - filter: load_balancer\n",
                    "      - {filter: ip_acl, allow: [x], conditions: [{when: {path: //}}]}\n      - filter: load_balancer\n",
                ),
            ],
            [
                "22:9: filter_chains[0].filters[3]: ip_acl is a security filter and must not have conditions (listener public)",
                "22:9: filter_chains[0].filters[3]: ip_acl must stand before router, which chooses where the request goes (listener public)",
                "22:34: filter_chains[0].filters[3].allow[0]: 'x' does not appear to be an IPv4 or IPv6 network",
                "22:59: filter_chains[0].filters[3].conditions[0].when.path: must begin with '/' and be normalised: no '//', '.', '..', ';' or '%'",
            ],
            id="an unsafe order of a filter whose own options are wrong",
        ),
        pytest.param(
            [
                (
                    "allow: [10.0.0.0/8]",
                    "allow: [10.0.0.0/8]\n        conditions: [{}, {when: {}}]\n        alow: 1",
                )
            ],
            [
                "18:9: filter_chains[0].filters[2]: ip_acl is a security filter and must not have conditions (listener public)",
                "20:22: filter_chains[0].filters[2].conditions[0]: needs exactly one of when, unless",
                "20:27: filter_chains[0].filters[2].conditions[1].when: needs at least one of path, path_prefix, methods, headers",
                "21:9: filter_chains[0].filters[2].alow: unknown key (did you mean 'allow'?)",
            ],
            id="conditions that say nothing",
        ),
        pytest.param(
            [("threads: 1, ", "threads: 1, threads: 1, threds: 1, ")],
            [
                "36:23: runtime.threads: stands twice, first on line 36",
                "36:35: runtime.threds: unknown key (did you mean 'threads'?)",
            ],
            id="a key that stands twice hides no unknown one",
        ),
        pytest.param(
            [
                ("sni: x.test", "sni: x.test, ca: {ca_path: no.pem}"),
                ("filter_chains: [main]", "filter_chains: [main]\n    prot: http"),
            ],
            [
                "8:5: listeners[0].prot: unknown key (did you mean 'protocol'?)",
                "32:5: clusters[0].tls: PLACE/no.pem: No such file or directory",
            ],
            id="material that cannot be read, beside an unknown key of a listener",
        ),
        pytest.param(
            [(GOOD[GOOD.index("listeners:") : GOOD.index("filter_chains:\n")], ""), ("body: x", "body: 1")],
            [
                "2:1: listeners: is required",
                "20:48: filter_chains[1].filters[0].body: should be a valid string",
            ],
            id="in a chain of a file without listeners",
        ),
    ],
)
def test_what_one_run_says(tmp_path: Path, changes: list[tuple[str, str]], expected: list[str]) -> None:
    text = GOOD
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    assert [line.replace(str(tmp_path), "PLACE") for line in found(text, tmp_path)] == expected


@given(st.lists(st.sampled_from(FAULTS), max_size=3, unique=True))
def test_what_is_mended_to_look_further_is_never_taken(faults: list[Fault]) -> None:
    text = planted(faults)
    value = document.read("f.yaml", text).value
    try:
        Gateway.model_validate(value, context=Surroundings())
        is_valid = True
    except ValidationError:
        is_valid = False
    loaded = load.understand("f.yaml", text, Surroundings())
    if is_valid:
        assert not loaded.left_out
    else:
        assert loaded.problems
