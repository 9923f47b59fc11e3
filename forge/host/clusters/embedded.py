"""Embedded clusters: a daemon each, kept by the same supervisor as the environment's services.

So a daemon that dies is started again by itself, outlives the command that made it, and ends with `down`.
It listens on the first address of the cluster's own block, and all that it serves is inside that block; what
must outlive it is in data/, which no start touches.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import forge
from forge.embedded.process import environ
from forge.embedded.process.client import Client
from forge.embedded.process.spec import Backoff, ProcessSpec, Restart, Status
from forge.embedded.process.spec import Phase as ProcessPhase
from forge.errors import ForgeError, OperationFailed
from forge.host.clusters import asked, kubeconfig, marker, ready
from forge.host.clusters.api import Api, Silent, Stranger
from forge.host.clusters.asked import Asked
from forge.host.clusters.folder import About, Folder
from forge.plan.allocate import Places, places
from forge.plan.lab_resources import ClusterResource
from forge.plan.ports import Cancel, Progress
from forge.plan.values import Key, Observed, Owner, Phase

PORT = 6443
_GRACE_S = 10.0
_LOOK_S = 2.0
_YOUNG_S = 15.0
"""A daemon that was started less than this ago, or waits to be, is given _GRACE_S to answer."""

_HUNG_S = 2.0
"""For one that does not answer: SQLite takes its end at any moment."""

_START_S = 60.0
_GIVE_UP = 3
"""Ends in a row after which a daemon that is being made will not do it any more."""


class EmbeddedClusters:
    """state_dir: absolute, of the environment. is_last_to_use: whether nobody else ends a supervisor that
    has nothing to keep any more (the embedded Host does)."""

    def __init__(self, state_dir: Path, *, is_last_to_use: bool) -> None:
        self._state_dir = state_dir
        self._client = Client(state_dir / "runtime" / ".supervisor")
        self._is_last_to_use = is_last_to_use

    def observe(self, owner: Owner, these: Sequence[Asked]) -> dict[Key, Observed]:  # noqa: ARG002 - each says its own
        present = [one for one in these if one.about is not None]
        if not present:
            return {}
        statuses = {status.name: status for status in self._client.statuses()}
        with ThreadPoolExecutor(len(present)) as pool:
            looks = pool.map(lambda one: _look(one, statuses.get(_process(one.key.name))), present)
            return {look.key: look for look in looks}

    def create(
        self,
        key: Key,
        wanted: ClusterResource,
        owner: Owner,
        fingerprint: str,
        progress: Progress,
        cancel: Cancel,
    ) -> str:
        folder = Folder(self._state_dir, wanted.name)
        self._make_room(key, wanted, owner, folder)
        if cancel.is_set():
            raise ready.stopped(wanted.name)
        about = replace(asked.begun(wanted, owner, fingerprint), port=_free_port(_place(wanted).api))
        folder.write(about)
        try:
            _write_images(folder, wanted)
            status = self._client.create(_spec(folder, wanted, about), owner.environment_id, _GRACE_S)
            api = self._answering(folder, wanted, status, progress, cancel)
            identity = marker.write(api, owner, fingerprint)
            config = kubeconfig.read(folder.kubeconfig)
            folder.write(asked.finished(about, identity, config.server))
            return identity
        except (Silent, Stranger, kubeconfig.Unusable) as error:
            self._clear(wanted.name, owner, folder)
            raise _did_not_start(wanted.name, str(error), ()) from error
        except ForgeError:
            self._clear(wanted.name, owner, folder)
            raise

    def _make_room(self, key: Key, wanted: ClusterResource, owner: Owner, folder: Folder) -> None:
        about = folder.about()
        if about is not None and about.owner != owner:
            raise asked.not_ours(
                f"cannot make {key}",
                wanted.full_name,
                f"it belongs to {asked.whose(about.owner)} of the same state directory",
                "give this environment a state directory of its own (--state-dir)",
            )
        self._clear(wanted.name, owner, folder)

    def _clear(self, name: str, owner: Owner, folder: Folder) -> None:
        status = self._client.status(_process(name))
        if status is not None:
            self._client.remove(_process(name), status.id, owner.environment_id, _GRACE_S)
        folder.remove()

    def _answering(
        self, folder: Folder, wanted: ClusterResource, status: Status, progress: Progress, cancel: Cancel
    ) -> Api:
        """Its API once the cluster is ready; its access file is written by then."""
        config = self._config(folder, wanted, status, cancel)
        folder.write_file("kubeconfig", config.text())
        api = Api(config)
        ready.wait(
            api,
            ready.Wanted(wanted.name, 1),
            progress,
            cancel,
            alive=lambda: self._death(wanted.name, status),
            timeout_s=_START_S,
        )
        return api

    def _config(
        self, folder: Folder, wanted: ClusterResource, status: Status, cancel: Cancel
    ) -> kubeconfig.Config:
        """The administrator's access as the daemon wrote it, once it did."""
        until, pause = time.monotonic() + _START_S, 0.005
        while True:
            try:
                return kubeconfig.read(folder.path / "data" / "admin.kubeconfig")
            except kubeconfig.Unusable as error:
                if dead := self._death(wanted.name, status):
                    raise dead from error
                if time.monotonic() > until:
                    raise _did_not_start(wanted.name, "it wrote no kubeconfig in time", ()) from error
            if cancel.wait(pause):
                raise ready.stopped(wanted.name)
            pause = min(0.05, pause * 1.5)

    def _death(self, name: str, begun: Status) -> ForgeError | None:
        """Why its daemon will not come up any more; None while it may."""
        now = self._client.status(_process(name))
        if now is None or now.id != begun.id:
            return _did_not_start(name, "it was taken away meanwhile", ())
        if now.phase in (ProcessPhase.RUNNING, ProcessPhase.STARTING) and now.restarts < _GIVE_UP:
            return None
        from forge.embedded.process import follow

        lines = tuple(line.text for line in follow.read(self._client.log_folder(now.id), tail=20))
        why = next((line for line in lines if line.strip()), now.detail or f"it ended with {now.exit_code}")
        return _did_not_start(name, why, lines)

    def start(self, one: Asked, wanted: ClusterResource, progress: Progress, cancel: Cancel) -> None:
        about = one.about
        if about is None:
            raise _did_not_start(one.key.name, "there is nothing of it", ())
        _write_images(one.folder, wanted)
        _stale(one.folder).unlink(missing_ok=True)
        spec, scope = _spec(one.folder, wanted, about), about.environment_id
        status = self._client.status(spec.name)
        progress("starting its daemon")
        if status is not None and status.phase in (ProcessPhase.RUNNING, ProcessPhase.STARTING):
            self._client.stop(spec.name, scope, _HUNG_S)
        if status is None:
            status = self._client.create(spec, scope, _GRACE_S)
        else:
            status = self._client.start(spec, scope)
        self._answering(one.folder, wanted, status, progress, cancel)

    def stop(self, one: Asked) -> None:
        if one.about is not None and self._client.status(_process(one.key.name)) is not None:
            self._client.stop(_process(one.key.name), one.about.environment_id, _GRACE_S)

    def remove(self, one: Asked, owner: Owner | None) -> None:
        about = one.about
        if about is None:
            return
        if about.owner != owner:
            raise asked.not_ours(
                "cannot remove it", one.full_name, f"it belongs to {asked.whose(about.owner)}", ""
            )
        self._clear(one.key.name, about.owner, one.folder)
        if self._is_last_to_use:
            self._client.end()


