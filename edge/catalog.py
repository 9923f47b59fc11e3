"""FILTERS: every filter by the name it has in a configuration; and a configuration's chains made of them.

There is no discovery: what can stand in a chain is what stands here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from edge.chain import Chain, Exchange, Filter, Reply, Step
from edge.config.conditions import compile_reply, compile_request
from edge.config.load import Loaded
from edge.config.model import ClientCertMode, FilterEntry, Listener
from edge.config.problems import ConfigRejected, Path, Problem, did_you_mean
from edge.config.validate import understand
from edge.filters.access_log import AccessLog
from edge.filters.api_key_auth import ApiKeyAuth
from edge.filters.body_limit import BodyLimit
from edge.filters.circuit_breaker import CircuitBreaker
from edge.filters.concurrency_limit import ConcurrencyLimit
from edge.filters.credential_inject import CredentialInject
from edge.filters.door import Door
from edge.filters.forwarded_headers import ForwardedHeaders
from edge.filters.grid_route.filter import GridRoute
from edge.filters.headers import Headers
from edge.filters.ip_acl import IpAcl
from edge.filters.json_body_field import JsonBodyField
from edge.filters.load_balancer import LoadBalancer
from edge.filters.model_authorization import ModelAuthorization
from edge.filters.observe import Observe
from edge.filters.peer_identity_trust import PeerIdentityTrust
from edge.filters.provider_route import ProviderRoute
from edge.filters.rate_limit import RateLimit
from edge.filters.request_id import RequestId
from edge.filters.router import Router
from edge.filters.static_response import StaticResponse
from edge.filters.timeout import Timeout
from edge.order import Gap, check_order
from edge.setup import FilterType, Setup, Unusable

FILTERS: Mapping[str, FilterType] = {
    "access_log": AccessLog,
    "api_key_auth": ApiKeyAuth,
    "body_limit": BodyLimit,
    "circuit_breaker": CircuitBreaker,
    "concurrency_limit": ConcurrencyLimit,
    "credential_inject": CredentialInject,
    "forwarded_headers": ForwardedHeaders,
    "grid_route": GridRoute,
    "headers": Headers,
    "intelligent_route": GridRoute,
    "ip_acl": IpAcl,
    "json_body_field": JsonBodyField,
    "load_balancer": LoadBalancer,
    "model_authorization": ModelAuthorization,
    "peer_identity_trust": PeerIdentityTrust,
    "provider_route": ProviderRoute,
    "rate_limit": RateLimit,
    "request_id": RequestId,
    "router": Router,
    "static_response": StaticResponse,
    "timeout": Timeout,
}

_COMMON = ("filter", "name", "conditions", "response_conditions", "failure_mode")


@dataclass(frozen=True, slots=True)
class Placed:
    """A step and where its entry stands in the file."""

    step: Step
    path: Path


def build_chains(loaded: Loaded, setup: Setup) -> dict[str, Chain]:
    """listener name -> its chain. Raises ConfigRejected with every problem of every filter and of every
    order."""
    problems: list[Problem] = []
    placed: dict[str, list[Placed]] = {}
    for index, chain in enumerate(loaded.gateway.filter_chains):
        placed[chain.name] = []
        seen: Counter[str] = Counter()
        for at, entry in enumerate(chain.filters):
            path: Path = ("filter_chains", index, "filters", at)
            own = replace(setup, place=f"{chain.name}/{_identity(entry, seen)}")
            step = _step(entry, path, loaded, own, problems)
            placed[chain.name].append(Placed(step, path))
    problems += _orders(loaded, placed)
    problems += _routes(loaded, placed, setup)
    if problems:
        raise ConfigRejected(problems)
    return {
        listener.name: _chain(listener, [p.step for p in _of(listener, placed)], setup)
        for listener in loaded.gateway.listeners
    }


def _identity(entry: FilterEntry, seen: Counter[str]) -> str:
    """Who a filter is over reloads: its name, or the how-manieth of its type it is in the chain.

    Its position would not do: a filter put before a limiter must not empty the limiter's buckets.
    """
    seen[entry.filter] += 1
    return entry.name or f"{entry.filter}#{seen[entry.filter]}"


def _step(entry: FilterEntry, path: Path, loaded: Loaded, setup: Setup, problems: list[Problem]) -> Step:
    """A Gap where the filter cannot be built; why is added to *problems*."""
    document = loaded.document
    made = _filter(entry, path, loaded, setup, problems)
    reply_test = compile_reply(entry.response_conditions)
    if reply_test is not None:
        if hasattr(made, "on_reply"):
            made = ReplyOnly(made, reply_test)
        elif not isinstance(made, Gap):
            at = (*path, "response_conditions")
            problems.append(document.problem(at, f"{entry.filter} does nothing to answers"))
    applies = _applies(entry)
    if not loaded.is_whole((*path, "conditions")):
        applies = applies or (lambda _: True)  # on what cannot be told, but on a condition
    return Step(entry.filter, made, applies, entry.failure_mode == "open")


def _filter(entry: FilterEntry, path: Path, loaded: Loaded, setup: Setup, problems: list[Problem]) -> Filter:
    kind = FILTERS.get(entry.filter)
    if kind is None:
        why = f"the filter {entry.filter!r} is not supported{did_you_mean(entry.filter, FILTERS)}"
        problems.append(loaded.document.problem((*path, "filter"), why))
        return Gap()
    read = understand(kind.config, entry.options, loaded.document, loaded.surroundings, path, _COMMON)
    problems += read.problems
    if read.model is None:
        return Gap(kind)
    try:
        made = kind.build(read.model, setup)
    except Unusable as unusable:
        at = (*path, *unusable.path)
        here = read.document.origin(at)
        if not any(out[: len(here)] == here for out in read.left_out):
            problems.append(read.document.problem(at, unusable.why))
        return Gap(kind)
    return Gap(kind) if read.left_out and "traits" not in vars(kind) else made


def _applies(entry: FilterEntry) -> Callable[[Exchange], bool] | None:
    test = compile_request(entry.conditions)
    if test is None:
        return None
    return lambda exchange: test(exchange.request.method, exchange.request.path, exchange.request.fields)


class ReplyOnly:
    """A filter whose work on answers depends on the answer; its other phases run as they are."""

    def __init__(self, filter_: Filter, test: Callable[[int, Callable[[bytes], bytes | None]], bool]) -> None:
        self.traits = filter_.traits
        for phase in ("on_head", "on_body", "on_end"):
            if hasattr(filter_, phase):
                setattr(self, phase, getattr(filter_, phase))
        on_reply = getattr(filter_, "on_reply", None)
        if on_reply is not None:

            def when(exchange: Exchange, reply: Reply) -> None:
                if test(reply.status, reply.get):
                    on_reply(exchange, reply)

            self.on_reply = when


def _chain(listener: Listener, steps: list[Step], setup: Setup) -> Chain:
    """The listener's own steps round the configured ones: what is counted first is what is counted last."""
    for_peers = bool(steps) and steps[0].name == "peer_identity_trust"
    own = [
        Step("observe", Observe(listener.name, setup.metrics)),
        Step("door", Door(for_peers)),
    ]
    return Chain([*own, *steps])


