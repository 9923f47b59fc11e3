"""The ports to clusters, their APIs, and what Forge itself makes on disk.

As in forge/plan/ports.py: adapters decide nothing, calls block, may come from several threads for
different keys, and raise ForgeErrors that say whether anything changed. Every fake in tests/kit
passes the same contract tests as the real thing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from forge.plan.lab_resources import (
        AuthorityResource,
        BalancerResource,
        ClusterResource,
        LeafResource,
        SecretResource,
    )
    from forge.plan.ports import Cancel, Progress
    from forge.plan.resources import ImageResource
    from forge.plan.values import Key, Observed, Owner, Recorded

Object: TypeAlias = dict[str, Any]
"""One Kubernetes object, as its API gives and takes it."""


@dataclass(frozen=True, slots=True)
class Access:
    """How a cluster is reached. kubeconfig: Forge's own file for it (0600). context: the one in it.
    server: URL from this machine; network_server: URL from the lab network (pods and services of
    other clusters). ca: PEM."""

    kubeconfig: Path
    context: str
    server: str
    network_server: str
    ca: bytes


class Clusters(Protocol):
    """Makes and finds clusters, by their driver. Owned means: recorded and marked, never by name."""

    def observe(
        self, owner: Owner, wanted: Mapping[Key, ClusterResource], recorded: Mapping[Key, Recorded]
    ) -> Mapping[Key, Observed]:
        """Clusters that are wanted or recorded, as they are now. A cluster of ours whose API does not
        answer is BROKEN or STOPPED with the reason; a foreign one has no owner, or another's; id is
        the uid of its kube-system namespace. fingerprint: from its marker. Changes nothing. The
        whole takes well under a second when all answer."""
        ...

    def create(
        self,
        key: Key,
        wanted: ClusterResource,
        owner: Owner,
        fingerprint: str,
        progress: Progress,
        cancel: Cancel,
    ) -> str:
        """Makes it, waits until it is ready, marks it (ConfigMap kube-system/forge-owner: owner and
        fingerprint); gives its id. A half-made one of ours goes first. Raises NotOurs for a foreign
        one of that name; when cancelled or failed nothing is left behind. For EXISTING: checks the
        context and that it is the cluster it was before; makes only the access file."""
        ...

    def start(self, observed: Observed, wanted: ClusterResource, progress: Progress, cancel: Cancel) -> None:
        """Starts a stopped one (its node containers, its daemon) and waits until it is ready."""
        ...

    def stop(self, key: Key, full_name: str) -> None:
        """Stops it without losing anything (`fault stop`)."""
        ...

    def remove(self, observed: Observed, full_name: str, cancel: Cancel) -> None:
        """Takes it away with its access file. One that is gone is a success; EXISTING stays. full_name:
        empty where the caller has the observation alone; then it is the one that was observed."""
        ...

    def access(self, name: str) -> Access:
        """How a cluster that stands is reached. Raises OperationFailed where it does not."""
        ...

    def update_images(self, wanted: ClusterResource) -> None:
        """Tells an embedded cluster what stands for which image. Nothing elsewhere."""
        ...


class Images(Protocol):
    """Builds images and brings them onto the nodes of clusters."""

    def build(self, wanted: ImageResource, owner: Owner, progress: Progress, cancel: Cancel) -> str:
        """Builds it; gives its digest. Raises OperationFailed with the build's last lines."""
        ...

    def on_nodes(self, cluster: ClusterResource, references: Collection[str]) -> Mapping[str, str]:
        """reference -> id of the image, for those that every node has, and has alike: the one that the
        engine has under that reference, where it has one."""
        ...

    def load(
        self,
        reference: str,
        clusters: Sequence[ClusterResource],
        progress: Progress,
        cancel: Cancel,
    ) -> str:
        """Saves it once and streams it into all nodes of the clusters at once; gives its id once every
        node shows it. Nodes that have it already are skipped."""
        ...


