"""The real kubectl, as people type it, against the API alone: commands in order, and what they print.

KUBECTL names further binaries (separated like PATH), so that more than one version can be run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.kind import fetch
from tests.kit.embedded_cluster import EmbeddedCluster, running

CM = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {app: web}}
data: {color: blue}
"""
CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.lab.test}
spec:
  group: lab.test
  scope: Namespaced
  names: {plural: widgets, kind: Widget, shortNames: [wi], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, minimum: 0, default: 1, description: How many there are.}
              color: {type: string}
          status: {type: object, properties: {size: {type: integer}, ready: {type: string}}}
"""
WIDGET = """
apiVersion: lab.test/v1
kind: Widget
metadata: {name: w1}
spec: {color: red}
"""


_PARAMETERS = [pytest.param(binary, id=version) for version, binary in fetch.kubectls().items()]
_MISSING = pytest.param("", marks=pytest.mark.skip("kubectl is missing"), id="none")


@pytest.fixture(scope="module", params=_PARAMETERS or [_MISSING])
def kubectl(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., str]]:
    with running(tmp_path_factory.mktemp("kubectl")) as cluster:
        yield _runner(cluster, request.param)


def _runner(cluster: EmbeddedCluster, binary: str) -> Callable[..., str]:
    def run(command: str, given: str = "", *, fails: bool = False) -> str:
        arguments = re.findall(r"""'[^']*'|\S+""", command)
        done = cluster.kubectl(binary, *(a.strip("'") for a in arguments), given=given, check=not fails)
        assert (done.returncode != 0) == fails, f"{command}: {done.stdout}{done.stderr}"
        return (done.stdout + done.stderr if fails else done.stdout).strip()

    return run


# The steps build on each other: (command, stdin, what the output matches from its start).
STEPS = [
    ("version -o yaml", "", r"(?s).*serverVersion:.*gitVersion: v1\.32\.13\+forge"),
    ("cluster-info", "", r"(?s).*is running at"),
    ("get --raw /readyz", "", "ok"),
    ("api-resources -o name", "", r"(?s).*configmaps\n.*deployments\.apps"),
    ("api-versions", "", r"(?s).*apiextensions\.k8s\.io/v1"),
    ("get ns", "", r"NAME +STATUS +AGE\ndefault +Active"),
    ("create ns team", "", "namespace/team created"),
    ("apply -f -", CM, "configmap/settings created"),
    ("apply -f -", CM, "configmap/settings unchanged"),
    ("apply -f -", CM.replace("blue", "red"), "configmap/settings configured"),
    ("get cm settings -o 'jsonpath={.data.color}'", "", "red"),
    ("get cm settings -o yaml", "", r"(?s)apiVersion: v1\ndata:\n  color: red"),
    ("get cm settings -o name", "", "configmap/settings"),
    ("get cm -l app=web", "", r"NAME +DATA +AGE\nsettings +1"),
    ("get cm -A --field-selector metadata.name=settings", "", r"NAMESPACE +NAME +DATA +AGE\ndefault +settings"),
    ("label cm settings tier=1", "", "configmap/settings labeled"),
    ("annotate cm settings note=x", "", "configmap/settings annotated"),
    ("get cm settings --show-labels", "", r"(?s).*app=web,tier=1"),
    ("label cm settings tier-", "", "configmap/settings unlabeled"),
    ("patch cm settings -p '{\"data\":{\"size\":\"1\"}}'", "", "configmap/settings patched"),
    ("patch cm settings --type=merge -p '{\"data\":{\"size\":null}}'", "", "configmap/settings patched"),
    (
        "patch cm settings --type=json -p '[{\"op\":\"add\",\"path\":\"/data/x\",\"value\":\"y\"}]'", "",
        "configmap/settings patched",
    ),
    ("replace -f -", CM, "configmap/settings replaced"),
    ("describe cm settings", "", r"(?s)Name: +settings.*color:"),
    ("apply --server-side --force-conflicts -f -", CM, "configmap/settings serverside-applied"),
    ("create cm lit --from-literal=a=1", "", "configmap/lit created"),
    ("create secret generic s --from-literal=a=1", "", "secret/s created"),
    ("get secret s -o 'jsonpath={.data.a}'", "", "MQ=="),
    ("create sa bot", "", "serviceaccount/bot created"),
    ("create role r --verb=get --resource=configmaps", "", r"role.rbac.authorization.k8s.io/r created"),
    ("create rolebinding rb --role=r --serviceaccount=default:bot", "", r"rolebinding.*/rb created"),
    ("create clusterrole cr --verb=list --resource=nodes", "", r"clusterrole.*/cr created"),
    ("create clusterrolebinding crb --clusterrole=cr --serviceaccount=default:bot", "", r".*/crb created"),
    ("auth can-i get configmaps --as system:serviceaccount:default:bot", "", "yes"),
    ("auth can-i --list --as system:serviceaccount:default:bot", "", r"(?s).*configmaps"),
    ("auth whoami", "", r"(?s).*kubernetes-admin"),
    ("create token bot", "", r"ey[\w.-]+"),
    ("create deployment web --image=demo:1 --replicas=0", "", "deployment.apps/web created"),
    ("scale deployment web --replicas=2", "", "deployment.apps/web scaled"),
    ("get deploy web -o 'jsonpath={.spec.replicas}'", "", "2"),
    ("set image deployment/web demo=demo:2", "", "deployment.apps/web image updated"),
    ("set env deployment/web A=1", "", "deployment.apps/web env updated"),
    ("rollout restart deployment web", "", "deployment.apps/web restarted"),
    ("get deploy web -o wide", "", r"(?s)NAME +READY.*web +0/2.*demo:2"),
    ("expose deployment web --port=80", "", "service/web exposed"),
    ("get svc web -o 'jsonpath={.spec.ports[0].targetPort}'", "", "80"),
    ("create service clusterip ip --tcp=80:8080", "", "service/ip created"),
    ("run once --image=demo:1", "", "pod/once created"),
    ("get pod once", "", r"NAME +READY +STATUS +RESTARTS +AGE\nonce +0/1 +Pending"),
    ("delete pod once --wait=false", "", r'pod "once" deleted'),
    ("apply -f -", CRD, "customresourcedefinition.apiextensions.k8s.io/widgets.lab.test created"),
    ("wait --for=condition=Established crd/widgets.lab.test --timeout=30s", "", r".* condition met"),
    ("apply -f -", WIDGET, "widget.lab.test/w1 created"),
    ("get widgets", "", r"NAME +SIZE\nw1 +1"),
    ("get wi -o 'jsonpath={.items[0].spec.color}'", "", "red"),
    ("scale widget w1 --replicas=3", "", "widget.lab.test/w1 scaled"),
    ("patch widget w1 --type=merge -p '{\"spec\":{\"color\":\"green\"}}'", "", r"widget.lab.test/w1 patched"),
    (
        "patch widget w1 --subresource=status --type=merge -p '{\"status\":{\"ready\":\"yes\"}}'", "",
        r"widget.lab.test/w1 patched",
    ),
    ("wait --for=jsonpath={.status.ready}=yes widget/w1 --timeout=30s", "", r"widget.lab.test/w1 condition met"),
    ("explain widget.spec.size", "", r"(?s).*How many there are\."),
    ("explain configmap.data", "", r"(?s).*Data contains the configuration data"),
    ("apply --dry-run=server -f -", WIDGET, r"widget.lab.test/w1"),
    ("delete widget w1", "", r'widget.lab.test "w1" deleted'),
    ("delete crd widgets.lab.test", "", r'customresourcedefinition.* "widgets.lab.test" deleted'),
    ("get events", "", ""),
    ("delete deployment web --cascade=foreground", "", r'deployment.apps "web" deleted'),
    ("delete cm --all", "", r'(?s)configmap ".*" deleted'),
    ("delete ns team", "", r'namespace "team" deleted'),
]  # fmt: skip


