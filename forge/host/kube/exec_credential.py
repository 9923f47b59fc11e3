"""Credentials that a program gives, as users of managed clusters have them (`aws`, `gke-gcloud-auth-plugin`).

client-go's protocol: the program is told in KUBERNETES_EXEC_INFO what is asked for, and writes an
ExecCredential to its standard output: a token, or a certificate with its key, and until when they are good.
Both are kept in memory alone, for this process, and asked for again when they end or are refused. What the
program says on standard error is for people, and is shown when it fails; its standard output never is.

Source: https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
"""

from __future__ import annotations

import json
import os
import select
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from forge.embedded.process import spawn
from forge.errors import OperationFailed, ToolMissing

GROUP: Final = "client.authentication.k8s.io"
VERSIONS: Final = (f"{GROUP}/v1", f"{GROUP}/v1beta1")
TIMEOUT_S: Final = 60.0
"""A program that asks its cloud takes a second or two; one that waits for somebody to log in never ends."""
_EARLY_S: Final = 10.0
"""So long before they end, credentials are asked for anew: a request under way must not outlive them."""
_MAX_OUTPUT: Final = 1024 * 1024
_KEPT_LINES: Final = 10
_SHORTEST_MASK: Final = 4


@dataclass(frozen=True, slots=True)
class Given:
    """token, certificate, key: empty where the program gave none. ends_at: Unix seconds, None where it
    does not say: then they are good until they are refused."""

    token: str = field(default="", repr=False)
    certificate: bytes = b""
    key: bytes = field(default=b"", repr=False)
    ends_at: float | None = None

    def is_good(self, now: float) -> bool:
        return self.ends_at is None or now < self.ends_at - _EARLY_S


class Known:
    """What programs gave to this process, so that each is asked once for all that reach its cluster."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._given: dict[str, Given] = {}

    def get(
        self,
        plugin: Mapping[str, Any],
        cluster: Mapping[str, Any],
        folder: Path,
        refused: Given | None = None,
    ) -> Given:
        """What is good now. refused: what the cluster did not take. Raises as `ask` does."""
        key = json.dumps([plugin, cluster, str(folder)], sort_keys=True, default=str)
        with self._lock:
            one_at_a_time = self._locks.setdefault(key, threading.Lock())
        with one_at_a_time:
            given = self._given.get(key)
            if given is None or given is refused or not given.is_good(time.time()):
                given = self._given[key] = ask(plugin, cluster, folder, os.environ)
            return given


KNOWN: Final = Known()


def ask(
    plugin: Mapping[str, Any],
    cluster: Mapping[str, Any],
    folder: Path,
    environ: Mapping[str, str],
    timeout_s: float = TIMEOUT_S,
) -> Given:
    """Runs the program of a kubeconfig's user. plugin: its `exec`; cluster: the cluster's fields; folder: of
    the kubeconfig. Raises ToolMissing FG0741 where it is not there, OperationFailed FG0753 with what it says
    where it gives nothing, ValueError for an `exec` that is none."""
    version = str(plugin.get("apiVersion") or "")
    command = str(plugin.get("command") or "")
    if version not in VERSIONS:
        raise ValueError(f"its exec has apiVersion {version!r}, and only {' and '.join(VERSIONS)} are in use")
    if not command:
        raise ValueError("its exec has no command")
    if plugin.get("interactiveMode") == "Always":
        raise ValueError(f"its exec ({command}) wants to ask at a terminal, and Forge gives it none")
    own = {str(row["name"]): str(row["value"]) for row in plugin.get("env") or ()}
    env = {**environ, **own, "KUBERNETES_EXEC_INFO": json.dumps(_info(version, plugin, cluster))}
    argv = [_program(command, folder), *map(str, plugin.get("args") or ())]
    if not _is_there(argv[0], env):
        raise _missing(command, str(plugin.get("installHint") or ""))
    code, output, said = _run(argv, env, timeout_s)
    if code is None:
        raise _failed(command, f"it did not end within {timeout_s:g} s", _masked(said, own))
    if code:
        raise _failed(command, f"it ended with exit code {code}", _masked(said, own))
    try:
        return _read(output, version)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = str(error) if type(error) is ValueError else "it is no ExecCredential"
        raise _failed(command, f"what it wrote cannot be used: {reason}", ()) from None


def _info(version: str, plugin: Mapping[str, Any], cluster: Mapping[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = {"interactive": False}
    if plugin.get("provideClusterInfo"):
        names = (
            "server",
            "tls-server-name",
            "insecure-skip-tls-verify",
            "certificate-authority-data",
            "proxy-url",
        )
        spec["cluster"] = {name: cluster[name] for name in names if cluster.get(name)}
        for extension in cluster.get("extensions") or ():
            if extension.get("name") == f"{GROUP}/exec":
                spec["cluster"]["config"] = extension.get("extension")
    return {"apiVersion": version, "kind": "ExecCredential", "spec": spec}


def _program(command: str, folder: Path) -> str:
    """A word with a slash is a path from the kubeconfig's folder; another is looked for on PATH."""
    return str(folder / command) if "/" in command else command


