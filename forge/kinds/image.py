"""Images by reference: made present before a service, a node or a load needs them, never owned or removed.

An image with a `build` is built again when what its build sees has changed: every file of the context that
.dockerignore does not name, the Containerfile and the arguments. The embedded runtime has no images: there
one is a name for a process (see service.py).
"""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from forge.errors import UsageError
from forge.plan.fingerprint import LENGTH, fingerprint
from forge.plan.ignore import Ignored
from forge.plan.kind import Context, Site
from forge.plan.resources import BuildRecipe, ImageResource, PullPolicy, Secret
from forge.plan.values import Change, Desired, Key, Observed
from forge.spec.images import Build, Image
from forge.spec.model import Environment

if TYPE_CHECKING:
    from forge.plan.lab_ports import Files

KIND: Final = "image"
_MOST_FILES = 20_000
"""Of one context. More is a folder of dependencies that belongs into .dockerignore."""


def desire(spec: Environment, context: Context) -> tuple[Desired, ...]:
    """Raises UsageError FG0721 for a context of too many files."""
    if context.runtime == "embedded":
        return ()
    declared = {image.name: image for image in spec.spec.images}
    references = dict.fromkeys(s.image for s in spec.spec.services if s.auto_start)
    references |= dict.fromkeys(name for name, image in declared.items() if image.build or image.load)
    return tuple(_desired(r, declared.get(r), context) for r in references)


def _desired(reference: str, image: Image | None, context: Context) -> Desired:
    build = None if image is None or image.build is None else _recipe(reference, image.build, context)
    pull = PullPolicy.MISSING if image is None else PullPolicy(image.pull)
    resource = ImageResource(reference, pull, build=build)
    return Desired(
        Key(KIND, reference),
        reference,
        fingerprint(resource),
        resource,
        owned=False,
        in_place=build is not None,
    )


def _recipe(reference: str, build: Build, context: Context) -> BuildRecipe:
    files = context.files
    file = None if build.file is None else _path(build.file, context)
    return BuildRecipe(
        context=_path(build.context, context),
        file=file,
        args={name: Secret(value) for name, value in build.args.items()},
        digest="" if files is None else _digest(reference, build, files),
    )


def _path(path: str, context: Context) -> str:
    return posixpath.join(context.root, path) if context.files is None else str(context.files.path(path))


def _digest(reference: str, build: Build, files: Files) -> str:
    """Of the names and contents of all that the build sees."""
    ignored = _ignored(build, files)
    found = hashlib.sha256()
    for count, path in enumerate(_walk(build.context, "", files, ignored)):
        if count >= _MOST_FILES:
            raise _too_many(reference, build)
        inner = _content(posixpath.join(build.context, path), files)
        found.update(f"{path}\0{inner}\n".encode())
    if build.file is not None:
        found.update(files.digest(build.file).encode())
    return found.hexdigest()[:LENGTH]


def _content(path: str, files: Files) -> str:
    """Of one file. A link is known by where it points: the build takes it as it is, be it out of the root
    or to nothing."""
    place = files.folder_of_file / path
    return f"link {place.readlink()}" if place.is_symlink() else files.digest(path)


def _ignored(build: Build, files: Files) -> Ignored:
    beside = [] if build.file is None else [f"{build.file}.dockerignore"]
    for path in (*beside, posixpath.join(build.context, ".dockerignore")):
        if files.exists(path):
            return Ignored.parse(files.read(path).decode("utf-8", "replace"))
    return Ignored.parse("")


def _walk(root: str, inner: str, files: Files, ignored: Ignored) -> Iterator[str]:
    """Files of the context in order, by their path in it."""
    for name in files.folder(posixpath.join(root, inner)) or ():
        path = posixpath.join(inner, name)
        if ignored.hides_all_of(path):
            continue
        if _is_folder(posixpath.join(root, path), files):
            yield from _walk(root, path, files, ignored)
        elif not ignored.hides(path):
            yield path


def _is_folder(path: str, files: Files) -> bool:
    """A link is none: the build takes it as it is."""
    return not (files.folder_of_file / path).is_symlink() and files.folder(path) is not None


def _too_many(reference: str, build: Build) -> UsageError:
    return UsageError(
        "FG0721",
        f"the build of image {reference!r} has too large a context",
        why=f"{build.context} holds more than {_MOST_FILES} files, all of which are sent to the engine",
        hint="name what the build does not need in its .dockerignore",
        changed=False,
    )


def apply(change: Change, desired: Desired, observed: Observed | None, site: Site) -> str:
    resource = desired.resource
    if not isinstance(resource, ImageResource):
        raise TypeError(f"{desired.key} is no image")
    if resource.build is not None:
        return site.images.build(resource, site.owner, site.progress, site.cancel)
    return site.host.ensure_image(desired.key, resource, site.progress, site.cancel)


def remove(observed: Observed, site: Site) -> None:
    """Nothing: an image may be anybody's."""
