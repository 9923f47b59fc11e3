"""A container as a process: what to run and with what, or why it cannot be run."""

from __future__ import annotations

from dataclasses import dataclass

from forge.embedded.api.values import Json
from forge.embedded.node import environment
from forge.embedded.node.hands import Hands
from forge.embedded.node.images import argv
from forge.embedded.node.mounting import Mounting
from forge.embedded.node.objects import SERVICES, name_of, namespace_of, uid_of
from forge.embedded.process.spec import ProcessSpec

_CLOSING_GRACE_S = 5.0
"""At most, when the whole cluster is stopped: nobody waits half a minute for a lab to end."""

NO_IMAGE = "ImagePullBackOff"


@dataclass(frozen=True, slots=True)
class Refused:
    """reason, message: of the container's waiting state. said: what events tell."""

    reason: str
    message: str
    said: str


def process_name(uid: str, container: str) -> str:
    """The supervisor's name for a container of a pod."""
    return f"{uid}.{container}"


def recipe(
    hands: Hands, mounting: Mounting, pod: Json, container: Json, address: str
) -> ProcessSpec | Refused:
    """The process of a container at this moment."""
    image = container["image"]
    mapped = hands.images.find(image)
    if mapped is None:
        why = hands.images.why_not(image)
        said = f'Failed to pull image "{image}": {why}'
        return Refused(NO_IMAGE, f'Back-off pulling image "{image}": {why}', said)
    found = _environment(hands, pod, container)
    if found.problem:
        return Refused("CreateContainerConfigError", found.problem, f"Error: {found.problem}")
    words = argv(
        mapped,
        [environment.expand(word, found.values) for word in container.get("command") or []],
        [environment.expand(word, found.values) for word in container.get("args") or []],
    )
    if not words:
        return Refused("CreateContainerError", "no command specified", "Error: no command specified")
    return _spec(hands, mounting, pod, container, words, found.values, address)


def _environment(hands: Hands, pod: Json, container: Json) -> environment.Environment:
    namespace = namespace_of(pod)
    links = pod["spec"].get("enableServiceLinks") is not False
    services = environment.of_services(hands.objects.all(SERVICES), namespace, links=links)
    return environment.environment(container, pod, services, hands.lookup(namespace), hands.capacity)


def _spec(
    hands: Hands,
    mounting: Mounting,
    pod: Json,
    container: Json,
    words: tuple[str, ...],
    values: dict[str, str],
    address: str,
) -> ProcessSpec:
    uid, name = uid_of(pod), container["name"]
    base = {**hands.base, "HOSTNAME": name_of(pod), "POD_IP": address}
    access = mounting.access(pod)
    if access is not None:
        base["KUBECONFIG"] = str(access)
    return ProcessSpec(
        name=process_name(uid, name),
        argv=words,
        root=str(hands.pod_folder(uid) / "containers" / name / "root"),
        env=values,
        base=base,
        cwd=container.get("workingDir") or None,
        address=address,
        mounts=mounting.binds(pod, container),
        grace_s=min(_CLOSING_GRACE_S, float(pod["spec"].get("terminationGracePeriodSeconds") or 0)),
        labels={"namespace": namespace_of(pod), "pod": name_of(pod), "container": name},
    )
