"""Clusters that are there and stay: a context of the user's kubeconfig, checked and remembered.

Nothing in such a cluster is made, marked or removed here. Forge keeps an access file with that one context,
and the cluster's id: a context that leads elsewhere than before is refused, since what was applied
there would be looked for, and pruned, in another cluster.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from forge.errors import ForgeError, OperationFailed
from forge.host.clusters import asked, kubeconfig
from forge.host.clusters.asked import Asked
from forge.host.clusters.folder import Folder
from forge.host.clusters.kubeconfig import Config, Unusable
from forge.plan.lab_ports import Access
from forge.plan.lab_resources import ClusterResource
from forge.plan.values import Key, Observed, Owner, Phase

Identify = Callable[[Access], str]
"""Access -> uid of the kube-system namespace of the cluster that it leads to. Raises ForgeError."""

_FILES = {
    "cluster": ("certificate-authority",),
    "user": ("client-certificate", "client-key"),
}


class ExistingClusters:
    """identify: asks the cluster behind an access file; users come with certificates and tokens of every
    kind, which Forge's client for stacks knows."""

    def __init__(self, state_dir: Path, identify: Identify) -> None:
        self._state_dir = state_dir
        self._identify = identify

    def observe(self, owner: Owner, these: Sequence[Asked]) -> dict[Key, Observed]:  # noqa: ARG002 - each says its own
        present = [one for one in these if one.about is not None]
        if not present:
            return {}
        with ThreadPoolExecutor(len(present)) as pool:
            return {look.key: look for look in pool.map(self._look, present)}

    def _look(self, one: Asked) -> Observed:
        about = one.about
        if about is None:
            raise ValueError(f"nothing is known of {one.key}")
        try:
            now = extract(about.context, os.environ)
            if not about.made or now != kubeconfig.read(one.folder.kubeconfig):
                return _kept(one.silent(about.owner, f"context {about.context!r} has changed"))
            identity = self._identify(access_of(one.folder, now, now.server))
        except Unusable as error:
            return _kept(one.silent(about.owner, str(error)))
        except ForgeError as error:
            return _kept(one.silent(about.owner, _silence(error)))
        if identity != about.id:
            why = f"context {about.context!r} leads to another cluster than before"
            return _kept(one.unfinished(about.owner, why))
        return _kept(one.observed(about.owner, Phase.RUNNING, identity=identity))

    def create(self, key: Key, wanted: ClusterResource, owner: Owner, fingerprint: str) -> str:
        """Nothing but the access file and what is remembered. Raises OperationFailed FG0708 where the
        context is missing or silent, FG0709 where it is another cluster."""
        folder = Folder(self._state_dir, wanted.name)
        before = folder.about()
        if before is not None and before.owner != owner:
            raise asked.not_ours(
                f"cannot take {key}",
                wanted.full_name,
                f"it belongs to {asked.whose(before.owner)} of the same state directory",
                "give this environment a state directory of its own (--state-dir)",
            )
        known = before.id if before is not None and before.context == wanted.context else ""
        identity = self._settle(folder, wanted, known)
        about = asked.begun(wanted, owner, fingerprint)
        server = kubeconfig.read(folder.kubeconfig).server
        folder.write(asked.finished(about, identity, server))
        return identity

    def start(self, one: Asked, wanted: ClusterResource) -> None:
        """Its access file as the context is now. Raises as `create` does."""
        about = one.about
        if about is None:
            raise _missing(wanted.context or "", "there is nothing to start")
        self._settle(one.folder, wanted, about.id)
        server = kubeconfig.read(one.folder.kubeconfig).server
        one.folder.write(replace(about, network_server=server))

    def _settle(self, folder: Folder, wanted: ClusterResource, known: str) -> str:
        """Writes the access file; gives the cluster's id. The file of before stays where it fails."""
        context = wanted.context or ""
        try:
            config = extract(context, os.environ)
        except Unusable as error:
            raise _missing(context, str(error)) from error
        trial = folder.write_file("kubeconfig.trial", config.text())
        try:
            reached = replace(access_of(folder, config, config.server), kubeconfig=trial)
            identity = self._identify(reached)
            if known and identity != known:
                raise _elsewhere(wanted.name, context)
            trial.replace(folder.kubeconfig)
        finally:
            trial.unlink(missing_ok=True)
            if folder.about() is None and not folder.kubeconfig.exists():
                folder.remove()
        return identity

    def stop(self, one: Asked) -> None:
        raise OperationFailed(
            "FG0707",
            f"cluster {one.key.name!r} is not stopped",
            why="it is an existing cluster, which Forge neither made nor ends",
            changed=False,
        )

    def remove(self, one: Asked) -> None:
        """Forge's traces on this machine; the cluster stays."""
        one.folder.remove()


