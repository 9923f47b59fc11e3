"""core-dns-forward: the cluster's own DNS forwards a zone."""

from __future__ import annotations

from forge.errors import OperationFailed
from forge.kinds.step.work import Done, Work
from forge.spec.steps import CoreDnsForwardStep
from forge.stack.conditions import Standing, judge, parse_condition
from forge.stack.corefile import forwarded

_KEY = "Corefile"
_RESTARTED = "dev.praxis.forge/corefile"


def core_dns_forward(work: Work, step: CoreDnsForwardStep) -> Done:
    """Changed only where it differs, and CoreDNS restarted only then. An embedded cluster has no DNS of
    its own: there is nothing to do, and it says so. Raises OperationFailed FG0746."""
    found = work.kube.get("v1", "ConfigMap", "kube-system", "coredns")
    if found is None:
        if work.resource.embedded:
            work.site.progress("the embedded cluster has no DNS of its own: nothing to forward")
            return Done()
        raise OperationFailed(
            "FG0746",
            f"{work.name}: the cluster has no CoreDNS",
            why="there is no ConfigMap kube-system/coredns",
            hint="the cluster's DNS is another one, or not up yet: wait for it by a `wait` step",
            changed=False,
        )
    before = str((found.get("data") or {}).get(_KEY, ""))
    after = forwarded(before, step.zone, step.upstreams)
    if after != before:
        work.kube.patch("v1", "ConfigMap", "kube-system", "coredns", {"data": {_KEY: after}})
        _restart(work)
    return Done()


def _restart(work: Work) -> None:
    """A new pod with the new text; the old one serves until it is ready."""
    if work.kube.get("apps/v1", "Deployment", "kube-system", "coredns") is None:
        return
    stamp = {_RESTARTED: f"{work.site.tools.now():.0f}"}
    change = {"spec": {"template": {"metadata": {"annotations": stamp}}}}
    work.kube.patch("apps/v1", "Deployment", "kube-system", "coredns", change)
    condition, left = parse_condition("available"), 60.0
    while left > 0 and not work.until.wait(0.2):
        now = work.kube.get("apps/v1", "Deployment", "kube-system", "coredns")
        if now is not None and judge(condition, [now]).standing is Standing.HOLDS:
            return
        left -= 0.2
