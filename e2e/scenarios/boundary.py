"""What must not get through does not: the six security assertions, and the ways around them.

"Not exposed" means that nothing listens for a provider on this machine's own addresses; a lab network
lets its host in, so that reachability alone would prove nothing, and refusal is proved instead.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Collection
from pathlib import Path

from e2e import actions, checks, guards
from e2e.kube import APPS, CORE
from e2e.lab import CLUSTERS, EAST, GATEWAY_PORT, US, WEST, Lab
from e2e.scenario import Broken, Evidence, NotYet, Run, Scenario, Show, Step, eventually
from e2e.wire import Endpoint, Proof, ask

_PROVIDER_PORTS = (8000, 9901, 9902, 7946)
"""Ports of simulators, admin pages, overlay-sync and membership; 8443 is an edge's on loopback too."""


def gateway(run: Run, site: str, name: str | None = None, proof: Proof | None = None) -> Endpoint:
    """A provider's gateway by its load-balancer address."""
    service = run.lab.kube(site).get(f"{CORE}/services/provider-gateway")
    ingress = (service or {}).get("status", {}).get("loadBalancer", {}).get("ingress") or []
    if not ingress:
        raise Broken(f"the gateway of {site} has no address")
    ca = run.lab.certificate("grid-ca") / "ca.crt"
    return Endpoint(ingress[0]["ip"], GATEWAY_PORT, name or f"{site}.grid.internal", ca, proof)


def _gateway(site: str, leaf: str | None = None, name: str | None = None) -> Callable[[Run], Endpoint]:
    return lambda run: gateway(run, site, name, run.lab.proof(leaf) if leaf else None)


def _trusted(site: str) -> Show:
    """An edge's certificate is let in: without this, every refusal below would prove nothing."""

    def show(run: Run) -> Evidence:
        place = gateway(run, site, proof=run.lab.proof(f"edge-{US}"))
        answer = ask(place, "GET", "/v1/models", timeout_s=5.0)
        if answer.status == 0:
            raise NotYet(f"the handshake failed: {answer.error}")
        if guards.code_of(answer) == "peer_not_trusted":
            raise NotYet("the edge is not trusted")
        seen = f"{answer.status} {guards.code_of(answer)}"
        return Evidence("an edge's own certificate gets past the handshake and the trust of peers", seen)

    return show


def _pod(run: Run, site: str, selector: str) -> str:
    pods = run.lab.kube(site).pods(selector)
    addresses = [p["status"].get("podIP") for p in pods if p["status"].get("podIP")]
    if not addresses:
        raise Broken(f"no pod {selector} in {site}")
    return str(addresses[0])


def _gateway_pod(run: Run) -> Endpoint:
    ca = run.lab.certificate("grid-ca") / "ca.crt"
    return Endpoint(_pod(run, EAST, "app=provider-gateway"), GATEWAY_PORT, f"{EAST}.grid.internal", ca)


def _simulator_pod(run: Run) -> Endpoint:
    address = _pod(run, EAST, "app=sim-a")
    return Endpoint(address, 8000, address, None)


def _wrong_name(run: Run) -> Evidence:
    """The east's gateway cannot prove that it is the west's."""
    place = gateway(run, EAST, f"{WEST}.grid.internal", run.lab.proof(f"edge-{US}"))
    answer = ask(place, "GET", "/v1/models", timeout_s=5.0)
    if "CERTIFICATE_VERIFY_FAILED" not in answer.error:
        raise NotYet(f"status {answer.status} {answer.error}")
    return Evidence("a gateway cannot pass for another site", answer.error)


def _own_addresses() -> tuple[str, ...]:
    """This machine's addresses that others can reach: those its host name and its routes lead from."""
    found = set()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing: asks which address would be used
            found.add(str(probe.getsockname()[0]))
        except OSError:
            pass
    return tuple(sorted(found - {"127.0.0.1", "0.0.0.0"}))  # noqa: S104 - left out, not listened on


def _host_places(_: Run) -> Collection[tuple[str, int]]:
    outside = [(address, port) for address in _own_addresses() for port in (*_PROVIDER_PORTS, GATEWAY_PORT)]
    return [*(("127.0.0.1", port) for port in _PROVIDER_PORTS), *outside]


def _secrets(lab: Lab) -> Collection[str]:
    names = ("demo-api-key", "provider-token", "affinity-key")
    return [_read(lab.state / "secrets" / name / "value").strip() for name in names]


