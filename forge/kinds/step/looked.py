"""Steps that wait for the world: a condition, a value, an answer. What is not there yet is waited for.

They look often at first and ever more seldom, say what they wait for whenever it changes, and end early on
what waiting does not heal, with the events and last log lines that tell why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from forge.errors import ForgeError, OperationFailed, Unhealthy
from forge.kinds.step.work import Done, Work
from forge.plan.lab_ports import Kube, Object
from forge.spec.shape import seconds
from forge.spec.steps import CaptureStep, HttpWaitStep, WaitStep
from forge.stack.conditions import (
    Condition,
    ConditionBroken,
    Standing,
    Verdict,
    current_pods,
    judge,
    parse_condition,
)
from forge.stack.jsonpath import JsonPathBroken, parse

_FIRST_S = 0.05
_SLOWEST_S = 0.5
_LOG_LINES = 20
_EVENTS = 5
_WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job")

Look = Callable[[], tuple[Standing, str]]


def wait(work: Work, step: WaitStep) -> Done:
    """Raises Unhealthy FG0736 when its time is up, FG0737 when it is lost."""
    try:
        condition = parse_condition(step.condition)
    except ConditionBroken as error:
        raise OperationFailed(
            "FG0745",
            f"{work.name}: the condition cannot be read",
            why=str(error),
            hint="for example available, ready=false, exists, deleted, jsonpath={.status.phase}=Running",
            changed=False,
        ) from None
    seen: list[tuple[Verdict, tuple[Object, ...]]] = []

    def look() -> tuple[Standing, str]:
        verdict, pods = _look(work.kube, step, condition)
        seen[:] = [(verdict, pods)]
        return verdict.standing, verdict.reason

    standing, reason = _until(work, look, _SLOWEST_S)
    if standing is Standing.HOLDS:
        return Done()
    what = f"{step.resource} did not become {step.condition}"
    why = reason if standing is Standing.LOST else f"after {step.timeout}: {reason}"
    raise Unhealthy(
        "FG0737" if standing is Standing.LOST else "FG0736",
        f"{work.name}: {what}",
        why=why,
        hint=f"look at it with: praxis-forge cluster kubectl {work.cluster} -- describe {_where(step)}",
        changed=True,
        detail=_explained(work.kube, step, *seen[0]) if seen else (),
    )


def _where(step: WaitStep) -> str:
    return f"-n {step.namespace} {step.resource}" if step.namespace else step.resource


def _look(kube: Kube, step: WaitStep, condition: Condition) -> tuple[Verdict, tuple[Object, ...]]:
    objects = kube.find(step.resource, step.namespace)
    verdict = judge(condition, objects)
    if verdict.standing is Standing.HOLDS or not condition.is_workload:
        return verdict, ()
    pods = tuple(pod for one in objects if one.get("kind") in _WORKLOADS for pod in _pods(kube, one))
    return judge(condition, objects, pods), pods


def _pods(kube: Kube, workload: Object) -> tuple[Object, ...]:
    """The pods its present template made."""
    labels = ((workload.get("spec") or {}).get("selector") or {}).get("matchLabels") or {}
    if not labels:
        return ()
    selector = ",".join(f"{key}={value}" for key, value in labels.items())
    namespace = str(workload["metadata"].get("namespace", "default"))
    sets = kube.find("replicasets.apps", namespace, selector=selector)
    return current_pods(workload, sets, kube.find("pods", namespace, selector=selector))


def _explained(kube: Kube, step: WaitStep, verdict: Verdict, pods: Sequence[Object]) -> tuple[str, ...]:
    """Events and last log lines of the pod to blame, or of the object itself."""
    lines: list[str] = []
    try:
        blamed = [p for p in pods if p["metadata"]["name"] == verdict.pod] or list(pods[-1:])
        for pod in blamed:
            name, namespace = str(pod["metadata"]["name"]), str(pod["metadata"]["namespace"])
            lines += [
                f"event of pod {name}: {line}" for line in kube.events(namespace, "Pod", name)[-_EVENTS:]
            ]
            for container in (pod.get("spec") or {}).get("containers") or ():
                said = _log(kube, namespace, name, str(container.get("name", "")))
                lines += [f"{name} {container.get('name')}: {line}" for line in said]
        for one in () if blamed else kube.find(step.resource, step.namespace)[:1]:
            name, namespace = str(one["metadata"]["name"]), str(one["metadata"].get("namespace", ""))
            lines += [f"event: {line}" for line in kube.events(namespace, str(one["kind"]), name)[-_EVENTS:]]
    except ForgeError:
        pass  # an API that is away now is told by the reason already
    return tuple(lines)


def _log(kube: Kube, namespace: str, pod: str, container: str) -> tuple[str, ...]:
    try:
        return kube.pod_log(namespace, pod, container=container, tail=_LOG_LINES)
    except ForgeError:
        return ()  # a container that never started has no log


def capture(work: Work, step: CaptureStep) -> Done:
    """Raises Unhealthy FG0742 when there is no value in time."""
    try:
        path = parse(step.jsonpath)
    except JsonPathBroken as error:
        raise OperationFailed(
            "FG0743",
            f"{work.name}: the jsonpath {step.jsonpath!r} cannot be read",
            why=f"{error}, at character {error.offset + 1}",
            hint="for example {.status.loadBalancer.ingress[0].ip}",
            changed=False,
        ) from None
    found: list[str] = []

    def look() -> tuple[Standing, str]:
        objects = work.kube.find(step.resource, step.namespace)
        if not objects:
            return Standing.WAITING, f"{step.resource} is not there yet"
        whole: Object = objects[0] if "/" in step.resource else {"kind": "List", "items": list(objects)}
        text = path.text(whole).strip()
        if not text:
            return Standing.WAITING, f"{step.resource} has nothing at {step.jsonpath} yet"
        found[:] = [text]
        return Standing.HOLDS, ""

    _, reason = _until(work, look, seconds(step.interval))
    if not found:
        raise Unhealthy(
            "FG0742",
            f"{work.name}: there is no value for {step.key!r}",
            why=f"after {step.timeout}: {reason}",
            hint="check resource, namespace and jsonpath, or give it a longer timeout",
            changed=True,
        )
    work.site.progress(f"{step.key} = {found[0][:100]}")
    return Done(captures={step.key: found[0]})


def http_wait(work: Work, step: HttpWaitStep) -> Done:
    """Raises Unhealthy FG0744 when nothing answers as it should in time."""
    ca = work.files.read(step.ca) if step.ca is not None else None

    def look() -> tuple[Standing, str]:
        answer = work.site.tools.answer(step.url, ca=ca, timeout_s=max(0.1, min(5.0, work.until.left)))
        if answer.status == 0:
            return Standing.WAITING, answer.error
        right = answer.status == step.status if step.status else 200 <= answer.status < 400
        if not right:
            return Standing.WAITING, f"it answers HTTP {answer.status}"
        if step.contains is not None and step.contains not in answer.body.decode("utf-8", "replace"):
            return Standing.WAITING, f"its answer does not contain {step.contains!r}"
        return Standing.HOLDS, ""

    standing, reason = _until(work, look, seconds(step.interval))
    if standing is not Standing.HOLDS:
        raise Unhealthy(
            "FG0744",
            f"{work.name}: {step.url} does not answer as it should",
            why=f"after {step.timeout}: {reason}",
            hint="see what should answer there with: praxis-forge status",
            changed=True,
        )
    return Done()


def _until(work: Work, look: Look, slowest_s: float) -> tuple[Standing, str]:
    """Looks until it does not wait any more or its time is up: the last standing and reason. An API that
    is away is waited for as well. Raises Interrupted when the run is cancelled."""
    pause, told, reason = min(_FIRST_S, slowest_s), "", ""
    while True:
        try:
            standing, reason = look()
        except OperationFailed as error:
            if not error.may_pass:
                raise
            standing, reason = Standing.WAITING, error.why or error.what
        if standing is not Standing.WAITING:
            return standing, reason
        if reason != told:
            told = reason
            work.site.progress(f"waiting: {reason}")
        if work.until.wait(pause):
            if not work.until.is_late:
                raise work.stopped()
            return Standing.WAITING, reason
        pause = min(pause * 1.5, slowest_s)