def extract(context: str, environ: Mapping[str, str]) -> Config:
    """The context as the user's kubeconfig files have it now, with all it needs inside it. As kubectl
    does, the first file that has a name wins. Raises Unusable."""
    merged: dict[str, list[Any]] = {"clusters": [], "users": [], "contexts": []}
    files = paths(environ)
    for path in files:
        if not path.exists():
            continue
        try:
            document = kubeconfig.parse(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise Unusable(f"{path} cannot be read: {error}") from error
        for many, one in (("clusters", "cluster"), ("users", "user"), ("contexts", "context")):
            rows = document.get(many)
            merged[many] += [_inlined(row, one, path.parent) for row in rows or () if isinstance(row, dict)]
    return kubeconfig.pick(merged, context, ":".join(map(str, files)))


def paths(environ: Mapping[str, str]) -> list[Path]:
    """KUBECONFIG's files, or the default one."""
    named = [Path(p) for p in environ.get("KUBECONFIG", "").split(os.pathsep) if p]
    return named or [Path(environ.get("HOME", "/")) / ".kube" / "config"]


def _inlined(row: Mapping[str, Any], one: str, folder: Path) -> dict[str, Any]:
    """The row with the files that it names inside it, so that it can lie elsewhere. A token's file
    stays a file, since it is renewed there, and a program stays where it is."""
    found = row.get(one)
    if not isinstance(found, dict):
        return dict(row)
    inner = dict(found)
    for name in _FILES.get(one, ()):
        path = inner.pop(name, None)
        if path and not inner.get(f"{name}-data"):
            inner[f"{name}-data"] = base64.b64encode(_bytes(folder / str(path))).decode()
    if inner.get("tokenFile"):
        inner["tokenFile"] = str(folder / str(inner["tokenFile"]))
    program = inner.get("exec")
    if isinstance(program, dict) and "/" in str(program.get("command") or ""):
        inner["exec"] = {**program, "command": str(folder / str(program["command"]))}
    return {**row, one: inner}


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Unusable(f"{path}: {error.strerror}") from error


def access_of(folder: Folder, config: Config, network_server: str) -> Access:
    return Access(folder.kubeconfig, config.context, config.server, network_server, config.ca)


def _silence(error: ForgeError) -> str:
    """Why nothing is known of it, in one line."""
    if error.code in ("FG0741", "FG0751", "FG0753"):
        return f"{error.what}: {error.why}"
    return f"its API does not answer: {error.why or error.what}"


def _kept(found: Observed) -> Observed:
    return replace(found, kept=True)


def _missing(context: str, why: str) -> OperationFailed:
    return OperationFailed(
        "FG0708",
        f"the kubeconfig context {context!r} cannot be used",
        why=why,
        hint="see `kubectl config get-contexts`, set KUBECONFIG, or correct clusters[].context",
        changed=False,
    )


def _elsewhere(name: str, context: str) -> OperationFailed:
    return OperationFailed(
        "FG0709",
        f"cluster {name!r} is not the one it was",
        why=f"context {context!r} leads to another cluster than when this environment first used it",
        hint="restore the context; or, if the new one is meant, run `praxis-forge down` and `up`",
        changed=False,
    )
