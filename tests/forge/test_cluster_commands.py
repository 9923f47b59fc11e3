"""The commands round clusters, on a real embedded lab of two, as a user types them."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.kit.host_contract import eventually
from tests.kit.praxis_forge import Forge, processes_with

FILE = """\
apiVersion: forge.praxis.dev/v1alpha1
kind: Environment
metadata: {name: %s}
spec:
  runtime: {provider: embedded}
  network: {crossCluster: true}
  images: [{name: "app:1", process: []}]
  certificates:
    authorities: [{name: lab-ca}]
    leaves:
      - {name: web, authority: lab-ca, sans: {dns: [web.test]}, secrets: [{cluster: east, name: web-tls, namespace: shop}]}
  clusters: [{name: east, stacks: [app]}, {name: west, stacks: [app]}]
  services: [{name: idle, image: "app:1", args: [sleep, "1000"]}]
  stacks:
    app:
      description: two programs
      steps:
        - {type: manifest, path: app.yaml}
        - {type: wait, resource: deployment/sim, namespace: shop, condition: available, timeout: 120s}
"""

PROGRAM = """
import pathlib, signal, sys, time
def term(*_):
    pathlib.Path(sys.argv[1]).touch()
    sys.exit(0)
signal.signal(signal.SIGTERM, term)
print("up", flush=True)
time.sleep(1000)
"""

MANIFEST = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "sim", "namespace": "shop"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "sim"}},
        "template": {
            "metadata": {"labels": {"app": "sim"}},
            "spec": {
                "containers": [{"name": "c", "image": "app:1", "command": ["python3", "-c", PROGRAM, "TERM"]}]
            },
        },
    },
}

MINE: dict[str, Any] = {
    "clusters": [{"name": "work", "cluster": {"server": "https://work"}}],
    "users": [{"name": "me", "user": {}}],
    "contexts": [{"name": "work", "context": {"cluster": "work", "user": "me"}}],
    "current-context": "work",
}

SIM = "shop/deployment/sim"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forge]:
    """Up; taken down at the end, and then nothing of it is left."""
    folder = tmp_path_factory.mktemp("lab")
    name = f"cc{os.getpid() % 100000}"
    (folder / "forge.yaml").write_text(FILE % name)
    text = json.dumps(MANIFEST).replace('"TERM"', json.dumps(str(folder / "termed")))
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    (folder / "app.yaml").write_text(f"{json.dumps(namespace)}\n---\n{text}\n")
    (folder / "home").mkdir()
    env = {"XDG_STATE_HOME": str(folder / "xdg"), "HOME": str(folder / "home"), "KUBECONFIG": ""}
    forge = Forge(folder, env, timeout_s=180.0)
    forge("up")
    try:
        yield forge
    finally:
        forge("down", check=None)
    assert processes_with(str(folder)) == {}
    assert sorted(p.name for p in folder.iterdir() if p.name not in ("home", "xdg", "termed")) == [
        "app.yaml",
        "forge.yaml",
    ]


@pytest.fixture
def settled(lab: Forge) -> Iterator[Forge]:
    """As `up` left it, before and after."""
    yield lab
    lab("up")
    assert lab.data("fault", "list")["faults"] == []
    assert "No changes" in lab("plan").stdout


def states(lab: Forge) -> dict[str, str]:
    found = lab.data("stack", "status", check=None)["objects"]
    return {f"{o['step'].split('/')[0]}/{o['kind']}": o["state"] for o in found}


def test_clusters_are_listed_with_how_they_are_reached(lab: Forge) -> None:
    found = lab.data("cluster", "list")["clusters"]
    assert [(c["name"], c["state"]) for c in found] == [("east", "running"), ("west", "running")]
    assert all(c["server"].startswith("https://127.") and c["pool"] and c["id"] for c in found)
    assert "forge-east" in lab("cluster", "list").stdout


def test_a_kubeconfig_is_printed_for_one_or_for_all(lab: Forge) -> None:
    one = yaml.safe_load(lab("cluster", "kubeconfig", "east").stdout)
    assert [c["name"] for c in one["contexts"]] == ["forge-east"]
    both = yaml.safe_load(lab("cluster", "kubeconfig").stdout)
    assert [c["name"] for c in both["contexts"]] == ["forge-east", "forge-west"]
    assert "no cluster called 'nope'" in lab("cluster", "kubeconfig", "nope", check=2).stderr


def test_an_exported_kubeconfig_is_its_owners_alone(lab: Forge) -> None:
    file = lab.folder / "home" / "east.yaml"
    lab("cluster", "kubeconfig", "east", "--out-file", str(file))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_merging_keeps_what_is_there_and_refuses_names_that_are_taken(lab: Forge) -> None:
    file = lab.folder / "home" / "config"
    file.write_text(yaml.safe_dump(MINE))
    merged = Forge(lab.folder, {**lab.env, "KUBECONFIG": str(file)}, 180.0)
    merged("cluster", "kubeconfig", "--merge")
    found = yaml.safe_load(file.read_text())
    assert [c["name"] for c in found["contexts"]] == ["work", "forge-east", "forge-west"]
    assert found["current-context"] == "work"
    taken = lab.folder / "home" / "taken"
    taken.write_text(yaml.safe_dump({**MINE, "users": [{"name": "forge-east", "user": {}}]}))
    before = taken.read_text()
    refused = Forge(lab.folder, {**lab.env, "KUBECONFIG": str(taken)}, 180.0)
    done = refused("cluster", "kubeconfig", "--merge", check=8)
    assert "user forge-east is not this environment's" in done.stderr
    assert taken.read_text() == before


def test_kubectl_runs_with_the_private_access_and_gives_its_code(lab: Forge, tmp_path: Path) -> None:
    program = tmp_path / "kubectl"
    program.write_text('#!/bin/sh\ncat "$KUBECONFIG" > "$OUT"\necho "$@"\nexit 7\n')
    program.chmod(0o755)
    env = {**lab.env, "PATH": f"{tmp_path}:{os.environ['PATH']}", "OUT": str(tmp_path / "seen")}
    done = Forge(lab.folder, env, 180.0)("cluster", "kubectl", "west", "--", "get", "pods", "-A", check=7)
    assert done.stdout == "get pods -A\n"
    assert yaml.safe_load((tmp_path / "seen").read_text())["current-context"] == "forge-west"
    bare = Forge(lab.folder, {**lab.env, "PATH": str(tmp_path / "nothing")}, 180.0)
    assert "kubectl is not there" in bare("cluster", "kubectl", "west", "--", "version", check=7).stderr


def test_stacks_are_listed_planned_applied_and_looked_at(lab: Forge) -> None:
    assert lab.data("stack", "list")["stacks"] == [
        {"name": "app", "steps": 2, "clusters": ["east", "west"], "description": "two programs"}
    ]
    plan = lab.data("stack", "plan", "east", "app")
    assert plan["changes"] == []
    assert "step" in {c["kind"] for c in plan["unchanged"]}
    assert not any("west" in c["name"] for c in plan["unchanged"])
    assert "No changes" in lab("apply", "west", "app").stdout
    assert "No changes" in lab("apply").stdout
    assert states(lab) == {
        f"{cluster}/{kind}": "ready" for cluster in ("east", "west") for kind in ("Namespace", "Deployment")
    }
    assert (
        "there is no stack 'nope' on cluster 'east'" in lab("stack", "plan", "east", "nope", check=2).stderr
    )


def test_what_a_stack_lost_is_seen_and_applied_again(settled: Forge) -> None:
    config = settled.folder / "home" / "west.yaml"
    settled("cluster", "kubeconfig", "west", "--out-file", str(config))
    delete(config, "apis/apps/v1/namespaces/shop/deployments/sim")
    eventually_state(settled, "west/Deployment", "gone")
    assert settled("stack", "status", "west", check=6).stdout.endswith("1 of 2 objects are well.\n")
    settled("stack", "status", "east")
    assert "step/west/app/01-manifest" in settled("stack", "apply", "west", "app").stdout
    assert states(settled)["west/Deployment"] == "ready"


def delete(config: Path, path: str) -> None:
    """As anybody with the cluster's kubeconfig may."""
    script = (
        "import base64, ssl, sys, tempfile, urllib.request, yaml\n"
        "c = yaml.safe_load(open(sys.argv[1]))\n"
        "def data(text):\n"
        "    f = tempfile.NamedTemporaryFile(delete=False)\n"
        "    f.write(base64.b64decode(text)); f.close(); return f.name\n"
        "cl, us = c['clusters'][0]['cluster'], c['users'][0]['user']\n"
        "ctx = ssl.create_default_context(cafile=data(cl['certificate-authority-data']))\n"
        "ctx.load_cert_chain(data(us['client-certificate-data']), data(us['client-key-data']))\n"
        "r = urllib.request.Request(cl['server'] + '/' + sys.argv[2], method='DELETE')\n"
        "urllib.request.urlopen(r, context=ctx)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(config), path], check=True, timeout=60)


def eventually_state(lab: Forge, name: str, state: str) -> None:
    eventually(lambda: states(lab)[name] == state)


def test_the_graph_is_of_the_whole_file(lab: Forge) -> None:
    lines = lab("graph").stdout.splitlines()
    assert any(
        line.startswith("step/east/app/02-wait ") and line.endswith("<- step/east/app/01-manifest")
        for line in lines
    )
    assert lab("graph", "--format", "mermaid").stdout.startswith("graph LR\n")
    assert lab("graph", "--format", "dot").stdout.startswith("digraph lab {\n")
    assert {n["key"] for n in lab.data("graph")["nodes"]} >= {"cluster/east", "service/idle"}


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_workload_is_held_down_and_restored_as_it_was(settled: Forge, how: str) -> None:
    termed = settled.folder / "termed"
    termed.unlink(missing_ok=True)
    settled("fault", how, f"east/{SIM}", "idle")
    assert [f["name"] for f in settled.data("fault", "list")["faults"]] == [f"east/{SIM}", "service/idle"]
    found = states(settled)
    assert (found["east/Deployment"], found["west/Deployment"]) == ("held down", "ready")
    told = settled("status").stdout
    assert f"~ east/{SIM}: held down by `fault {how}`; `up` ends that" in told
    assert "changed it" not in told
    assert not [c for c in processes_with(str(termed)).values() if "east" in c]
    assert termed.exists() is (how == "stop"), "SIGTERM is for those that are stopped"
    settled("fault", "restore", "east/deployment/sim")
    assert [f["name"] for f in settled.data("fault", "list")["faults"]] == ["service/idle"]
    assert states(settled)["east/Deployment"] == "ready"
    settled("fault", "restore", "--all")


def test_a_fault_that_was_cut_off_is_ended_by_up(settled: Forge) -> None:
    point = 1
    while settled.killed_at(point, "fault", "stop", f"east/{SIM}"):
        assert len(settled.data("fault", "list")["faults"]) == 1
        settled("up")
        assert settled.data("fault", "list")["faults"] == []
        assert states(settled)["east/Deployment"] == "ready"
        point += 1
    assert point > 1


def test_restoring_that_was_cut_off_goes_on(settled: Forge) -> None:
    settled("fault", "stop", f"west/{SIM}", "idle")
    point = 1
    while settled.killed_at(point, "fault", "restore", "--all"):
        point += 1
    assert settled.data("fault", "list")["faults"] == []
    assert states(settled)["west/Deployment"] == "ready"
    assert point > 1


def test_a_whole_cluster_is_stopped_and_restored(settled: Forge) -> None:
    before = {c["name"]: c["id"] for c in settled.data("cluster", "list")["clusters"]}
    settled("fault", "stop", "west")
    found = {c["name"]: c["state"] for c in settled.data("cluster", "list")["clusters"]}
    assert found == {"east": "running", "west": "stopped"}
    assert "can be stopped, not killed" in settled("fault", "kill", "east", check=2).stderr
    settled("fault", "restore", "cluster/west")
    assert {c["name"]: c["id"] for c in settled.data("cluster", "list")["clusters"]} == before
    eventually_state(settled, "west/Deployment", "ready")


def test_names_that_mean_nothing_change_nothing(lab: Forge) -> None:
    for name in ("nope", "east/pod/sim", "east/deployment/nope", "nope/deployment/sim"):
        assert lab("fault", "stop", name, "idle", check=2).stderr.startswith("error[FG0780]")
    assert lab.data("fault", "list")["faults"] == []
    assert "idle" in lab("service", "list").stdout


def test_ctrl_c_while_a_workload_ends_leaves_it_held_down(settled: Forge) -> None:
    with settled.running("fault", "stop", f"east/{SIM}") as process:
        eventually(lambda: settled.data("fault", "list")["faults"] or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        assert process.wait(120) in (0, 130)
    assert len(settled.data("fault", "list")["faults"]) == 1


def test_the_environment_is_listed_from_anywhere(lab: Forge, tmp_path: Path) -> None:
    elsewhere = Forge(tmp_path, lab.env, 180.0)
    (found,) = elsewhere.data("ls")["environments"]
    assert (found["state"], found["stateDir"]) == ("up", str(lab.folder / ".forge"))
    assert elsewhere("gc").stdout == "Nothing is orphaned.\n"


def test_no_key_is_in_state_plan_or_log(lab: Forge) -> None:
    keys = [
        lab.folder / ".forge" / p
        for p in ("secrets/_forge/authority/lab-ca.key", "runtime/certs/web/tls.key")
    ]
    bodies = [line for key in keys for line in key.read_text().splitlines() if not line.startswith("-")]
    said = [
        lab(*words).stdout
        for words in (["plan"], ["status"], ["graph"], ["stack", "status"], ["plan", "-o", "json"])
    ]
    said += [p.read_text() for p in (lab.folder / ".forge").glob("*.json*")]
    said += [p.read_text() for p in (lab.folder / ".forge" / "cache").glob("*")]
    for body in bodies:
        assert not any(body in text for text in said)


def test_down_takes_the_clusters_out_of_the_users_kubeconfig(lab: Forge) -> None:
    """The last test of the module: the lab is gone after it."""
    file = lab.folder / "home" / "last"
    file.write_text(yaml.safe_dump(MINE))
    merged = Forge(lab.folder, {**lab.env, "KUBECONFIG": str(file)}, 180.0)
    merged("cluster", "kubeconfig", "--merge")
    merged("down")
    found = yaml.safe_load(file.read_text())
    assert [c["name"] for c in found["contexts"]] == ["work"]
    assert found["current-context"] == "work"
