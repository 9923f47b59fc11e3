"""The steps of a stack, one model a type. Shape only; TEMPLATED names the fields that are rendered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from forge.spec.shape import (
    AnyZone,
    DataKey,
    Duration,
    Filled,
    HttpsUrl,
    Label,
    ObjectName,
    Port,
    RelativePath,
    SecretName,
    Sha256,
    Shape,
    Text,
    Upstream,
    Variable,
    Whole,
    refuse,
)


class StepShape(Shape):
    """What any step may say. TEMPLATED: attributes whose text (at any depth) may hold {{ }}."""

    TEMPLATED: ClassVar[tuple[str, ...]] = ()

    retries: Annotated[Whole, Field(ge=0, le=100)] = Field(
        default=0, description="How often a failed step is tried again, 0 to 100."
    )
    timeout: Duration | None = Field(default=None, description="How long the step may take in all.")
    when: Filled | None = Field(
        default=None,
        description="Skipped unless this holds: `a == b`, `a != b`, or one template that gives true.",
    )


class UrlStep(StepShape):
    """Downloads a manifest, compares its checksum and applies it."""

    TEMPLATED = ("url", "sha256")
    type: Literal["url"] = Field(description="Download, check and apply a manifest.")
    url: HttpsUrl = Field(description="https:// address of the manifest.")
    sha256: Sha256 = Field(description="SHA-256 of its bytes as 64 hex digits, or one template.")


class ManifestStep(StepShape):
    """Applies a manifest file, or a folder of them, as it is."""

    TEMPLATED = ("path",)
    type: Literal["manifest"] = Field(description="Apply a manifest file or folder.")
    path: RelativePath = Field(description="File, or folder whose *.yaml are applied in order.")


class KustomizeStep(StepShape):
    """Builds a kustomization with kubectl and applies it."""

    TEMPLATED = ("path",)
    type: Literal["kustomize"] = Field(description="Build and apply a kustomization.")
    path: RelativePath = Field(description="Folder of the kustomization.")


class HelmStep(StepShape):
    """Installs or upgrades a Helm release."""

    TEMPLATED = ("chart", "version", "values")
    type: Literal["helm"] = Field(description="Install or upgrade a Helm release.")
    release: Label = Field(description="Name of the release.")
    chart: Filled = Field(description="Chart: a reference, or a folder.")
    version: Filled = Field(description="Version of the chart.")
    namespace: Label | None = Field(default=None, description="Namespace, made when it is missing.")
    values: Mapping[Text, Any] = Field(
        default_factory=dict, repr=False, description="Values; templates are legal in all texts."
    )


class DeploymentStep(StepShape):
    """Makes a Deployment of one container."""

    TEMPLATED = ("image", "args")
    type: Literal["deployment"] = Field(description="Make a Deployment of one container.")
    name: Label = Field(description="Name of the Deployment and of its app label.")
    image: Filled = Field(description="Image of the container.")
    namespace: Label | None = Field(default=None, description="Namespace.")
    args: tuple[Text, ...] = Field(default=(), repr=False, description="Arguments of the container.")


class ServiceStep(StepShape):
    """Makes a Service for the pods of a Deployment step."""

    type: Literal["service"] = Field(description="Make a Service.")
    name: Label = Field(description="Name of the Service, and the app label it selects.")
    port: Port = Field(description="Port of the Service and of its pods.")
    namespace: Label | None = Field(default=None, description="Namespace.")


class WaitStep(StepShape):
    """Waits until a resource is in a condition."""

    TEMPLATED = ("resource", "condition")
    type: Literal["wait"] = Field(description="Wait for a resource.")
    resource: Filled = Field(description="Resource as kind/name.")
    condition: Filled = Field(
        description="A condition such as available, or exists, deleted, or jsonpath={...}=value."
    )
    timeout: Duration = Field(description="How long to wait.")
    namespace: Label | None = Field(default=None, description="Namespace.")


class ExecStep(StepShape):
    """Runs a command on this machine. No shell is involved unless it is named."""

    TEMPLATED = ("command", "env")
    type: Literal["exec"] = Field(description="Run a command on this machine.")
    command: tuple[Filled, ...] = Field(min_length=1, repr=False, description="Program and arguments.")
    env: Mapping[Variable, Text] = Field(
        default_factory=dict, repr=False, description="Environment variables for it."
    )


class ForEachStep(StepShape):
    """Repeats steps for each item of a list among the cluster's properties."""

    TEMPLATED = ("property",)
    type: Literal["for-each"] = Field(description="Repeat steps for each item of a list.")
    property: Filled = Field(description="Name of the list in clusters[].properties; at most 256 items.")
    steps: tuple[Step, ...] = Field(min_length=1, description="The steps; `item` is the item at hand.")


class MetallbAutoPoolStep(StepShape):
    """Makes MetalLB's address pool from the cluster's share of the lab network."""

    type: Literal["metallb-auto-pool"] = Field(description="Make MetalLB's address pool.")
    name: Label = Field(description="Name of the pool.")


class CoreDnsForwardStep(StepShape):
    """Makes the cluster's DNS forward a zone."""

    type: Literal["core-dns-forward"] = Field(description="Forward a DNS zone.")
    zone: AnyZone = Field(description="The zone; one label is enough.")
    upstreams: tuple[Upstream, ...] = Field(min_length=1, description="Servers, each as host or host:port.")


