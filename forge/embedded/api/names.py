"""The rules for names, labels and annotations, each answering what is wrong in the server's words.

Every function gives the list of complaints, empty when the value is fine.
"""

from __future__ import annotations

import re
from collections.abc import Callable

Rule = Callable[[str], list[str]]

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_DNS1035 = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = rf"({_QUALIFIED})?"
_CONFIG_KEY = r"[-._a-zA-Z0-9]+"


def _regex(said: str, pattern: str, *examples: str) -> str:
    shown = ",  or ".join(f"'{e}'" for e in examples)
    return f"{said} (e.g. {shown}, regex used for validation is '{pattern}')"


_SUBDOMAIN_SAID = _regex(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character",
    _SUBDOMAIN,
    "example.com",
)
_LABEL_SAID = _regex(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character",
    _LABEL,
    "my-name",
    "123-abc",
)
_DNS1035_SAID = _regex(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character",
    _DNS1035,
    "my-name",
    "abc-123",
)
_PART_SAID = _regex(
    "must consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character",
    _QUALIFIED,
    "MyName",
    "my.name",
    "123-abc",
)
_VALUE_SAID = _regex(
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character",
    _LABEL_VALUE,
    "MyValue",
    "my_value",
    "12345",
)
_KEY_SAID = _regex(
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    _CONFIG_KEY,
    "key.name",
    "KEY_NAME",
    "key-name",
)


def _at_most(value: str, limit: int) -> list[str]:
    return [f"must be no more than {limit} characters"] if len(value) > limit else []


def subdomain(value: str) -> list[str]:
    """RFC 1123 subdomain, at most 253 characters."""
    wrong = [] if re.fullmatch(_SUBDOMAIN, value) else [_SUBDOMAIN_SAID]
    return _at_most(value, 253) + wrong


def label(value: str) -> list[str]:
    """RFC 1123 label, at most 63 characters."""
    wrong = _at_most(value, 63)
    if not re.fullmatch(_LABEL, value):
        wrong.append("must not contain dots" if re.fullmatch(_SUBDOMAIN, value) else _LABEL_SAID)
    return wrong


def service(value: str) -> list[str]:
    """DNS-1035 label: the name of a Service, which becomes a host name."""
    return _at_most(value, 63) + ([] if re.fullmatch(_DNS1035, value) else [_DNS1035_SAID])


def path_segment(value: str) -> list[str]:
    """What may stand in a URL's path: the names of roles and bindings."""
    if value in (".", ".."):
        return [f"may not be '{value}'"]
    return [f"may not contain '{c}'" for c in "/%" if c in value]


def qualified(value: str) -> list[str]:
    """`prefix/name`, prefix a subdomain and optional: label keys, finalizers."""
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a qualified name {_PART_SAID} {optional}"]
    wrong: list[str] = []
    if slash:
        wrong += (
            [f"prefix part {w}" for w in subdomain(prefix)] if prefix else ["prefix part must be non-empty"]
        )
    if not name:
        wrong.append("name part must be non-empty")
    wrong += [f"name part {w}" for w in _at_most(name, 63)]
    if not re.fullmatch(_QUALIFIED, name):
        wrong.append(f"name part {_PART_SAID}")
    return wrong


def label_value(value: str) -> list[str]:
    return _at_most(value, 63) + ([] if re.fullmatch(_LABEL_VALUE, value) else [_VALUE_SAID])


def config_key(value: str) -> list[str]:
    """Keys of ConfigMaps and Secrets, which become file names."""
    wrong = _at_most(value, 253)
    if not re.fullmatch(_CONFIG_KEY, value):
        wrong.append(_KEY_SAID)
    elif value in (".", ".."):
        wrong.append(f"must not be '{value}'")
    elif value.startswith(".."):
        wrong.append("must not start with '..'")
    return wrong


def prefix_of(value: str) -> str:
    """A generateName as the rules look at it: its trailing dash is no fault."""
    return value[:-2] + "a" if len(value) > 1 and value.endswith("-") else value


NAME_RULES: dict[str, Rule] = {
    "Namespace": label,
    "Service": service,
    "Role": path_segment,
    "ClusterRole": path_segment,
    "RoleBinding": path_segment,
    "ClusterRoleBinding": path_segment,
}


def rule_for(kind: str, group: str) -> Rule:
    """The rule for names of *kind*; custom kinds have subdomain names whatever they are called."""
    builtin = group in ("", "rbac.authorization.k8s.io")
    return NAME_RULES.get(kind, subdomain) if builtin else subdomain
