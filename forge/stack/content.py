"""What a step would do, as one hash: its rendered text with the bytes of every file it reads. Pure.

Left out is what changes nothing in the result: retries, timeouts, intervals. Of a generated secret its
hash is taken, never the value; the whole is hashed again, so nothing of it can be read back.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from forge.plan.fingerprint import LENGTH
from forge.plan.lab_ports import Files
from forge.plan.lab_resources import StepResource
from forge.spec.steps import (
    ConfigMapStep,
    DeleteStep,
    ExecStep,
    HelmStep,
    HttpWaitStep,
    KustomizeStep,
    ManifestStep,
    MetallbAutoPoolStep,
    SecretStep,
    TemplateFileStep,
    TemplateManifestStep,
)
from forge.stack.expand import Leaf, leaves
from forge.stack.folders import everything, manifests
from forge.stack.template import MAX_FILE_BYTES, Scope, TemplateFailed, render

_IDLE = {"retries", "timeout", "interval", "when"}


def fingerprint(resource: StepResource, files: Files) -> str:
    """Of the step as its scope renders it. Raises ForgeError for what cannot be rendered or read."""
    scope = _with_own(resource)
    try:
        done: Any = [_content(leaf, files) for leaf in leaves(resource.step, lambda: scope)]
    except TemplateFailed:
        if not resource.writes:
            raise
        # a value that it makes itself on the way cannot stand where it stands in for itself here
        done = resource.step.model_dump(mode="json", by_alias=True)
    text = json.dumps([resource.step.type, done], sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:LENGTH]


def _with_own(resource: StepResource) -> Scope:
    """The scope with stand-ins for the captures that the step makes itself: their values are a result of
    the step, and no cause to do it again."""
    if not resource.writes:
        return resource.scope
    captures = resource.scope.get("captures")
    all_ = dict(captures) if isinstance(captures, Mapping) else {}
    all_[resource.cluster] = {
        **all_.get(resource.cluster, {}),
        **{key: f"<{key}>" for key in resource.writes},
    }
    return {**resource.scope, "captures": all_}


def _content(leaf: Leaf, files: Files) -> dict[str, Any]:
    step = leaf.step
    written = step.model_dump(mode="json", by_alias=True, exclude=_IDLE)
    return {**written, "": dict(_read(leaf, files))}


def _read(leaf: Leaf, files: Files) -> Iterator[tuple[str, str]]:
    """Beside its own words: name -> hash of what it takes in."""
    match leaf.step:
        case ManifestStep():
            yield from ((name, _hash(files.read(name))) for name in manifests(leaf.step.path, files))
        case KustomizeStep():
            yield from ((name, _hash(files.read(name))) for name in everything(leaf.step.path, files))
        case TemplateManifestStep():
            yield leaf.step.path, _hash(rendered(leaf.step.path, leaf.scope, files).encode())
        case TemplateFileStep():
            yield leaf.step.source, _hash(rendered(leaf.step.source, leaf.scope, files).encode())
        case ConfigMapStep() | SecretStep():
            yield from ((path, _hash(files.read(path))) for path in leaf.step.files.values())
            yield from _secrets(leaf)
        case DeleteStep() if leaf.step.path is not None:
            yield from ((name, _hash(files.read(name))) for name in manifests(leaf.step.path, files))
        case HttpWaitStep() if leaf.step.ca is not None:
            yield leaf.step.ca, _hash(files.read(leaf.step.ca))
        case HelmStep():
            yield from _tree(leaf.step.chart, files)
        case ExecStep():
            for word in leaf.step.command:
                yield from _tree(word, files) if _is_file(word, files) else ()
        case MetallbAutoPoolStep():
            yield "pool", str(pool(leaf.scope))
        case _:
            return


def _secrets(leaf: Leaf) -> Iterator[tuple[str, str]]:
    for name in leaf.step.secrets.values() if isinstance(leaf.step, SecretStep) else ():
        yield f"secret {name}", render(f"{{{{ secrets.{name}.sha256 }}}}", leaf.scope)


def _tree(path: str, files: Files) -> Iterator[tuple[str, str]]:
    """A chart that is a folder of ours; nothing for one that is a reference."""
    if _is_inside(path, files):
        yield from ((name, _hash(files.read(name))) for name in everything(path, files))


def _is_file(path: str, files: Files) -> bool:
    """Whether a word of a command is a file of ours: its bytes are part of what the command does."""
    return _is_inside(path, files) and files.folder(path) is None


def _is_inside(path: str, files: Files) -> bool:
    if not path or path.startswith(("/", "-")) or "://" in path or len(path) > 255:
        return False
    return files.exists(path)


def rendered(path: str, scope: Scope, files: Files) -> str:
    """A template file with its values. Raises TemplateFailed, and OperationFailed for the file."""
    data = files.read(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise TemplateFailed("FG0130", f"the template {path!r} is no UTF-8 text") from None
    try:
        return render(text, scope, max_bytes=MAX_FILE_BYTES)
    except TemplateFailed as error:
        error.what = f"{error.what} (in {path})"
        raise


def pool(scope: Scope) -> str | None:
    """The cluster's load-balancer addresses as `first-last`; None where it has none."""
    network = scope.get("network")
    found = network.get("pool") if isinstance(network, Mapping) else None
    return None if found is None else str(found)


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
