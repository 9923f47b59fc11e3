"""What of a configuration is shown: everything but what may be a secret.

Hidden are all of env, build arguments, the data of Secrets and defaults of inputs, and besides them
whatever stands under a key, behind a flag or behind an `=` whose word speaks of a secret. A value that
is one template stays, since it is none itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from forge.spec.mask import MASK, without_userinfo
from forge.spec.nodes import Path

_WORD = r"(?:password|passwd|passphrase|token|secret|credential|api-?_?key|private-?_?key)s?"
_KEY = re.compile(rf"(?!existing).*{_WORD}", re.IGNORECASE)
_BARE_FLAG = re.compile(rf"--?[\w-]*{_WORD}", re.IGNORECASE)
_ASSIGNED = re.compile(rf"({_WORD})=(?!\{{\{{|\$\{{env:)(\"[^\"]*\"|'[^']*'|[^\s&;|\"']+)", re.IGNORECASE)
_AUTHORIZATION = re.compile(r"\b(Bearer|Basic)\s+[\w+/=.~-]+", re.IGNORECASE)
_ONE_TEMPLATE = re.compile(r"\{\{[^{}]*\}\}|\$\{env:\w+\}")
_PUBLIC = (("spec", "secrets"), ("spec", "certificates"))  # they hold names, never a secret itself


def without_secrets(value: object, path: Path = (), *, secret: bool = False) -> object:
    """A copy of *value* with `***` for every secret. path: of the value; secret: all of it is one."""
    if isinstance(value, Mapping):
        is_secret_step = value.get("type") == "secret"
        below = {key: secret or _is_secret(key, path, is_secret_step=is_secret_step) for key in value}
        return {key: without_secrets(inner, (*path, key), secret=below[key]) for key, inner in value.items()}
    if isinstance(value, list):
        return _list(value, path, secret=secret)
    if isinstance(value, str):
        return _text(value, secret=secret)
    return MASK if secret and isinstance(value, (int, float)) and not isinstance(value, bool) else value


def _is_secret(key: str, path: Path, *, is_secret_step: bool) -> bool:
    """Whether what stands under *key* is one. path: of the mapping the key is in."""
    if key == "env" or (key == "args" and path[-1:] == ("build",)) or (key == "data" and is_secret_step):
        return True
    if path[:2] == ("spec", "inputs"):
        return key == "default"
    names = path in ((), ("spec",)) or any(path[: len(p)] == p for p in _PUBLIC) or "secrets" in path[2:]
    return not names and key != "secrets" and bool(_KEY.fullmatch(key))


def _list(items: list[object], path: Path, *, secret: bool) -> list[object]:
    """Arguments: what follows a bare `--token` is a secret."""
    shown: list[object] = []
    behind_flag = False
    for index, item in enumerate(items):
        shown.append(without_secrets(item, (*path, index), secret=secret or behind_flag))
        behind_flag = isinstance(item, str) and _BARE_FLAG.fullmatch(item) is not None
    return shown


def _text(value: str, *, secret: bool) -> str:
    if secret:
        return value if not value or _ONE_TEMPLATE.fullmatch(value) else MASK
    value = _ASSIGNED.sub(rf"\1={MASK}", value)
    return _AUTHORIZATION.sub(rf"\1 {MASK}", without_userinfo(value))
