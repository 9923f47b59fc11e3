"""Single files that are mounted, and replaced by rename: the service would never see the new one.

A mount of one file pins its inode. A program that writes safely makes a new file and renames it into
place, and the mount still shows the old one. Mounting the folder shows every file that comes.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from forge.spec.model import Environment
from forge.spec.nodes import Path
from forge.spec.problems import Problem
from forge.spec.rules.walk import all_steps
from forge.spec.source import Source
from forge.spec.steps import KubeconfigStep, TemplateFileStep

CERTIFICATE_FOLDER = ".forge/runtime/certs"
_LOOKS_LIKE_A_FILE = re.compile(r".*\.(json|ya?ml|toml|conf|cfg|ini|crt|pem|key|txt|env|properties|sock)")


def renamed_files_are_mounted_by_folder(environment: Environment, source: Source) -> Iterator[Problem]:
    known = _Known(tuple(_written(environment, source)), _writable(environment))
    for index, service in enumerate(environment.spec.services):
        for entry, volume in enumerate(service.volumes):
            why = known.why_replaced(service.name, volume.source)
            if why:
                path: Path = ("spec", "services", index, "volumes", entry, "source")
                folder, target = posixpath.dirname(volume.source), posixpath.dirname(volume.target)
                message = f"a single file is mounted, and {why}: the service would go on seeing the old one"
                help_ = f"mount the folder: source: {folder}, target: {target}"
                yield source.warning("FG0141", message, path, help=help_)


@dataclass(frozen=True, slots=True)
class _Known:
    """written: what Forge itself writes by rename, and who does. writable: folder -> services that
    may write there."""

    written: tuple[tuple[re.Pattern[str], str], ...]
    writable: Mapping[str, list[str]]

    def why_replaced(self, service: str, source: str) -> str:
        """What replaces the file; empty where nothing is known to, or where it is a folder."""
        path = posixpath.normpath(source)
        for pattern, who in self.written:
            if pattern.fullmatch(path):
                return f"{who} replaces it by rename"
        if not _LOOKS_LIKE_A_FILE.fullmatch(posixpath.basename(path)):
            return ""
        for folder in _folders_of(path):
            for other in self.writable.get(folder, ()):
                if other != service:
                    return f'"{other}", which can write its folder, may replace it by rename'
        made_by_the_lab = path.startswith(".forge/runtime/")
        return "files made while the lab runs are replaced by rename" if made_by_the_lab else ""


def _writable(environment: Environment) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for service in environment.spec.services:
        for volume in service.volumes:
            if not volume.read_only:
                found.setdefault(posixpath.normpath(volume.source), []).append(service.name)
    return found


def _folders_of(path: str) -> Iterator[str]:
    while folder := posixpath.dirname(path):
        yield folder
        path = folder


def _written(environment: Environment, source: Source) -> Iterator[tuple[re.Pattern[str], str]]:
    """What Forge itself writes by rename -> who does."""
    for path, step in all_steps(environment):
        if isinstance(step, (TemplateFileStep, KubeconfigStep)):
            yield _any_rendering(step.target), f"the {step.type} step in line {source.place(path).line}"
    certificates = environment.spec.certificates
    for leaf in certificates.leaves if certificates else ():
        folder = leaf.directory or f"{CERTIFICATE_FOLDER}/{leaf.name}"
        for file in ("tls.crt", "tls.key", "ca.crt"):
            yield _any_rendering(f"{folder}/{file}"), f'the renewal of "{leaf.name}"'
    for authority in certificates.authorities if certificates else ():
        yield (
            _any_rendering(f"{CERTIFICATE_FOLDER}/{authority.name}/ca.crt"),
            f'the renewal of "{authority.name}"',
        )


def _any_rendering(path: str) -> re.Pattern[str]:
    parts = re.split(r"\{\{.*?\}\}", posixpath.normpath(path))
    return re.compile("[^/]+".join(map(re.escape, parts)))
