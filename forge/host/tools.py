"""Programs and addresses that steps use: commands run to their end, downloads checked and kept, one GET.

Commands get no shell, no input and no terminal. What they write is kept to its last lines, and every
secret that Forge knows is masked in it before anybody sees it. Their access to clusters is a kubeconfig of
their own, gone with them; the user's is never touched.
"""

from __future__ import annotations

import hashlib
import os
import select
import tempfile
import time
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from forge.embedded.process import spawn
from forge.errors import Interrupted, OperationFailed, ToolMissing
from forge.plan.lab_ports import Access, Answer, Ran
from forge.plan.ports import Cancel, Progress

if TYPE_CHECKING:
    import ssl

KEPT_LINES = 40
"""Last lines of a command that are kept: enough for a traceback."""
MAX_LINE = 2000
MAX_OUTPUT = 64 * 1024 * 1024
"""Bytes of standard output that are kept whole, for `kubectl kustomize`."""
MAX_DOWNLOAD = 64 * 1024 * 1024
MAX_ANSWER = 1024 * 1024
_TICK_S = 0.1
_GRACE_S = 5.0
_SHORTEST_MASK = 4
"""Texts shorter than this are no secrets, and masking them would eat the output."""
_CHUNK = 64 * 1024


class LabTools:
    """folder: of forge.yaml. state_dir: told to commands. cache: where downloads are kept."""

    def __init__(self, folder: Path, state_dir: Path, cache: Path | None = None) -> None:
        self._folder = folder
        self._state_dir = state_dir
        self._cache = cache or _cache_folder(os.environ)

    def now(self) -> float:
        return time.time()

    def find(self, program: str) -> str | None:
        found = spawn.find_program(program, os.environ, str(self._folder))
        return found if found is not None and os.access(found, os.X_OK) else None

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] = {},
        files: Mapping[str, bytes] = {},
        contexts: Mapping[str, Access] = {},
        secrets: Collection[str] = (),
        progress: Progress,
        cancel: Cancel,
    ) -> Ran:
        if self.find(argv[0]) is None:
            raise missing(argv[0])
        with ExitStack() as stack:
            paths = {word: stack.enter_context(_private(data)) for word, data in files.items()}
            whole = {**os.environ, "FORGE_STATE_DIR": str(self._state_dir), **env}
            if contexts:
                whole["KUBECONFIG"] = stack.enter_context(_private(_kubeconfig(contexts)))
            words = [paths.get(word, word) for word in argv]
            child = spawn.start(argv[0], words, whole, str(self._folder))
            return _Running(child, secrets, progress, cancel).end(argv[0])

    def download(self, url: str, sha256: str, *, cancel: Cancel) -> bytes:
        wanted = sha256.lower()
        kept = self._cache / wanted
        with suppress(OSError):
            data = kept.read_bytes()
            if hashlib.sha256(data).hexdigest() == wanted:
                return data
        data = _fetched(url, cancel)
        found = hashlib.sha256(data).hexdigest()
        if found != wanted:
            raise _other_bytes(url, wanted, found)
        with suppress(OSError):  # a cache that cannot be written costs time, nothing else
            self._cache.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self._cache, delete=False) as file:
                file.write(data)
            Path(file.name).replace(kept)
        return data

    def answer(self, url: str, *, ca: bytes | None, timeout_s: float) -> Answer:
        import httpx

        try:
            context = _trust(ca)
            with (
                httpx.Client(verify=context, timeout=timeout_s, trust_env=False) as client,
                client.stream("GET", url) as response,
            ):
                body = b""
                for piece in response.iter_bytes():
                    body += piece
                    if len(body) >= MAX_ANSWER:
                        break
                return Answer(response.status_code, body[:MAX_ANSWER])
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            return Answer(0, error=str(error) or type(error).__name__)


def _trust(ca: bytes | None) -> ssl.SSLContext:
    import ssl

    return ssl.create_default_context(cadata=ca.decode("ascii") if ca else None)


def missing(program: str) -> ToolMissing:
    """A step needs a program that is not on this machine."""
    return ToolMissing(
        "FG0741",
        f"the command {program!r} is missing",
        why="a step of a stack runs it, and it is not on PATH",
        hint="install it, or write the step without it: `manifest` needs no command at all",
        changed=False,
    )


def _cache_folder(environ: Mapping[str, str]) -> Path:
    outer = environ.get("XDG_CACHE_HOME") or str(Path(environ.get("HOME") or "/tmp") / ".cache")  # noqa: S108 - of a user without a home
    return Path(outer) / "praxis-forge" / "downloads"


def _kubeconfig(contexts: Mapping[str, Access]) -> bytes:
    from forge.host.kube.contexts import merged

    try:
        return merged(contexts)
    except (OSError, ValueError, AttributeError) as error:
        raise OperationFailed(
            "FG0751",
            "the access files of the clusters cannot be used",
            why=str(error),
            hint="run `praxis-forge up`, which writes them anew",
        ) from None


