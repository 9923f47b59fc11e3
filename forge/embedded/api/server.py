"""The network side: aiohttp over TLS on one port, each request handed to the service as a value.

The low-level aiohttp server is used, without its router: every path is parsed once by `paths` and the
parse is kept, which is half of what a GET costs otherwise.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl
from weakref import WeakKeyDictionary

from aiohttp import HttpVersion11, web
from aiohttp.http_exceptions import HttpProcessingError

from forge.embedded.api import authn, bodies, exchange, opening, paths, status
from forge.embedded.api.cluster import User
from forge.embedded.api.exchange import Ask, Reply, Stream
from forge.embedded.api.service import Service
from forge.embedded.api.watch import Sink

log = logging.getLogger(__name__)
http_log = logging.getLogger("forge.embedded.http")
_BOOKMARK_S = 60.0
# A version that has not been reached yet is waited for this long, as the real cache does.
_FUTURE_WAIT_S = 3.0


@lru_cache(maxsize=4096)
def _query(text: str) -> Mapping[str, str]:
    """Names and values, kept even when empty; the last one of a name wins."""
    return dict(parse_qsl(text, keep_blank_values=True))


class Server:
    """Serves one Service until it is closed."""

    def __init__(self, service: Service, host: str, port: int, context: ssl.SSLContext | None) -> None:
        self._service = service
        self._host = host
        self._port = port
        self._context = context
        self._runner: web.ServerRunner | None = None
        self._users: WeakKeyDictionary[Any, User | None] = WeakKeyDictionary()

    async def start(self) -> tuple[str, int]:
        """Listens; answers the address, with the port that was chosen for 0."""
        http_log.addFilter(_is_ours)
        server = web.Server(
            self._handle, access_log=None, logger=http_log, max_line_size=65536, max_field_size=65536
        )
        self._runner = web.ServerRunner(server, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host, self._port, ssl_context=self._context, backlog=1024)
        await site.start()
        chosen_host, chosen_port, *_ = self._runner.addresses[0]
        return str(chosen_host), int(chosen_port)

    async def close(self) -> None:
        """Ends open watches, then the listener."""
        self._service.cluster.hub.close()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            answer = await self._answer(request)
        except status.ApiError as error:
            answer = exchange.refusal(error, request.headers.get("Accept", ""))
        except (ConnectionResetError, asyncio.CancelledError):
            raise
        except Exception:
            log.exception("request failed")
            fault = status.internal("Internal error occurred: see the server's log")
            answer = exchange.refusal(fault, request.headers.get("Accept", ""))
        if isinstance(answer, Reply):
            return _response(answer)
        return await self._stream(request, answer)

    async def _answer(self, request: web.BaseRequest) -> Reply | Stream:
        raw_path, _, raw_query = request.raw_path.partition("?")
        target = paths.parse(request.method, raw_path)
        headers = request.headers
        groups = headers.getall("Impersonate-Group", []) if "Impersonate-Group" in headers else []
        user = self._service.user(self._certificate_user(request), headers, groups, target.path)
        body = await _body(request)
        ask = Ask(request.method, target, _query(raw_query), headers, user, body)
        await self._await_version(ask)
        return self._service.answer(ask)

    def _certificate_user(self, request: web.BaseRequest) -> User | None:
        """The user of the connection's client certificate, read once a connection."""
        tls = request.get_extra_info("ssl_object")
        if tls is None:
            return None
        if tls in self._users:
            return self._users[tls]
        subject = tls.getpeercert()
        user = None
        if subject:
            user = authn.by_certificate(subject["subject"], tls.getpeercert(binary_form=True))
        self._users[tls] = user
        return user

    async def _await_version(self, ask: Ask) -> None:
        """Waits a little for a version that is still to come. Raises 504."""
        value = ask.query.get("resourceVersion", "")
        store = self._service.cluster.store
        if not value.isdigit() or int(value) <= store.version or ask.target.verb not in ("get", "list"):
            return
        if ask.query.get("watch") or ask.query.get("resourceVersionMatch") == "Exact":
            return
        end = time.monotonic() + _FUTURE_WAIT_S
        while time.monotonic() < end and int(value) > store.version:  # noqa: ASYNC110 - rare; a bell would cost every write
            await asyncio.sleep(0.05)
        if int(value) > store.version:
            raise status.version_too_large(int(value), store.version)

    async def _stream(self, request: web.BaseRequest, stream: Stream) -> web.StreamResponse:
        hub, resource = self._service.cluster.hub, stream.resource
        response = web.StreamResponse(
            headers={"Content-Type": stream.media, "Cache-Control": "no-cache, private"}
        )
        for warning in stream.warnings:
            response.headers.add("Warning", _warning(warning))
        try:
            if request.version >= HttpVersion11:
                response.enable_chunked_encoding()
            await response.prepare(request)
            if response.chunked:
                stream.watcher.sink = _sink(request)
            await self._pump(request, response, stream)
            await response.write_eof()
        except ConnectionError:
            log.debug("watch left", extra={"resource": resource.storage})
        finally:
            hub.remove(resource.storage, stream.namespace, stream.watcher)
        return response

    async def _pump(self, request: web.BaseRequest, response: web.StreamResponse, stream: Stream) -> None:
        watcher = stream.watcher
        end = time.monotonic() + stream.timeout_s
        while True:
            wait_s = min(end - time.monotonic(), _BOOKMARK_S)
            if wait_s <= 0:
                return
            try:
                async with asyncio.timeout(wait_s):
                    frames = await watcher.take()
            except TimeoutError:
                if request.transport is None or request.transport.is_closing():
                    # Nothing was written that would have shown that the client left.
                    return
                if stream.bookmarks:
                    await response.write(
                        opening.bookmark(stream.resource, self._service.cluster.store.version)
                    )
                continue
            if frames:
                await response.write(frames)
            elif watcher.dropped:
                await response.write(opening.dropped())
                return
            elif watcher.closed:
                return


def _is_ours(record: logging.LogRecord) -> bool:
    """A request that is no HTTP has its answer; it is no fault of this process, to be told with a trace."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, HttpProcessingError)


async def _body(request: web.BaseRequest) -> bytes:
    """The body, whole. Raises 413 beyond the limit, before it is read where it is declared."""
    if not request.body_exists:
        return b""
    if request.content_length is not None and request.content_length > bodies.MAX_BYTES:
        raise status.too_large()
    parts, size = [], 0
    async for chunk in request.content.iter_any():
        size += len(chunk)
        if size > bodies.MAX_BYTES:
            raise status.too_large()
        parts.append(chunk)
    return b"".join(parts)


def _sink(request: web.BaseRequest) -> Sink:
    """Writes chunks past the response, whose own way to the wire is a task's; False under backpressure."""
    protocol = request.protocol

    def write(frame: bytes) -> bool:
        transport = protocol.transport
        if transport is None or transport.is_closing() or protocol.writing_paused:
            return False
        transport.write(b"%x\r\n%b\r\n" % (len(frame), frame))
        return True

    return write


def _response(reply: Reply) -> web.Response:
    response = web.Response(body=reply.body, status=reply.code)
    headers = response.headers
    if reply.media:
        headers["Content-Type"] = reply.media
    elif "Content-Type" in headers:
        del headers["Content-Type"]
    headers["Cache-Control"] = "no-cache, private"
    for name, value in reply.headers.items():
        headers[name] = value
    for warning in dict.fromkeys(reply.warnings):
        headers.add("Warning", _warning(warning))
    return response


def _warning(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'299 - "{escaped}"'