class CaptureStep(StepShape):
    """Waits for a value in a resource and remembers it as captures.<cluster>.<key>."""

    TEMPLATED = ("resource", "jsonpath", "key")
    type: Literal["capture"] = Field(description="Remember a value of a resource.")
    resource: Filled = Field(description="Resource as kind/name.")
    namespace: Label | None = Field(default=None, description="Namespace.")
    jsonpath: Filled = Field(description="Where in it the value stands, as {.status.x}.")
    key: Filled = Field(description="Name of the value, without dots; for-each items may be part of it.")
    timeout: Duration = Field(description="How long to wait for a value that is not empty.")
    interval: Duration = Field(description="Time between two looks.")


class TemplateManifestStep(StepShape):
    """Renders a manifest file and applies it."""

    TEMPLATED = ("path",)
    type: Literal["template-manifest"] = Field(description="Render and apply a manifest.")
    path: RelativePath = Field(description="The template.")


class TemplateFileStep(StepShape):
    """Renders a file to another place."""

    TEMPLATED = ("source", "target")
    type: Literal["template-file"] = Field(description="Render a file.")
    source: RelativePath = Field(description="The template.")
    target: RelativePath = Field(description="Where the result is written, by rename.")


class ConfigMapStep(StepShape):
    """Makes a ConfigMap."""

    TEMPLATED = ("data", "files")
    type: Literal["configmap"] = Field(description="Make a ConfigMap.")
    name: ObjectName = Field(description="Its name.")
    namespace: Label | None = Field(default=None, description="Namespace.")
    data: Mapping[DataKey, Text] = Field(
        default_factory=dict, repr=False, description="Entries as text; templates are legal."
    )
    files: Mapping[DataKey, RelativePath] = Field(
        default_factory=dict, description="Entries that are the bytes of a file, key: path."
    )


class SecretStep(StepShape):
    """Makes a Secret."""

    TEMPLATED = ("data", "files")
    type: Literal["secret"] = Field(description="Make a Secret.")
    name: ObjectName = Field(description="Its name.")
    namespace: Label | None = Field(default=None, description="Namespace.")
    secret_type: Filled = Field(default="Opaque", description="Its Kubernetes type.")
    data: Mapping[DataKey, Text] = Field(
        default_factory=dict, repr=False, description="Entries as text; templates are legal."
    )
    files: Mapping[DataKey, RelativePath] = Field(
        default_factory=dict, description="Entries that are the bytes of a file, key: path."
    )
    secrets: Mapping[DataKey, SecretName] = Field(
        default_factory=dict, description="Entries that are generated secrets, key: name in spec.secrets."
    )


class KubeconfigStep(StepShape):
    """Writes a kubeconfig that acts as a ServiceAccount."""

    TEMPLATED = ("target",)
    type: Literal["kubeconfig"] = Field(description="Write a kubeconfig for a ServiceAccount.")
    service_account: Label = Field(description="The ServiceAccount.")
    namespace: Label = Field(description="Its namespace.")
    target: RelativePath = Field(description="Where the kubeconfig is written.")
    context: Filled | None = Field(default=None, description="Name of its context; left out: the cluster.")
    address: Literal["network", "host"] = Field(
        default="network", description="Whether it is used from the lab network or from this machine."
    )
    lifetime: Duration = Field(default="365d", description="How long its token is valid.")


class DeleteStep(StepShape):
    """Deletes a resource, or what a manifest names. What is gone already is a success."""

    TEMPLATED = ("resource", "path")
    type: Literal["delete"] = Field(description="Delete a resource.")
    resource: Filled | None = Field(default=None, description="Resource as kind/name.")
    path: RelativePath | None = Field(default=None, description="Manifest whose resources go.")
    namespace: Label | None = Field(default=None, description="Namespace.")

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.resource is None) == (self.path is None):
            raise refuse("FG0105", "a delete step needs either resource or path")
        return self


class HttpWaitStep(StepShape):
    """Waits until an address answers."""

    TEMPLATED = ("url", "contains", "ca")
    type: Literal["http-wait"] = Field(description="Wait for an HTTP answer.")
    url: Annotated[Filled, Field(pattern=r"^https?://.")] = Field(description="http:// or https:// address.")
    status: Annotated[Whole, Field(ge=100, le=599)] | None = Field(
        default=None, description="The status it must answer; left out: 200 to 399."
    )
    contains: Text | None = Field(default=None, description="Text the answer must contain.")
    ca: RelativePath | None = Field(default=None, description="Certificate of the authority to trust.")
    timeout: Duration = Field(description="How long to wait.")
    interval: Duration = Field(default="1s", description="Time between two tries.")


Step = Annotated[
    UrlStep
    | ManifestStep
    | KustomizeStep
    | HelmStep
    | DeploymentStep
    | ServiceStep
    | WaitStep
    | ExecStep
    | ForEachStep
    | MetallbAutoPoolStep
    | CoreDnsForwardStep
    | CaptureStep
    | TemplateManifestStep
    | TemplateFileStep
    | ConfigMapStep
    | SecretStep
    | KubeconfigStep
    | DeleteStep
    | HttpWaitStep,
    Field(discriminator="type"),
]


class Stack(Shape):
    """Steps that are applied to a cluster in their order."""

    description: Text | None = Field(default=None, description="What the stack brings.")
    steps: tuple[Step, ...] = Field(default=(), description="The steps, in order.")