@contextmanager
def _private(data: bytes) -> Iterator[str]:
    """A file of mode 0600 with this in it, gone at the end."""
    with tempfile.NamedTemporaryFile(prefix="praxis-") as file:
        file.write(data)
        file.flush()
        yield file.name


class _Running:
    """A command under way: its lines as they come, its output, its end."""

    def __init__(
        self, child: spawn.Child, secrets: Collection[str], progress: Progress, cancel: Cancel
    ) -> None:
        self._child = child
        self._secrets = sorted((s for s in secrets if len(s) >= _SHORTEST_MASK), key=len, reverse=True)
        self._progress = progress
        self._cancel = cancel
        self._lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._output = bytearray()
        self._open = {child.stdout: bytearray(), child.stderr: bytearray()}

    def end(self, program: str) -> Ran:
        """Waits for it. Raises Interrupted FG0757 once cancel is set; it and its group are gone then."""
        try:
            stopped = not self._follow()
            if stopped:
                self._stop()
            self._drain()
        finally:
            self._child.kill_group()
            code = self._child.collect()
            for pipe in (self._child.stdout, self._child.stderr):
                os.close(pipe)
        if stopped:
            raise Interrupted("FG0757", f"the command {program!r} was stopped", signal_number=2)
        return Ran(code, tuple(self._lines), bytes(self._output))

    def _follow(self) -> bool:
        while not _is_readable(self._child.exited, 0.0):
            if self._cancel.is_set():
                return False
            waiting = [self._child.exited, *self._open]
            readable, _, _ = select.select(waiting, [], [], _TICK_S)
            for pipe in readable:
                if pipe in self._open:
                    self._take(pipe)
        return True

    def _stop(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._child.pid, 15)
        _is_readable(self._child.exited, _GRACE_S)

    def _drain(self) -> None:
        """What is left to read. Whoever holds the pipes open beyond its end is not waited for."""
        for pipe in tuple(self._open):
            while pipe in self._open and _is_readable(pipe, 0.0):
                self._take(pipe)
        for rest in self._open.values():
            self._line(bytes(rest))

    def _take(self, pipe: int) -> None:
        piece = os.read(pipe, _CHUNK)
        if not piece:
            self._line(bytes(self._open.pop(pipe)))
            return
        if pipe == self._child.stdout and len(self._output) < MAX_OUTPUT:
            self._output += piece
        *whole, rest = (bytes(self._open[pipe]) + piece).split(b"\n")
        for line in whole:
            self._line(line)
        self._open[pipe] = bytearray(rest[-MAX_LINE * 4 :])

    def _line(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace").rstrip()
        if not text:
            return
        for secret in self._secrets:
            text = text.replace(secret, "***")
        text = text[:MAX_LINE]
        self._lines.append(text)
        self._progress(text[:200])


def _is_readable(descriptor: int, wait_s: float) -> bool:
    return bool(select.select([descriptor], [], [], wait_s)[0])


def _fetched(url: str, cancel: Cancel) -> bytes:
    """The bytes at an address, redirects followed to https only. Raises FG0738, Interrupted."""
    import httpx

    data = bytearray()
    try:
        with (
            httpx.Client(
                follow_redirects=True, timeout=30.0, event_hooks={"request": [_https_only]}
            ) as client,
            client.stream("GET", url) as response,
        ):
            response.raise_for_status()
            for piece in response.iter_bytes():
                data += piece
                if cancel.is_set():
                    raise Interrupted("FG0757", f"the download of {url} was stopped", signal_number=2)
                if len(data) > MAX_DOWNLOAD:
                    raise _not_had(url, f"it is larger than {MAX_DOWNLOAD // 2**20} MiB", may_pass=False)
    except httpx.HTTPStatusError as error:
        status = error.response.status_code
        raise _not_had(url, f"HTTP {status}", may_pass=status >= 500 or status == 429) from None
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        raise _not_had(url, str(error) or type(error).__name__, may_pass=True) from None
    return bytes(data)


def _https_only(request: object) -> None:
    url = str(getattr(request, "url", ""))
    if not url.startswith("https://"):
        raise OSError(f"it leads to {url}, and only https is followed")


def _not_had(url: str, why: str, *, may_pass: bool) -> OperationFailed:
    error = OperationFailed(
        "FG0738",
        f"cannot download {url}",
        why=why,
        hint="check the address and the network; a file beside forge.yaml in a `manifest` step needs neither",
        changed=False,
    )
    error.may_pass = may_pass
    return error


def _other_bytes(url: str, wanted: str, found: str) -> OperationFailed:
    return OperationFailed(
        "FG0739",
        f"{url} is not what it should be",
        why=f"its SHA-256 is {found}, and forge.yaml says {wanted}",
        hint="look at what has changed there before you change the checksum",
        changed=False,
    )