def _texts(lab: Lab) -> dict[str, str]:
    """Everything that people and machines are shown: place -> text."""
    texts = {
        "forge status": lab.forge("status", "--output", "json"),
        "forge plan": lab.forge("plan", "--output", "json"),
        "forge state": _read(lab.state / "state.json"),
        "edge /status": lab.admin(US, "/status").body.decode(),
        "edge /config": lab.admin(US, "/config").body.decode(),
        "edge /metrics": lab.admin(US, "/metrics").body.decode(),
        "overlay file": _read(lab.overlay_file()),
    }
    for service in ("grid-edge-us-east", "grid-overlay-sync-us-east"):
        texts[f"log of {service}"] = lab.forge("service", "logs", service)
    for cluster in CLUSTERS:
        kube = lab.kube(cluster)
        for config in kube.items(f"{CORE}/configmaps"):
            texts[f"{cluster} ConfigMap {config['metadata']['name']}"] = str(config.get("data"))
        for pod in kube.items(f"{CORE}/pods"):
            name = pod["metadata"]["name"]
            texts[f"{cluster} log of {name}"] = "\n".join(kube.log(name))
            texts[f"{cluster} pod {name}"] = str(pod["spec"]) + str(pod["status"])
    return texts


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _not_the_clients(run: Run) -> Evidence:
    """The model answers only for the provider's own token, and it answered; a client's key is no such
    token, so it was not what the model was shown."""
    direct = ask(
        _simulator_pod(run),
        "POST",
        "/v1/chat/completions",
        b'{"model":"shared-model","messages":[{"role":"user","content":"x"}]}',
        {"Authorization": f"Bearer {run.lab.api_key()}", "Content-Type": "application/json"},
        timeout_s=5.0,
    )
    if direct.status == 401:
        return Evidence(
            "the model refuses the client's key, and answers the edge's requests", "401 against 200"
        )
    if direct.status:
        raise NotYet(f"the model took the client's key: {direct.status}")
    if not _asks_for_a_token(run):
        raise Broken("the model asks for no token, and cannot be reached to try")
    return Evidence(
        "the model is out of reach, asks for the provider's token, and answers the edge",
        direct.error,
    )


def _asks_for_a_token(run: Run) -> bool:
    """Whether the simulator of the east was started to answer for a token only."""
    found = run.lab.kube(EAST).get(f"{APPS}/deployments/sim-a") or {}
    containers = found.get("spec", {}).get("template", {}).get("spec", {}).get("containers") or []
    return any("--bearer-file" in word for c in containers for word in c.get("args") or ())


SCENARIO = Scenario(
    "boundary",
    "Nothing gets to a provider but through an edge, and nothing secret gets out.",
    (
        Step("The lab is at rest.", (eventually(checks.at_rest(), 90),)),
        Step(
            "unknown model fails cleanly",
            act=actions.ask("unknown", model="a-model-nobody-has"),
            shows=(checks.answered("unknown", 404), checks.error_code("unknown", "model_not_found")),
        ),
        Step(
            "direct provider endpoints are unreachable from the host",
            (guards.not_listening("nothing listens for a provider on this machine", _host_places),),
        ),
        Step(
            "missing/untrusted edge certificate is rejected by provider gateway",
            (
                eventually(_trusted(EAST), 10),
                guards.refused("no certificate: refused", _gateway(EAST)),
                guards.refused("wrong CA: refused", _gateway(EAST, "public")),
                guards.refused("wrong organisation: refused", _gateway(EAST, "stranger"), "peer_not_trusted"),
                _wrong_name,
            ),
        ),
        Step(
            "public/client authorization is not forwarded as a provider credential",
            act=actions.ask("authorized"),
            shows=(checks.answered("authorized"), _not_the_clients),
        ),
        Step(
            "token bytes are absent from overlay, config, logs, and status",
            (guards.absent("no secret is shown anywhere", _secrets, _texts),),
        ),
        Step(
            "client-supplied location header does not change routing",
            act=actions.ask("elsewhere", headers={"X-Region": "eu-west", "X-Country": "DE"}),
            shows=(checks.answered("elsewhere"), eventually(checks.handled_by("elsewhere", EAST), 10)),
        ),
        Step(
            "a pod's own address is no way around: a gateway asks for a certificate, a model for its token",
            (
                guards.refused("the gateway's pod: refused", _gateway_pod),
                guards.refused("the model's pod: refused", _simulator_pod, "invalid_api_key"),
            ),
        ),
        Step(
            "a request without a key, or with a wrong one, is refused at the door",
            act=actions.ask("wrong key", key="not-a-key"),
            shows=(checks.answered("wrong key", 401),),
        ),
    ),
)
