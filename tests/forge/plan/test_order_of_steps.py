"""Steps that went are removed once those of their cluster that are made are made, and not before."""

from __future__ import annotations

from forge.plan.order import order
from forge.plan.text import need_text
from forge.plan.values import Change, Key, Verb


def test_a_step_goes_after_all_that_may_take_over_what_it_made() -> None:
    changes = [
        Change(Verb.REMOVE, Key("step", "east/base/01-manifest"), "no longer in forge.yaml"),
        Change(Verb.CREATE, Key("step", "east/base/02-manifest"), "not found"),
        Change(Verb.UPDATE, Key("step", "east/site/01-exec"), "configuration differs"),
        Change(Verb.KEEP, Key("step", "east/site/02-wait"), "present"),
        Change(Verb.CREATE, Key("step", "west/base/02-manifest"), "not found"),
        Change(Verb.REMOVE, Key("step", "west/old/01-wait"), "no longer in forge.yaml"),
        Change(Verb.REMOVE, Key("service", "web"), "no longer in forge.yaml"),
    ]
    assert [f"{s.change.key} <- {', '.join(map(need_text, s.after))}" for s in order(changes, {})] == [
        "step/east/base/02-manifest <- ",
        "step/east/site/01-exec <- ",
        "step/west/base/02-manifest <- ",
        "service/web <- ",
        "step/east/base/01-manifest <- step/east/base/02-manifest, step/east/site/01-exec",
        "step/west/old/01-wait <- step/west/base/02-manifest",
    ]
