"""What clusters, their load balancers, certificates, secrets and stacks need to be made.

Settled values, as in forge/plan/resources.py, with one difference: a step of a stack keeps its
templates, since what they say (an address that a cluster gave away) is known only when its turn
comes. `settled` in forge/kinds/step.py renders it then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forge.spec.steps import Step


class Driver(StrEnum):
    """Who makes a cluster. EXISTING: nobody; it is there, and stays."""

    KIND = "kind"
    EMBEDDED = "embedded"
    EXISTING = "existing"


@dataclass(frozen=True, slots=True)
class ClusterResource:
    """One Kubernetes cluster.

    name: as in forge.yaml. full_name: what kind, or the embedded daemon, calls it. context: of the
    user's kubeconfig, for EXISTING. network: the engine's network its nodes join, None: the engine's
    default one. block: CIDR of loopback addresses that is the cluster's own, for EMBEDDED. pool: its
    load-balancer addresses as `first-last`, None where it has none. images: reference -> argv that
    stands for it, for EMBEDDED; changing it changes nothing in the cluster, which reads it anew.
    """

    name: str
    full_name: str
    driver: Driver
    context: str | None = None
    control_planes: int = 1
    workers: int = 0
    node_image: str | None = None
    kind_config: Mapping[str, Any] = field(default_factory=dict)
    network: str | None = None
    block: str | None = None
    pool: str | None = None
    images: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PinnedFile:
    """A manifest by address or absolute path. sha256: of its bytes, always set with url."""

    url: str | None = None
    path: str | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class BalancerResource:
    """How the Services of one cluster get addresses. pool: `first-last`. manifest: what installs
    MetalLB, None where nothing need be installed (the embedded cluster does it itself)."""

    cluster: str
    pool: str
    manifest: PinnedFile | None = None


@dataclass(frozen=True, slots=True)
class LoadResource:
    """An image that must be on every node of a cluster. full_name: what kind calls the cluster."""

    reference: str
    cluster: str
    full_name: str = ""


@dataclass(frozen=True, slots=True)
class AuthorityResource:
    """A certificate authority. directory: absolute path; ca.crt is written there. lifetime_s: seconds."""

    name: str
    common_name: str
    organization: str | None
    lifetime_s: float
    directory: str


@dataclass(frozen=True, slots=True)
class LeafResource:
    """A certificate and its key: tls.crt, tls.key (0600) and ca.crt in directory (absolute path)."""

    name: str
    authority: str
    common_name: str
    organization: str | None
    dns: tuple[str, ...]
    ip: tuple[str, ...]
    uri: tuple[str, ...]
    usages: tuple[str, ...]
    lifetime_s: float
    directory: str


@dataclass(frozen=True, slots=True)
class LeafSecretResource:
    """A leaf as a Secret of type kubernetes.io/tls with ca.crt, in a cluster."""

    leaf: str
    cluster: str
    secret: str
    namespace: str


@dataclass(frozen=True, slots=True)
class SecretResource:
    """A generated secret. encoding: `raw`, `hex` or `base64` of `bytes` random bytes."""

    name: str
    bytes: int
    encoding: str
    path: str


@dataclass(frozen=True, slots=True)
class StepResource:
    """One step of a stack in one cluster, its templates unrendered.

    cluster, stack: names in forge.yaml. index: place in the stack, from 1. step: as the file has it.
    reads: captures it needs, as (cluster, key). writes: the captures it makes in its own cluster.
    scope: what its templates lead to, complete once it is settled. root: spec.root. contexts: cluster ->
    the name of its context in what commands see; its own first. embedded: whether its cluster is.
    others: the other steps of the cluster, each complete; asked for when objects are dropped.
    """

    cluster: str
    stack: str
    index: int
    step: Step
    reads: tuple[tuple[str, str], ...] = ()
    writes: tuple[str, ...] = ()
    scope: Mapping[str, object] = field(default_factory=dict, repr=False)
    root: str = "."
    contexts: Mapping[str, str] = field(default_factory=dict)
    embedded: bool = False
    others: Callable[[], Sequence[StepResource]] = field(default=tuple, repr=False, compare=False)


LabResource = (
    ClusterResource
    | BalancerResource
    | LoadResource
    | AuthorityResource
    | LeafResource
    | LeafSecretResource
    | SecretResource
    | StepResource
)
