"""Every type of step does what it says to a real embedded cluster."""

from __future__ import annotations

import http.server
import json
import socket
import stat
import threading
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from forge.errors import ForgeError, OperationFailed, Unhealthy
from forge.host.kube.client import open_kube
from forge.kinds.step.run import DOERS
from forge.plan.lab_ports import Access
from forge.spec.steps import ForEachStep, Step
from tests.kit.embedded_node import KUBECTL, PORT, eventually, fetch
from tests.kit.kube_contract import deployment, thing, widget_definition
from tests.kit.step_lab import StepLab

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {k: v}\n"


def get(lab: StepLab, kind: str, name: str, namespace: str = "default", api_version: str = "v1") -> Any:
    return lab.kube("east").get(api_version, kind, namespace, name)


def test_every_type_of_step_has_a_doer() -> None:
    types = set(get_args(get_args(Step)[0]))
    assert types == {*DOERS, ForEachStep}


def test_manifest(lab: StepLab) -> None:
    lab.write("base/20-cm.yaml", (CONFIG % "m1").replace("metadata: {", "metadata: {namespace: m-space, "))
    lab.write("base/10-ns.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: m-space}\n")
    lab.write("base/crds/widgets.json", json.dumps(widget_definition()))
    lab.write(
        "base/a-widget.yml",
        "apiVersion: lab.test/v1\nkind: Widget\nmetadata: {name: w, namespace: m-space}\n",
    )
    lab.write("base/kustomization.yaml", "resources: [10-ns.yaml]\n")
    lab.write("base/README.md", "not a manifest")
    (made,) = lab.run("{type: manifest, path: base}")
    assert [(r.kind, r.name) for r in made.objects] == [
        ("Namespace", "m-space"),
        ("ConfigMap", "m1"),
        ("Widget", "w"),
        ("CustomResourceDefinition", "widgets.lab.test"),
    ]
    assert made.id == lab.kube("east").identity()
    assert get(lab, "Widget", "w", "m-space", "lab.test/v1") is not None


def test_what_a_changed_manifest_no_longer_has_is_deleted(lab: StepLab) -> None:
    lab.write("p.yaml", f"{CONFIG % 'p1'}---\n{CONFIG % 'p2'}---\n{CONFIG % 'p3'}")
    lab.run("{type: manifest, path: p.yaml}")
    labels = {
        "metadata": {"labels": {"dev.praxis.forge/managed": None, "dev.praxis.forge/environment-id": None}}
    }
    lab.kube("east").patch("v1", "ConfigMap", "default", "p3", labels)
    lab.write("p.yaml", CONFIG % "p1")
    (made,) = lab.run("{type: manifest, path: p.yaml}")
    assert [r.name for r in made.objects] == ["p1"]
    assert get(lab, "ConfigMap", "p1") is not None
    assert get(lab, "ConfigMap", "p2") is None
    assert get(lab, "ConfigMap", "p3") is not None, "it is not ours any more"


def test_an_object_that_moves_to_another_step_is_not_deleted(lab: StepLab) -> None:
    lab.write("one.yaml", f"{CONFIG % 'v1'}---\n{CONFIG % 'v2'}")
    lab.write("two.yaml", CONFIG % "v3")
    steps = ("{type: manifest, path: two.yaml}", "{type: manifest, path: one.yaml}")
    lab.run(*steps)
    lab.write("one.yaml", CONFIG % "v1")
    lab.write("two.yaml", f"{CONFIG % 'v3'}---\n{CONFIG % 'v2'}")
    lab.run(*steps)
    assert get(lab, "ConfigMap", "v2") is not None


def test_removing_a_step_takes_away_what_it_applied(lab: StepLab) -> None:
    lab.write("gone.yaml", f"{CONFIG % 'g1'}---\n{CONFIG % 'g2'}")
    lab.run("{type: manifest, path: gone.yaml}")
    (key,) = lab.made
    lab.remove(key)
    assert get(lab, "ConfigMap", "g1") is None
    assert get(lab, "ConfigMap", "g2") is None


def test_what_runs_is_gone_with_its_pods(lab: StepLab) -> None:
    lab.run(
        "{type: deployment, name: brief, image: 'server:1'}",
        "{type: service, name: brief, port: 8080}",
        "{type: wait, resource: deploy/brief, condition: available, timeout: 60s}",
    )
    assert lab.kube("east").find("pods", "default", selector="app=brief")
    for key in list(lab.made):
        lab.remove(key)
    for kind in ("deploy", "svc", "pods", "replicasets"):
        assert not [
            o for o in lab.kube("east").find(kind, "default") if o["metadata"]["name"].startswith("brief")
        ]


