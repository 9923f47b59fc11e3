"""One cluster's API asked with patience: answers, or errors that name cluster, verb and object."""

from __future__ import annotations

import threading
from typing import Any

from forge.errors import Interrupted
from forge.host.kube import discovery, faults
from forge.host.kube.names import BUILTIN, ApiResource, Index
from forge.host.kube.patience import Patience, may_pass
from forge.host.kube.transport import JSON, Reply, Request, Stopped, Transport, Unreached

MANAGER = "praxis-forge"
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
METADATA_LIST = METADATA.replace("Metadata;", "MetadataList;", 1)
SINGLY = 3
"""Up to so many objects of a kind are read one by one; more are listed."""
PAGE = 500
LOOK_S = 3.0
"""Seconds a read is tried again: whoever looks looks again anyway."""


class Exchange:
    """name: the cluster's in forge.yaml, for errors. Knows what is served: from the start the built-in
    kinds, once something else is asked for all of them."""

    def __init__(self, name: str, transport: Transport) -> None:
        self.name = name
        self._transport = transport
        self._index: Index | None = None
        self._indexed: object = None
        self._lock = threading.Lock()

    def ask(self, request: Request, what: str, patience: Patience | None = None) -> Reply:
        """The answer, tried again while it may pass: OK, or a refusal. what: `apply Deployment shop/web`,
        for errors. Raises FG0730 when there is none, FG0755 for 401 and 403, Interrupted."""
        patience = patience or Patience(LOOK_S)
        attempt, renewed = 0, False
        while True:
            attempt += 1
            to = self._transport.to
            try:
                reply = self._transport.ask(request, patience.cancel)
            except Stopped:
                raise self.stopped(what) from None
            except Unreached as error:
                if not patience.pause(attempt):
                    raise self._given_up(what, patience, str(error)) from None
                continue
            if reply.is_ok:
                patience.went_well()
                return reply
            if reply.status == 401 and not renewed and self._transport.renewed(to):
                renewed = True
                continue
            if not may_pass(reply):
                if reply.status == 401 or (reply.status == 403 and "admission" not in reply.words):
                    raise faults.denied(self.name, what, reply.words)
                return reply
            if not patience.pause(attempt, reply.retry_after):
                if patience.is_cancelled:
                    raise self.stopped(what)
                return reply

    def _given_up(self, what: str, patience: Patience, why: str) -> Exception:
        return self.stopped(what) if patience.is_cancelled else faults.unreachable(self.name, why)

    def stopped(self, what: str) -> Interrupted:
        return Interrupted("FG0757", f"{what} in cluster {self.name} was stopped", signal_number=2)

    def json(self, request: Request, what: str, patience: Patience | None = None) -> dict[str, Any] | None:
        """The answer's object; None for 404. Raises what `ask` does, and FG0735 for any other refusal."""
        reply = self.ask(request, what, patience)
        if reply.status == 404:
            return None
        if not reply.is_ok:
            raise self.refused(reply, what)
        try:
            return reply.json()
        except Unreached as error:
            raise faults.unreachable(self.name, str(error)) from None

    def list(
        self,
        path: str,
        query: dict[str, str],
        what: str,
        accept: str = JSON,
        patience: Patience | None = None,
    ) -> list[Any]:
        """All items, read page by page. A path that is not served has none."""
        items: list[Any] = []
        query = {**query, "limit": str(PAGE)}
        while True:
            page = self.json(Request("GET", path, query, accept=accept), what, patience) or {}
            items += page.get("items") or ()
            more = (page.get("metadata") or {}).get("continue")
            if not more:
                return items
            query = {**query, "continue": more}

    def refused(self, reply: Reply, what: str, where: str = "") -> Exception:
        verb, _, thing = what.partition(" ")
        return faults.refused(verb, thing, reply.words, where=where, may_pass=may_pass(reply))

    def stream(self, request: Request, patience: Patience) -> Any:
        """See Transport.stream."""
        return self._transport.stream(request, patience.cancel)

    def index(self, *, fresh: bool = False) -> Index:
        """Everything served. fresh: as it is now, not as it was."""
        with self._lock:
            if self._known is None or fresh:
                self._index = discovery.discover(self._discovering)
                self._indexed = self._transport.to
            return self._index or Index(())

    @property
    def _known(self) -> Index | None:
        """What is known of this very server; None when it is another one than before."""
        return self._index if self._indexed is self._transport.to else None

    def _discovering(self, request: Request) -> Reply:
        return self.ask(request, "read what it serves")

    def kind(self, api_version: str, kind: str, *, again: bool = True) -> ApiResource | None:
        """The resource of a kind; None where nothing serves it. again: looks once more before it says so."""
        found = BUILTIN.kind(api_version, kind) or (self._known and self._known.kind(api_version, kind))
        if found is None and again:
            found = self.index(fresh=True).kind(api_version, kind)
        return found or None

    def named(self, word: str) -> ApiResource | None:
        """The resource a user's word means; None where nothing serves it."""
        found = BUILTIN.named(word) or (self._known and self._known.named(word))
        return found or self.index(fresh=True).named(word)
