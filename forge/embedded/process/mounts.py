"""Mounts without a container: symlinks below the process's own root, and words that follow them.

    mount  /srv/lab/conf -> /etc/app        root/etc/app -> /srv/lab/conf
    argv   --config=/etc/app/app.yaml       --config=<root>/etc/app/app.yaml

A target inside another mount's target (/etc/app and /etc/app/certs) makes the outer one a real
folder with a symlink for each entry of its source: what is added to that source later is seen at the
next start. Everywhere else the symlink is the folder, so changes are seen at once.

A word is rewritten where a target stands as a whole path or at the head of one: at the beginning of
the word or after one of `= : , ; @ | & < > ( ) [ ] { }`, a quote or white space, and followed by `/`,
one of these, or the end. So `--f=/etc/app/x`, `KEY=/etc/app`, `/a:/etc/app/bin` and `sh -c 'cat
/etc/app/x'` follow; `/etc/apples`, `/opt/etc/app` and `http://host/etc/app` do not.
"""

from __future__ import annotations

import os
import posixpath
import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from forge.embedded.process.spec import Bind
from forge.errors import OperationFailed

_EDGE = r"""\s=:,;@|&<>()\[\]{}"'"""

MADE_MODE = 0o770
"""A source Forge makes is open to its owner and group, never to the world."""


def rewriter(root: str, targets: Iterable[str]) -> Callable[[str], str]:
    """The function that makes a word follow the mounts. The longest target that fits wins."""
    paths = sorted({_normal(t) for t in targets}, key=len, reverse=True)
    if not paths:
        return lambda word: word
    choice = "|".join(re.escape(p) for p in paths)
    pattern = re.compile(rf"(?<![^{_EDGE}])(?:{choice})(?=[/{_EDGE}]|$)")
    return lambda word: pattern.sub(lambda found: root + found.group(), word)


def materialise(root: str, mounts: Sequence[Bind]) -> None:
    """Makes root hold these mounts in place of an earlier start's; what else is in root stays.

    Raises OperationFailed when a source is missing, two mounts share a target, or the disk refuses.
    """
    wanted = {_normal(m.target): m for m in mounts}
    if len(wanted) != len(mounts) or "/" in wanted:
        raise _refused(root, "two mounts share a target, or one covers the root", "give each its own folder")
    try:
        for mount in mounts:
            _ensure_source(mount)
        Path(root).mkdir(parents=True, exist_ok=True)
        for target in sorted(wanted):
            if not any(target.startswith(outer + "/") for outer in wanted):
                _clear_place(Path(root + target))
            _place(root, target, wanted[target].source, [t for t in wanted if t.startswith(target + "/")])
    except OSError as error:
        raise _refused(root, str(error), "check that the path exists and is writable") from error


def _clear_place(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)


def clear(root: str) -> None:
    """Removes the symlinks and folders of an earlier start, and whatever the process left there.
    Sources stay: symlinks are not followed. A root that is not there is fine."""
    shutil.rmtree(root, ignore_errors=True)


def _normal(target: str) -> str:
    """As an absolute path without `..`, so that it cannot leave root."""
    return posixpath.normpath("/" + target.lstrip("/"))


def _ensure_source(mount: Bind) -> None:
    source = Path(mount.source)
    if source.exists():
        return
    if not mount.create:
        raise FileNotFoundError(f"the source {mount.source} of {mount.target} does not exist")
    source.mkdir(parents=True, exist_ok=True)
    parent = source.parent.stat()
    source.chmod(MADE_MODE | (parent.st_mode & 0o2000))  # a set-group-id parent hands its group down


def _place(root: str, target: str, source: str, inner: Sequence[str]) -> None:
    place = Path(root + target)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)  # an entry of the mount around it, which this one covers
    if not inner:
        place.symlink_to(source)
        return
    place.mkdir()
    covered = {t.removeprefix(target + "/").split("/", 1)[0] for t in inner}
    for entry in os.scandir(source):
        deeper = [t for t in inner if t.startswith(f"{target}/{entry.name}/")]
        if entry.name in covered and deeper:
            _place(root, f"{target}/{entry.name}", entry.path, deeper)
        else:
            (place / entry.name).symlink_to(entry.path)


def _refused(root: str, why: str, hint: str) -> OperationFailed:
    name = Path(root).parent.name
    return OperationFailed("FG0507", f"cannot make the mounts of {name!r}", why=why, hint=hint, changed=False)