def test_template_manifest(lab: StepLab) -> None:
    lab.write(
        "t.yaml",
        'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "t-{{ cluster.name }}"}\ndata: {r: "{{ cluster.properties.region }}"}\n',
    )
    lab.run('{type: template-manifest, path: "t.yaml"}')
    assert get(lab, "ConfigMap", "t-east")["data"] == {"r": "us-east"}


@pytest.mark.skipif(not KUBECTL, reason="kubectl is missing")
def test_kustomize(lab: StepLab) -> None:
    lab.write("k/kustomization.yaml", "namePrefix: pre-\nresources: [cm.yaml]\n")
    lab.write("k/cm.yaml", CONFIG % "k")
    lab.run("{type: kustomize, path: k}")
    assert get(lab, "ConfigMap", "pre-k") is not None


@pytest.mark.skipif(not KUBECTL, reason="kubectl is missing")
def test_a_kustomization_that_is_broken_says_what_kubectl_says(lab: StepLab) -> None:
    lab.write("k/kustomization.yaml", "resources: [none.yaml]\n")
    with pytest.raises(OperationFailed, match="FG0740") as caught:
        lab.run("{type: kustomize, path: k}")
    assert any("none.yaml" in line for line in caught.value.detail)


def test_deployment_service_and_waits(lab: StepLab) -> None:
    made = lab.run(
        '{type: deployment, name: web, image: "{{ cluster.properties.image }}"}',
        "{type: service, name: web, port: 8080}",
        "{type: wait, resource: deploy/web, condition: available, timeout: 60s}",
        "{type: wait, resource: svc/web, condition: exists, timeout: 60s}",
        "{type: capture, resource: svc/web, jsonpath: '{.spec.clusterIP}', key: web-ip, timeout: 60s, interval: 1s}",
        "{type: capture, resource: pods, jsonpath: '{.items[?(@.metadata.labels.app==\"web\")].status.podIP}', key: pod-ip, timeout: 60s, interval: 1s}",
        '{type: http-wait, url: "http://{{ captures.east.web-ip }}:8080/ready", contains: ready, timeout: 60s}',
    )
    assert made[4].captures["web-ip"]
    assert fetch(made[4].captures["web-ip"], PORT) == fetch(made[5].captures["pod-ip"], PORT)
    assert made[6].objects == ()


def test_a_value_of_an_object_and_its_end_are_waited_for(lab: StepLab) -> None:
    lab.write("cm.yaml", CONFIG % "w1")
    lab.run(
        "{type: manifest, path: cm.yaml}",
        "{type: wait, resource: cm/w1, condition: 'jsonpath={.data.k}=v', timeout: 60s}",
        "{type: delete, resource: cm/w1}",
        "{type: wait, resource: cm/w1, condition: deleted, timeout: 60s}",
        "{type: delete, resource: cm/w1}",
        "{type: delete, resource: nonsense.example.org/x}",
    )
    assert get(lab, "ConfigMap", "w1") is None


def test_delete_by_manifest(lab: StepLab) -> None:
    lab.write("d.yaml", f"{CONFIG % 'd1'}---\n{CONFIG % 'd2'}")
    lab.run("{type: manifest, path: d.yaml}", "{type: delete, path: d.yaml}")
    assert get(lab, "ConfigMap", "d1") is None


def test_what_is_not_there_yet_is_waited_for(lab: StepLab) -> None:
    kube = lab.kube("east")
    objects = [deployment("late", replicas=1)]

    def later() -> None:
        eventually(lambda: list(lab.said), lambda said: "waiting: it is not there yet" in said)
        kube.apply(objects, owner=lab.site().owner, progress=lambda _: None, cancel=threading.Event())

    thread = threading.Thread(target=later)
    thread.start()
    _, capture = lab.run(
        "{type: wait, resource: deployment/late, condition: Available, timeout: 60s}",
        "{type: capture, resource: deployment/late, jsonpath: '{.metadata.name}', key: late, timeout: 60s, interval: 100ms}",
    )
    thread.join()
    assert capture.captures == {"late": "late"}


