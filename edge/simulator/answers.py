"""OpenAI's request and answer bodies: bytes to values, values to bytes. Pure."""

from __future__ import annotations

import base64
import struct
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import msgspec

Api = Literal["chat", "completion"]
T = TypeVar("T")
_IDS = {"chat": "chatcmpl", "completion": "cmpl"}
_OBJECTS = {"chat": "chat.completion", "completion": "text_completion"}


class Refused(Exception):
    """A request this server cannot answer: an HTTP status and OpenAI's error fields."""

    def __init__(
        self,
        status: int,
        message: str,
        code: str,
        param: str | None = None,
        *,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.code, self.param = status, message, code, param
        self.retry_after = retry_after


class _StreamOptions(msgspec.Struct):
    include_usage: bool | None = None


class Message(msgspec.Struct):
    role: str
    content: str | list[dict[str, Any]] | None = None

    def text(self) -> str:
        if isinstance(self.content, list):
            return "".join(str(part.get("text", "")) for part in self.content)
        return self.content or ""


class Generate(msgspec.Struct):
    """A chat or a completion request; `messages` or `prompt` is filled, by the API it came through.

    A null is as good as nothing.
    """

    model: str
    messages: list[Message] | None = None
    prompt: str | list[str | int | list[int]] | None = None
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    n: int | None = None

    @property
    def limit(self) -> int | None:
        return self.max_completion_tokens if self.max_completion_tokens is not None else self.max_tokens

    @property
    def usage_asked(self) -> bool:
        return self.stream_options is not None and bool(self.stream_options.include_usage)

    def question(self, api: Api) -> str:
        """What is answered: the last user message, or the prompt."""
        if api == "chat":
            return next((m.text() for m in reversed(self.messages or ()) if m.role == "user"), "")
        return _joined(self.prompt)

    def whole(self, api: Api) -> str:
        """All text a model would read."""
        if api == "chat":
            return "".join(f"{m.role}: {m.text()}\n" for m in self.messages or ())
        return _joined(self.prompt)


class Embed(msgspec.Struct):
    model: str
    input: str | list[str | int | list[int]]
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: int | None = None

    @property
    def length(self) -> int:
        """Of each vector."""
        return 16 if self.dimensions is None else self.dimensions

    def texts(self) -> list[str]:
        """Each input as text; token numbers are their own text."""
        if isinstance(self.input, str):
            return [self.input]
        if self.input and isinstance(self.input[0], int):
            return [_joined(self.input)]
        return [_joined(item) for item in self.input]


_GENERATE = msgspec.json.Decoder(Generate)
_EMBED = msgspec.json.Decoder(Embed)


def read_generate(body: bytes, api: Api) -> Generate:
    """Raises Refused with 400."""
    asked = _read(_GENERATE, body)
    if api == "chat" and not asked.messages:
        raise Refused(400, "'messages' must not be empty", "invalid_request_error", "messages")
    if api == "completion" and asked.prompt is None:
        raise Refused(400, "'prompt' is required", "invalid_request_error", "prompt")
    if asked.n not in (None, 1):
        raise Refused(400, "only n=1 is simulated", "unsupported_value", "n")
    if asked.limit is not None and asked.limit < 1:
        raise Refused(400, "max_tokens must be at least 1", "invalid_request_error", "max_tokens")
    return asked


def read_embed(body: bytes) -> Embed:
    """Raises Refused with 400."""
    asked = _read(_EMBED, body)
    if not 1 <= asked.length <= 4096 or not asked.input:
        raise Refused(400, "dimensions is 1..4096 and input is not empty", "invalid_request_error")
    return asked


def _read(decoder: msgspec.json.Decoder[T], body: bytes) -> T:
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refused(400, str(error), "invalid_request_error") from None


@dataclass(frozen=True, slots=True)
class Stamp:
    """What all pieces of one answer share. number: of the request in this process; created: unix seconds."""

    api: Api
    model: str
    instance: str
    number: int
    created: int

    def head(self, *, streamed: bool) -> dict[str, object]:
        suffix = ".chunk" if streamed and self.api == "chat" else ""
        return {
            "id": f"{_IDS[self.api]}-{self.instance}-{self.number}",
            "object": _OBJECTS[self.api] + suffix,
            "created": self.created,
            "model": self.model,
            "system_fingerprint": f"praxis-sim-{self.instance}",
        }


def usage(prompt: int, answer: int, cached: int) -> dict[str, object]:
    return {
        "prompt_tokens": prompt,
        "completion_tokens": answer,
        "total_tokens": prompt + answer,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def complete(stamp: Stamp, text: str, finish: str, used: dict[str, object]) -> bytes:
    """The whole answer of a request that did not ask for a stream."""
    choice: dict[str, object] = {"index": 0, "finish_reason": finish, "logprobs": None}
    if stamp.api == "chat":
        choice["message"] = {"role": "assistant", "content": text, "refusal": None}
    else:
        choice["text"] = text
    return msgspec.json.encode({**stamp.head(streamed=False), "choices": [choice], "usage": used})


def chunk(
    stamp: Stamp, text: str | None, finish: str | None = None, *, first: bool = False, usage_asked: bool
) -> bytes:
    """One event of a stream: some text, or the reason it ends. *first* names the speaker of a chat."""
    choice: dict[str, object] = {"index": 0, "finish_reason": finish, "logprobs": None}
    if stamp.api == "chat":
        choice["delta"] = ({"role": "assistant"} if first else {}) | (
            {} if text is None else {"content": text}
        )
    else:
        choice["text"] = text or ""
    body: dict[str, object] = {**stamp.head(streamed=True), "choices": [choice]}
    return event(body | {"usage": None} if usage_asked else body)


def usage_chunk(stamp: Stamp, used: dict[str, object]) -> bytes:
    """The last event but [DONE], where usage was asked for."""
    return event({**stamp.head(streamed=True), "choices": [], "usage": used})


def event(body: dict[str, object]) -> bytes:
    return b"data: " + msgspec.json.encode(body) + b"\n\n"


DONE = b"data: [DONE]\n\n"


def embeddings(asked: Embed, vectors: list[list[float]], prompt_tokens: int) -> bytes:
    def shown(vector: list[float]) -> list[float] | str:
        if asked.encoding_format != "base64":
            return vector
        return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()

    return msgspec.json.encode(
        {
            "object": "list",
            "model": asked.model,
            "data": [
                {"object": "embedding", "index": index, "embedding": shown(vector)}
                for index, vector in enumerate(vectors)
            ],
            "usage": {"prompt_tokens": prompt_tokens, "total_tokens": prompt_tokens},
        }
    )


def models(names: tuple[str, ...], created: int, provider: str) -> bytes:
    listed = [{"id": name, "object": "model", "created": created, "owned_by": provider} for name in names]
    return msgspec.json.encode({"object": "list", "data": listed})


def error(status: int, message: str, code: str, param: str | None = None) -> bytes:
    kind = (
        "server_error" if status >= 500 else "rate_limit_error" if status == 429 else "invalid_request_error"
    )
    return msgspec.json.encode({"error": {"message": message, "type": kind, "param": param, "code": code}})


def _joined(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(_joined, value))
    return "" if value is None else str(value)
