"""Writes one answer, whole or token by token, and spoils it in the middle where a fault says so."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from aiohttp import web

from edge.simulator import answers
from edge.simulator.answers import Generate, Stamp
from edge.simulator.faults import Fault, Faults
from edge.simulator.pace import Pace
from edge.simulator.seen import Seen


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to write: its tokens, why it ends, and how many prompt tokens were cached."""

    stamp: Stamp
    tokens: list[str]
    finish: str
    cached: int


class Spoiled(Exception):
    """The connection was broken on purpose; nothing more can be written to it."""


@dataclass(frozen=True, slots=True)
class Writer:
    pace: Pace
    faults: Faults
    request: web.Request
    seen: Seen
    headers: dict[str, str]

    async def whole(self, answer: Answer) -> web.StreamResponse:
        """One JSON body after all tokens' time has passed. Raises Spoiled."""
        await self.pace.next_tokens(self.seen, 1, len(answer.tokens) - 1)
        self.seen.tokens_out = len(answer.tokens)
        body = answers.complete(answer.stamp, "".join(answer.tokens), answer.finish, self._usage(answer))
        headers = {**self.headers, "Content-Type": "application/json"}
        if self._meets("reset") is None:
            return web.Response(body=body, headers=headers)
        broken = web.StreamResponse(headers=headers)
        broken.content_length = len(body)
        await broken.prepare(self.request)
        await broken.write(body[: len(body) // 2])
        raise self._reset()

    async def stream(self, asked: Generate, answer: Answer) -> web.StreamResponse:
        """Server-sent events, one a token. Raises Spoiled, and ConnectionError when the client has left."""
        reset, malformed = self._meets("reset"), self._meets("malformed")
        response = web.StreamResponse(headers=self.headers)
        response.headers.update({"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        response.enable_chunked_encoding()
        await response.prepare(self.request)
        usage_asked = asked.usage_asked
        for index, token in enumerate(answer.tokens):
            if reset is not None and index == reset.after:
                raise self._reset()
            if malformed is not None and index == malformed.after:
                await self._malform(response, malformed)
            if index:
                await self.pace.next_tokens(self.seen, index)
            first = index == 0
            await response.write(answers.chunk(answer.stamp, token, first=first, usage_asked=usage_asked))
            self.seen.tokens_out = index + 1
        if reset is not None:
            raise self._reset()
        await response.write(answers.chunk(answer.stamp, None, answer.finish, usage_asked=usage_asked))
        if usage_asked:
            await response.write(answers.usage_chunk(answer.stamp, self._usage(answer)))
        await response.write(answers.DONE)
        await response.write_eof()
        return response

    def _meets(self, kind: str) -> Fault | None:
        fault = self.faults.meet(
            "reset" if kind == "reset" else "malformed", self.seen.request_id, self.pace.now()
        )
        if fault is not None:
            self.seen.spoiled_by(kind, kind)
        return fault

    async def _malform(self, response: web.StreamResponse, fault: Fault) -> None:
        """Writes the broken piece; after broken JSON the stream goes on, after broken framing it cannot."""
        if fault.form == "json":
            await response.write(b'data: {"id": "broken", "choices": [{"delta": {"con\n\n')
            return
        transport = self.request.transport
        if transport is not None:
            transport.write(b"zz\r\nnot a chunk size\r\n")
            await asyncio.sleep(0)
            transport.close()
        raise Spoiled

    def _reset(self) -> Spoiled:
        if self.request.transport is not None:
            self.request.transport.abort()
        return Spoiled()

    def _usage(self, answer: Answer) -> dict[str, object]:
        return answers.usage(self.seen.tokens_in, len(answer.tokens), answer.cached)
