"""KIND clusters: made by the `kind` command, everything else by the engine that their nodes run on.

    create    kind with a kubeconfig of its own, on the lab's network; then the wait and the marker
    observe   one list of containers for all, one request to each API
    start     the node containers, the wait, and the access file's address where it has changed
    remove    the node containers, which is all that there is of it

What is seen of one, and whose it is, is in kind_look.py.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from forge.errors import ForgeError, OperationFailed
from forge.host import command, docker_exec, docker_image
from forge.host.clusters import asked, kind_command, kubeconfig, marker, nodes, ready
from forge.host.clusters.api import Api, Silent, Stranger
from forge.host.clusters.asked import Asked
from forge.host.clusters.folder import About, Folder
from forge.host.clusters.kind_look import LOOK_S, Look
from forge.host.clusters.nodes import Node
from forge.host.engine import Engine, EngineRefused
from forge.plan.lab_resources import ClusterResource
from forge.plan.ports import Cancel, Progress
from forge.plan.resources import ImageResource
from forge.plan.values import Key, Observed, Owner

AT_ONCE: Final = 3
"""Creations that run side by side: each waits for a third of its time, so that three keep two cores busy;
more only make each other's timeouts likelier."""


class KindClusters:
    """state_dir: the environment's. engine: on which the nodes run; where it refuses something, that is
    raised as it is (EngineRefused), and drivers.py puts it in words."""

    def __init__(self, state_dir: Path, engine: Engine) -> None:
        self._state_dir = state_dir
        self._engine = engine
        self._turns = threading.BoundedSemaphore(AT_ONCE)

    def observe(self, owner: Owner, these: Sequence[Asked]) -> dict[Key, Observed]:
        found = nodes.find(self._engine)
        present = [(one, found[one.full_name]) for one in these if one.full_name in found]
        seen = {one.key: self._nothing(one) for one in these if one.full_name not in found}
        if present:
            networks = nodes.owners(self._engine)
            with ThreadPoolExecutor(min(8, len(present))) as pool:
                looks = pool.map(lambda pair: Look(owner, pair[0], pair[1], networks).take(), present)
                seen |= {one.key: look for (one, _), look in zip(present, looks, strict=True)}
        return {key: look for key, look in seen.items() if look is not None}

    def _nothing(self, one: Asked) -> Observed | None:
        """No nodes: nothing, but for a folder that was begun and must go too."""
        about = one.about
        if about is None or about.made:
            return None
        return one.unfinished(about.owner, "its creation was cut off")

    def create(
        self,
        key: Key,
        wanted: ClusterResource,
        owner: Owner,
        fingerprint: str,
        progress: Progress,
        cancel: Cancel,
    ) -> str:
        program = kind_command.program(os.environ)
        self._make_room(key, wanted, owner)
        folder = Folder(self._state_dir, wanted.name)
        about = asked.begun(wanted, owner, fingerprint)
        folder.write(about)
        begun = False
        try:
            with self._turn(wanted.name, progress, cancel):
                self._fetch(wanted, progress, cancel)
                begun = True
                config = self._run_kind(program, wanted, progress, cancel)
                return self._finish(wanted, folder, about, config, progress, cancel)
        except (ForgeError, EngineRefused):
            if not begun or self._clear(wanted.full_name):
                folder.remove()
            raise

    def _clear(self, full_name: str) -> bool:
        """Takes away what a failed creation has made. Where the engine does not let it, the folder
        stays, by which the next run knows it."""
        try:
            nodes.remove_all(self._engine, full_name)
        except (EngineRefused, ForgeError):
            return False
        return True

    def _make_room(self, key: Key, wanted: ClusterResource, owner: Owner) -> None:
        """Removes what is left of ours under that name. Raises NotOurs for anything else."""
        folder = Folder(self._state_dir, wanted.name)
        one = Asked(key, wanted.full_name, wanted.driver, folder, folder.about(), is_recorded=True)
        present = nodes.find(self._engine, wanted.full_name).get(wanted.full_name, ())
        if present:
            look = self._look(owner, one, present)
            if look.owner != owner:
                raise _not_ours("cannot make it", wanted.full_name, look.owner)
            nodes.remove(self._engine, present)
        folder.remove()

    @contextmanager
    def _turn(self, name: str, progress: Progress, cancel: Cancel) -> Iterator[None]:
        """One of the few places where a cluster is made; waits for it. Raises Interrupted."""
        waits = False
        while not self._turns.acquire(timeout=0.1):
            if cancel.is_set():
                raise ready.stopped(name)
            if not waits:
                progress("waiting until another cluster is made")
                waits = True
        try:
            yield
        finally:
            self._turns.release()

    def _fetch(self, wanted: ClusterResource, progress: Progress, cancel: Cancel) -> None:
        """The node image, if it is named: kind would fetch it too, but says nothing meanwhile."""
        if wanted.node_image is not None:
            docker_image.ensure(self._engine, ImageResource(wanted.node_image), progress, cancel)

    def _run_kind(
        self, program: str, wanted: ClusterResource, progress: Progress, cancel: Cancel
    ) -> kubeconfig.Config:
        if cancel.is_set():
            raise ready.stopped(wanted.name)
        with tempfile.TemporaryDirectory(prefix="praxis-kind-") as place:
            folder = Path(place)
            file, access = folder / "kind.yaml", folder / "kubeconfig"
            file.write_text(kind_command.configuration(wanted), encoding="utf-8")
            argv = [program, "create", "cluster", "--name", wanted.full_name]
            argv += ["--config", str(file), "--kubeconfig", str(access)]
            argv += ["--image", wanted.node_image] if wanted.node_image else []
            env = kind_command.environment(os.environ, self._engine.socket_path, wanted.network)
            env["KUBECONFIG"] = str(access)
            ended = command.run(argv, env, folder, kind_command.steps(progress), cancel)
            if ended.code is None:
                raise ready.stopped(wanted.name)
            if ended.code:
                raise kind_command.failed(wanted.full_name, ended)
            try:
                return kubeconfig.read(access)
            except kubeconfig.Unusable as error:
                raise kind_command.failed(wanted.full_name, ended, str(error)) from error

    def _finish(
        self,
        wanted: ClusterResource,
        folder: Folder,
        about: About,
        config: kubeconfig.Config,
        progress: Progress,
        cancel: Cancel,
    ) -> str:
        folder.write_file("kubeconfig", config.text())
        api = Api(config)
        count = kind_command.node_count(wanted) if kind_command.has_network_of_its_own(wanted) else 0
        ready.wait(api, ready.Wanted(wanted.name, count), progress, cancel)
        identity = _marked(api, about)
        made = nodes.find(self._engine, wanted.full_name).get(wanted.full_name, ())
        folder.write(asked.finished(about, identity, nodes.network_server(made)))
        return identity

    def start(self, one: Asked, wanted: ClusterResource, progress: Progress, cancel: Cancel) -> None:
        present = nodes.find(self._engine, one.full_name).get(one.full_name, ())
        if not present:
            raise _gone(one)
        count = kind_command.node_count(wanted) if kind_command.has_network_of_its_own(wanted) else 0
        self._rouse(one, present, progress)
        config = self._with_address(one)
        ready.wait(Api(config), ready.Wanted(wanted.name, count), progress, cancel)

    def _rouse(self, one: Asked, present: Sequence[Node], progress: Progress) -> None:
        """Starts what stands still, or, where all runs and the API does not answer, all of it anew."""
        if not all(node.running for node in present):
            progress("starting its nodes")
            nodes.start(self._engine, present)
        elif not _answers(Api(self._with_address(one))):
            progress("restarting its nodes")
            nodes.restart(self._engine, present)

    def _with_address(self, one: Asked) -> kubeconfig.Config:
        """The access file, written anew where the API is published elsewhere now, or where it is gone.
        Raises OperationFailed, EngineRefused."""
        now = nodes.find(self._engine, one.full_name).get(one.full_name, ())
        try:
            kept = config = kubeconfig.read(one.folder.kubeconfig)
        except kubeconfig.Unusable:
            kept, config = None, self._from_node(one, now)
        config = config.at(nodes.server(now) or config.server)
        if config != kept:
            one.folder.write_file("kubeconfig", config.text())
        if one.about is not None and one.about.network_server != nodes.network_server(now):
            one.folder.write(replace(one.about, network_server=nodes.network_server(now)))
        return config

    def _from_node(self, one: Asked, now: Sequence[Node]) -> kubeconfig.Config:
        """The administrator's access as the control plane has it."""
        plane = next((node for node in now if node.role == "control-plane"), None)
        try:
            argv = ("cat", "/etc/kubernetes/admin.conf")
            text = "" if plane is None else docker_exec.run(self._engine, plane.id, argv).out
            document = kubeconfig.parse(text)
            found = kubeconfig.pick(document, str(document.get("current-context")), one.full_name)
        except (kubeconfig.Unusable, ValueError) as error:
            raise OperationFailed(
                "FG0706",
                f"the access file of cluster {one.key.name!r} is gone, and its node has none either",
                why=str(error),
                hint="run `praxis-forge down` and `up`: the cluster must be made anew",
            ) from error
        return found.renamed(f"kind-{one.full_name}")

    def stop(self, one: Asked) -> None:
        present = nodes.find(self._engine, one.full_name).get(one.full_name, ())
        self._refuse_foreign(one, present, one.about.owner if one.about else None, "cannot stop it")
        nodes.stop(self._engine, present)

    def remove(self, one: Asked, owner: Owner | None) -> None:
        present = nodes.find(self._engine, one.full_name).get(one.full_name, ())
        self._refuse_foreign(one, present, owner, "cannot remove it")
        nodes.remove(self._engine, present)
        one.folder.remove()

    def _refuse_foreign(self, one: Asked, present: Sequence[Node], owner: Owner | None, what: str) -> None:
        """Looks again, since a name may have changed hands since it was looked at."""
        if not present:
            return
        now = self._look(owner, one, present)
        if owner is None or now.owner != owner:
            raise _not_ours(what, one.full_name, now.owner)

    def _look(self, owner: Owner | None, one: Asked, present: Sequence[Node]) -> Observed:
        return Look(owner, one, present, nodes.owners(self._engine)).take()


def _answers(api: Api) -> bool:
    try:
        return api.get("/readyz", LOOK_S)[0] == 200
    except (Silent, Stranger):
        return False


def _marked(api: Api, about: About) -> str:
    try:
        return marker.write(api, about.owner, about.fingerprint)
    except (Silent, Stranger) as error:
        failed = OperationFailed(
            "FG0703", f"cluster {about.full_name!r} stopped answering", why=str(error), hint="run `up` again"
        )
        failed.may_pass = True
        raise failed from error


def _not_ours(what: str, full_name: str, owner: Owner | None) -> ForgeError:
    return asked.not_ours(
        what,
        full_name,
        f"kind has a cluster of that name, and it belongs to {asked.whose(owner)}",
        "choose another spec.runtime.clusterPrefix, or remove it yourself: "
        f"kind delete cluster --name {full_name}",
    )


def _gone(one: Asked) -> OperationFailed:
    return OperationFailed(
        "FG0706",
        f"cluster {one.key.name!r} is gone",
        why=f"the engine has no node of {one.full_name!r}",
        hint="run `praxis-forge up`, which makes it again",
        changed=False,
    )
