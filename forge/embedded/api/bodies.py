"""A request's body as a document: decoded, of the right kind, with what is odd about it named.

Faults are told apart as the real server does: what cannot be read at all, what is of another kind,
what does not fit the type (400), and members nobody knows, which strict validation refuses, a plain
request is warned of, and `Ignore` passes over.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from forge.embedded.api import documents, gojson, gostruct, negotiate, status
from forge.embedded.api.openapi import data
from forge.embedded.api.resources import Resource
from forge.embedded.api.schema.model import Cause
from forge.embedded.api.values import Json, dig

MAX_BYTES = 3 * 1024 * 1024
_NAMING = ("apiVersion", "kind")
_TYPE_META = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)
_SCHEME = "pkg/api/legacyscheme/scheme.go:30"


@dataclass(slots=True)
class Body:
    """odd: complaints about unknown and repeated members, in order."""

    document: Json
    odd: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Expected:
    """The kind a body must be of: the resource's own, or its subresource's."""

    group: str
    version: str
    kind: str
    custom: bool = False

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


def expected(resource: Resource, subresource: str = "") -> Expected:
    sub = resource.subresource(subresource) if subresource else None
    if sub is not None and sub.group:
        return Expected(sub.group, sub.version, sub.kind)
    return Expected(resource.group, resource.version, resource.kind, resource.custom is not None)


def raw_value(body: bytes, media: str, wanted: Expected) -> tuple[Any, list[str]]:
    """(the decoded value, complaints about repeated members). Raises 400 when it cannot be read."""
    if media == negotiate.PROTOBUF:
        return _from_protobuf(body, wanted), []
    if media == negotiate.YAML:
        return _from_yaml(body, wanted)
    try:
        value = gojson.parse(body.decode("utf-8", "replace"))
    except gojson.GoError as error:
        said = f"couldn't get version/kind; json parse error: {error}"
        raise _unrecognized(wanted, said, body) from None
    return value, [f"duplicate field {status.quote(p)}" for p in gojson.doubled_paths(value)]


def _from_yaml(body: bytes, wanted: Expected) -> tuple[Any, list[str]]:
    """JSON is YAML too, and what most clients send by that name: read as JSON, it takes a tenth of the
    time. Whatever is odd about it is left to the reader of YAML to say."""
    text = body.decode("utf-8", "replace")
    if text.lstrip().startswith("{"):
        with suppress(gojson.GoError):
            found = gojson.parse(text)
            if not gojson.doubled_paths(found):
                return found, []
    from forge.embedded.api import goyaml  # most clusters never meet a body in YAML

    try:
        value = goyaml.parse(text)
        lines = goyaml.doubled_keys(text)
    except goyaml.YamlError as error:
        raise _unrecognized(wanted, str(error), body) from None
    return value, ["yaml: unmarshal errors:\n" + "\n".join(lines)] if lines else []


def _from_protobuf(body: bytes, wanted: Expected) -> Any:
    try:
        return documents.from_protobuf(body, wanted.group, wanted.version, wanted.kind)
    except ValueError as error:
        raise _unrecognized(wanted, str(error), body) from None


def _unrecognized(wanted: Expected, said: str, body: bytes) -> status.ApiError:
    message = (
        f"the object provided is unrecognized (must be of type {wanted.kind}): {said} ({_summary(body)})"
    )
    return status.bad_request(message)


def _summary(body: bytes) -> str:
    if not body:
        return "<empty>"
    more = " ..." if len(body) > 30 else ""
    if body.startswith(b"{"):
        return body[:30].decode("utf-8", "replace") + more
    return body[:30].hex() + more


def read(body: bytes, media: str, wanted: Expected) -> Body:
    """The body as a document of the *wanted* kind, as it will be worked with. Raises 400 and 422."""
    value, odd = raw_value(body, media, wanted)
    if value is not None and not isinstance(value, dict):
        kind = "array" if isinstance(value, list) else gostruct.json_type(value)
        said = f"json: cannot unmarshal {kind} into Go value of type {_TYPE_META}"
        raise _unrecognized(wanted, f"couldn't get version/kind; json parse error: {said}", body)
    document = dict(value or {})
    if wanted.custom and not document.get("kind"):
        text = body.decode("utf-8", "replace")
        raise _unrecognized(wanted, f"Object 'Kind' is missing in '{text}'", body)
    odd_key = next((k for k in document if k in _NAMING and not isinstance(document[k], str | None)), None)
    if odd_key is not None:
        kind = gostruct.json_type(document[odd_key])
        said = f"json: cannot unmarshal {kind} into Go struct field .{odd_key} of type string"
        raise _unrecognized(wanted, f"couldn't get version/kind; json parse error: {said}", body)
    check_kind(document, wanted)
    return typed(document, wanted, odd)


def check_kind(document: Json, wanted: Expected) -> None:
    """Raises 400 or 422 unless *document* says it is of the *wanted* kind, or says nothing."""
    kind, api_version = document.get("kind"), document.get("apiVersion")
    if wanted.custom:
        if api_version != wanted.api_version:
            said = (
                f"the API version in the data ({api_version or ''}) does not match the expected API version"
            )
            raise status.bad_request(f"{said} ({wanted.api_version})")
        if kind != wanted.kind:
            cause = status.wrong("kind", kind, f"must be {wanted.kind}")
            name = str(dig(document, "metadata", "name") or "")
            raise status.invalid(wanted.group, str(kind), name, [cause])
        return
    kind, api_version = kind or wanted.kind, api_version or wanted.api_version
    if (kind, api_version) == (wanted.kind, wanted.api_version):
        document["kind"], document["apiVersion"] = kind, api_version
        return
    group, _, version = str(api_version).rpartition("/")
    if data.full_name(group, version, str(kind)) and group == wanted.group:
        inner = group.split(".")[0] or "core"
        said = f"converting ({version}.{kind}) to ({inner}.{wanted.kind}): unknown conversion"
    else:
        quoted = f"{status.quote(str(kind))} is registered for version {status.quote(str(api_version))}"
        said = f'no kind {quoted} in scheme "{_SCHEME}"'
    raise cannot(str(kind), version, wanted.kind, said)


def cannot(kind: str, version: str, wanted: str, said: str) -> status.ApiError:
    return status.bad_request(f'{kind} in version "{version}" cannot be handled as a {wanted}: {said}')


def typed(document: Json, wanted: Expected, odd: list[str]) -> Body:
    """*document* read as its type. Raises 400 for values of wrong types."""
    try:
        if wanted.custom:
            return _custom(document, odd)
        name = data.full_name(wanted.group, wanted.version, wanted.kind)
        found, unknown = gostruct.read(name, document)
    except gostruct.GoTypeError as error:
        raise cannot(wanted.kind, wanted.version, wanted.kind, str(error)) from None
    return Body(found, odd + _unknown(unknown))


def _custom(document: Json, odd: list[str]) -> Body:
    """Custom objects are typed in their metadata only; the schema's turn comes later."""
    given = document.get("metadata")
    meta, unknown = gostruct.read(f"{data.META}.ObjectMeta", given if given is not None else {})
    if meta.get("creationTimestamp") is None:
        meta.pop("creationTimestamp", None)
    document["metadata"] = meta
    return Body(document, odd + _unknown([f"metadata.{path}" for path in unknown]))


def _unknown(paths: list[str]) -> list[str]:
    return [f"unknown field {status.quote(path)}" for path in paths]


def settle_odd(odd: list[str], validation: str, wanted: Expected) -> list[str]:
    """The warnings to send for *odd*; raises 400 where *validation* is Strict."""
    if validation == "Ignore" or not odd:
        return []
    if validation == "Strict":
        said = f"strict decoding error: {', '.join(odd)}"
        raise cannot(wanted.kind, wanted.version, wanted.kind, said)
    return odd


def causes_of_kind(document: Json, wanted: Expected) -> list[Cause]:
    """What a patch did to apiVersion and kind that it may not."""
    found = []
    if document.get("apiVersion") != wanted.api_version:
        why = f"must be {wanted.api_version}"
        found.append(status.wrong("apiVersion", document.get("apiVersion"), why))
    if document.get("kind") != wanted.kind:
        found.append(status.wrong("kind", document.get("kind"), f"must be {wanted.kind}"))
    return found
