"""What all models of the file share: strictness, names in camelCase, and the small types.

A small type checks one value by itself and says in its JSON schema what it wants. Rules that look
at two values are in forge/spec/rules. A check fails with the code of its explanation page, and
never quotes a value that may be secret.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, LiteralString

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError


class Shape(BaseModel):
    """Immutable, and closed to unknown keys. Only camelCase keys are read."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=False,
        defer_build=True,  # the root builds one validator for all: half the start-up time
    )


_DNS_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"


def refuse(code: LiteralString, message: str, help: str = "") -> PydanticCustomError:  # noqa: A002 - the word of the Problem
    """The error a check raises: a code, one line, one action."""
    return PydanticCustomError(code, "{text}", {"text": message, "help": help})


def _label(value: str) -> str:
    if not value:
        raise refuse("FG0110", "a name must not be empty")
    if len(value) > 63:
        raise refuse("FG0110", f'"{value[:70]}" is {len(value)} characters long, and a name has at most 63')
    if not re.fullmatch(r"[a-z0-9-]+", value):
        better = re.sub(r"[^a-z0-9-]+", "-", value.lower()).strip("-")
        help_ = f'"{better}" would do' if better else ""
        raise refuse("FG0110", f'"{value}" is not a name: only a-z, 0-9 and hyphens are allowed', help_)
    if value[0] == "-" or value[-1] == "-":
        raise refuse("FG0110", f'"{value}" must not begin or end with a hyphen')
    return value


def _object_name(value: str) -> str:
    """Kubernetes calls it a DNS subdomain (RFC 1123): labels joined by dots."""
    if len(value) > 253 or not re.fullmatch(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*", value):
        raise refuse("FG0110", f'"{value[:64]}" is not a name: only a-z, 0-9, hyphens and dots are allowed')
    return value


def _data_key(value: str) -> str:
    if not re.fullmatch(r"[-._a-zA-Z0-9]{1,253}", value) or value in (".", ".."):
        raise refuse(
            "FG0104", "not a key of a ConfigMap or Secret", "use letters, digits, dots, _ and hyphens"
        )
    return value


def _quiet_label(value: str) -> str:
    """As _label, for where a secret may be written by mistake: the value is not quoted."""
    try:
        return _label(value)
    except PydanticCustomError:
        raise refuse(
            "FG0110", "this is no name", "name a secret of spec.secrets; no value belongs here"
        ) from None


def _filled(value: str) -> str:
    if not value.strip():
        raise refuse("FG0104", "must not be blank")
    return value


def _image(value: str) -> str:
    _filled(value)
    if len(value) > 512:
        raise refuse("FG0104", f"is {len(value)} characters long, and an image reference has at most 512")
    if re.search(r"\s", value):
        raise refuse("FG0104", "an image reference has no spaces")
    return value


_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)(ms|s|m|h|d)")
_LONGEST_S = 100 * 365 * 86400.0  # a century: longer is a slip, and keeps sums inside floats


def seconds(duration: str) -> float:
    """A duration of the file in seconds. Raises ValueError when it is none."""
    found = _DURATION.fullmatch(duration)
    if not found:
        raise ValueError("not a duration")
    return float(found[1]) * _UNITS[found[2]]


def _pause(value: str) -> str:
    found = _DURATION.fullmatch(value)
    if not found:
        raise refuse("FG0111", "not a duration", "write a number and a unit: 500ms, 2s, 5m, 1h or 90d")
    if seconds(value) > _LONGEST_S:
        raise refuse("FG0111", "longer than a hundred years")
    return value


def _duration(value: str) -> str:
    if seconds(_pause(value)) == 0:
        raise refuse("FG0111", "must be longer than nothing")
    return value


def _path(value: str) -> str:
    if not value.strip():
        raise refuse("FG0112", "a path must not be blank")
    if value.startswith("/"):
        raise refuse(
            "FG0112",
            "must be relative to the folder of the configuration file",
            "move the file below that folder, or name a wider folder in spec.root",
        )
    return value


def _absolute(value: str) -> str:
    if not value.startswith("/"):
        raise refuse("FG0112", "must be an absolute path, since it is one inside the service")
    return value


def _variable(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,255}", value):
        raise refuse("FG0113", "not the name of an environment variable", "use letters, digits and _")
    return value


