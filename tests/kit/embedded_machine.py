"""The embedded API as a value: no network, no process, a clock that stands still until it is moved."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec

from forge.embedded.api import bootstrap, kinds
from forge.embedded.api.authn import TokenReader
from forge.embedded.api.cluster import SYSTEM, Cluster, User
from forge.embedded.api.exchange import Ask, Reply, Stream
from forge.embedded.api.journal import Journal
from forge.embedded.api.paths import parse
from forge.embedded.api.rbac import Authorizer
from forge.embedded.api.reviews import Judges
from forge.embedded.api.service import Service
from forge.embedded.api.store import Store
from forge.embedded.api.tokens import Signer
from forge.embedded.api.values import Json

MAPS = "/api/v1/namespaces/default/configmaps"
MERGE = "application/merge-patch+json"
# One key for all: no test is about its secrecy.
_SIGNER = Signer(ec.generate_private_key(ec.SECP256R1()))
kinds.load()


class Machine:
    """Everything but the network, on a file that survives a restart. now: set it to move the clock."""

    def __init__(self, path: Path, retained: int = 10_000) -> None:
        self._path = path
        self._retained = retained
        self.now = datetime(2030, 1, 1, tzinfo=UTC)
        self._start()

    def _start(self) -> None:
        self.journal = Journal(self._path)
        store = Store(self.journal, self._retained)
        self.cluster = Cluster(store, clock=lambda: self.now, seed=random.Random(1))
        judges = Judges(Authorizer(store), TokenReader(self.cluster, _SIGNER), _SIGNER)
        self.service = Service(self.cluster, judges)
        self._controllers = kinds.controllers(self.cluster, judges)
        bootstrap.ensure(self.cluster)

    def restart(self) -> None:
        self.journal.close()
        self._start()

    def settle(self) -> None:
        """Lets every controller act until none changes anything any more."""
        version = -1
        while version != self.cluster.store.version:
            version = self.cluster.store.version
            for controller in self._controllers:
                controller.step()

    def pass_time(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        /,
        *,
        user: User = SYSTEM,
        query: Mapping[str, str] | None = None,
    ) -> Reply | Stream:
        headers = {"Content-Type": MERGE if method == "PATCH" else "application/json", "User-Agent": "test/1"}
        raw = json.dumps(body).encode() if body is not None else b""
        return self.service.answer(Ask(method, parse(method, path), query or {}, headers, user, raw))

    def call(self, method: str, path: str, body: Any = None, /, **more: Any) -> tuple[int, Json]:
        """(code, document) of an answer that is no stream."""
        reply = self.ask(method, path, body, **more)
        assert isinstance(reply, Reply)
        return reply.code, json.loads(reply.body or b"null")

    def made(self, path: str, body: Any, /) -> Json:
        """The object that a POST made."""
        code, document = self.call("POST", path, body)
        assert code == 201, document
        return document

    def there(self, path: str) -> bool:
        return self.call("GET", path)[0] == 200

    def objects(self, **query: str) -> tuple[dict[str, Json], str]:
        """(ConfigMaps of the default namespace by name, the version of the list)."""
        page = self.call("GET", MAPS, query=query)[1]
        return {i["metadata"]["name"]: i for i in page["items"]}, page["metadata"]["resourceVersion"]