def _is_there(program: str, env: Mapping[str, str]) -> bool:
    found = spawn.find_program(program, env, str(Path.cwd()))
    return found is not None and os.access(found, os.X_OK)


def _run(argv: list[str], env: Mapping[str, str], timeout_s: float) -> tuple[int | None, bytes, bytes]:
    """Exit code (None where time was up), standard output and error. Nothing it started stays."""
    child = spawn.start(Path(argv[0]).name, argv, env, str(Path.cwd()))
    pipes = {child.stdout: bytearray(), child.stderr: bytearray()}
    open_ = set(pipes)
    deadline, ended = time.monotonic() + timeout_s, False
    try:
        while not ended and time.monotonic() < deadline:
            readable = select.select([child.exited, *open_], [], [], max(0.0, deadline - time.monotonic()))[0]
            ended = child.exited in readable
            for pipe in open_ & set(readable) if not ended else set(open_):
                if not _drain(pipe, pipes[pipe]):
                    open_.discard(pipe)
    finally:
        child.kill_group()
        code = child.collect()
        for pipe in pipes:
            os.close(pipe)
    return code if ended else None, bytes(pipes[child.stdout]), bytes(pipes[child.stderr])


def _drain(pipe: int, into: bytearray) -> bool:
    """Reads what is there now; whether there may be more. Beyond the bound it is thrown away."""
    with suppress(BlockingIOError):
        while piece := os.read(pipe, 64 * 1024):
            into += piece[: max(0, _MAX_OUTPUT - len(into))]
        return False
    return True


def _read(output: bytes, version: str) -> Given:
    """The credentials in an ExecCredential. Raises ValueError that quotes nothing of it."""
    try:
        document = json.loads(output)
    except (ValueError, RecursionError):
        raise ValueError("it is no JSON") from None
    if document.get("kind") != "ExecCredential":
        raise ValueError("it is no ExecCredential")
    if document.get("apiVersion") != version:
        raise ValueError(f"it is not of {version}, which the kubeconfig asks for")
    status = document["status"]
    token = str(status.get("token") or "")
    certificate = str(status.get("clientCertificateData") or "").encode()
    key = str(status.get("clientKeyData") or "").encode()
    if bool(certificate) != bool(key):
        raise ValueError("a certificate without its key, or a key without its certificate")
    if not (token or certificate):
        raise ValueError("there is neither a token nor a certificate in it")
    ends = status.get("expirationTimestamp")
    return Given(token, certificate, key, None if not ends else _instant(str(ends)))


def _instant(text: str) -> float:
    """Unix seconds of an RFC 3339 instant."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("its expirationTimestamp is no time") from None
    if found.tzinfo is None:
        raise ValueError("its expirationTimestamp has no time zone")
    return found.timestamp()


def _masked(said: bytes, env: Mapping[str, str]) -> tuple[str, ...]:
    """The last lines of what it said, without the values that the kubeconfig gives it."""
    text = said.decode("utf-8", "replace")
    for value in sorted((v for v in env.values() if len(v) >= _SHORTEST_MASK), key=len, reverse=True):
        text = text.replace(value, "***")
    return tuple(line.rstrip()[:500] for line in text.splitlines() if line.strip())[-_KEPT_LINES:]


def _missing(command: str, install_hint: str) -> ToolMissing:
    return ToolMissing(
        "FG0741",
        f"the command {command!r} is missing",
        why="the kubeconfig of an existing cluster gets its credentials from it, and it is not on PATH",
        hint=" ".join(install_hint.split())[:500] or "install it, or give the context another user",
        changed=False,
    )


def _failed(command: str, why: str, lines: tuple[str, ...]) -> OperationFailed:
    return OperationFailed(
        "FG0753",
        f"the command {command!r} gives no credentials for the cluster",
        why=f"{why}: {lines[-1]}" if lines else why,
        hint="log in as it wants it, and see that kubectl reaches the cluster; Forge gives it no terminal",
        changed=False,
        detail=lines[:-1],
    )
