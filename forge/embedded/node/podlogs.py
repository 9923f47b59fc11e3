"""GET pods/NAME/log: what a container said, as a kubelet serves it.

A container's logs lie with its process, a line stamped and numbered by its run. Without `previous` the
present run is shown, and followed to its end; the reader is asked only when the client has taken what
was sent before, so a slow client costs nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from forge.embedded.api import exchange, status, table
from forge.embedded.api.exchange import Ask, Reply, Stream
from forge.embedded.api.resources import Resource
from forge.embedded.api.values import Event, Json, Record
from forge.embedded.api.watch import Watcher
from forge.embedded.node import containers, fields
from forge.embedded.node.objects import name_of, uid_of
from forge.embedded.process import follow
from forge.embedded.process.follow import Line, Reader
from forge.embedded.process.spec import Status
from forge.embedded.process.supervisor import Supervisor

_TURN_S = 0.05
"""Between two looks at a file that is followed."""

_FOLLOWED_S = 4 * 3600.0
_TRUE = ("true", "1", "True")


@dataclass(frozen=True, slots=True)
class Wanted:
    """tail: lines at most, from the end. since: Unix seconds. limit: bytes at most."""

    container: str
    previous: bool
    follow: bool
    timestamps: bool
    tail: int | None
    since: float | None
    limit: int | None


def wanted(query: dict[str, str], pod: Json, now: float) -> Wanted:
    """What a request asks for. Raises 400."""
    return Wanted(
        _container(pod, query.get("container", "")),
        query.get("previous") in _TRUE,
        query.get("follow") in _TRUE,
        query.get("timestamps") in _TRUE,
        _number(query, "tailLines"),
        _since(query, now),
        _number(query, "limitBytes"),
    )


def _container(pod: Json, name: str) -> str:
    mine = [c["name"] for c in fields.containers(pod)]
    if name:
        if name in mine:
            return name
        raise status.bad_request(f"container {name} is not valid for pod {name_of(pod)}")
    main = [c["name"] for c in pod["spec"]["containers"]]
    if len(main) == 1:
        return str(main[0])
    initial = [c["name"] for c in pod["spec"].get("initContainers") or []]
    said = f"a container name must be specified for pod {name_of(pod)}, choose one of: [{' '.join(main)}]"
    if initial:
        said += f" or one of the init containers: [{' '.join(initial)}]"
    raise status.bad_request(said)


def _number(query: dict[str, str], name: str) -> int | None:
    text = query.get(name)
    if text is None:
        return None
    if not text.isdigit():
        raise status.bad_request(f"{name} must be a number that is not negative")
    return int(text)


def _since(query: dict[str, str], now: float) -> float | None:
    seconds = _number(query, "sinceSeconds")
    if seconds is not None:
        return now - seconds
    text = query.get("sinceTime")
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError as error:
        raise status.bad_request(f"sinceTime: {error}") from error


def line_bytes(line: Line, *, timestamps: bool) -> bytes:
    text = line.text + "\n"
    if timestamps:
        at = datetime.fromtimestamp(line.at, UTC)
        text = f"{at:%Y-%m-%dT%H:%M:%S.%f}000Z {text}"
    return text.encode()


@dataclass(frozen=True, slots=True)
class PodLogs:
    """Serves the logs of the supervisor's processes."""

    supervisor: Supervisor

    def __call__(self, ask: Ask, resource: Resource, record: Record, now: float) -> Reply | Stream:
        """Raises 400 for a container that is none, or that has nothing to show."""
        pod = record.object
        asked = wanted(dict(ask.query), pod, now)
        process = f"{uid_of(pod)}.{asked.container}"
        found = self.supervisor.status(process)
        folder = self.supervisor.log_folder(process)
        if found is None or folder is None or not found.run:
            raise status.bad_request(_waiting(pod, asked.container))
        # One that waits to be started again shows the run that ended either way.
        run = found.run - 1 if asked.previous and not _is_waiting(pod, asked.container) else found.run
        if run < 1:
            said = f'previous terminated container "{asked.container}" in pod "{name_of(pod)}" not found'
            raise status.bad_request(said)
        if asked.follow and not asked.previous:
            reader = Reader(folder, asked.tail)
            follower = Follower(reader, self.supervisor, found, asked)
            return Stream(
                follower, resource, record.key.namespace, _FOLLOWED_S, bookmarks=False, media=exchange.TEXT
            )
        lines = follow.read(folder, tail=asked.tail, since=asked.since, run=run)
        body = b"".join(line_bytes(line, timestamps=asked.timestamps) for line in lines)
        return Reply(body[: asked.limit] if asked.limit is not None else body, media=exchange.TEXT)


def _state(pod: Json, container: str) -> Json:
    found = pod.get("status") or {}
    entries = [*(found.get("initContainerStatuses") or []), *(found.get("containerStatuses") or [])]
    state: Json = next((e["state"] for e in entries if e["name"] == container), {})
    return state


def _is_waiting(pod: Json, container: str) -> bool:
    return "waiting" in _state(pod, container)


def _waiting(pod: Json, container: str) -> str:
    reason = (_state(pod, container).get("waiting") or {}).get("reason") or "ContainerCreating"
    why = {"ImagePullBackOff": "trying and failing to pull image"}.get(reason, reason)
    return f'container "{container}" in pod "{name_of(pod)}" is waiting to start: {why}'


class Follower(Watcher):
    """A stream of one run's lines, in the place of a watch's frames."""

    def __init__(self, reader: Reader, supervisor: Supervisor, of: Status, asked: Wanted) -> None:
        super().__init__(table.PlainShape("log"), None)
        self._reader = reader
        self._supervisor = supervisor
        self._of = of
        self._asked = asked
        self._sent = 0

    def offer(self, event: Event) -> None:
        """Nothing: it hears of no objects."""

    async def take(self) -> bytes:
        """The next lines; empty when the run has ended and all of it was given."""
        while not self.closed:
            over = self._is_over()  # asked first, so that what was said before is still read
            said = b"".join(line_bytes(x, timestamps=self._asked.timestamps) for x in self._lines())
            self.closed = over
            if said:
                return self._bounded(said)
            if not over:
                await asyncio.sleep(_TURN_S)
        return b""

    def _bounded(self, said: bytes) -> bytes:
        limit = self._asked.limit
        if limit is not None and self._sent + len(said) >= limit:
            said, self.closed = said[: limit - self._sent], True
        self._sent += len(said)
        return said

    def _lines(self) -> Iterator[Line]:
        for line in self._reader.available():
            since = self._asked.since
            if line.run == self._of.run and (since is None or line.at >= since):
                yield line

    def _is_over(self) -> bool:
        now = self._supervisor.status(self._of.name)
        gone = now is None or now.id != self._of.id or now.run != self._of.run
        return gone or not containers.is_running(now)