class Balancers(Protocol):
    """Load balancers of clusters."""

    def install(
        self, wanted: BalancerResource, owner: Owner, kube: Kube, progress: Progress, cancel: Cancel
    ) -> tuple[ObjectRef, ...]:
        """Installs what gives Services their addresses (nothing in an embedded cluster), waits until
        its webhook answers, applies pool and announcement with retries; gives these two objects."""
        ...


@dataclass(frozen=True, slots=True)
class ObjectRef:
    """One object in a cluster. namespace: empty for a cluster-scoped one. uid, generation: as they
    were after Forge's last write; generation 0 where the kind has none. fields: a hash of which fields
    Forge's applies hold, empty where the server does not say. Whoever changes the value of such a field
    takes it from Forge, and so changes the hash; what others write beside them does not.
    """

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str = ""
    generation: int = 0
    fields: str = ""

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """Without the version: the same object may be applied by another one of its versions."""
        return self.api_version.rpartition("/")[0], self.kind, self.namespace, self.name

    def is_as_left(self, now: ObjectRef) -> bool:
        """Whether the object, as it is now, is still as Forge left it."""
        same = now.fields == self.fields if self.fields else now.generation == self.generation
        return now.uid == self.uid and same


@dataclass(frozen=True, slots=True, order=True)
class Release:
    """What helm installed under a name. namespace: empty where the step says none."""

    namespace: str
    name: str


Intend: TypeAlias = "Callable[[tuple[ObjectRef, ...]], None]"
"""Told of objects that are about to be made. What it raises ends the call before it sends them."""


class Kube(Protocol):
    """The API of one cluster. Raises OperationFailed naming object, verb and the server's words;
    `may_pass` is set for what time may heal (unreachable, 429, 5xx, a webhook that does not answer)."""

    def identity(self) -> str:
        """uid of the kube-system namespace: which cluster this is, whatever its name or address."""
        ...

    def apply(
        self,
        objects: Sequence[Object],
        *,
        owner: Owner,
        places: Sequence[str] = (),
        intend: Intend = lambda _: None,
        progress: Progress,
        cancel: Cancel,
    ) -> tuple[ObjectRef, ...]:
        """Applies them server-side as `praxis-forge`, conflicts forced, labelled as owner's; gives them
        in the order given. Sent by rank: CRDs and namespaces, then what others need (accounts, roles,
        configuration, Services), then what runs, then custom objects, each once its CRD is established,
        and webhooks last; in the order given within a rank, a few at a time. places: where each comes
        from (`base/crds.yaml, document 3`), for errors. intend: told of the objects of a rank (without uid)
        before the first of them is sent, so that none is forgotten when a later one fails. What time may
        heal is tried again, for two minutes. Raises one OperationFailed for all that failed of a rank; later
        ranks are not sent."""
        ...

    def get(self, api_version: str, kind: str, namespace: str, name: str) -> Object | None:
        """The object; None where it, or its kind, does not exist (yet)."""
        ...

    def find(self, resource: str, namespace: str | None, *, selector: str = "") -> tuple[Object, ...]:
        """Objects by what a user types: `deployment/web`, `deploy/web`, `widgets.example.org/x`,
        `pods`. namespace: None is `default`. Empty where there are none, or not even the kind yet."""
        ...

    def observe(self, refs: Collection[ObjectRef]) -> Mapping[ObjectRef, ObjectRef]:
        """Those that still exist, with uid and generation as they are now. Key: as it was given."""
        ...

    def delete(
        self,
        refs: Collection[ObjectRef],
        *,
        owner: Owner | None = None,
        grace_s: int | None = None,
        cancel: Cancel,
    ) -> tuple[ObjectRef, ...]:
        """Deletes them with what they own and waits until they are gone; gives those that were there.
        One that is gone, or whose kind is, is a success. owner: what does not carry its labels stays.
        A ref with a uid is that very object: another one of its name stays. grace_s: of a pod's ending;
        None: its own, 0: its object is gone at once."""
        ...

    def watch(
        self, api_version: str, kind: str, namespace: str, name: str, *, cancel: Cancel, timeout_s: float
    ) -> Iterator[Object | None]:
        """The object now, and at every change of it, None while it does not exist; reconnects. Ends at
        timeout_s or when cancel is set."""
        ...

    def residents(self, namespace: str) -> tuple[ObjectRef, ...]:
        """What stands in a namespace beside what a cluster itself puts into every one, of every kind that
        is served; without what is on its way out. Raises OperationFailed where a kind cannot be listed:
        then nobody knows."""
        ...

    def events(self, namespace: str, kind: str, name: str) -> tuple[str, ...]:
        """The latest events about an object, oldest first, one line each."""
        ...

    def pod_log(self, namespace: str, name: str, *, container: str = "", tail: int = 20) -> tuple[str, ...]:
        """Last log lines of a pod."""
        ...

    def patch(
        self, api_version: str, kind: str, namespace: str, name: str, change: Object, *, sub: str = ""
    ) -> Object:
        """A merge patch (to a subresource such as `scale`); gives the object after it."""
        ...

    def token(self, namespace: str, service_account: str, lifetime_s: float) -> str:
        """A token of the ServiceAccount, valid that long (or as long as the cluster allows)."""
        ...