@pytest.mark.parametrize(
    ("container", "reason"),
    [
        pytest.param({"image": "nowhere:1"}, "ImagePullBackOff", id="no image"),
        pytest.param(
            {
                "image": "sh",
                "args": ["echo last words; exit 3"],
                "readinessProbe": {"tcpSocket": {"port": 9}},
            },
            "CrashLoopBackOff",
            id="crashes",
        ),
        pytest.param(
            {"image": "server:1", "envFrom": [{"secretRef": {"name": "none"}}]},
            "CreateContainerConfigError",
            id="no secret",
        ),
    ],
)
def test_a_wait_ends_early_where_waiting_does_not_help(
    lab: StepLab, container: dict[str, Any], reason: str
) -> None:
    name = reason.lower()
    web = deployment(name, "default", replicas=1)
    web["spec"]["template"]["spec"]["containers"][0] |= container
    lab.write("web.yaml", json.dumps(web))
    with pytest.raises(Unhealthy, match="FG0737") as caught:
        lab.run(
            "{type: manifest, path: web.yaml}",
            f"{{type: wait, resource: deployment/{name}, condition: available, timeout: 300s}}",
        )
    assert reason in caught.value.why
    assert any(line.startswith("event of pod") for line in caught.value.detail)
    if reason == "CrashLoopBackOff":
        assert any("last words" in line for line in caught.value.detail)


@pytest.mark.parametrize(
    ("step", "code", "why"),
    [
        pytest.param(
            "{type: wait, resource: cm/none, condition: exists, timeout: 200ms}",
            "FG0736",
            "it is not there yet",
            id="wait",
        ),
        pytest.param(
            "{type: wait, resource: cm/none, condition: 'jsonpath={', timeout: 200ms}",
            "FG0745",
            "path cannot be read",
            id="condition",
        ),
        pytest.param(
            "{type: capture, resource: cm/none, jsonpath: '{.a}', key: a, timeout: 200ms, interval: 50ms}",
            "FG0742",
            "cm/none is not there yet",
            id="capture of nothing",
        ),
        pytest.param(
            "{type: capture, resource: ns/default, jsonpath: '{.none}', key: a, timeout: 200ms, interval: 50ms}",
            "FG0742",
            "nothing at {.none}",
            id="empty capture",
        ),
        pytest.param(
            "{type: capture, resource: ns/default, jsonpath: '{.a', key: a, timeout: 1s, interval: 50ms}",
            "FG0743",
            "never closed",
            id="broken jsonpath",
        ),
        pytest.param(
            "{type: http-wait, url: 'http://127.0.0.1:9/', timeout: 200ms, interval: 50ms}",
            "FG0744",
            "refused",
            id="nobody answers",
        ),
        pytest.param("{type: manifest, path: none.yaml}", "FG0732", "No such file", id="no manifest"),
        pytest.param(
            "{type: exec, command: [sh, -c, 'echo no luck; exit 4']}",
            "FG0740",
            "exit code 4",
            id="command that fails",
        ),
        pytest.param("{type: exec, command: [no-such-program]}", "FG0741", "not on PATH", id="no command"),
        pytest.param(
            "{type: kubeconfig, serviceAccount: nobody, namespace: default, target: .forge/k}",
            "FG0749",
            "token",
            id="no account",
        ),
        pytest.param(
            "{type: exec, command: [sleep, '60'], timeout: 200ms}",
            "FG0758",
            "stopped after its timeout",
            id="command that takes too long",
        ),
    ],
)
def test_a_step_that_fails_says_why(lab: StepLab, step: str, code: str, why: str) -> None:
    with pytest.raises(ForgeError) as caught:
        lab.run(step)
    assert caught.value.code == code
    assert why in f"{caught.value.why} {caught.value.detail}"


def test_an_unknown_kind_is_named_with_its_document(lab: StepLab) -> None:
    lab.write("base/a.yaml", CONFIG % "u1")
    lab.write(
        "base/b.yaml", f"{CONFIG % 'u2'}---\napiVersion: gone.io/v1\nkind: Gone\nmetadata: {{name: g}}\n"
    )
    with pytest.raises(
        OperationFailed, match=r"base/b\.yaml, document 2 \(line 6\) needs the kind Gone"
    ) as caught:
        lab.run("{type: manifest, path: base}")
    assert caught.value.changed is False
    assert get(lab, "ConfigMap", "u1") is None


