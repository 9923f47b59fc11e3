"""From an access file (a kubeconfig) to what a connection needs: server, trust, and who Forge is there.

Client certificates, tokens and token files are read, and a program is asked where the user has one (`exec`);
a password or an old auth provider is refused by name. Keys stay out of files of ours: Python loads
them from files only, so they pass through one in memory where the system has that.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import ssl
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forge.errors import ForgeError, OperationFailed
from forge.host.tls_socket import closing

if TYPE_CHECKING:
    from forge.host.kube.exec_credential import Given


@dataclass(frozen=True, slots=True)
class Credentials:
    """How to reach an API. server: its URL. server_name: what its certificate must name, where that is
    not the host. token: empty where a client certificate says who asks. given: what a program gave, None
    where none was asked."""

    server: str
    tls: ssl.SSLContext
    token: str = field(default="", repr=False)
    server_name: str = ""
    given: Given | None = None


class AccessFile:
    """The credentials of a context for as long as a run takes: a cluster that is made anew meanwhile has a
    new access file, and this tells."""

    def __init__(self, file: Path, context: str) -> None:
        """Raises OperationFailed FG0751."""
        self._file = file
        self._context = context
        self._stamp = _stamp(file)
        self._credentials = read(file, context)

    def credentials(self) -> Credentials:
        """As the file has them now; the same value as before while it has not changed, and what a program
        gave is good. A file that cannot be read, since it is being written or gone, is as it was. Raises
        what `read` does of a program alone."""
        now = _stamp(self._file)
        given = self._credentials.given
        if given is not None and not given.is_good(time.time()):
            self._credentials = read(self._file, self._context)
        elif now != self._stamp and now is not None:
            try:
                self._credentials, self._stamp = read(self._file, self._context), now
            except ForgeError:
                return self._credentials
        return self._credentials

    def renew(self, refused: Credentials) -> bool:
        """After the cluster did not take these: whether there are others now, since a program gave them or
        the file has changed. Raises what `read` does."""
        if self._credentials is refused:
            if refused.given is not None:
                self._credentials = read(self._file, self._context, refused.given)
            else:
                self.credentials()
        return self._credentials is not refused


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def read(file: Path, context: str, refused: Given | None = None) -> Credentials:
    """The credentials of a context. refused: what its program gave and the cluster did not take. Raises
    OperationFailed FG0751; and of the program ToolMissing FG0741, OperationFailed FG0753."""
    try:
        config = _load(file.read_text("utf-8"))
        chosen = _named(config, "context", context or str(config.get("current-context", "")))
        cluster = _named(config, "cluster", str(chosen["cluster"]))
        user = _named(config, "user", str(chosen.get("user", "")), needed=False)
        return _credentials(cluster, user, file.parent, refused)
    except (OSError, UnicodeDecodeError, KeyError, TypeError, ValueError, binascii.Error) as error:
        why = f"{error}" if not isinstance(error, KeyError) else f"it has no {error.args[0]}"
        raise OperationFailed(
            "FG0751",
            f"the access file {file} cannot be used",
            why=why,
            hint="run `praxis-forge up`, which writes it anew; of an existing cluster, mend your kubeconfig",
        ) from None


def _load(text: str) -> Mapping[str, Any]:
    try:
        loaded = json.loads(text)  # as Forge writes its own; YAML takes longer to import than to read
    except ValueError:
        import yaml

        try:
            loaded = yaml.load(text, yaml.CSafeLoader)
        except yaml.YAMLError as error:
            raise ValueError(f"it is no YAML: {getattr(error, 'problem', error)}") from None
    if not isinstance(loaded, dict):
        raise ValueError("it is no kubeconfig")
    return loaded


def _named(config: Mapping[str, Any], kind: str, name: str, *, needed: bool = True) -> Mapping[str, Any]:
    for one in config.get(f"{kind}s") or ():
        if one.get("name") == name:
            return one.get(kind) or {}
    if needed:
        raise ValueError(f"it has no {kind} {name!r}")
    return {}


def _credentials(
    cluster: Mapping[str, Any], user: Mapping[str, Any], folder: Path, refused: Given | None
) -> Credentials:
    for key in ("auth-provider", "username"):
        if user.get(key):
            raise ValueError(f"its user has {key}, which Kubernetes has dropped: {_INSTEAD[key]}")
    server = str(cluster["server"]).rstrip("/")
    if not server.startswith(("https://", "http://")):
        raise ValueError(f"its server is no address: {server}")
    given = _given(cluster, user, folder, refused)
    return Credentials(
        server,
        _tls(cluster, user, folder, given),
        _sendable(given.token if given is not None and given.token else _token(user, folder)),
        str(cluster.get("tls-server-name", "")),
        given,
    )


_INSTEAD = {
    "auth-provider": "have your cloud's tool write the context anew, with a program under `exec`",
    "username": "give it a token or a certificate",
}


def _given(
    cluster: Mapping[str, Any], user: Mapping[str, Any], folder: Path, refused: Given | None
) -> Given | None:
    """What the user's program gives; None where it has none. A certificate or token beside it wins, as it
    does for kubectl."""
    plugin = user.get("exec")
    if not plugin or user.get("token") or user.get("tokenFile") or _bytes(user, "client-certificate", folder):
        return None
    if not isinstance(plugin, dict):
        raise ValueError("its exec is no mapping")
    from forge.host.kube.exec_credential import KNOWN

    return KNOWN.get(plugin, cluster, folder, refused)


def _token(user: Mapping[str, Any], folder: Path) -> str:
    file = user.get("tokenFile")
    return (folder / str(file)).read_text("utf-8").strip() if file else str(user.get("token") or "")


def _sendable(token: str) -> str:
    """As it stands in a header. Raises ValueError that does not quote it."""
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise ValueError("its token has characters that no token has")
    return token


def _tls(
    cluster: Mapping[str, Any], user: Mapping[str, Any], folder: Path, given: Given | None
) -> ssl.SSLContext:
    authority = _bytes(cluster, "certificate-authority", folder)
    context = closing(ssl.create_default_context(cadata=authority.decode("ascii") if authority else None))
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if given is not None:
        certificate, key = given.certificate, given.key
    else:
        certificate, key = _bytes(user, "client-certificate", folder), _bytes(user, "client-key", folder)
    if certificate and key:
        with _in_a_file(certificate + b"\n" + key) as path:
            context.load_cert_chain(path)
    return context


def _bytes(of: Mapping[str, Any], key: str, folder: Path) -> bytes:
    if of.get(f"{key}-data"):
        return base64.b64decode(of[f"{key}-data"], validate=True)
    return (folder / str(of[key])).read_bytes() if of.get(key) else b""


@contextmanager
def _in_a_file(data: bytes) -> Iterator[str]:
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("key", os.MFD_CLOEXEC)
        try:
            os.write(descriptor, data)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
    else:
        with tempfile.NamedTemporaryFile() as file:  # made 0600
            file.write(data)
            file.flush()
            yield file.name
