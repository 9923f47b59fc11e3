"""The OpenAI API over HTTP.

The order of a request: the faults that need no model (hang, error), the bearer, its place in the queue, the
first token, the rest. Whatever ends it (an answer, a fault, a client that left) passes through one `finally`,
where it is counted and logged, so the log accounts for every request.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from edge.simulator import answers, tokens
from edge.simulator.answers import Api, Generate, Refused, Stamp
from edge.simulator.bearer import Bearer
from edge.simulator.faults import Fault, Faults
from edge.simulator.load import Load
from edge.simulator.metrics import SimMetrics
from edge.simulator.pace import Pace
from edge.simulator.queue import Queue
from edge.simulator.seen import Seen, account
from edge.simulator.settings import Settings
from edge.simulator.writer import Answer, Spoiled, Writer
from grid.telemetry.metrics import CONTENT_TYPE

_MAX_BODY = 8 * 1024 * 1024
_UNPRINTABLE = re.compile(r"[^\x20-\x7e]")

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Api_Handler = Callable[[web.Request, Seen], Awaitable[web.StreamResponse]]


@dataclass(slots=True)
class Simulator:
    """now: a clock that never goes back, seconds; wall: unix seconds."""

    settings: Settings
    now: Callable[[], float]
    wall: Callable[[], float]
    faults: Faults = field(init=False)
    load: Load = field(init=False)
    queue: Queue = field(init=False)
    metrics: SimMetrics = field(init=False)
    pace: Pace = field(init=False)
    bearer: Bearer = field(init=False)

    def __post_init__(self) -> None:
        own = self.settings
        self.faults = Faults(own.seed)
        self.load = Load(own.running, own.waiting, own.kv_blocks, own.block_tokens)
        self.queue = Queue(self.load)
        self.metrics = SimMetrics(own, self.load)
        self.pace = Pace(own, self.faults, self.load, self.metrics, self.now)
        self.bearer = Bearer(own.bearer, Path(own.bearer_file) if own.bearer_file else None)

    def app(self) -> web.Application:
        app = web.Application(client_max_size=_MAX_BODY, middlewares=[self._shaped])
        app.router.add_post("/v1/chat/completions", self._api(lambda r, s: self._generate(r, s, "chat")))
        app.router.add_post("/v1/completions", self._api(lambda r, s: self._generate(r, s, "completion")))
        app.router.add_post("/v1/embeddings", self._api(self._embeddings))
        app.router.add_get("/v1/models", self._api(self._models))
        app.router.add_get("/health", self._health)
        app.router.add_get("/metrics", self._scrape)
        return app

    @web.middleware
    async def _shaped(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """A path or method that is not here is refused as the API refuses."""
        try:
            return await handler(request)
        except web.HTTPClientError as error:
            body = answers.error(
                error.status, f"{error.reason}: {request.path[:256]}", "invalid_request_error"
            )
            allow = {"Allow": error.headers["Allow"]} if "Allow" in error.headers else {}
            return _json(error.status, body, self._who(_request_id(request)) | allow)

    def take_over_faults(self) -> None:
        """Gives the queue the capacity the faults leave it now."""
        fault = self.faults.present("capacity", self.now())
        self.queue.resize(self.settings.running if fault is None else fault.running)

    async def _health(self, _: web.Request) -> web.StreamResponse:
        error = await self._everywhere()
        if error is not None or self.faults.present("unhealthy", self.now()):
            return _json(error.status if error else 503, b'{"status":"unhealthy"}', self._who("-"))
        return _json(200, b'{"status":"ok"}', self._who("-"))

    async def _scrape(self, _: web.Request) -> web.StreamResponse:
        error = await self._everywhere()
        if error is not None:
            return _json(error.status, b"{}", self._who("-"))
        return web.Response(body=self.metrics.metrics.scrape(), headers={"Content-Type": CONTENT_TYPE})

    async def _everywhere(self) -> Fault | None:
        """Meets the faults whose scope takes in health and metrics; gives back the error to answer with."""
        hang, error = self.faults.present("hang", self.now()), self.faults.present("error", self.now())
        if hang is not None and hang.scope == "all":
            await asyncio.Event().wait()
        return error if error is not None and error.scope == "all" else None

    def _api(self, handle: Api_Handler) -> Handler:
        async def serve(request: web.Request) -> web.StreamResponse:
            seen = Seen(_request_id(request), request.path, self.now())
            try:
                await self._early_faults(seen)
                if not self.bearer.allows(request.headers.get("Authorization", "")):
                    raise Refused(401, "a valid bearer token is required", "invalid_api_key")
                return await handle(request, seen)
            except Refused as refused:
                return self._refuse(refused, seen)
            except web.HTTPRequestEntityTooLarge:
                why = f"a body has at most {_MAX_BODY} bytes"
                return self._refuse(Refused(413, why, "invalid_request_error"), seen)
            except Spoiled:
                return web.Response()  # the connection is gone: this goes nowhere
            except (asyncio.CancelledError, ConnectionError):
                seen.outcome = seen.outcome if seen.fault else "gone"
                raise
            finally:
                account(seen, self.now() - seen.started, self.metrics, self.settings)

        return serve

    async def _early_faults(self, seen: Seen) -> None:
        if self.faults.meet("hang", seen.request_id, self.now()):
            seen.spoiled_by("hang", "hung")
            await asyncio.Event().wait()
        error = self.faults.meet("error", seen.request_id, self.now())
        if error is not None:
            seen.spoiled_by("error", "error")
            raise Refused(
                error.status, "a simulated failure", "simulated_error", retry_after=error.retry_after
            )

    def _refuse(self, refused: Refused, seen: Seen) -> web.StreamResponse:
        seen.status = refused.status
        seen.outcome = seen.outcome if seen.fault else "refused"
        body = answers.error(refused.status, refused.message, refused.code, refused.param)
        headers = self._who(seen.request_id)
        if refused.status in {429, 503}:
            headers["Retry-After"] = str(1 if refused.retry_after is None else refused.retry_after)
        return _json(refused.status, body, headers)

    async def _models(self, _: web.Request, seen: Seen) -> web.StreamResponse:
        listed = answers.models(self.settings.models, int(self.wall()), self.settings.provider)
        return _json(200, listed, self._who(seen.request_id))

    async def _embeddings(self, request: web.Request, seen: Seen) -> web.StreamResponse:
        asked = answers.read_embed(await request.read())
        self._check_model(asked.model, seen)
        texts = asked.texts()
        seen.tokens_in = sum(len(tokens.split(text)) for text in texts)
        async with self.queue.turn():
            await self.pace.first_token(seen, seen.tokens_in)
            seed = self.settings.seed
            vectors = [tokens.embed(seed, asked.model, text, asked.length) for text in texts]
        return _json(200, answers.embeddings(asked, vectors, seen.tokens_in), self._who(seen.request_id))

    async def _generate(self, request: web.Request, seen: Seen, api: Api) -> web.StreamResponse:
        asked = answers.read_generate(await request.read(), api)
        self._check_model(asked.model, seen)
        prompt = tokens.split(asked.whole(api))
        seen.tokens_in = len(prompt)
        text, finish = self._text(asked, api)
        self.take_over_faults()
        async with self.queue.turn() as number:
            self.metrics.queued.observe(self.now() - seen.started, asked.model)
            self.load.hold(number, len(prompt) + len(text))
            cached = self.load.look_up(tokens.blocks(prompt, self.settings.block_tokens))
            await self.pace.first_token(seen, len(prompt) - cached)
            stamp = Stamp(api, asked.model, self.settings.instance, number, int(self.wall()))
            writer = Writer(self.pace, self.faults, request, seen, self._who(seen.request_id))
            answer = Answer(stamp, text, finish, cached)
            return await (writer.stream(asked, answer) if asked.stream else writer.whole(answer))

    def _check_model(self, model: str, seen: Seen) -> None:
        if model not in self.settings.models:
            raise Refused(404, f"The model `{model[:256]}` does not exist.", "model_not_found", "model")
        seen.model = model

    def _text(self, asked: Generate, api: Api) -> tuple[list[str], str]:
        """Tokens of the answer and why it ends: `length` when the limit cut it."""
        if self.settings.mode == "echo":
            made = tokens.split(asked.question(api)) or ["."]
        else:
            made = tokens.invent(self.settings.seed, asked.model, asked.whole(api), self.settings.tokens)
        if asked.limit is not None and len(made) > asked.limit:
            return made[: asked.limit], "length"
        return made, "stop"

    def _who(self, request_id: str) -> dict[str, str]:
        return {
            "x-sim-provider": self.settings.provider,
            "x-sim-instance": self.settings.instance,
            "x-request-id": request_id,
        }


def _request_id(request: web.Request) -> str:
    """The id the request has on its whole way, else that of its last hop; printable and bounded; `-` when
    there is none."""
    given = request.headers.get("x-request-id") or request.headers.get("x-ai-provider-request-id") or "-"
    return _UNPRINTABLE.sub("?", given)[:128]


def _json(status: int, body: bytes, headers: dict[str, str]) -> web.Response:
    return web.Response(status=status, body=body, headers={**headers, "Content-Type": "application/json"})
