"""The paths of an OpenAPI v3 document: what may be asked of a resource, and with which parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from forge.embedded.api.openapi.components import custom_name, reference
from forge.embedded.api.openapi.data import META, docs, full_name
from forge.embedded.api.schema.model import JSON

LISTING: Final = (
    "allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit", "resourceVersion",
    "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds", "watch",
)  # fmt: skip
DELETING: Final = (
    "dryRun", "gracePeriodSeconds", "ignoreStoreReadErrorWithClusterBreakingPotential", "orphanDependents",
    "propagationPolicy",
)  # fmt: skip
WRITING: Final = ("dryRun", "fieldManager", "fieldValidation")
TYPES: Final = {
    "allowWatchBookmarks": "boolean", "sendInitialEvents": "boolean", "watch": "boolean", "force": "boolean",
    "orphanDependents": "boolean", "ignoreStoreReadErrorWithClusterBreakingPotential": "boolean",
    "limit": "integer", "timeoutSeconds": "integer", "gracePeriodSeconds": "integer",
}  # fmt: skip
PRETTY: Final = (
    "If 'true', then the output is pretty printed. Defaults to 'false' unless the user-agent indicates a"
    " browser or command-line HTTP tool (curl and wget)."
)
NAMESPACE: Final = "object name and auth scope, such as for teams and projects"
PATCHES: Final = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
)
PLAIN: Final = ("application/json", "application/yaml")
BUILTIN: Final = ("application/json", "application/vnd.kubernetes.protobuf", "application/yaml")
STREAM: Final = (
    "application/json", "application/json;stream=watch", "application/vnd.kubernetes.protobuf",
    "application/vnd.kubernetes.protobuf;stream=watch", "application/yaml",
)  # fmt: skip
OPTIONS: Final = {
    "post": "CreateOptions", "put": "UpdateOptions", "patch": "PatchOptions", "delete": "DeleteOptions",
    "get": "GetOptions",
}  # fmt: skip
SAID: Final = {200: "OK", 201: "Created", 202: "Accepted"}


@dataclass(frozen=True, slots=True)
class Sub:
    """A subresource: its name, the kind it is of, and what may be done with it."""

    name: str
    kind: str
    group: str
    version: str
    verbs: tuple[str, ...] = ("get", "patch", "update")


@dataclass(frozen=True, slots=True)
class Served:
    """One resource. openapi: a custom resource's own schema, None for a built-in; selectable: of it."""

    plural: str
    kind: str
    list_kind: str
    namespaced: bool
    verbs: tuple[str, ...]
    subresources: tuple[Sub, ...] = ()
    openapi: Mapping[str, Any] | None = None
    selectable: tuple[str, ...] = ()

    @property
    def is_custom(self) -> bool:
        """Whether a definition made it."""
        return self.openapi is not None


def group_path(group: str, version: str) -> JSON:
    """The path that lists the group's resources."""
    tag, stem = _named_after((group or "core").split(".")[0], version)
    answer = {"description": "OK", "content": _content(BUILTIN, f"{META}.APIResourceList")}
    operation = {
        "tags": [tag],
        "description": "get available resources",
        "operationId": f"get{stem}APIResources",
        "responses": {"200": answer, "401": {"description": "Unauthorized"}},
    }
    return {"get": operation}


def _named_after(domain: str, version: str) -> tuple[str, str]:
    """(tag, stem of operation identifiers): demo_v1, DemoV1."""
    words = domain.replace("-", ".").split(".")
    tag = words[0] + "".join(w.capitalize() for w in words[1:])
    return f"{tag}_{version}", "".join(w.capitalize() for w in words) + version.capitalize()


