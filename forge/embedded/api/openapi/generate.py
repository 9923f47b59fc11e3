"""Makes the packaged data of built-in kinds out of Kubernetes' published Go packages.

    python -m forge.embedded.api.openapi.generate GOCODE...

GOCODE is a source root: usr/share/gocode/src of Debian's golang-k8s-api-dev and
golang-k8s-apimachinery-dev (0.32.3 made the data here) and golang-k8s-apiextensions-apiserver-dev
(0.36.4), as `apt-get download` and `dpkg -x` lay them out. They are Apache-2.0, and so are the data.
Written beside this file: types.json.gz (shapes) and docs.json.gz (what `kubectl explain` shows); the
same packages give the same bytes.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from forge.embedded.api.openapi.gosource import Declared, Member, Package, package

API: Final = "k8s.io/api"
META: Final = "k8s.io/apimachinery/pkg/apis/meta/v1"
EXTENSIONS: Final = "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
# What is packaged: these kinds and every type they lead to.
ROOTS: Final = {
    f"{API}/core/v1": (
        "Namespace ConfigMap Secret Service Endpoints ServiceAccount Pod PodTemplate Event Node Binding"
        " ReplicationController PersistentVolumeClaim LimitRange ResourceQuota"
    ),
    f"{API}/apps/v1": "Deployment ReplicaSet",
    f"{API}/discovery/v1": "EndpointSlice",
    f"{API}/events/v1": "Event",
    f"{API}/coordination/v1": "Lease",
    f"{API}/rbac/v1": "Role RoleBinding ClusterRole ClusterRoleBinding",
    f"{API}/networking/v1": "NetworkPolicy",
    f"{API}/storage/v1": "StorageClass",
    f"{API}/authorization/v1": (
        "SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview LocalSubjectAccessReview"
    ),
    f"{API}/authentication/v1": "SelfSubjectReview TokenReview TokenRequest",
    f"{API}/autoscaling/v1": "Scale",
    META: (
        "ObjectMeta ListMeta Status DeleteOptions CreateOptions UpdateOptions PatchOptions Patch APIGroup"
        " APIGroupList APIResourceList APIVersions WatchEvent PartialObjectMetadata ListOptions GetOptions"
        " LabelSelector"
    ),
    EXTENSIONS: "CustomResourceDefinition",
}
# Types whose JSON is not their Go shape; read by name (builtin.py, protobuf.py).
SPECIAL: Final = {
    "k8s.io/apimachinery/pkg/apis/meta/v1.Time",
    "k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime",
    "k8s.io/apimachinery/pkg/apis/meta/v1.Duration",
    "k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1",
    "k8s.io/apimachinery/pkg/api/resource.Quantity",
    "k8s.io/apimachinery/pkg/util/intstr.IntOrString",
    "k8s.io/apimachinery/pkg/runtime.RawExtension",
    f"{EXTENSIONS}.JSON",
    f"{EXTENSIONS}.JSONSchemaPropsOrArray",
    f"{EXTENSIONS}.JSONSchemaPropsOrBool",
    f"{EXTENSIONS}.JSONSchemaPropsOrStringArray",
}
PLAIN: Final = {"string", "bool", "int32", "int64", "uint32", "uint64", "float64", "byte", "int", "uint8"}
WRAPPED: Final = re.compile(r"^(\[\]|\*|map\[[\w.]+\])")


class Source:
    """Packages by path, read when first asked for, out of several source roots."""

    def __init__(self, roots: Iterable[Path]) -> None:
        self.roots = tuple(roots)
        self.packages: dict[str, Package] = {}

    def package(self, path: str) -> Package:
        """The package, from the first root that has it. Raises SystemExit where none has."""
        if path not in self.packages:
            root = next((r for r in self.roots if (r / path).is_dir()), None)
            if root is None:
                raise SystemExit(f"no package {path} below {', '.join(map(str, self.roots))}")
            self.packages[path] = package(root, path)
        return self.packages[path]

    def declared(self, full: str) -> Declared:
        """The declaration of `path.Name`."""
        path, name = full.rsplit(".", 1)
        return self.package(path).types[name]


def expand(source: Source, written: str, near: Declared) -> str:
    """*written* with names in full and aliases replaced: `[]*k8s.io/api/core/v1.Container`."""
    if wrapped := WRAPPED.match(written):
        inner = expand(source, written[wrapped.end() :], near)
        return ("map[string]" if wrapped[1].startswith("map") else wrapped[1]) + inner
    if written in PLAIN:
        return written
    local, _, name = written.rpartition(".")
    path = near.imports.get(local, local) if local else near.package
    if path == "k8s.io/apimachinery/pkg/types" or (path == "types" and name == "UID"):
        return "string"
    full = f"{path}.{name}"
    if full in SPECIAL:
        return full
    declared = source.declared(full)
    return expand(source, declared.alias, declared) if declared.alias else full


def leaf(full: str) -> str:
    """The innermost type of an expanded one."""
    while wrapped := WRAPPED.match(full):
        full = full[wrapped.end() :]
    return full


def reached(source: Source, roots: Mapping[str, str]) -> Iterator[Declared]:
    """Every struct that *roots* (names by package) and their lists lead to, each once."""
    waiting = [f"{path}.{name}" for path, names in roots.items() for name in names.split()]
    waiting += [f"{name}List" for name in waiting if f"{name}List".rsplit(".", 1)[1] in _types(source, name)]
    seen = set(waiting)
    while waiting:
        declared = source.declared(waiting.pop(0))
        yield declared
        for member in declared.members:
            inner = leaf(expand(source, member.type, declared))
            if inner not in seen and inner not in PLAIN and inner not in SPECIAL:
                seen.add(inner)
                waiting.append(inner)


def _types(source: Source, full: str) -> set[str]:
    return set(source.package(full.rsplit(".", 1)[0]).types)


def markers(comment: tuple[str, ...]) -> dict[str, list[str]]:
    """`+key=value` lines, values by key; "" where a marker has none."""
    found: dict[str, list[str]] = {}
    for line in comment:
        if line.startswith("+"):
            key, _, value = line[1:].strip().partition("=")
            found.setdefault(key, []).append(value.strip())
    return found


def shape(source: Source, declared: Declared) -> dict[str, Any]:
    """One type's entry: `f` its fields in order, `a` whether its map is atomic."""
    entry: dict[str, Any] = {
        "f": [_field(source, declared, m) for m in declared.members if m.tags.get("json") != "-"]
    }
    marked = markers(declared.comment)
    if "atomic" in marked.get("structType", []) + marked.get("mapType", []):
        entry["a"] = 1
    return entry