def update_images(state_dir: Path, wanted: ClusterResource) -> None:
    """The daemon looks at the file before it starts a container."""
    folder = Folder(state_dir, wanted.name)
    if folder.about() is not None:
        _write_images(folder, wanted)


def _write_images(folder: Folder, wanted: ClusterResource) -> None:
    text = json.dumps({name: list(argv) for name, argv in sorted(wanted.images.items())}, indent=1)
    file = folder.path / "images.json"
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        folder.write_file(file.name, text.encode())


def _stale(folder: Folder) -> Path:
    """What a daemon says once it listens: of an earlier run, it would say too early."""
    return folder.path / "data" / "admin.kubeconfig"


def _process(name: str) -> str:
    """What its supervisor calls it. No service has a dot in its name."""
    return f"cluster.{name}"


def _place(wanted: ClusterResource) -> Places:
    if wanted.block is None:
        raise ValueError(f"embedded cluster {wanted.name} has no block of addresses")
    return places(wanted.block)


def _free_port(address: str) -> int:
    """6443, or any port where a program of this machine listens on that one of all addresses."""
    for port in (PORT, 0):
        with socket.socket() as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                trial.bind((address, port))
            except OSError:
                continue
            return int(trial.getsockname()[1])
    return PORT


def _spec(folder: Folder, wanted: ClusterResource, about: About) -> ProcessSpec:
    place = _place(wanted)
    argv = [sys.executable, "-P", "-m", "forge.embedded", "--name", wanted.full_name]
    argv += ["--dir", str(folder.path / "data"), "--listen", f"{place.api}:{about.port}"]
    argv += ["--pod-cidr", place.pods, "--service-cidr", place.services]
    argv += ["--images", str(folder.path / "images.json")]
    base = environ.base(os.environ, str(Path(sys.executable).parent))
    return ProcessSpec(
        name=_process(wanted.name),
        argv=tuple(argv),
        root=str(folder.path / "process" / "root"),
        base={**base, "PYTHONPATH": str(Path(forge.__file__).parent.parent)},
        address=place.api,
        restart=Restart.ALWAYS,
        backoff=Backoff(first_s=0.05, cap_s=2.0),
        grace_s=_GRACE_S,
        labels={
            "kind": "cluster",
            "container": wanted.full_name,
            "environment": about.environment,
            "owner": about.environment_id,
            "fingerprint": about.fingerprint,
        },
    )


