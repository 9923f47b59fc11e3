"""What the three resources share: how an object becomes a value, its metadata and its conditions.

Views are lenient where the API server is (unknown fields are dropped, as it prunes them) and strict where it
is: a type it would not store is `ResourceInvalid`, with every problem and its path. Attribute names are the
fields' in snake case. Nothing here talks to a server.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from grid.crd.durations import DURATION

Duration = Annotated[str, Field(pattern=DURATION)]
Count = Annotated[int, Field(ge=0, le=2**32 - 1)]
Share = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, Field(min_length=1)]


# Which fields were given, by those fields: a few combinations in many thousand views.
_GIVEN: dict[frozenset[str], set[str]] = {}
_MOST_GIVEN = 4096


class View(BaseModel):
    """A part of a resource as a frozen value.

    Which fields were given is one set for all views that were given the same: each its own would be as large
    as the rest of it. Whoever changes it, copies it first (`model_copy` does).
    """

    model_config = ConfigDict(
        frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True, ser_json_inf_nan="null"
    )

    def model_post_init(self, _: Any) -> None:
        given = self.__pydantic_fields_set__
        if len(_GIVEN) < _MOST_GIVEN:
            object.__setattr__(self, "__pydantic_fields_set__", _GIVEN.setdefault(frozenset(given), given))


class Metadata(View):
    """What Grid reads of an object's metadata."""

    name: Name
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    resource_version: str = ""
    labels: Mapping[str, str] = Field(default_factory=dict)
    annotations: Mapping[str, str] = Field(default_factory=dict)
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    finalizers: tuple[str, ...] = ()


class Condition(View):
    """A standard condition (apimachinery, meta/v1 Condition)."""

    type: Annotated[str, Field(min_length=1, max_length=316)]
    status: Literal["True", "False", "Unknown"]
    reason: Annotated[
        str, Field(min_length=1, max_length=1024, pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")
    ]
    message: Annotated[str, Field(max_length=32768)] = ""
    observed_generation: int | None = Field(default=None, ge=0)
    last_transition_time: str


class SecretRef(View):
    """One key of a Secret; which key is the default depends on what it is for."""

    namespace: Name
    name: Name
    key: Name | None = None


class ClientCertificateRef(View):
    """A certificate with its key, in one Secret."""

    namespace: Name
    name: Name
    certificate_key: Name = "tls.crt"
    private_key_key: Name = "tls.key"


class EndpointTls(View):
    """How an https endpoint is verified, and who we are to it."""

    ca_secret_ref: SecretRef
    client_certificate_secret_ref: ClientCertificateRef | None = None


class SiteSelector(View):
    """Sites by label; all must match. What an empty one means depends on the field that holds it."""

    match_labels: Mapping[str, str] = Field(default_factory=dict)

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(labels.get(label) == value for label, value in self.match_labels.items())


class ResourceInvalid(Exception):
    """An object is not the resource it says it is. problems: `spec.seeds[0]: what is wrong`, all of them."""

    def __init__(self, kind: str, name: str, problems: tuple[str, ...]) -> None:
        super().__init__(f"{kind} {name}: {'; '.join(problems)}")
        self.kind = kind
        self.name = name
        self.problems = problems


V = TypeVar("V", bound=View)


def read(view: type[V], kind: str, document: Mapping[str, Any]) -> V:
    """The object as a *view*. Raises ResourceInvalid with all its problems."""
    try:
        return view.model_validate(document)
    except ValidationError as fault:
        problems = tuple(f"{_path(error['loc'])}: {error['msg']}" for error in fault.errors())
        raise ResourceInvalid(kind, _name(document), problems) from None


def _path(location: tuple[int | str, ...]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).lstrip(".")


def _name(document: Mapping[str, Any]) -> str:
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return name if isinstance(name, str) else "without a name"