def _field(source: Source, declared: Declared, member: Member) -> dict[str, Any]:
    name, *options = member.tags.get("json", member.name).split(",")
    marked = markers(member.comment)
    full = expand(source, member.type, declared)
    entry: dict[str, Any] = {"n": name, "t": full}
    if "inline" in options:
        entry["i"] = 1
    if "omitempty" in options or "omitzero" in options:
        entry["o"] = 1
    elif "optional" not in marked:
        entry["r"] = 1
    if number := member.tags.get("protobuf", "").split(",")[1:2]:
        entry["p"] = int(number[0])
    for key, short in (("listType", "l"), ("mapType", "m"), ("structType", "m")):
        if key in marked:
            entry[short] = marked[key][0]
    if "listMapKey" in marked:
        entry["k"] = marked["listMapKey"]
    if "patchStrategy" in member.tags:
        entry["s"] = member.tags["patchStrategy"]
    if "patchMergeKey" in member.tags:
        entry["mk"] = member.tags["patchMergeKey"]
    if default := marked.get("default", [""])[0]:
        entry["d"] = _constant(default)
    if values := _enumerated(source, declared, member):
        entry["e"] = values
    return entry


def _constant(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _enumerated(source: Source, declared: Declared, member: Member) -> list[str]:
    """The values of a `+enum` type, sorted as the documents list them."""
    bare = leaf(member.type)
    local, _, name = bare.rpartition(".")
    path = declared.imports.get(local, local) if local else declared.package
    if bare in PLAIN or path == "types" or not path.startswith("k8s.io/api/"):
        return []
    found = source.package(path)
    if name not in found.types or "enum" not in markers(found.types[name].comment):
        return []
    return sorted(set(found.constants.get(name, [])))


def description(comment: tuple[str, ...]) -> str:
    """A comment as the published OpenAPI documents print it: paragraphs, no markers, no TODOs."""
    text = ""
    for raw in comment:
        line = raw.rstrip(" ")
        bare = line.lstrip(" ")
        if line == "---":
            break
        if not line:
            text = text[:-1] + "\n\n"
        elif bare.startswith(("TODO", "+")):
            continue
        elif line[0] in " \t":
            text = text[:-1] + f"\n{line}\n"
        else:
            text += line + " "
    return text.strip("\n").strip(" ")


def friendly(full: str) -> str:
    """`k8s.io/api/core/v1.Pod` as documents name it: `io.k8s.api.core.v1.Pod`."""
    domain, _, rest = full.partition("/")
    return ".".join(reversed(domain.split("."))) + "." + rest.replace("/", ".")


def build(
    source: Source, roots: Mapping[str, str], special: Iterable[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """(shapes, documentation) by friendly name; of *special* types the documentation alone."""
    shapes, docs = {}, {}
    for declared in reached(source, roots):
        name = friendly(f"{declared.package}.{declared.name}")
        shapes[name] = shape(source, declared)
        for entry in shapes[name]["f"]:
            inner = leaf(entry["t"])
            entry["t"] = entry["t"].removesuffix(inner) + (inner if inner in PLAIN else friendly(inner))
        fields = {m.tags.get("json", "").split(",")[0]: description(m.comment) for m in declared.members}
        docs[name] = {"": description(declared.comment), **{k: v for k, v in fields.items() if k and v}}
    for full in special:
        declared = source.declared(full)
        docs[friendly(full)] = {"": description(declared.comment)}
    return dict(sorted(shapes.items())), dict(sorted(docs.items()))


def write(path: Path, value: Any) -> int:
    """Writes *value*, compressed, the same bytes for the same value; gives back how many."""
    packed = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    path.write_bytes(gzip.compress(packed, 9, mtime=0))
    return path.stat().st_size


def main(argv: list[str]) -> int:
    """Writes both files beside this one; says their sizes."""
    if not argv:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    shapes, docs = build(Source(map(Path, argv)), ROOTS, SPECIAL)
    here = Path(__file__).parent
    for name, value in (("types.json.gz", shapes), ("docs.json.gz", docs)):
        sys.stdout.write(f"{name}: {len(value)} types, {write(here / name, value)} bytes\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
