"""What one simulator is told at its start: who it is, where it listens, how fast and how large it is."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

Mode = Literal["echo", "random"]


@dataclass(frozen=True, slots=True)
class Settings:
    """provider, instance: who answers, in headers and log. pool: the `name` label of llm-d's metrics.

    models: names served, the first is the default of a bare lab. bearer_file: its content is the expected
    token, read again when it changes; bearer: the token itself; neither means that none is asked for.
    ttft_ms, itl_ms: time to the first token and between tokens on an idle server; prefill_us: more time to
    the first token for each prompt token that is not cached; jitter: the largest relative deviation from all
    of them, 0..1. load_factor: how many times slower everything is at full capacity. running, waiting:
    requests served at once, and queued behind them before 429. kv_blocks, block_tokens: size of the KV cache.
    tokens: length of an answer in random mode.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    admin_host: str = "127.0.0.1"
    admin_port: int = 8001
    provider: str = "sim"
    instance: str = "sim-0"
    pool: str = "sim"
    models: tuple[str, ...] = ("sim-model",)
    bearer: str | None = None
    bearer_file: str | None = None
    mode: Mode = "echo"
    seed: int = 0
    ttft_ms: float = 30.0
    itl_ms: float = 5.0
    prefill_us: float = 0.0
    jitter: float = 0.1
    load_factor: float = 1.0
    running: int = 8
    waiting: int = 64
    kv_blocks: int = 2048
    block_tokens: int = 16
    tokens: int = 32


_HELP = {
    "host": "address of the API",
    "port": "port of the API, 0 for any",
    "admin_host": "address of the fault switches",
    "admin_port": "port of the fault switches, 0 for any",
    "provider": "value of x-sim-provider",
    "instance": "value of x-sim-instance",
    "pool": "pool name in llm-d's metrics",
    "models": "models served, separated by commas",
    "bearer_file": "file that holds the expected bearer token",
    "mode": "where the text of an answer comes from: echo or random",
    "seed": "makes texts and times repeatable",
    "ttft_ms": "time to the first token, idle",
    "itl_ms": "time between tokens, idle",
    "prefill_us": "more time to the first token per uncached prompt token",
    "jitter": "largest relative deviation of times",
    "load_factor": "how many times slower at full capacity",
    "running": "requests served at once",
    "waiting": "requests queued before 429",
    "kv_blocks": "blocks of the KV cache",
    "block_tokens": "tokens in a block",
    "tokens": "length of an answer in random mode",
}
"""By field of Settings. The bearer itself is not here: in argv it would be on everybody's screen."""


_MOST_MS = 3_600_000
_BOUNDS: Mapping[str, tuple[float, float]] = {
    "port": (0, 65_535),
    "admin_port": (0, 65_535),
    "ttft_ms": (0, _MOST_MS),
    "itl_ms": (0, _MOST_MS),
    "prefill_us": (0, _MOST_MS * 1000),
    "jitter": (0, 1),
    "load_factor": (1, 1000),
    "running": (1, 1_000_000),
    "waiting": (0, 1_000_000),
    "kv_blocks": (1, 1_000_000_000),
    "block_tokens": (1, 1_000_000),
    "tokens": (1, 1_000_000),
}
"""Smallest and largest value, by field of Settings."""


def parse(argv: Sequence[str], environ: Mapping[str, str]) -> Settings:
    """Settings from flags, each with a variable behind it (`--ttft-ms`, `PRAXIS_SIM_TTFT_MS`).

    Addresses default to POD_IP, so that many simulators share one machine: the API to 0.0.0.0 without it, the
    fault switches to loopback. Exits with usage on anything it does not know, as argparse does.
    """
    pod = environ.get("POD_IP") or None
    base = replace(
        Settings(),
        host=pod or "0.0.0.0",  # noqa: S104  # a pod has its own network
        admin_host=pod or "127.0.0.1",
        instance=environ.get("HOSTNAME") or Settings().instance,
    )
    parser = argparse.ArgumentParser("praxis-sim", description="OpenAI-compatible inference simulator.")
    for name, text in _HELP.items():
        default = getattr(base, name)
        kind = type(default) if isinstance(default, int | float) else str
        shown = ",".join(default) if isinstance(default, tuple) else default
        chosen = _variable(environ, name, shown)
        choices = get_args(Mode) if name == "mode" else None
        parser.add_argument(
            f"--{name.replace('_', '-')}", default=chosen, type=kind, help=text, choices=choices
        )
    found = vars(parser.parse_args(argv))
    found["models"] = tuple(model.strip() for model in found["models"].split(",") if model.strip())
    if not found["models"]:
        parser.error("--models: name at least one model")
    if found["mode"] not in get_args(Mode):  # argparse does not look at defaults, which a variable is to it
        parser.error(f"--mode: {found['mode']!r} is none of {', '.join(get_args(Mode))}")
    for name, (least, most) in _BOUNDS.items():
        if not least <= found[name] <= most:
            parser.error(f"--{name.replace('_', '-')}: {found[name]} is not within {least}..{most}")
    return Settings(**found, bearer=environ.get("PRAXIS_SIM_BEARER") or None)


def _variable(environ: Mapping[str, str], name: str, otherwise: object) -> object:
    """A Service called praxis-sim puts PRAXIS_SIM_PORT=tcp://... into every pod beside it: that is not
    ours."""
    found = environ.get(f"PRAXIS_SIM_{name.upper()}")
    return otherwise if found is None or found.startswith(("tcp://", "udp://")) else found