class Material(Protocol):
    """Certificates and generated secrets on disk, below the state directory. Private keys never leave
    it but as files of mode 0600 and as Secrets.

    Calls for one key come one at a time; those for different keys may come at once. A leaf needs its
    authority first. Raises OperationFailed; what was there before is there still.
    """

    def observe(self, owner: Owner, keys: Collection[Key]) -> Mapping[Key, Observed]:
        """Those of the authorities, leaves and secrets asked for that are here, even in part. Whatever
        is below a state directory is the owner's whose directory that is. PRESENT when whole, with the
        fingerprint they were made with and their SHA-256 as id. What is near its end, damaged, or of
        another authority's key is BROKEN with the reason as detail. Changes nothing, and parses no
        certificate."""
        ...

    def make_authority(self, wanted: AuthorityResource, fingerprint: str) -> str:
        """Makes it, or puts it right: its key stays for as long as its subject does, and its
        certificate stays unless lifetime or subject changed or it is near its end. Gives the hex
        SHA-256 of its certificate. Raises OperationFailed FG0771 when its key is lost or spoiled while
        leaves stand that it signed: nothing is made then."""
        ...

    def make_leaf(self, wanted: LeafResource, fingerprint: str) -> str:
        """Issues it anew (a new key), and remembers the hash of the one before it. A whole one of this
        fingerprint that the authority's key signed, and that is not near its end, stays; only ca.crt
        follows. Gives the hex SHA-256 of its certificate. Raises NotOurs FG0772 where its folder holds
        files of those names that Forge did not write, OperationFailed FG0773 without its authority."""
        ...

    def make_secret(self, wanted: SecretResource, fingerprint: str) -> str:
        """Makes it once, or anew where its fingerprint changed. A value that a user put there is taken
        as it is. Gives the hex SHA-256 of its value."""
        ...

    def remove(self, key: Key) -> None:
        """Takes its files away, and folders that were made for them; never what a user put there. What
        is gone is a success."""
        ...

    def read_leaf(self, name: str) -> tuple[bytes, bytes, bytes]:
        """tls.crt, tls.key, ca.crt: for the Secret of a cluster alone. They fit each other. Raises
        OperationFailed FG0774 where it is not here."""
        ...

    def read_secret(self, name: str) -> bytes:
        """The value: for Secrets and mounted files alone. Raises OperationFailed FG0774."""
        ...

    def fingerprints(self) -> tuple[Mapping[str, str], Mapping[str, str], Mapping[str, str]]:
        """leaf -> hex SHA-256 of its certificate's DER; the same of the one before it, for those that
        had one; secret -> hex SHA-256 of its value. Of those that were made here."""
        ...