def _of(listener: Listener, placed: Mapping[str, list[Placed]]) -> list[Placed]:
    return [step for name in listener.filter_chains for step in placed.get(name, ())]


def _orders(loaded: Loaded, placed: Mapping[str, list[Placed]]) -> Iterator[Problem]:
    """What cannot work in each listener's sequence, at the entry it is about."""
    whole = {
        chain.name
        for index, chain in enumerate(loaded.gateway.filter_chains)
        if loaded.is_whole(("filter_chains", index), depth=2)  # none of its filters is missing
    }
    for index, listener in enumerate(loaded.gateway.listeners):
        here: Path = ("listeners", index)
        if not whole.issuperset(listener.filter_chains) or not loaded.is_whole((*here, "filter_chains")):
            continue
        steps = _of(listener, placed)
        mode: ClientCertMode = listener.tls.client_cert_mode if listener.tls else "none"
        if not loaded.is_whole((*here, "tls")):
            mode = "require"  # what it is cannot be told
        for problem in check_order([p.step for p in steps], mode):
            yield loaded.document.problem(steps[problem.at].path, f"{problem.why} (listener {listener.name})")


def _routes(loaded: Loaded, placed: Mapping[str, list[Placed]], setup: Setup) -> Iterator[Problem]:
    """A route to a cluster nobody defined."""
    for steps in placed.values():
        for at in steps:
            if not isinstance(at.step.filter, Router):
                continue
            for name in dict.fromkeys(at.step.filter.clusters):
                if name in setup.clusters:
                    continue
                why = f"no cluster {name!r}{did_you_mean(name, setup.clusters)}"
                for path in _naming(name, at, loaded):
                    yield loaded.document.problem(path, why)


def _naming(cluster: str, router: Placed, loaded: Loaded) -> list[Path]:
    """Where *router* names *cluster*."""
    _, chain, _, at = router.path
    routes = loaded.gateway.filter_chains[int(chain)].filters[int(at)].options.get("routes")
    named = [
        (*router.path, "routes", index, "cluster")
        for index, route in enumerate(routes if isinstance(routes, list) else ())
        if isinstance(route, dict) and route.get("cluster") == cluster
    ]
    return named or [(*router.path, "routes")]
