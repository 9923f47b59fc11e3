"""Paths of the file: they stay inside spec.root, and what Forge reads is there.

A missing file is a warning, not an error: something may write it before it is needed, and a file
is often checked on a machine that has only a part of the tree.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass

from forge.spec.files import Files, Found, leaves
from forge.spec.model import Environment
from forge.spec.nodes import Path
from forge.spec.problems import Problem
from forge.spec.rules.walk import all_steps
from forge.spec.services import Service
from forge.spec.source import Source
from forge.spec.steps import (
    ConfigMapStep,
    DeleteStep,
    HttpWaitStep,
    KubeconfigStep,
    KustomizeStep,
    ManifestStep,
    SecretStep,
    Step,
    TemplateFileStep,
    TemplateManifestStep,
)

_TEMPLATE = re.compile(r"\{\{.*?\}\}")


@dataclass(frozen=True, slots=True)
class Used:
    """A path the file names. made: something of the lab writes it. text: it must be one file."""

    at: Path
    path: str
    made: bool = False
    text: bool = False

    @property
    def is_plain(self) -> bool:
        return "{{" not in self.path

    @property
    def is_made_here(self) -> bool:
        """Whether it is Forge's own: it may not exist before `up`."""
        return self.made or posixpath.normpath(self.path).split("/")[0] == ".forge"


def paths_stay_inside(environment: Environment, source: Source, files: Files) -> Iterator[Problem]:
    root = environment.spec.root
    where = "the folder of this file" if root in (".", "./") else f"spec.root ({root})"
    for used in used_paths(environment):
        if leaves(_TEMPLATE.sub("x", used.path), root):
            help_ = "keep it below that folder, or name a wider one in spec.root"
            yield source.problem("FG0112", f"the path leads out of {where}", used.at, help=help_)
        elif used.is_plain and files.find(used.path, root) is Found.OUTSIDE:
            message = f"a symbolic link on this path leads out of {where}"
            yield source.problem(
                "FG0112", message, used.at, help="replace the link, or name a wider spec.root"
            )


def files_are_there(environment: Environment, source: Source, files: Files) -> Iterator[Problem]:
    root = environment.spec.root
    made = {posixpath.normpath(used.path) for used in used_paths(environment) if used.made}
    for used in used_paths(environment):
        if not used.is_plain or used.is_made_here or posixpath.normpath(used.path) in made:
            continue
        found = Found.OUTSIDE if leaves(used.path, root) else files.find(used.path, root)
        if found is Found.MISSING:
            message = f'"{used.path}" is not there'
            yield source.warning("FG0140", message, used.at, help="make it before `up`, or correct the path")
        elif used.text and found is Found.DIRECTORY:
            yield source.problem("FG0140", f'"{used.path}" is a folder, and this wants a file', used.at)


def used_paths(environment: Environment) -> Iterator[Used]:
    """Every path of the file, where it stands."""
    spec = environment.spec
    for index, service in enumerate(spec.services):
        yield from _of_service(service, ("spec", "services", index))
    for path, step in all_steps(environment):
        yield from _of_step(step, path)
    for index, image in enumerate(spec.images):
        if image.build:
            at: Path = ("spec", "images", index, "build")
            yield Used((*at, "context"), image.build.context)
            if image.build.file is not None:
                yield Used((*at, "file"), image.build.file, text=True)
    balancer = spec.network.load_balancer if spec.network else None
    if balancer and balancer.manifest and balancer.manifest.path is not None:
        yield Used(("spec", "network", "loadBalancer", "manifest", "path"), balancer.manifest.path)
    for index, leaf in enumerate(spec.certificates.leaves if spec.certificates else ()):
        if leaf.directory is not None:
            yield Used(("spec", "certificates", "leaves", index, "directory"), leaf.directory, made=True)


def _of_service(service: Service, path: Path) -> Iterator[Used]:
    for index, volume in enumerate(service.volumes):
        yield Used((*path, "volumes", index, "source"), volume.source)


def _of_step(step: Step, path: Path) -> Iterator[Used]:
    match step:
        case ManifestStep() | KustomizeStep():
            yield Used((*path, "path"), step.path)
        case TemplateManifestStep():
            yield Used((*path, "path"), step.path, text=True)
        case TemplateFileStep():
            yield Used((*path, "source"), step.source, text=True)
            yield Used((*path, "target"), step.target, made=True)
        case ConfigMapStep() | SecretStep():
            for key, file in step.files.items():
                yield Used((*path, "files", key), file, text=True)
        case KubeconfigStep():
            yield Used((*path, "target"), step.target, made=True)
        case DeleteStep() if step.path is not None:
            yield Used((*path, "path"), step.path)
        case HttpWaitStep() if step.ca is not None:
            yield Used((*path, "ca"), step.ca, text=True)
        case _:
            return
