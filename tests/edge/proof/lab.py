"""Two provider gateways and an edge as real processes, by the grid-edge environment's own configurations.

    client ─TLS─► edge ─mTLS─► provider-east ─► sim-a, sim-b
                       └─mTLS─► provider-west ─► sim

Each program has an address of loopback to itself, so that ports are those of the configuration. The overlay is
the test's to write. Simulators are in the test's process, where it can stop them. What the edge decided is read
from its log, by request id.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import os
import random
import shutil
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from edge.simulator.process import Process
from forge.stack.template import render
from tests.kit import simulators
from tests.kit.certs import Authority, Leaf
from tests.kit.overlays import Json, candidate, current, put

ROOT = Path(__file__).parents[3]
CONFIGS = ROOT / "environments" / "grid-edge" / "configs"
KEY, TOKEN = "customer-key-of-the-proof", "provider-token-of-the-proof"
WITHIN_S = 60.0
MODEL = "shared-model"
EAST_A = candidate("provider-east", cluster="gateway-provider-east-a", rank=0)
EAST_B = candidate("provider-east", cluster="gateway-provider-east-b", rank=1)
WEST = candidate("provider-west", rank=2, selection_tier="cross_region")
ALL = (EAST_A, EAST_B, WEST)


def body(**more: object) -> dict[str, object]:
    return {"model": MODEL, "messages": [{"role": "user", "content": "count to three"}], **more}


def own_address() -> str:
    """An address of loopback that nobody else is likely to have."""
    return f"127.{random.randint(64, 126)}.{random.randint(1, 254)}.{random.randint(1, 254)}"


@dataclass
class Program:
    """One process, started and killed by hand. log: what it wrote."""

    name: str
    argv: Sequence[str]
    env: Mapping[str, str]
    folder: Path
    address: str
    process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        return self.folder / f"{self.name}.log"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    async def start(self) -> None:
        """Until its listeners are open."""
        self._spawn()
        async with httpx.AsyncClient(timeout=5) as client:
            await soon(lambda: self._answers(client), f"{self.name} answers")

    def _spawn(self) -> None:
        env = {"PATH": os.environ["PATH"], **self.env, "POD_IP": self.address}
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(self.argv, env=env, cwd=ROOT, stdout=out, stderr=out)

    async def _answers(self, client: httpx.AsyncClient) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.log.read_text()[-2000:]
        try:
            return (await client.get(f"http://{self.address}:9901/livez")).status_code == 200
        except httpx.TransportError:
            return False

    def kill(self) -> None:
        """At once, as a lost machine."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


async def soon(holds: Any, what: str) -> None:
    """Until the coroutine that *holds* makes says so."""
    deadline = time.monotonic() + WITHIN_S
    while not await holds():
        assert time.monotonic() < deadline, f"not in {WITHIN_S} s: {what}"
        await asyncio.sleep(0.01)


@dataclass(frozen=True)
class Answer:
    status: int
    request_id: str
    text: str


@dataclass
class Lab:
    """revision: of the last overlay written. sims: by name. client: the customer's; plain: for admin
    pages."""

    folder: Path
    grid: Authority
    edge: Program
    east: Program
    west: Program
    sims: dict[str, Process]
    public: ssl.SSLContext
    client: httpx.AsyncClient
    plain: httpx.AsyncClient
    revision: int = 0
    _count: itertools.count[int] = field(default_factory=itertools.count)

    @property
    def overlay(self) -> Path:
        return self.folder / "grid" / "grid-config.json"

    def publish(self, *candidates: Json, revision: int | None = None, **more: Any) -> int:
        """An overlay for the edge; its revision."""
        self.revision = self.revision + 1 if revision is None else revision
        put(self.overlay, current(candidates, self.revision, **more))
        return self.revision

    async def published(self, *candidates: Json, **more: Any) -> None:
        """The same, and the edge serves by it."""
        wanted = self.publish(*candidates, **more)

        async def serves() -> bool:
            serving = (await self.status())["serving"]
            return serving is not None and serving["revision"] == wanted

        await soon(serves, f"revision {wanted} serves")

    async def status(self) -> dict[str, Any]:
        return dict((await self.admin("/status")).json())

    async def admin(self, path: str, program: Program | None = None, method: str = "GET") -> httpx.Response:
        return await self.plain.request(method, f"http://{(program or self.edge).address}:9901{path}")

    async def down(self, sim: str) -> None:
        """Stops a simulator, as if its process had ended."""
        url = f"http://127.0.0.1:{self.sims[sim].admin_port}/faults/down"
        assert (await self.plain.put(url, json={})).status_code == 200

    def reconfigure(self, before: str, after: str) -> None:
        """Replaces a text of the edge's configuration and tells the edge."""
        file = Path(self.edge.argv[-1])
        text = file.read_text()
        assert before in text
        file.write_text(text.replace(before, after))
        os.kill(self.edge.pid, signal.SIGHUP)

    async def ask(
        self, session: str | None = None, fields: Mapping[str, str] | None = None, **more: Any
    ) -> Answer:
        """One request of the customer's, with an id of its own."""
        sent = {"Authorization": f"Bearer {KEY}", "X-Request-ID": f"r-{next(self._count)}", **(fields or {})}
        if session is not None:
            sent["X-Praxis-Session-ID"] = session
        reply = await self.client.post("/v1/chat/completions", headers=sent, json=body(**more))
        return Answer(reply.status_code, reply.headers.get("x-request-id", ""), reply.text)

    async def lines(self, *answers: Answer) -> list[dict[str, Any]]:
        """The edge's log line of each, in their order."""
        wanted = {answer.request_id for answer in answers}
        found: dict[str, dict[str, Any]] = {}

        async def there() -> bool:
            for line in logged(self.edge.log):
                if line.get("request_id") in wanted and line["log"] == "edge.access":
                    found[line["request_id"]] = line
            return len(found) == len(wanted)

        await soon(there, "the edge has logged every request")
        return [found[answer.request_id] for answer in answers]

    async def clusters(self, *answers: Answer) -> list[str]:
        """Where each went."""
        return [line["cluster"] for line in await self.lines(*answers)]