def test_the_commands_people_use(kubectl: Callable[..., str]) -> None:
    for command, given, expected in STEPS:
        output = kubectl(command, given)
        assert re.match(expected, output), f"{command}: {output!r} is not {expected!r}"


@pytest.mark.parametrize(
    ("command", "given", "expected"),
    [
        pytest.param(
            "get jobs", "", "the server doesn't have a resource type", id="a kind that is not served"
        ),
        pytest.param("get cm nosuch", "", r'configmaps "nosuch" not found', id="an object that is not there"),
        pytest.param(
            "apply -f -", CM.replace("\ndata:", "\ndato:"), 'unknown field "dato"', id="an unknown field"
        ),
        pytest.param("create ns default", "", "already exists", id="an object that is there"),
        pytest.param(
            "delete ns default", "", "this namespace may not be deleted", id="a namespace that stays"
        ),
        pytest.param("logs nosuch", "", r'pods "nosuch" not found', id="logs of nobody"),
        pytest.param(
            "get secrets --as system:serviceaccount:default:nobody",
            "",
            "secrets is forbidden",
            id="without rights",
        ),
    ],
)
def test_what_cannot_be_is_said_clearly(
    kubectl: Callable[..., str], command: str, given: str, expected: str
) -> None:
    assert re.search(expected, kubectl(command, given, fails=True))


def test_diff_shows_what_would_change(kubectl: Callable[..., str]) -> None:
    text = CM.replace("settings", "diffed")
    kubectl("apply -f -", text)
    assert kubectl("diff -f -", text) == ""
    assert "+  color: red" in kubectl("diff -f -", text.replace("blue", "red"), fails=True)


def test_edit_goes_through_an_editor(
    kubectl: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/blue/gold/ "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("KUBE_EDITOR", str(editor))
    kubectl("create cm edited --from-literal=color=blue")
    assert "edited" in kubectl("edit cm edited")
    assert kubectl("get cm edited -o 'jsonpath={.data.color}'") == "gold"
