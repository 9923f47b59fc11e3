"""Which resources are served right now: the built-in table and what CRDs have added."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from forge.embedded.api.resources import BUILTIN, GROUP_ORDER, Resource


class Registry:
    """Resources by (group, version, plural). `generation` counts changes, for whoever keeps answers."""

    def __init__(self, builtin: Iterable[Resource] = BUILTIN) -> None:
        self._builtin = {(r.group, r.version, r.plural): r for r in builtin}
        self._versions = {(r.group, r.version) for r in self._builtin.values()}
        self._custom: dict[str, tuple[Resource, ...]] = {}
        self._lookup = dict(self._builtin)
        self.generation = 0

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        return self._lookup.get((group, version, plural))

    def is_builtin_version(self, group: str, version: str) -> bool:
        """Unknown resources in such a version get a Status, elsewhere a plain page."""
        return (group, version) in self._versions

    def by_kind(self, api_version: str, kind: str) -> Resource | None:
        """For owner references: any resource of that kind in that group, in the version named."""
        group, _, version = api_version.rpartition("/")
        for resource in self._lookup.values():
            if (resource.group, resource.version, resource.kind) == (group, version, kind):
                return resource
        return None

    def stored(self, storage: str) -> Resource | None:
        """A resource that serves what is stored under *storage*: the storage version of a custom one."""
        found = [r for r in self._lookup.values() if r.storage == storage]
        for resource in found:
            if resource.custom is None or resource.custom.storage_version == resource.version:
                return resource
        return found[0] if found else None

    def put_custom(self, name: str, versions: Iterable[Resource]) -> None:
        """Serves exactly *versions* for the CRD *name* from now on; none takes it away."""
        self._custom.pop(name, None)
        served = tuple(versions)
        if served:
            self._custom[name] = served
        self._lookup = dict(self._builtin)
        self._lookup.update({(r.group, r.version, r.plural): r for rs in self._custom.values() for r in rs})
        self.generation += 1

    def custom(self, name: str) -> tuple[Resource, ...]:
        return self._custom.get(name, ())

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._lookup.values())

    def groups(self) -> list[str]:
        """Named groups in the order of discovery: built-in ones first, then custom ones by name."""
        present = {r.group for r in self._lookup.values()}
        known = [g for g in GROUP_ORDER if g in present and g]
        return known + sorted(present - set(GROUP_ORDER))

    def versions(self, group: str) -> list[str]:
        """Versions of *group*, the preferred one first."""
        found = {r.version for r in self._lookup.values() if r.group == group}
        return sorted(found, key=version_rank, reverse=True)

    def resources(self, group: str, version: str) -> list[Resource]:
        """In the order of discovery: by name for built-in ones, as the CRDs came for custom ones."""
        found = [r for r in self._lookup.values() if (r.group, r.version) == (group, version)]
        return found if found and found[0].custom else sorted(found, key=lambda r: r.plural)


def version_rank(version: str) -> tuple[int, int, int, str]:
    """Kubernetes' order of versions: v2 > v1 > v1beta2 > v1beta1 > v1alpha1 > anything else."""
    stage, rest = 3, version[1:]
    for name, rank in (("beta", 2), ("alpha", 1)):
        if name in rest:
            stage = rank
            major, _, minor = rest.partition(name)
            break
    else:
        major, minor = rest, "0"
    if not version.startswith("v") or not major.isdigit() or not minor.isdigit():
        return 0, 0, 0, "".join(chr(0x10FFFF - ord(c)) for c in version)
    return stage, int(major), int(minor), ""
