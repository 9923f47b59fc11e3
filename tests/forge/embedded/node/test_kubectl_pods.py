"""Pods as the real kubectl sees them: their environment, volumes, probes, ends and logs."""

from __future__ import annotations

import re
import subprocess

from tests.kit.embedded_node import KUBECTL, EmbeddedNode, eventually, fetch, pod, server, shell

CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "conf"}, "data": {"color": "blue"}}
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "sec"}, "stringData": {"pw": "s3cret"}}


def test_a_pod_sees_its_environment_and_its_volumes(node: EmbeddedNode) -> None:
    env = [
        {"name": "HELLO", "value": "hi"},
        {"name": "GREET", "value": "$(HELLO)-$(NOBODY)-$$(HELLO)"},
        {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        {"name": "PW", "valueFrom": {"secretKeyRef": {"name": "sec", "key": "pw"}}},
    ]
    mounts = [{"name": n, "mountPath": f"/{n}"} for n in ("conf", "both", "scratch")]
    downward = {"items": [{"path": "who", "fieldRef": {"fieldPath": "metadata.name"}}]}
    volumes = [
        {"name": "conf", "configMap": {"name": "conf"}},
        {"name": "both", "projected": {"sources": [{"secret": {"name": "sec"}}, {"downwardAPI": downward}]}},
        {"name": "scratch", "emptyDir": {}},
    ]
    script = 'echo "$HELLO $GREET $NODE $PW $C_color"; cat /conf/color /both/pw /both/who /scratch/made'
    first = shell("printf made > /scratch/made; echo prepared", volumeMounts=mounts) | {"name": "first"}
    main = shell(
        script, env=env, envFrom=[{"prefix": "C_", "configMapRef": {"name": "conf"}}], volumeMounts=mounts
    )
    node.apply(
        CONFIG, SECRET, pod("sees", main, restartPolicy="Never", initContainers=[first], volumes=volumes)
    )
    node.kubectl("wait --for=jsonpath={.status.phase}=Succeeded pod/sees --timeout=30s")
    assert node.kubectl("logs sees -c main") == "hi hi-$(NOBODY)-$(HELLO) lab s3cret blue\nblues3cretseesmade"
    assert node.kubectl("logs sees -c first") == "prepared"


def test_a_changed_config_map_is_in_the_volume_at_once(node: EmbeddedNode) -> None:
    live = CONFIG | {"metadata": {"name": "live"}}
    main = server(volumeMounts=[{"name": "conf", "mountPath": "/conf"}], workingDir="/conf")
    volumes = [{"name": "conf", "configMap": {"name": "live"}}]
    node.apply(live, pod("reads", main, volumes=volumes))
    node.kubectl("wait --for=condition=Ready pod/reads --timeout=30s")
    address = node.get("pod", "reads")["status"]["podIP"]
    assert fetch(address, path="/file/color") == "blue"
    node.kubectl("""patch configmap live --type merge -p '{"data":{"color":"red"}}'""")
    eventually(lambda: fetch(address, path="/file/color"), "red".__eq__)


def test_readiness_is_what_the_probe_says(node: EmbeddedNode) -> None:
    gate = node.folder / "gate"
    main = server(env=[{"name": "READY_FILE", "value": str(gate)}])
    main["readinessProbe"] |= {"periodSeconds": 1, "failureThreshold": 1}
    node.apply(pod("gated", main))
    node.until("get pod gated", r"0/1 +Running")
    gate.touch()
    node.kubectl("wait --for=condition=Ready pod/gated --timeout=30s")
    gate.unlink()
    node.kubectl("wait --for=condition=Ready=false pod/gated --timeout=30s")
    assert "Readiness probe failed: HTTP 503" in node.kubectl(
        "get events --field-selector involvedObject.name=gated"
    )


def test_a_container_that_is_not_alive_is_started_again(node: EmbeddedNode) -> None:
    alive = node.folder / "alive"
    probe = {"exec": {"command": ["test", "-f", str(alive)]}, "periodSeconds": 1, "failureThreshold": 1}
    node.apply(pod("lives", shell(f"echo up; touch {alive}; exec sleep 600", livenessProbe=probe)))
    node.until("get pod lives", r"1/1 +Running +0")
    eventually(alive.exists, bool)
    alive.unlink()
    node.until("get pod lives", r"1/1 +Running +1")
    assert node.kubectl("logs lives --previous") == "up"
    assert "will be restarted" in node.kubectl("get events --field-selector involvedObject.name=lives")


def test_a_startup_probe_holds_the_others_back(node: EmbeddedNode) -> None:
    gate = node.folder / "started"
    probe = {"exec": {"command": ["test", "-f", str(gate)]}, "periodSeconds": 1, "failureThreshold": 30}
    node.apply(pod("starts", server(startupProbe=probe)))
    status = eventually(
        lambda: node.get("pod", "starts")["status"].get("containerStatuses", [{}])[0],
        lambda s: "running" in s.get("state", {}),
    )
    assert (status["started"], status["ready"]) == (False, False)
    gate.touch()
    node.kubectl("wait --for=condition=Ready pod/starts --timeout=30s")


def test_a_crash_is_restarted_with_a_pause_and_told(node: EmbeddedNode) -> None:
    node.apply(pod("crashes", shell("echo run; exit 3")))
    node.until("get pod crashes", r"CrashLoopBackOff")
    ended = node.get("pod", "crashes")["status"]["containerStatuses"][0]["lastState"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (3, "Error")
    assert re.fullmatch(r"\d{4}-\S+Z run", node.kubectl("logs crashes --previous --timestamps"))
    node.kubectl("delete pod crashes")


def test_restart_policies_decide_what_an_end_means(node: EmbeddedNode) -> None:
    flag = node.folder / "second"
    node.apply(
        pod("fails", shell("exit 4"), restartPolicy="Never"),
        pod("retries", shell(f"test -f {flag} || {{ touch {flag}; exit 1; }}"), restartPolicy="OnFailure"),
    )
    node.until("get pod fails", r"0/1 +Error +0")
    node.until("get pod retries", r"0/1 +Completed +1")
    assert node.get("pod", "fails")["status"]["phase"] == "Failed"
    assert node.get("pod", "retries")["status"]["phase"] == "Succeeded"


def test_an_image_without_a_process_says_why_until_it_has_one(node: EmbeddedNode) -> None:
    before = node.images.read_text()
    node.apply(pod("pulls", {"name": "main", "image": "registry.test/none:9", "args": ["exec sleep 600"]}))
    node.until("get pod pulls", r"0/1 +ImagePullBackOff")
    assert 'no process is mapped to image "registry.test/none:9"' in node.kubectl("describe pod pulls")
    assert "trying and failing to pull image" in node.kubectl("logs pulls", fails=True)
    node.images.write_text(before.replace("{", '{"registry.test/none:9": ["/bin/sh", "-c"], ', 1))
    node.kubectl("wait --for=condition=Ready pod/pulls --timeout=30s")


def test_a_missing_key_holds_a_container_back_until_it_comes(node: EmbeddedNode) -> None:
    reference = {"configMapKeyRef": {"name": "late", "key": "k"}}
    node.apply(pod("waits", shell("echo $K; exec sleep 600", env=[{"name": "K", "valueFrom": reference}])))
    node.until("get pod waits", "CreateContainerConfigError")
    node.kubectl("create configmap late --from-literal=k=here")
    node.kubectl("wait --for=condition=Ready pod/waits --timeout=30s")
    eventually(lambda: node.kubectl("logs waits"), "here".__eq__)


def test_a_deleted_pod_is_given_its_hook_and_its_grace(node: EmbeddedNode) -> None:
    hook, ended = node.folder / "hook", node.folder / "ended"
    script = f"trap 'touch {ended}; exit 0' TERM; echo on; while true; do sleep 0.05; done"
    stop = {"preStop": {"exec": {"command": ["touch", str(hook)]}}}
    node.apply(pod("leaves", shell(script, lifecycle=stop)))
    node.kubectl("wait --for=condition=Ready pod/leaves --timeout=30s")
    node.until("logs leaves", "on")
    node.kubectl("delete pod leaves --grace-period=20")
    assert hook.exists()
    assert ended.exists()
    assert "NotFound" in node.kubectl("get pod leaves", fails=True)


def test_a_stubborn_pod_goes_when_its_grace_is_over_or_cut(node: EmbeddedNode) -> None:
    stubborn = shell("trap '' TERM; echo on; while true; do sleep 0.1; done")
    node.apply(pod("stays", stubborn), pod("forced", stubborn))
    for name in ("stays", "forced"):
        node.kubectl(f"wait --for=condition=Ready pod/{name} --timeout=30s")
        node.until(f"logs {name}", "on")
    node.kubectl("delete pod stays --grace-period=1")
    node.kubectl("delete pod forced --grace-period=300 --wait=false")
    node.until("get pod forced", "Terminating")
    node.kubectl("delete pod forced --grace-period=0 --force")
    argv = ["pgrep", "-f", "trap '' TERM; echo on"]
    eventually(lambda: subprocess.run(argv, check=False, capture_output=True).stdout, b"".__eq__)


def test_logs_are_followed_to_the_end_of_the_run(node: EmbeddedNode) -> None:
    gate = node.folder / "talk"
    script = f"echo one; while test ! -f {gate}; do sleep 0.05; done; echo two; echo three"
    node.apply(pod("talks", shell(script), restartPolicy="Never"))
    node.until("get pod talks", "1/1 +Running")
    environment = {"KUBECONFIG": str(node.cluster.kubeconfig), "HOME": str(node.folder)}
    argv = [KUBECTL, "logs", "-f", "talks"]
    with subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, text=True) as following:
        assert following.stdout is not None
        assert following.stdout.readline() == "one\n"
        gate.touch()
        assert following.stdout.read() == "two\nthree\n"
    assert node.kubectl("logs talks --tail=1") == "three"
    assert node.kubectl("logs talks --since=1h --limit-bytes=4") == "one"


def test_containers_of_one_pod_are_told_apart(node: EmbeddedNode) -> None:
    two = shell("echo second; exec sleep 600") | {"name": "other"}
    node.apply(pod("pair", shell("echo first; exec sleep 600"), two))
    node.kubectl("wait --for=condition=Ready pod/pair --timeout=30s")
    eventually(
        lambda: node.kubectl("logs pair --all-containers --prefix"), lambda s: len(s.splitlines()) == 2
    )
    assert node.kubectl("logs -l app=pair -c other") == "second"
    assert "not valid for pod pair" in node.kubectl("logs pair -c none", fails=True)


def test_a_sidecar_starts_first_and_ends_last(node: EmbeddedNode) -> None:
    beside = shell("exec sleep 600", restartPolicy="Always") | {"name": "beside"}
    node.apply(pod("sided", shell("echo done"), restartPolicy="Never", initContainers=[beside]))
    node.until("get pod sided", "Completed")


def test_a_pod_reaches_the_api_as_its_account(node: EmbeddedNode) -> None:
    asks = {"name": "main", "image": "tool", "command": [KUBECTL, "auth", "whoami", "-o", "name"]}
    asks["command"] = [KUBECTL, "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"]
    node.apply(pod("asks", asks, restartPolicy="Never"))
    node.kubectl("wait --for=jsonpath={.status.phase}=Succeeded pod/asks --timeout=30s")
    assert node.kubectl("logs asks") == "system:serviceaccount:default:default"


def test_a_cordoned_node_takes_no_pods(node: EmbeddedNode) -> None:
    node.kubectl("cordon lab")
    node.apply(pod("shut", shell("exec sleep 600")))
    node.until("get events --field-selector involvedObject.name=shut", "1 node.s. were unschedulable")
    assert node.get("pod", "shut")["status"]["phase"] == "Pending"
    node.kubectl("uncordon lab")
    node.kubectl("wait --for=condition=Ready pod/shut --timeout=30s")


def test_kubectl_run_and_the_node_say_what_they_are(node: EmbeddedNode) -> None:
    node.kubectl("run once --image=sh --restart=Never -- 'echo ran'")
    node.until("get pod once", "Completed")
    assert node.kubectl("logs once") == "ran"
    said = node.kubectl("describe node lab")
    assert "Forge embedded (processes, no isolation)" in said
    assert "+forge" in said
    assert node.kubectl("get nodes -o jsonpath={.items..status.conditions[-1:].status}") == "True"


def test_another_run_has_the_environment_and_the_image_of_its_moment(node: EmbeddedNode) -> None:
    node.kubectl("create configmap moment --from-literal=k=first")
    reference = {"configMapKeyRef": {"name": "moment", "key": "k"}}
    node.apply(pod("moments", server(env=[{"name": "K", "valueFrom": reference}])))
    node.kubectl("wait --for=condition=Ready pod/moments --timeout=30s")
    node.kubectl("""patch configmap moment --type merge -p '{"data":{"k":"second"}}'""")
    node.kubectl("set image pod/moments main=server:2")
    node.until("get pod moments", r"1/1 +Running +1")
    status = node.get("pod", "moments")["status"]
    assert status["containerStatuses"][0]["image"] == "server:2"
    assert fetch(status["podIP"], path="/env/K") == "second"


def test_a_mount_over_the_nodes_own_folder_hides_nothing_that_it_gave(node: EmbeddedNode) -> None:
    whoami = [KUBECTL, "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"]
    mount = {"name": "tmp", "mountPath": str(node.folder)}
    asks = {"name": "main", "image": "tool", "command": whoami, "volumeMounts": [mount]}
    node.apply(pod("tmp", asks, restartPolicy="Never", volumes=[{"name": "tmp", "emptyDir": {}}]))
    node.until("get pod tmp", "Completed")
    assert node.kubectl("logs tmp") == "system:serviceaccount:default:default"


def test_a_pod_that_is_kept_by_a_finalizer_tells_how_it_ended(node: EmbeddedNode) -> None:
    kept = pod("kept", shell("trap 'exit 5' TERM; echo on; while true; do sleep 0.05; done"))
    kept["metadata"]["finalizers"] = ["lab.test/keep"]
    node.apply(kept)
    node.kubectl("wait --for=condition=Ready pod/kept --timeout=30s")
    node.until("logs kept", "on")
    node.kubectl("delete pod kept --wait=false --grace-period=20")
    path = "jsonpath={.status.containerStatuses[0].state.terminated.exitCode}"
    node.until(f"get pod kept -o {path}", "^5$")
    node.kubectl("label pod kept seen=yes")
    assert node.kubectl(f"get pod kept -o {path}") == "5"
    node.kubectl("""patch pod kept --type merge -p '{"metadata":{"finalizers":null}}'""")
    node.kubectl("wait --for=delete pod/kept --timeout=30s")