@dataclass(frozen=True, slots=True)
class Seen:
    """A file or folder as it was when it was read: mtime_ns and size as stat gives them, -1 where
    there was none."""

    path: str
    mtime_ns: int
    size: int

    def to_json(self) -> list[str | int]:
        return [self.path, self.mtime_ns, self.size]

    @classmethod
    def parse(cls, value: Sequence[Any]) -> Seen:
        path, mtime_ns, size = value
        return cls(str(path), int(mtime_ns), int(size))


class Files(Protocol):
    """Files below the environment's root and its state directory. Paths as forge.yaml writes them:
    `.forge/...` is the state directory, wherever that is; all else is relative to the file's folder."""

    def within(self, root: str) -> Files:
        """The same files, where paths may lead up to spec.root (`.`, `..`, `../..`); as they are they
        stay in the folder of forge.yaml. What either sees, both have seen."""
        ...

    @property
    def folder_of_file(self) -> Path:
        """The folder of forge.yaml: where commands run."""
        ...

    def path(self, path: str) -> Path:
        """Where that is on this machine. Raises OperationFailed FG0731 when it leaves the root, be it by
        a symlink."""
        ...

    def read(self, path: str) -> bytes:
        """Raises OperationFailed FG0732 when it is not there or cannot be read."""
        ...

    def exists(self, path: str) -> bool: ...

    def digest(self, path: str) -> str:
        """Hex SHA-256 of its content, however long that is."""
        ...

    def folder(self, path: str) -> tuple[str, ...] | None:
        """Names in a folder, sorted; None where path is no folder."""
        ...

    def seen(self) -> tuple[Seen, ...]:
        """What was read and listed through this port so far, as it was then."""
        ...

    def is_current(self, seen: Seen) -> bool:
        """Whether that path is still as it was."""
        ...

    def write(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Replaces it by rename; folders on the way are made. Raises OperationFailed FG0731, FG0756."""
        ...

    def remove(self, path: str) -> None:
        """Takes a file away, with the folders below `.forge/runtime` it leaves empty. One that is gone is
        a success."""
        ...


KubeOpener: TypeAlias = "Callable[[str], Kube]"
"""cluster -> its API, connected when first used."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended. lines: the last of its output, both streams as they came, secrets masked.
    output: all of its standard output."""

    exit_code: int
    lines: tuple[str, ...] = ()
    output: bytes = b""


@dataclass(frozen=True, slots=True)
class Answer:
    """What an HTTP address said. status: 0 where nothing answered, and error says why."""

    status: int
    body: bytes = b""
    error: str = ""


class Tools(Protocol):
    """Programs and addresses that steps use, beside clusters."""

    def find(self, program: str) -> str | None:
        """Where it is on PATH; None where it is not."""
        ...

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
        """Runs it in the folder of forge.yaml, without a shell, in a process group that ends with it or
        when cancel is set. env: added to Forge's own. files: word of argv -> bytes of the private file
        whose path stands there instead. contexts: name -> cluster; where there are any, KUBECONFIG names
        a private file with them, the first one current. secrets: texts masked in what it says. Raises
        ToolMissing FG0741 where the program is not there, Interrupted FG0757."""
        ...

    def download(self, url: str, sha256: str, *, cancel: Cancel) -> bytes:
        """What is at an https address, from the cache where it was fetched before. Raises OperationFailed
        FG0738 (cannot be had; may pass) or FG0739 (other bytes than sha256 says)."""
        ...

    def answer(self, url: str, *, ca: bytes | None, timeout_s: float) -> Answer:
        """One GET. ca: PEM of the authority to trust in place of the machine's. No redirect is followed."""
        ...

    def now(self) -> float:
        """Unix seconds."""
        ...