class Paths:
    """The path items of one resource."""

    def __init__(self, group: str, version: str, prefix: str, resource: Served) -> None:
        self.group, self.version, self.prefix, self.resource = group, version, prefix, resource
        domain = (group or "core").split(".")[0] if not resource.is_custom else group
        self.tag, self.stem = _named_after(domain, version)

    def all(self) -> Iterator[tuple[str, JSON]]:
        """(path, item) of everything the resource serves."""
        scope = "/namespaces/{namespace}" if self.resource.namespaced else ""
        collection = f"{self.prefix}{scope}/{self.resource.plural}"
        yield collection, self._collection()
        if self.resource.namespaced and "list" in self.resource.verbs:
            yield f"{self.prefix}/{self.resource.plural}", self._everywhere()
        if "get" in self.resource.verbs or "delete" in self.resource.verbs:
            yield f"{collection}/{{name}}", self._object()
        for sub in self.resource.subresources:
            yield f"{collection}/{{name}}/{sub.name}", self._subresource(sub)

    def _collection(self) -> JSON:
        kind, scope = self.resource.kind, self._scope()
        item: JSON = {}
        if "list" in self.resource.verbs:
            item["get"] = self._list(f"list{self.stem}{scope}{kind}", LISTING)
        if "create" in self.resource.verbs:
            item["post"] = self._write("post", f"create a {kind}", f"create{self.stem}{scope}{kind}", 202)
        if "deletecollection" in self.resource.verbs:
            item["delete"] = self._delete_all()
        return {**item, "parameters": [*self._place(named=False), _query("pretty")]}

    def _delete_all(self) -> JSON:
        kind, custom = self.resource.kind, self.resource.is_custom
        return self._operation(
            "deletecollection",
            f"delete collection of {kind}",
            f"delete{self.stem}Collection{self._scope()}{kind}",
            LISTING if custom else tuple(sorted({*LISTING, *DELETING} - {"allowWatchBookmarks", "watch"})),
            {200: f"{META}.Status"},
            body=None if custom else f"{META}.DeleteOptions",
        )

    def _everywhere(self) -> JSON:
        operation = self._list(f"list{self.stem}{self.resource.kind}ForAllNamespaces", ())
        return {"get": operation, "parameters": [_query(n) for n in sorted((*LISTING, "pretty"))]}

    def _object(self) -> JSON:
        kind, scope, verbs = self.resource.kind, self._scope(), self.resource.verbs
        item: JSON = {}
        if "get" in verbs:
            item["get"] = self._read(f"read the specified {kind}", f"read{self.stem}{scope}{kind}")
        if "update" in verbs:
            item["put"] = self._write(
                "put", f"replace the specified {kind}", f"replace{self.stem}{scope}{kind}"
            )
        if "delete" in verbs:
            item["delete"] = self._operation(
                "delete", f"delete a {kind}", f"delete{self.stem}{scope}{kind}", DELETING,
                {200: f"{META}.Status", 202: f"{META}.Status"}, body=f"{META}.DeleteOptions",
            )  # fmt: skip
        if "patch" in verbs:
            item["patch"] = self._patch(f"partially update the specified {kind}", f"{scope}{kind}")
        return {**item, "parameters": [*self._place(named=True), _query("pretty")]}

    def _subresource(self, sub: Sub) -> JSON:
        kind, scope = self.resource.kind, self._scope()
        about, name = f"{sub.name} of the specified {kind}", f"{scope}{kind}{sub.name.capitalize()}"
        of = self._schema(sub.group, sub.version, sub.kind)
        item: JSON = {}
        if "get" in sub.verbs:
            item["get"] = self._read(f"read {about}", f"read{self.stem}{name}", of)
        if "create" in sub.verbs:
            item["post"] = self._write("post", f"create {about}", f"create{self.stem}{name}", 202, of)
        if "update" in sub.verbs:
            item["put"] = self._write("put", f"replace {about}", f"replace{self.stem}{name}", of=of)
        if "patch" in sub.verbs:
            item["patch"] = self._patch(f"partially update {about}", name, of)
        return {**item, "parameters": [*self._place(named=True), _query("pretty")]}

    def _list(self, identifier: str, named: tuple[str, ...]) -> JSON:
        words = "list objects" if self.resource.is_custom else "list or watch objects"
        of = self._schema(self.group, self.version, self.resource.list_kind)
        return self._operation(
            "list", f"{words} of kind {self.resource.kind}", identifier, named, {200: of}, stream=True
        )

    def _read(self, about: str, identifier: str, of: str = "") -> JSON:
        named = ("resourceVersion",) if self.resource.is_custom else ()
        return self._operation("get", about, identifier, named, {200: of or self._own()})

    def _write(self, action: str, about: str, identifier: str, last: int = 201, of: str = "") -> JSON:
        name = of or self._own()
        answers = {code: name for code in SAID if code <= last}
        return self._operation(action, about, identifier, WRITING, answers, body=name, needed=True)

    def _patch(self, about: str, name: str, of: str = "") -> JSON:
        media = PATCHES[:3] if self.resource.is_custom else PATCHES
        answers = (200,) if self.resource.is_custom else (200, 201)
        made = self._operation(
            "patch", about, f"patch{self.stem}{name}", (*WRITING, "force"),
            {code: of or self._own() for code in answers}, body=f"{META}.Patch", needed=True,
        )  # fmt: skip
        made["requestBody"]["content"] = {m: {"schema": reference(f"{META}.Patch")} for m in media}
        return made

    def _operation(
        self,
        action: str,
        about: str,
        identifier: str,
        named: tuple[str, ...],
        answers: Mapping[int, str],
        *,
        body: str | None = None,
        needed: bool = False,
        stream: bool = False,
    ) -> JSON:
        media = PLAIN if self.resource.is_custom else (STREAM if stream else BUILTIN)
        made: JSON = {"tags": [self.tag], "description": about, "operationId": identifier}
        if named:
            made["parameters"] = [_query(n, OPTIONS.get(action, "ListOptions")) for n in named]
        if body:
            accepted = PLAIN if self.resource.is_custom else ("*/*",)
            made["requestBody"] = {
                "content": _content(accepted, body),
                **({"required": True} if needed else {}),
            }
        made["responses"] = {
            **{
                str(code): {"description": SAID[code], "content": _content(media, of)}
                for code, of in answers.items()
            },
            "401": {"description": "Unauthorized"},
        }
        made["x-kubernetes-action"] = action
        kind = {"group": self.group, "version": self.version, "kind": self.resource.kind}
        return {**made, "x-kubernetes-group-version-kind": kind}

    def _own(self) -> str:
        return self._schema(self.group, self.version, self.resource.kind)

    def _schema(self, group: str, version: str, kind: str) -> str:
        if self.resource.is_custom and group == self.group:
            return custom_name(group, version, kind)
        return full_name(group, version, kind) or custom_name(group, version, kind)

    def _scope(self) -> str:
        return "Namespaced" if self.resource.namespaced else ""

    def _place(self, *, named: bool) -> Iterator[JSON]:
        if named:
            yield _in_path("name", f"name of the {self.resource.kind}")
        if self.resource.namespaced:
            yield _in_path("namespace", NAMESPACE)


def _content(media: Iterable[str], name: str) -> JSON:
    return {kind: {"schema": reference(name)} for kind in media}


def _in_path(name: str, said: str) -> JSON:
    schema = {"type": "string", "uniqueItems": True}
    return {"name": name, "in": "path", "description": said, "required": True, "schema": schema}


def _query(name: str, options: str = "ListOptions") -> JSON:
    schema = {"type": TYPES.get(name, "string"), "uniqueItems": True}
    return {"name": name, "in": "query", "description": _said(name, options), "schema": schema}


def _said(name: str, options: str) -> str:
    if name == "pretty":
        return PRETTY
    known = (options, "ListOptions", "DeleteOptions", "PatchOptions")
    return next((said for o in known if (said := docs()[f"{META}.{o}"].get(name))), "")
