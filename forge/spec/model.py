"""forge.yaml as values: the whole file in frozen models. Shape only; rules are in forge/spec/rules.

Environment > EnvironmentSpec > Runtime, Network, Cluster here,
                                Service                       in services.py
                                    Image                         in images.py
                                Stack and the steps           in steps.py
                                Certificates, GeneratedSecret in certificates.py
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from forge.spec.certificates import Certificates, GeneratedSecret, Input
from forge.spec.images import Image
from forge.spec.services import Service
from forge.spec.shape import (
    Filled,
    Flag,
    HttpsUrl,
    ImageName,
    Label,
    RelativePath,
    Sha256,
    Shape,
    Subnet,
    Text,
    Whole,
    Zone,
    refuse,
)
from forge.spec.steps import Stack

API_VERSION = "forge.praxis.dev/v1alpha1"
DEFAULT_ZONE = "forge.test"


class Metadata(Shape):
    """What the environment is called."""

    name: Label = Field(description="Name of the environment; every name Forge makes begins with it.")


class Runtime(Shape):
    """What the lab runs on."""

    provider: Literal["auto", "docker", "podman", "embedded"] = Field(
        default="auto", description="auto takes docker, then podman, then embedded, and says which."
    )
    cluster_prefix: Label = Field(default="forge", description="What names of KIND clusters begin with.")


class PinnedManifest(Shape):
    """A manifest by address or path, with its checksum."""

    url: HttpsUrl | None = Field(default=None, description="https:// address.")
    path: RelativePath | None = Field(default=None, description="Path relative to this file.")
    sha256: Sha256 | None = Field(default=None, description="SHA-256 of its bytes; required with url.")

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.url is None) == (self.path is None):
            raise refuse("FG0105", "needs either url or path")
        if self.url is not None and self.sha256 is None:
            raise refuse("FG0105", "a url needs the sha256 of what it gives")
        return self


class LoadBalancer(Shape):
    """How Services of type LoadBalancer get their addresses."""

    type: Literal["metallb", "none"] = Field(default="metallb", description="metallb, or none.")
    manifest: PinnedManifest | None = Field(default=None, description="The manifest that installs it.")
    pool_size: Annotated[Whole, Field(ge=1, le=1024)] = Field(
        default=20, description="Addresses for each cluster, 1 to 1024."
    )


class Network(Shape):
    """The lab's own network."""

    cross_cluster: Flag = Field(default=False, description="Whether clusters share it.")
    dns_zone: Zone | None = Field(
        default=None, description=f"DNS zone for templates; left out: {DEFAULT_ZONE}."
    )
    subnet: Subnet | None = Field(default=None, description="IPv4 subnet; left out: Forge takes a free one.")
    load_balancer: LoadBalancer | None = Field(default=None, description="Load balancer of the clusters.")


class Nodes(Shape):
    """How many nodes a cluster has."""

    control_planes: Annotated[Whole, Field(ge=1, le=99)] = Field(
        default=1, description="Control planes, from 1."
    )
    workers: Annotated[Whole, Field(ge=0, le=999)] = Field(default=0, description="Workers.")


class Cluster(Shape):
    """One Kubernetes cluster."""

    name: Label = Field(description="Name, unique in the file.")
    nodes: Nodes = Field(default_factory=Nodes, description="Its nodes.")
    stacks: tuple[Text, ...] = Field(default=(), description="Stacks that are applied to it, in order.")
    properties: Mapping[Text, Any] = Field(
        default_factory=dict, repr=False, description="Values for templates: {{ cluster.properties.KEY }}."
    )
    driver: Literal["kind", "embedded", "existing"] | None = Field(
        default=None,
        description="Who makes it; left out: what the runtime has. existing: nobody, it is there.",
    )
    context: Filled | None = Field(default=None, description="kubeconfig context; for driver existing.")
    node_image: ImageName | None = Field(default=None, description="Node image; for driver kind.")
    kind_config: Mapping[Text, Any] | None = Field(
        default=None, description="Further keys of the KIND configuration; for driver kind."
    )


class EnvironmentSpec(Shape):
    """Everything the environment consists of."""

    runtime: Runtime = Field(description="What the lab runs on; may be {}.")
    network: Network | None = Field(default=None, description="The lab's own network.")
    clusters: tuple[Cluster, ...] = Field(default=(), description="Kubernetes clusters.")
    services: tuple[Service, ...] = Field(default=(), description="Programs that run beside the clusters.")
    images: tuple[Image, ...] = Field(default=(), description="How images are made and mapped.")
    certificates: Certificates | None = Field(default=None, description="Certificates Forge makes.")
    secrets: tuple[GeneratedSecret, ...] = Field(default=(), description="Secrets Forge makes.")
    inputs: tuple[Input, ...] = Field(default=(), description="Variables ${env:NAME} may use.")
    stacks: Mapping[Label, Stack] = Field(default_factory=dict, description="Stacks by name.")
    root: Text = Field(
        default=".",
        pattern=r"^(\./?|(\.\./)*\.\./?)$",
        description="Folder all paths must stay in: this file's own (.), or one above it (.., ../..).",
    )


class Environment(Shape):
    """One lab, described by one file."""

    api_version: Literal["forge.praxis.dev/v1alpha1"] = Field(description="Version of this format.")
    kind: Literal["Environment"] = Field(description="Always Environment.")
    metadata: Metadata = Field(description="What the environment is called.")
    spec: EnvironmentSpec = Field(description="What it consists of.")
