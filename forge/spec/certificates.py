"""What Forge makes and keeps secret: certificates and generated secrets. Shape only."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from forge.spec.shape import (
    Address,
    Duration,
    Filled,
    Flag,
    Label,
    ObjectName,
    RelativePath,
    Shape,
    Text,
    Whole,
)


class Authority(Shape):
    """A certificate authority of this lab. Its certificate is .forge/runtime/certs/<name>/ca.crt."""

    name: Label = Field(description="Name, unique among authorities and leaves.")
    common_name: Filled | None = Field(default=None, description="Subject CN; left out: the name.")
    organization: Filled | None = Field(default=None, description="Subject O.")
    lifetime: Duration = Field(default="3650d", description="How long it is valid, as 90d or 24h.")


class AlternativeNames(Shape):
    """What a certificate vouches for."""

    dns: tuple[Annotated[Filled, Field(max_length=253)], ...] = Field(default=(), description="DNS names.")
    ip: tuple[Address, ...] = Field(default=(), description="IP addresses.")
    uri: tuple[Filled, ...] = Field(default=(), description="URIs, such as SPIFFE ids.")


class SecretTarget(Shape):
    """A Secret of type kubernetes.io/tls that also gets ca.crt."""

    cluster: Label = Field(description="The cluster it is written to.")
    name: ObjectName = Field(description="Name of the Secret.")
    namespace: Label = Field(default="default", description="Its namespace, made when it is missing.")


class Leaf(Shape):
    """A certificate with its key: tls.crt, tls.key and ca.crt in one folder."""

    name: Label = Field(description="Name, unique among authorities and leaves.")
    authority: Label = Field(description="The authority that signs it.")
    common_name: Filled | None = Field(default=None, description="Subject CN; left out: the name.")
    organization: Filled | None = Field(default=None, description="Subject O.")
    sans: AlternativeNames = Field(default_factory=AlternativeNames, description="Subject alternative names.")
    usages: tuple[Literal["server", "client"], ...] = Field(
        default=("server", "client"), min_length=1, description="What its key may be used for."
    )
    lifetime: Duration = Field(default="365d", description="How long it is valid; renewed before it ends.")
    directory: RelativePath | None = Field(
        default=None, description="Folder it is written to; left out: .forge/runtime/certs/<name>."
    )
    secrets: tuple[SecretTarget, ...] = Field(default=(), description="Secrets that carry it too.")


class Certificates(Shape):
    """Authorities and the certificates they sign."""

    enabled: Flag = Field(default=False, description="Accepted from older files; has no effect.")
    authorities: tuple[Authority, ...] = Field(default=(), description="Certificate authorities.")
    leaves: tuple[Leaf, ...] = Field(default=(), description="Certificates they sign.")


class GeneratedSecret(Shape):
    """Random bytes made once and kept in .forge/secrets/<name>/value, readable by the owner alone."""

    name: Label = Field(description="Name, unique in the file.")
    bytes: Annotated[Whole, Field(ge=1, le=4096)] = Field(
        default=32, description="How many bytes, 1 to 4096."
    )
    encoding: Literal["raw", "hex", "base64"] = Field(
        default="hex", description="How they are written: raw bytes, hex digits or base64."
    )


class Input(Shape):
    """A variable of the caller's environment that `${env:NAME}` may use in this file."""

    name: Annotated[Text, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,255}$")] = Field(
        description="Name of the variable."
    )
    default: Text | None = Field(
        default=None, repr=False, description="Its value where it is not set; left out: it must be set."
    )
    description: Text | None = Field(default=None, description="What it is for.")
