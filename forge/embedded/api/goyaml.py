"""YAML as the real server reads it: version 1.1, times as strings, `y` a boolean, keys strings."""

from __future__ import annotations

import re
from typing import Any

import yaml

from forge.embedded.api import depth


class _Loader(yaml.SafeLoader):
    """Resolvers and constructors are replaced below; nothing else differs from SafeLoader."""

    yaml_implicit_resolvers = {}  # noqa: RUF012 - declared by PyYAML


_BOOL = re.compile(r"(?:y|Y|yes|Yes|YES|n|N|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$")
_INT = re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0o[0-7_]+|[0-9][0-9_]*)$")
_FLOAT = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$|[-+]?\.(?:inf|Inf|INF)$|\.(?:nan|NaN|NAN)$"
)

_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", _BOOL, list("yYnNtTfFoO"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", _INT, list("-+0123456789"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+0123456789."))
_Loader.add_implicit_resolver("tag:yaml.org,2002:merge", re.compile(r"^(?:<<)$"), ["<"])
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:null", re.compile(r"(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""]
)


def _bool(loader: _Loader, node: yaml.ScalarNode) -> bool:
    return str(loader.construct_scalar(node)).lower() in ("y", "yes", "true", "on")


def _int(loader: _Loader, node: yaml.ScalarNode) -> int:
    text = str(loader.construct_scalar(node)).replace("_", "")
    if re.fullmatch(r"[-+]?0[0-7]+", text):
        return int(text, 8)
    return int(text, 0) if not re.fullmatch(r"[-+]?0+[0-9]+", text) else int(text)


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[str, Any]:
    loader.flatten_mapping(node)
    found: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if isinstance(key, bool):
            key = "true" if key else "false"
        found[str(key)] = loader.construct_object(value_node, deep=True)
    return found


_Loader.add_constructor("tag:yaml.org,2002:bool", _bool)
_Loader.add_constructor("tag:yaml.org,2002:int", _int)
_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)


class YamlError(ValueError):
    """A text that is no YAML; the message is as close to go-yaml's as its position allows."""


def parse(text: str) -> Any:
    """The first document of *text*; raises YamlError."""
    try:
        value = next(iter(yaml.load_all(text, _Loader)), None)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise YamlError(f"yaml: line {line}: {_say(error.problem or str(error))}") from None
    except RecursionError:
        raise YamlError(f"yaml: {depth.SAID}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise YamlError(f"yaml: {(str(error).splitlines() or [''])[0]}") from None
    if depth.is_exceeded(value):
        raise YamlError(f"yaml: {depth.SAID}")
    return value


def _say(problem: str) -> str:
    if problem.startswith("expected ',' or ']'"):
        return "did not find expected ',' or ']'"
    if problem.startswith("expected ',' or '}'"):
        return "did not find expected ',' or '}'"
    if problem.startswith("expected the node content"):
        return "did not find expected node content"
    if problem.startswith("expected <block end>"):
        return "did not find expected key"
    return problem


def doubled_keys(text: str) -> list[str]:
    """Complaints about keys set twice, as go-yaml's strict mode makes them."""
    try:
        root = yaml.compose(text, _Loader)
    except yaml.YAMLError:
        return []
    found: list[tuple[int, str]] = []
    _walk(root, found)
    return [f'  line {line}: key "{key}" already set in map' for line, key in sorted(found)]


def _walk(node: Any, found: list[tuple[int, str]]) -> None:
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            name = str(key.value)
            if name in seen:
                found.append((key.start_mark.line + 1, name))
            seen.add(name)
            _walk(value, found)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _walk(item, found)


def write(value: Any) -> bytes:
    """*value* as the server writes YAML: keys sorted, block style."""
    return yaml.dump(
        value, Dumper=_Dumper, sort_keys=True, default_flow_style=False, allow_unicode=True, width=10**9
    ).encode()


class _Dumper(yaml.SafeDumper):
    """SafeDumper that never writes anchors."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
        return True


def _string(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    """Quotes what would be read back as another type; long texts as literal blocks."""
    if "\n" in value:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|")
    other = _BOOL.match(value) or _INT.match(value) or _FLOAT.match(value)
    time = re.match(r"\d{4}-\d\d-\d\d", value)
    return dumper.represent_scalar(
        "tag:yaml.org,2002:str", value, style='"' if other or time or not value else None
    )


_Dumper.add_representer(str, _string)