def _look(one: Asked, status: Status | None) -> Observed:
    about = one.about
    if about is None:
        raise ValueError(f"nothing is known of {one.key}")
    if not about.made:
        return one.unfinished(about.owner, "its creation was cut off")
    if status is None:
        return one.silent(about.owner, "its daemon is gone")
    if status.phase not in (ProcessPhase.RUNNING, ProcessPhase.STARTING):
        return one.silent(about.owner, status.detail or "its daemon is stopped")
    try:
        found = _marker(Api(kubeconfig.read(one.folder.kubeconfig)), status)
    except (Silent, Stranger, kubeconfig.Unusable) as error:
        return one.silent(about.owner, f"its API does not answer: {error}")
    if found is None:
        detail = "its ConfigMap forge-owner is missing"
        return replace(one.observed(about.owner, Phase.RUNNING, detail), pid=status.pid)
    return Observed(
        one.key,
        found.owner,
        found.fingerprint,
        Phase.RUNNING,
        id=found.id,
        pid=status.pid,
        started_at=status.started_at,
        restarts=status.restarts,
        address=status.address,
    )


def _marker(api: Api, status: Status) -> marker.Marker | None:
    """Waits a little for one that is just coming up. Raises Silent, Stranger."""
    is_young = status.started_at is None or time.time() - status.started_at < _YOUNG_S
    until = time.monotonic() + (_GRACE_S if is_young or status.phase is ProcessPhase.STARTING else 0.0)
    while True:
        try:
            return marker.read(api, _LOOK_S)
        except Silent as error:
            if error.hangs or time.monotonic() >= until:
                raise
            time.sleep(0.05)


def _did_not_start(name: str, why: str, lines: Sequence[str]) -> OperationFailed:
    return OperationFailed(
        "FG0710",
        f"embedded cluster {name!r} did not start",
        why=why,
        hint="the lines below are its daemon's last; run `praxis-forge up` again",
        detail=tuple(lines),
    )