def _address(value: str) -> str:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        raise refuse("FG0114", f'"{value[:64]}" is not an IP address', "for example 127.0.0.1") from None
    return value


def _subnet(value: str) -> str:
    help_ = "for example 172.30.0.0/16"
    try:
        network = ipaddress.IPv4Network(value)
    except ValueError:
        raise refuse("FG0114", f'"{value[:64]}" is not an IPv4 subnet', help_) from None
    if "/" not in value or network.prefixlen > 28:
        raise refuse("FG0114", f'"{value}" has room for no lab: at least a /28 is needed', help_)
    return value


def _zone(value: str) -> str:
    if len(value) > 253 or not re.fullmatch(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})+", value):
        raise refuse("FG0114", f'"{value[:64]}" is not a DNS zone', "for example lab.test")
    return value


def _any_zone(value: str) -> str:
    if len(value) > 253 or not re.fullmatch(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*", value):
        raise refuse("FG0114", f'"{value[:64]}" is not a DNS zone', "for example lab.test")
    return value


def _upstream(value: str) -> str:
    """A server as CoreDNS names it. The check also keeps anything else out of its configuration."""
    bracketed = re.fullmatch(r"\[([0-9A-Fa-f:.]+)\](?::([0-9]{1,5}))?", value)
    named = re.fullmatch(r"([^:\s]+)(?::([0-9]{1,5}))?", value)
    found = bracketed or named
    host, port = (found[1], found[2]) if found else (value, None)
    if len(value) > 253 or not _is_host(host) or (port is not None and not 1 <= int(port) <= 65535):
        raise refuse("FG0114", f'"{value[:64]}" is not host or host:port', "for example 10.0.0.2:53")
    return value


def _is_host(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        starts_as_a_number = text[:1].isdigit()
        return not starts_as_a_number and bool(
            re.fullmatch(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*", text.lower())
        )
    return True


def _https(value: str) -> str:
    if not value.startswith("https://") or value == "https://":
        raise refuse("FG0104", "must be an https:// address")
    return value


def _sha256(value: str) -> str:
    if re.fullmatch(r"\{\{[^{}]*\}\}", value.strip()) or re.fullmatch(r"[0-9a-fA-F]{64}", value):
        return value
    raise refuse("FG0104", "not a SHA-256: 64 hex digits, or one {{ template }} that gives them")


_LABEL_PATTERN = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"
_DURATION_PATTERN = r"^[0-9]+(\.[0-9]+)?(ms|s|m|h|d)$"


def _schema(**words: object) -> object:
    return Field(json_schema_extra=words)  # type: ignore[arg-type]  # JSON, as pydantic wants it


Text = Annotated[str, Strict()]
Flag = Annotated[bool, Strict()]
Whole = Annotated[int, Strict()]
Label = Annotated[Text, AfterValidator(_label), _schema(pattern=_LABEL_PATTERN)]
ObjectName = Annotated[Text, AfterValidator(_object_name)]
DataKey = Annotated[Text, AfterValidator(_data_key)]
SecretName = Annotated[Text, AfterValidator(_quiet_label), _schema(pattern=_LABEL_PATTERN)]
Filled = Annotated[Text, AfterValidator(_filled), _schema(pattern=r"\S")]
ImageName = Annotated[Text, AfterValidator(_image), _schema(pattern=r"^\S{1,512}$")]
Duration = Annotated[Text, AfterValidator(_duration), _schema(pattern=_DURATION_PATTERN)]
Pause = Annotated[Text, AfterValidator(_pause), _schema(pattern=_DURATION_PATTERN)]
RelativePath = Annotated[Text, AfterValidator(_path), _schema(pattern=r"^[^/]")]
AbsolutePath = Annotated[Text, AfterValidator(_absolute), _schema(pattern="^/")]
Variable = Annotated[Text, AfterValidator(_variable)]
Address = Annotated[Text, AfterValidator(_address)]
Subnet = Annotated[Text, AfterValidator(_subnet)]
Zone = Annotated[Text, AfterValidator(_zone)]
AnyZone = Annotated[Text, AfterValidator(_any_zone)]
Upstream = Annotated[Text, AfterValidator(_upstream)]
HttpsUrl = Annotated[Text, AfterValidator(_https), _schema(pattern="^https://")]
Sha256 = Annotated[Text, AfterValidator(_sha256)]
Port = Annotated[int, Strict(), Field(ge=1, le=65535)]