def test_exec_has_the_cluster_and_hides_what_is_secret(lab: StepLab) -> None:
    lab.write(
        "scripts/show.sh",
        'echo "in $(pwd)"; echo "cluster $FORGE_CLUSTER"; cat "$KUBECONFIG"; echo "$WORD $1"; exit 7\n',
    )
    secret = lab.material.read_secret("token").decode()
    with pytest.raises(OperationFailed) as caught:
        lab.run(
            f'{{type: exec, command: [sh, scripts/show.sh, "{secret}"], env: {{WORD: "env-{{{{ cluster.name }}}}"}}}}'
        )
    said = "\n".join((*caught.value.detail, *lab.said))
    assert f"in {lab.folder / 'lab'}" in said
    assert "cluster east" in said
    assert '"current-context": "kind-pre-east"' in said
    assert "*** ***" in said
    assert secret not in said + repr(vars(caught.value))


@pytest.mark.skipif(not KUBECTL, reason="kubectl is missing")
def test_the_references_kubectl_lines_work(lab: StepLab) -> None:
    lab.write("conf/praxis.yaml", "a: b\n")
    script = (
        "kubectl --context kind-pre-{{ cluster.name }} create configmap piped --from-file=conf/praxis.yaml"
        " --dry-run=client -o yaml | kubectl --context kind-pre-{{ cluster.name }} apply -f -"
    )
    lab.run(f"{{type: exec, command: [bash, -c, '{script}']}}")
    assert get(lab, "ConfigMap", "piped")["data"] == {"praxis.yaml": "a: b\n"}


def test_config_map_and_secret(lab: StepLab) -> None:
    lab.write("text", "text\n")
    lab.write("bytes", b"\xff\x00")
    lab.run(
        '{type: configmap, name: cm-1, data: {a: "{{ cluster.name }}"}, files: {t: text, b: bytes}}',
        "{type: secret, name: sec-1, secretType: example.org/key, data: {a: word}, files: {b: bytes}, secrets: {token: token}}",
    )
    found = get(lab, "ConfigMap", "cm-1")
    assert found["data"] == {"a": "east", "t": "text\n"}
    assert b64decode(found["binaryData"]["b"]) == b"\xff\x00"
    secret = get(lab, "Secret", "sec-1")
    assert secret["type"] == "example.org/key"
    assert {k: b64decode(v) for k, v in secret["data"].items()} == {
        "a": b"word",
        "b": b"\xff\x00",
        "token": lab.material.read_secret("token"),
    }


def test_template_file_is_replaced_only_when_it_differs(lab: StepLab) -> None:
    lab.write("c.tpl", "name: {{ cluster.name }}\n")
    step = '{type: template-file, source: c.tpl, target: ".forge/runtime/{{ cluster.name }}/c.yaml"}'
    lab.run(step)
    target = lab.state_dir / "runtime" / "east" / "c.yaml"
    before = target.stat().st_ino
    assert target.read_text() == "name: east\n"
    lab.run(step)
    assert target.stat().st_ino == before
    lab.write("c.tpl", "name: other\n")
    lab.run(step)
    assert target.read_text() == "name: other\n"
    assert lab.settled(lab.spec(step), next(iter(lab.made))).name == ".forge/runtime/east/c.yaml"


def test_kubeconfig_acts_as_its_account(lab: StepLab, tmp_path: Path) -> None:
    lab.write(
        "sa.yaml", "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: robot, namespace: default}\n"
    )
    _, made = lab.run(
        "{type: manifest, path: sa.yaml}",
        "{type: kubeconfig, serviceAccount: robot, namespace: default, target: .forge/runtime/k/config, lifetime: 2h}",
    )
    target = lab.state_dir / "runtime" / "k" / "config"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    config = json.loads(target.read_text())
    assert config["current-context"] == "east"
    assert made.expires_at is not None
    assert 3400 < made.expires_at - lab.tools.now() < 3700
    robot = open_kube(Access(target, "east", "", "", b""), "east")
    with pytest.raises(OperationFailed, match=r"FG0755.*system:serviceaccount:default:robot"):
        robot.get("v1", "ConfigMap", "default", "x")
    robot.close()


def test_for_each_sees_its_own_captures(lab: StepLab) -> None:
    lab.write(
        "all.yaml",
        'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "y-{{ item }}"}\ndata: {all: "{{ captures.east.zone-a }}"}\n',
    )
    lab.write(
        "item.yaml",
        'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "z-{{ item }}"}\ndata: {zone: "{{ item }}"}\n',
    )
    steps = """{type: for-each, property: zones, steps: [
        {type: template-manifest, path: item.yaml},
        {type: capture, resource: "cm/z-{{ item }}", jsonpath: "{.data.zone}", key: "zone-{{ item }}", timeout: 60s, interval: 1s},
        {type: template-manifest, path: all.yaml, when: "{{ item }} != a"}]}"""
    made, _ = lab.run(
        steps.replace("\n", " "), '{type: configmap, name: after, data: {x: "{{ captures.east.zone-b }}"}}'
    )
    assert made.captures == {"zone-a": "a", "zone-b": "b"}
    assert [r.name for r in made.objects] == ["z-a", "z-b", "y-b"]
    assert get(lab, "ConfigMap", "y-b")["data"] == {"all": "a"}
    assert get(lab, "ConfigMap", "after")["data"] == {"x": "b"}