def logged(path: Path) -> list[dict[str, Any]]:
    """Whole lines of a log; the last may be in the making."""
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]


def rendered(folder: Path, east: str, west: str) -> Path:
    """The edge's configuration as Forge renders it, with its keys beside it."""
    values = {
        "captures": {"provider-east": {"gateway-ip": east}, "provider-west": {"gateway-ip": west}},
        "secrets": {"demo-api-key": {"sha256": hashlib.sha256(KEY.encode()).hexdigest()}},
    }
    folder.mkdir(parents=True, exist_ok=True)
    for source, target in (("praxis-edge.yaml", "praxis.yaml"), ("api-keys.json", "api-keys.json")):
        text = render((CONFIGS / source).read_text(), values, max_bytes=1 << 20)
        assert "{{" not in text
        (folder / target).write_text(text)
    return folder / "praxis.yaml"


def laid(folder: Path, authority: Authority, leaf: Leaf) -> Path:
    """A leaf as Forge lays it."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(authority.path, folder / "ca.crt")
    shutil.copy(leaf.certificate, folder / "tls.crt")
    shutil.copy(leaf.key, folder / "tls.key")
    return folder


def site_leaf(authority: Authority, site: str) -> Leaf:
    return authority.leaf(site, names=(f"{site}.grid.internal",), organizations=("praxis-grid",), file=site)


def _provider(folder: Path, grid: Authority, site: str, sims: Mapping[str, Process]) -> Program:
    env = {
        "CERTS_DIR": str(laid(folder / "certs" / site, grid, site_leaf(grid, site))),
        "CREDENTIALS_DIR": str(folder / "credentials"),
    }
    for name, sim in sims.items():
        env |= {f"{name}_SERVICE_HOST": "127.0.0.1", f"{name}_SERVICE_PORT": str(sim.port)}
    argv = [sys.executable, "-m", "edge", "-c", str(CONFIGS / "praxis-provider.yaml")]
    return Program(site, argv, env, folder, own_address())


def edge_environ(
    folder: Path, grid: Authority, site: str, address: str
) -> tuple[dict[str, str], ssl.SSLContext]:
    """Its variables with everything they lead to; and what a client trusts."""
    public = Authority(folder / "public-ca", "public-ca")
    shown = public.leaf("api.grid.test", names=(address,))
    (folder / "affinity").mkdir(exist_ok=True)
    (folder / "affinity" / "value").write_bytes(bytes(range(32)))
    env = {
        "GRID_DIR": str(folder / "grid"),
        "CERTS_DIR": str(laid(folder / "certs" / site, grid, site_leaf(grid, site))),
        "PUBLIC_DIR": str(laid(folder / "public", public, shown)),
        "AFFINITY_DIR": str(folder / "affinity"),
    }
    context = ssl.create_default_context(cafile=str(public.path))
    return env, context


@asynccontextmanager
async def lab(folder: Path, *candidates: Json, **sim: Any) -> AsyncIterator[Lab]:
    """Runs while the block does. candidates: of the first overlay. sim: settings of the simulators."""
    (folder / "public-ca").mkdir()
    (folder / "credentials").mkdir()
    (folder / "credentials" / "token").write_text(TOKEN)
    grid = Authority(folder, "grid-ca")
    settings = {"bearer": TOKEN, "models": (MODEL, "other-model"), "running": 256, "waiting": 4096, **sim}
    async with AsyncExitStack() as stack:
        sims = {
            name: await stack.enter_async_context(simulators.running(**settings))
            for name in ("sim-a", "sim-b", "sim")
        }
        east = _provider(folder, grid, "provider-east", {"SIM_A": sims["sim-a"], "SIM_B": sims["sim-b"]})
        west = _provider(folder, grid, "provider-west", {"SIM": sims["sim"]})
        address = own_address()
        env, public = edge_environ(folder, grid, "edge-us-east", address)
        file = rendered(folder / "edge" / "config", east.address, west.address)
        argv = [sys.executable, "-m", "edge", "-c", str(file)]
        edge = Program("edge-us-east", argv, env, folder, address)
        client = httpx.AsyncClient(base_url=f"https://{address}:8443", verify=public, timeout=60)
        plain = httpx.AsyncClient(timeout=60, verify=False)  # admin pages have no TLS
        await stack.enter_async_context(client)
        await stack.enter_async_context(plain)
        made = Lab(folder, grid, edge, east, west, sims, public, client, plain)
        made.publish(*(candidates or ALL))
        for program in (east, west, edge):
            stack.callback(program.kill)
        await asyncio.gather(*(program.start() for program in (east, west, edge)))
        yield made
