"""Templates: legal where they stand, readable, and leading to something on every cluster.

The same template is looked at once for each cluster that would render it; a problem names all the
clusters it is true for, once.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field

from pydantic.alias_generators import to_camel

from forge.errors import Place
from forge.spec.expression import (
    ROOTS,
    Absent,
    Expression,
    TemplateBroken,
    Unknown,
    as_text,
    expressions,
    look_up,
)
from forge.spec.known import did_you_mean
from forge.spec.model import Environment
from forge.spec.nodes import Path, dotted
from forge.spec.problems import Excerpt, Problem, Severity
from forge.spec.rules.uses import MAX_STEPS, Use, Uses
from forge.spec.rules.walk import all_steps, texts
from forge.spec.source import Source
from forge.spec.text import lines_of


@dataclass(frozen=True, slots=True)
class _Wrong:
    """What is wrong with a template. help: may differ from cluster to cluster; the first is told.
    offset: of the braces. shown: the template. about_cluster: its subject is the clusters it is true for.
    """

    code: str
    what: str
    help: str = field(compare=False)
    offset: int
    shown: str
    about_cluster: bool = False


def templates_stand_where_they_are_rendered(environment: Environment, source: Source) -> Iterator[Problem]:
    help_ = "templates are rendered in steps, and in args and env of services"
    for path, text in _unrendered(environment):
        if "{{" in text and "}}" in text:
            yield source.problem("FG0130", "a template is not rendered here", path, help=help_)


def _unrendered(environment: Environment) -> Iterator[tuple[Path, str]]:
    for name in ("runtime", "network", "clusters", "images", "certificates", "secrets"):
        yield from texts(getattr(environment.spec, name), ("spec", name))
    for index, service in enumerate(environment.spec.services):
        for path, text in texts(service, ("spec", "services", index)):
            if path[3] not in ("env", "args"):
                yield path, text
    for path, step in all_steps(environment):
        rendered = {to_camel(name) for name in (*type(step).TEMPLATED, "when", "steps")}
        for at, text in texts(step, path):
            if at[len(path)] not in rendered:
                yield at, text


def templates_lead_somewhere(environment: Environment, source: Source, found: Uses) -> Iterator[Problem]:
    """Every path of every template, against the scope it would be rendered in."""
    clusters: dict[tuple[Use, _Wrong], list[str]] = {}
    first: dict[tuple[Path, str | None, _Wrong], tuple[Use, _Wrong]] = {}
    for use in found.uses:
        for wrong in _wrong(use, environment):
            key = first.setdefault((use.path, use.file, wrong), (use, wrong))
            clusters.setdefault(key, []).append(use.spot.cluster or "" if use.spot else "")
    for (use, wrong), where in clusters.items():
        message = f"{_subject(where)} {wrong.what}" if wrong.about_cluster else wrong.what
        yield _problem(use, wrong, message, source)
    if not found.complete:
        message = f"for-each makes more than {MAX_STEPS:,} steps: the rest is checked as it runs"
        yield source.warning("FG0135", message, ("spec", "stacks"))


def lists_can_be_repeated(_: Environment, source: Source, found: Uses) -> Iterator[Problem]:
    """for-each: its property is a list of at most 256 items on every cluster."""
    clusters: dict[tuple[Path, str], list[str]] = {}
    for slip in found.slips:
        clusters.setdefault((slip.path, slip.reason), []).append(slip.cluster)
    for (path, reason), where in clusters.items():
        help_ = "make it a list under clusters[].properties"
        yield source.problem("FG0135", f"{_subject(where)} {reason}", path, help=help_)


def _subject(clusters: list[str]) -> str:
    names = [f'"{name}"' for name in dict.fromkeys(clusters)]
    return f"cluster {names[0]}" if len(names) == 1 else f"each of the clusters {', '.join(names)}"


def _wrong(use: Use, environment: Environment) -> Iterator[_Wrong]:
    try:
        found = expressions(use.text)
    except TemplateBroken as broken:
        yield _Wrong("FG0130", str(broken), 'write {{ "{{" }} for braces that are meant', broken.offset, "{{")
        return
    for expression in found:
        shown = f"{{{{ {expression} }}}}"
        try:
            value = look_up(expression.words, use.scope)
            if value is not Unknown.LATER:
                as_text(value)
        except Absent as absent:
            yield _absent(expression, absent, use, environment)
        except ValueError as no_text:
            yield _Wrong("FG0131", f"{shown} {no_text}", "name a field of it", expression.start, shown)


def _absent(expression: Expression, absent: Absent, use: Use, environment: Environment) -> _Wrong:
    """What does not exist, by the root of the path and how far it led."""
    words, shown, depth = expression.words, f"{{{{ {expression} }}}}", absent.depth
    word, help_ = words[depth], did_you_mean(words[depth], absent.known)
    code, what, about_cluster = "FG0131", f'{shown}: there is no "{word}"', False
    if depth == 0:
        what, help_ = _no_root(word, shown, use)
    elif words[0] == "cluster" and depth >= 2 and use.spot is not None:
        what, about_cluster = f'has no property "{".".join(words[2 : depth + 1])}", for {shown}', True
    elif words[0] == "captures":
        code = "FG0132"
        what, help_ = _no_capture(words, depth, shown, help_, environment)
    elif words[0] == "services" and depth == 1 and word in {s.name for s in environment.spec.services}:
        what, help_ = f'{shown}: "{word}" has no address on the lab network', "set network: environment on it"
    elif words[0] == "secrets" and depth == 2:
        what = f"{shown}: of a secret only its sha256 can stand in a template"
        help_ = "hand secrets on by a secret step, or mount .forge/secrets/<name>"
    elif depth == 1 or words[0] in ("certificates", "services"):
        what = f'{shown}: there is no "{".".join(words[: depth + 1])}"'
        help_ = help_ or f"known: {ROOTS[words[0]]}"
    return _Wrong(code, what, help_, expression.start, shown, about_cluster)


def _no_root(word: str, shown: str, use: Use) -> tuple[str, str]:
    if word == "item":
        return f"{shown}: item exists only inside a for-each step", "use it in the steps of a for-each"
    if word in ("cluster", "stack") and use.spot is None:
        help_ = "set fromCluster: <cluster> on the service" if word == "cluster" else "write the name out"
        return f"{shown}: a service belongs to no {word}", help_
    return f'{shown} begins with "{word}", which is nothing', did_you_mean(word, list(ROOTS))


def _no_capture(
    words: tuple[str, ...], depth: int, shown: str, help_: str, environment: Environment
) -> tuple[str, str]:
    if depth == 1:
        return f'{shown}: there is no cluster "{words[1]}"', help_
    if depth > 2:
        return f"{shown}: a capture has no fields", "use captures.CLUSTER.KEY"
    elsewhere = [
        name
        for name, stack in environment.spec.stacks.items()
        if any(getattr(step, "key", None) == words[2] for step in stack.steps)
    ]
    what = f'{shown}: no stack of cluster "{words[1]}" captures "{words[2]}"'
    if elsewhere:
        return what, f'the stack "{elsewhere[0]}" does; add it to the stacks of "{words[1]}"'
    return what, help_ or "add a capture step with that key"


def _problem(use: Use, wrong: _Wrong, message: str, source: Source) -> Problem:
    if use.file is None:
        return source.problem(wrong.code, message, use.path, help=wrong.help)
    path = dotted(source.original(use.path))
    return in_file(use, wrong.offset, wrong.shown, source, wrong.code, message, path, wrong.help)


def in_file(
    use: Use, offset: int, shown: str, source: Source, code: str, message: str, path: str, help_: str
) -> Problem:
    """A problem inside a template file. The excerpt is the template alone: files may hold secrets."""
    lines = lines_of(use.text[:offset])
    name = posixpath.normpath(posixpath.join(posixpath.dirname(source.file), use.file or ""))
    place = Place(name, len(lines), len(lines[-1]) + 1)
    return Problem(code, Severity.ERROR, message, place, path, help_, Excerpt(shown, 1, len(shown)))