def test_when_does_not_hold(lab: StepLab) -> None:
    lab.run('{type: configmap, name: when-1, data: {a: b}, when: "{{ cluster.name }} == east"}')
    (made,) = lab.run('{type: configmap, name: when-1, data: {a: b}, when: "{{ cluster.name }} == west"}')
    assert made.objects == ()
    assert get(lab, "ConfigMap", "when-1") is None, "what it made while it held is gone"


def test_retries(lab: StepLab) -> None:
    lab.write("count.sh", 'echo x >> tries; test "$(wc -l < tries)" -ge 3\n')
    lab.run("{type: exec, command: [sh, count.sh], retries: 3}")
    assert (lab.folder / "lab" / "tries").read_text() == "x\nx\nx\n"
    assert sum("trying again" in line for line in lab.said) == 2


def test_metallb_pool_gives_addresses(lab: StepLab) -> None:
    lab.write(
        "lb.yaml",
        json.dumps(
            thing(
                "Service",
                "lb",
                "default",
                spec={"type": "LoadBalancer", "selector": {"app": "x"}, "ports": [{"port": 80}]},
            )
        ),
    )
    made = lab.run(
        "{type: metallb-auto-pool, name: lab-pool}",
        "{type: manifest, path: lb.yaml}",
        "{type: capture, resource: svc/lb, jsonpath: '{.status.loadBalancer.ingress[0].ip}', key: lb, timeout: 60s, interval: 1s}",
    )
    pool = get(lab, "IPAddressPool", "lab-pool", "metallb-system", "metallb.io/v1beta1")
    assert pool["spec"]["addresses"] == [lab.pools["east"]]
    socket.inet_aton(made[2].captures["lb"])
    lab.remove(next(k for k in lab.made if k.name.endswith("01-metallb-auto-pool")))


def test_core_dns_is_told_only_once(lab: StepLab) -> None:
    step = "{type: core-dns-forward, zone: lab.test, upstreams: ['10.0.0.2']}"
    (made,) = lab.run(step)
    assert made.objects == ()
    assert "nothing to forward" in lab.said[-1]
    kube = lab.kube("east")
    corefile = thing(
        "ConfigMap",
        "coredns",
        "kube-system",
        data={"Corefile": ".:53 {\n    forward . /etc/resolv.conf\n}\n"},
    )
    kube.apply([corefile], owner=lab.site().owner, progress=lambda _: None, cancel=threading.Event())
    lab.run(step)
    first = get(lab, "ConfigMap", "coredns", "kube-system")
    assert "lab.test:53 {\n    errors\n    cache 30\n    forward . 10.0.0.2\n}" in first["data"]["Corefile"]
    lab.run(step)
    assert (
        get(lab, "ConfigMap", "coredns", "kube-system")["metadata"]["resourceVersion"]
        == first["metadata"]["resourceVersion"]
    )
    lab.run(step.replace("10.0.0.2", "10.0.0.3"))
    text = get(lab, "ConfigMap", "coredns", "kube-system")["data"]["Corefile"]
    assert text.count("lab.test:53") == 1
    assert "forward . 10.0.0.3" in text
    lab.run("{type: delete, resource: cm/coredns, namespace: kube-system}")


@pytest.fixture
def web() -> Iterator[str]:
    """An HTTP server that answers 503 twice, then `all well`."""
    left = [2]

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            left[0] -= 1
            self.send_response(503 if left[0] >= 0 else 200)
            self.end_headers()
            self.wfile.write(b"all well")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_an_address_that_is_not_well_yet_is_waited_for(lab: StepLab, web: str) -> None:
    lab.run(f"{{type: http-wait, url: '{web}', contains: well, timeout: 60s, interval: 50ms}}")
    assert "waiting: it answers HTTP 503" in lab.said


def test_a_cancel_ends_a_wait(lab: StepLab) -> None:
    threading.Timer(0.2, lab.cancel.set).start()
    with pytest.raises(ForgeError, match=r"FG0757: wait in stack base of cluster east was stopped"):
        lab.run("{type: wait, resource: cm/none, condition: exists, timeout: 600s}")
