"""A probe in the event loop gives one answer in one line within its time, and leaves nothing running."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import os
import socket
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from forge.embedded.process import beside, probes
from forge.embedded.process.supervised import Command
from forge.errors import OperationFailed
from tests.kit.processes import is_gone, python, soon


@contextlib.asynccontextmanager
async def server(
    answer: bytes | None, tls: ssl.SSLContext | None = None
) -> AsyncIterator[tuple[int, list[bytes]]]:
    """Says *answer* to a request and closes; None: says nothing. Gives its port and what it was asked."""
    asked: list[bytes] = []

    talking: set[asyncio.StreamWriter] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talking.add(writer)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            asked.append(await reader.readuntil(b"\r\n\r\n"))
            if answer is None:
                await reader.read()
            else:
                writer.write(answer)
                await writer.drain()
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        talking.discard(writer)

    running = await asyncio.start_server(talk, "127.0.0.1", 0, ssl=tls)
    yield running.sockets[0].getsockname()[1], asked
    running.close()
    await running.wait_closed()
    await soon(lambda: not talking)


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def command(*argv: str) -> Command:
    return Command(argv, {"PATH": os.environ["PATH"]}, "/")


async def test_tcp_passes_where_a_connection_is_taken() -> None:
    async with server(b"") as (port, _):
        assert (await probes.tcp("127.0.0.1", port, 20)).ok
    assert await probes.tcp("127.0.0.1", closed_port(), 20) == probes.Verdict(
        ok=False, detail="connection refused"
    )


@pytest.mark.parametrize(
    ("answer", "ok", "detail"),
    [
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\nok", True, "HTTP 200", id="a page passes"),
        pytest.param(b"HTTP/1.1 302 Found\r\n\r\n", True, "HTTP 302", id="a redirect passes"),
        pytest.param(b"HTTP/1.1 503 Busy\r\n\r\n", False, "HTTP 503", id="busy fails"),
        pytest.param(b"hello\r\n", False, "the answer is not HTTP", id="another protocol fails"),
        pytest.param(b"", False, "closed without an answer", id="an end without a word fails"),
        pytest.param(None, False, "no answer within 0.2 s", id="silence fails"),
    ],
)
async def test_http_judges_the_status(answer: bytes | None, ok: bool, detail: str) -> None:
    async with server(answer) as (port, _):
        got = await probes.http("127.0.0.1", port, "/", 0.2 if answer is None else 20)
    assert (got.ok, got.detail) == (ok, detail)


async def test_http_sends_the_headers_it_is_given() -> None:
    async with server(b"HTTP/1.1 200 OK\r\n\r\n") as (port, asked):
        await probes.http("127.0.0.1", port, "/ready", 20, headers={"X-A": "b", "Host": "lab"})
    assert asked[0].startswith(b"GET /ready HTTP/1.1\r\nHost: lab\r\n")
    assert b"\r\nX-A: b\r\n" in asked[0]


async def test_http_over_tls_does_not_look_at_the_certificate(tmp_path: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "nobody")])
    day = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, day, day)
    (tmp_path / "crt").write_bytes(builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM))
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (tmp_path / "key").write_bytes(secret)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "crt", tmp_path / "key")
    async with server(b"HTTP/1.1 200 OK\r\n\r\n", context) as (port, _):
        assert await probes.http("127.0.0.1", port, "/", 20, tls=True) == probes.Verdict(
            ok=True, detail="HTTP 200"
        )
        assert not (await probes.http("127.0.0.1", port, "/", 20)).ok


async def test_http_says_refused() -> None:
    assert (await probes.http("127.0.0.1", closed_port(), "/", 20)).detail == "connection refused"


@pytest.mark.parametrize(
    ("argv", "ok", "detail"),
    [
        pytest.param(("true",), True, "exit code 0", id="a success passes"),
        pytest.param(
            ("sh", "-c", "echo no file; echo x; exit 3"), False, "exit code 3: no file", id="a failure"
        ),
        pytest.param(("sh", "-c", "echo bad >&2; exit 1"), False, "exit code 1: bad", id="its error output"),
        pytest.param(("sh", "-c", "kill -9 $$"), False, "exit code 137", id="a signal"),
        pytest.param(
            ("nothing-there",), False, "there is no program 'nothing-there' on its PATH", id="no program"
        ),
    ],
)
async def test_a_command_is_judged_by_its_exit_code(argv: tuple[str, ...], ok: bool, detail: str) -> None:
    assert await probes.command("web", command(*argv), 20) == probes.Verdict(ok, detail)


async def test_a_command_that_does_not_end_is_killed_with_its_family(tmp_path: Path) -> None:
    script = f"sleep 600 & echo $! > {tmp_path}/pid; sleep 600"
    running = asyncio.ensure_future(probes.command("web", command("sh", "-c", script), 2))
    await soon(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    assert (await running).detail == "no end within 2 s"
    pid = int((tmp_path / "pid").read_text())
    await soon(lambda: is_gone(pid))


async def test_output_is_kept_up_to_its_bound() -> None:
    script = "import os; os.write(2, b'e'); [os.write(1, b'x' * 9999) for _ in range(100)]"
    ended = await beside.run("web", command(*python(script)), 20)
    assert (ended.code, ended.stdout, ended.stderr) == (0, b"x" * beside.MAX_OUTPUT, b"e")


async def test_a_cancelled_command_leaves_nothing(tmp_path: Path) -> None:
    script = f"echo $$ > {tmp_path}/pid; exec sleep 600"
    running = asyncio.ensure_future(beside.run("web", command("sh", "-c", script), 600))
    await soon(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert is_gone(int((tmp_path / "pid").read_text()))


async def test_what_cannot_start_is_refused() -> None:
    with pytest.raises(OperationFailed, match="FG0503"):
        await beside.run("web", command("nothing-there"), 20)
