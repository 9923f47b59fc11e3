"""What waits for what, as a graph: text, Mermaid or Graphviz. Pure, and the same for the same plan.

An edge that follows from others is left out: a step that needs its cluster and the step before it, which
needs the cluster too, is drawn after that step alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from forge.plan.text import need_text
from forge.plan.values import Condition, Desired, Key, Need

FORMATS: Final = ("text", "mermaid", "dot")


def graph_lines(desired: Mapping[Key, Desired], style: str) -> tuple[str, ...]:
    """style: one of FORMATS."""
    needs = reduced(desired)
    match style:
        case "mermaid":
            return _mermaid(needs)
        case "dot":
            return _dot(needs)
        case _:
            return _text(needs) or ("The file asks for nothing.",)


def graph_json(desired: Mapping[Key, Desired]) -> dict[str, Any]:
    needs = reduced(desired)
    return {
        "nodes": [{"key": str(key), "kind": key.kind, "cluster": _group(key)} for key in needs],
        "edges": [
            {"from": str(need.key), "to": str(key), "condition": need.condition.value}
            for key, wanted in needs.items()
            for need in wanted
        ],
    }


def reduced(desired: Mapping[Key, Desired]) -> dict[Key, tuple[Need, ...]]:
    """key -> what it needs directly, in an order in which all could be made one by one. A need that
    another one brings along is left out, unless it asks for more than that the thing was started."""
    order = _ordered({key: [n.key for n in d.needs if n.key in desired] for key, d in desired.items()})
    above: dict[Key, set[Key]] = {}
    found: dict[Key, tuple[Need, ...]] = {}
    for key in order:
        needs = sorted({need for need in desired[key].needs if need.key in desired})
        implied = {k for need in needs for k in above[need.key]}
        found[key] = tuple(n for n in needs if n.key not in implied or n.condition is not Condition.STARTED)
        above[key] = implied | {need.key for need in needs}
    return found


def _ordered(needs: Mapping[Key, list[Key]]) -> list[Key]:
    """Kahn's order, ties by the mapping's own. Raises ValueError for a circle, which checks refuse."""
    waiting = {key: set(wanted) for key, wanted in needs.items()}
    users: dict[Key, list[Key]] = {key: [] for key in needs}
    for key, wanted in waiting.items():
        for one in wanted:
            users[one].append(key)
    ready = [key for key, wanted in waiting.items() if not wanted]
    done: list[Key] = []
    while ready:
        nxt: list[Key] = []
        for key in ready:
            done.append(key)
            for user in users[key]:
                waiting[user].discard(key)
                if not waiting[user]:
                    nxt.append(user)
        ready = nxt
    if len(done) < len(needs):
        raise ValueError("things wait for each other in a circle")
    return done


def _group(key: Key) -> str:
    """The cluster it is or stands in; empty for what stands on this machine."""
    return key.name if key.kind == "cluster" else key.cluster or ""


def _label(key: Key) -> str:
    """As short as it can be inside its group."""
    return f"{key.kind} {key.name.partition('/')[2]}" if key.cluster and "/" in key.name else str(key)


def _text(needs: Mapping[Key, tuple[Need, ...]]) -> tuple[str, ...]:
    width = max((len(str(key)) for key in needs), default=0)
    return tuple(
        f"{key!s:<{width}}  <- {', '.join(need_text(need) for need in wanted)}" if wanted else str(key)
        for key, wanted in needs.items()
    )


def _groups(needs: Mapping[Key, tuple[Need, ...]]) -> dict[str, list[Key]]:
    groups: dict[str, list[Key]] = {"": []}
    for key in needs:
        groups.setdefault(_group(key), []).append(key)
    return groups


def _mermaid(needs: Mapping[Key, tuple[Need, ...]]) -> tuple[str, ...]:
    names = {key: f"n{number}" for number, key in enumerate(needs, 1)}
    lines = ["graph LR"]
    for group, keys in _groups(needs).items():
        nodes = [f'{names[key]}["{_escaped(_label(key))}"]' for key in keys]
        if group:
            lines += [f'  subgraph {names[keys[0]]}g["cluster {_escaped(group)}"]']
            lines += [*(f"    {node}" for node in nodes), "  end"]
        else:
            lines += [f"  {node}" for node in nodes]
    for key, wanted in needs.items():
        for need in wanted:
            mark = "" if need.condition is Condition.STARTED else f"|{need.condition}|"
            lines.append(f"  {names[need.key]} -->{mark} {names[key]}")
    return tuple(lines)


def _escaped(text: str) -> str:
    """Mermaid takes HTML entities, by number, inside quotes."""
    return text.replace("#", "#35;").replace('"', "#quot;")


def _dot(needs: Mapping[Key, tuple[Need, ...]]) -> tuple[str, ...]:
    lines = ["digraph lab {", "  rankdir=LR;", "  node [shape=box];"]
    for number, (group, keys) in enumerate(_groups(needs).items()):
        nodes = [f"{_quoted(str(key))} [label={_quoted(_label(key))}];" for key in keys]
        if group:
            lines += [f"  subgraph cluster_{number} {{", f"    label={_quoted('cluster ' + group)};"]
            lines += [*(f"    {node}" for node in nodes), "  }"]
        else:
            lines += [f"  {node}" for node in nodes]
    for key, wanted in needs.items():
        for need in wanted:
            mark = "" if need.condition is Condition.STARTED else f" [label={_quoted(need.condition.value)}]"
            lines.append(f"  {_quoted(str(need.key))} -> {_quoted(str(key))}{mark};")
    return (*lines, "}")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
