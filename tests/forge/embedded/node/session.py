"""What people type, in order, and what the real kubectl prints: the script of `test_kubectl_session.py`.

A step is a command (words may be quoted with '), what its output is to match, and what it reads from
its standard input. The steps of a part build on each other.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.kit.embedded_node import PORT

WEB = f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, labels: {{app: web}}}}
spec:
  replicas: 2
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      terminationGracePeriodSeconds: 2
      containers:
      - name: main
        image: server:1
        ports: [{{name: http, containerPort: {PORT}}}]
        readinessProbe: {{httpGet: {{path: /ready, port: http}}}}
"""
TALKER = """
apiVersion: v1
kind: Pod
metadata: {name: talker, labels: {app: talker}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: one, image: sh, args: ["echo one; test -e /scratch/second && sleep 600; touch /scratch/second; exit 3"],
     volumeMounts: [{name: scratch, mountPath: /scratch}]}
  - {name: two, image: sh, args: ["echo two; sleep 600"]}
  volumes: [{name: scratch, emptyDir: {}}]
"""
SETTINGS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {app: web}}
data: {color: blue}
"""
LIST = f"""
apiVersion: v1
kind: List
items:
- {{apiVersion: v1, kind: ConfigMap, metadata: {{name: listed}}, data: {{a: b}}}}
- {{apiVersion: v1, kind: Service, metadata: {{name: listed}}, spec: {{ports: [{{port: {PORT}}}]}}}}
"""
MANY = """
apiVersion: v1
kind: ServiceAccount
metadata: {name: typed}
---
apiVersion: v1
kind: Secret
metadata: {name: typed}
stringData: {a: b}
---
apiVersion: v1
kind: Endpoints
metadata: {name: typed}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: typed}
addressType: IPv4
endpoints: [{addresses: [127.44.0.9]}]
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: typed}
spec: {holderIdentity: me}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: typed}
spec: {podSelector: {}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: typed}
provisioner: lab.test/none
---
apiVersion: events.k8s.io/v1
kind: Event
metadata: {name: typed}
eventTime: 2026-01-01T00:00:00.000000Z
reportingController: lab.test/me
reportingInstance: me-1
action: Doing
reason: Done
type: Normal
regarding: {kind: Pod, name: talker, namespace: default}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: typed}
spec:
  replicas: 0
  selector: {matchLabels: {app: typed}}
  template:
    metadata: {labels: {app: typed}}
    spec: {containers: [{name: main, image: tool}]}
"""
STATEFUL = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: none}
"""


@dataclass(frozen=True, slots=True)
class Step:
    """expected: a pattern, found anywhere in what is printed. fails: it ends with another code than 0."""

    command: str
    expected: str
    given: str = ""
    fails: bool = False


def _no(command: str, expected: str, given: str = "") -> Step:
    return Step(command, expected, given, fails=True)


ABOUT = (
    Step("version", r"Server Version: v1\.32\.13\+forge"),
    Step("cluster-info", r"Kubernetes control plane.* is running at .*https://127"),
    Step("get --raw '/readyz?verbose'", r"(?s)\[\+\]ping ok.*readyz check passed"),
    Step("api-resources --api-group=apps", r"deployments +deploy +apps/v1 +true +Deployment"),
    Step("api-resources --namespaced=false -o name", r"clusterroles\.rbac"),
    Step("api-versions", r"(?m)^apps/v1$"),
    Step(
        "explain deploy.spec.strategy.rollingUpdate.maxSurge", r"maximum number of pods that can be scheduled"
    ),
    Step("explain cm --recursive", r"(?s)KIND: +ConfigMap.*immutable"),
    Step("auth whoami", r"kubernetes-admin"),
    Step("auth can-i create deployments", r"^yes$"),
    _no("auth can-i create deployments --as=system:serviceaccount:default:nobody", r"^no$"),
    Step("get nodes -o wide", r"lab +Ready +\S*.*v1\.32\.13\+forge"),
    Step("describe node lab", r"(?s)Name: +lab.*Conditions:.*Ready +True"),
    Step("cordon lab", "node/lab cordoned"),
    Step("get nodes", r"lab +Ready,SchedulingDisabled"),
    Step("uncordon lab", "node/lab uncordoned"),
    Step("taint node lab k=v:NoSchedule", "node/lab tainted"),
    Step("taint node lab k-", "node/lab untainted"),
)

OBJECTS = (
    Step("apply -f -", r"configmap/settings created", SETTINGS),
    Step("apply -f -", r"configmap/settings unchanged", SETTINGS),
    _no("diff -f -", r"(?m)^\+  color: red$", SETTINGS.replace("blue", "red")),
    Step("apply -f -", r"configmap/settings configured", SETTINGS.replace("blue", "red")),
    Step("apply --dry-run=server -f -", r"configmap/settings .*\(server dry run\)", SETTINGS),
    Step("apply --dry-run=client -f -", r"configmap/settings .*\(dry run\)", SETTINGS),
    Step("apply view-last-applied cm settings", r"color: red"),
    Step("apply --server-side --force-conflicts -f -", r"configmap/settings serverside-applied", SETTINGS),
    _no(
        "apply --server-side --field-manager=other -f -",
        r'conflict with "kubectl".*\n.*\.data\.color|\.data\.color',
        SETTINGS.replace("blue", "green"),
    ),
    Step(
        "apply --server-side --field-manager=other --force-conflicts -f -",
        "serverside-applied",
        SETTINGS.replace("blue", "green"),
    ),
    _no("diff --server-side --force-conflicts -f -", r"(?m)^\+  color: blue$", SETTINGS),
    Step("apply -f -", r"(?s)configmap/listed created.*service/listed created", LIST),
    Step("apply -f -", r"(?s)configmap/listed unchanged.*service/listed unchanged", LIST),
    Step("delete -f -", r"(?s)\"listed\" deleted.*\"listed\" deleted", LIST),
    Step("get cm settings", r"NAME +DATA +AGE\nsettings +1 "),
    Step("get cm settings -o wide", r"settings +1 "),
    Step("get cm settings -o yaml", r"(?m)^  color: green$"),
    Step("get cm settings -o json", r'"color": "green"'),
    Step("get cm settings -o name", r"^configmap/settings$"),
    Step("get cm settings -o 'jsonpath={.data.color}'", r"^green$"),
    Step("get cm settings -o 'jsonpath-as-json={.data}'", r'"color": "green"'),
    Step("get cm settings -o 'go-template={{.data.color}}'", r"^green$"),
    Step("get cm -o 'custom-columns=N:.metadata.name,C:.data.color'", r"N +C\n(.*\n)?settings +green"),
    Step("get cm --sort-by=.metadata.name --no-headers", r"^kube-root-ca.crt +1 .*\nsettings +1"),
    Step("get cm settings --show-labels -L app", r"settings +1 +\S+ +web +app=web"),
    Step("get cm settings -o yaml --show-managed-fields", r"manager: other"),
    Step("get cm -l 'app in (web,x),!y' -o name", r"^configmap/settings$"),
    Step("get cm -A --field-selector metadata.name=settings -o name", r"^configmap/settings$"),
    Step("get cm,sa", r"(?s)configmap/settings.*serviceaccount/default"),
    Step("get cm --chunk-size=1 -o name", r"configmap/settings"),
    Step("get cm settings nosuch --ignore-not-found -o name", r"^configmap/settings$"),
    Step("get cm --watch-only --request-timeout=1s", r"^$"),
    Step("get cm -w --request-timeout=1s --output-watch-events", r"ADDED +settings +1"),
    Step("label cm settings tier=1", "labeled"),
    Step("label cm settings tier=2 --overwrite", "labeled"),
    _no("label cm settings tier=3", "already has a value"),
    Step("label cm -l app=web tier-", "unlabeled"),
    Step("annotate cm settings note=x", "annotated"),
    Step('patch cm settings -p \'{"data":{"size":"1"}}\'', "patched"),
    Step('patch cm settings -p \'{"data":{"size":"1"}}\'', r"patched \(no change\)"),
    Step('patch cm settings --type=merge -p \'{"data":{"size":null}}\'', "patched"),
    Step('patch cm settings --type=json -p \'[{"op":"add","path":"/data/x","value":"y"}]\'', "patched"),
    _no(
        'patch cm settings --type=json -p \'[{"op":"test","path":"/data/x","value":"n"}]\'',
        "the server rejected our request",
    ),
    Step("edit cm settings", r"configmap/settings edited"),
    Step("get cm settings -o 'jsonpath={.data.color}'", r"^gold$"),
    Step("replace -f -", "configmap/settings replaced", SETTINGS),
    Step("replace --force -f -", "configmap/settings replaced", SETTINGS),
    Step("describe cm settings", r"(?s)Name: +settings.*color:\n----\nblue"),
    Step(
        "create -f - --save-config",
        r"(?s)serviceaccount/typed created.*secret/typed.*replicaset.apps/typed created",
        MANY,
    ),
    Step(
        "get sa,secret,ep,endpointslice,lease,netpol,sc,events,rs",
        r"(?s)typed.*replicaset.apps/typed +0 +0 +0",
    ),
    Step("get events.events.k8s.io typed -o 'jsonpath={.reason}'", r"^Done$"),
    Step("create ns team", "namespace/team created"),
    Step("create cm made --from-literal=a=1", "configmap/made created"),
    Step("create secret generic made --from-literal=a=1", "secret/made created"),
    Step(
        "create secret docker-registry reg --docker-server=r.test --docker-username=u --docker-password=p",
        "created",
    ),
    Step("create sa bot -n team", "serviceaccount/bot created"),
    Step("create token bot -n team --duration=1h", r"^ey[\w.-]+$"),
    Step("create role reader --verb=get,list --resource=configmaps -n team", "role.* created"),
    Step("create rolebinding reader --role=reader --serviceaccount=team:bot -n team", "created"),
    Step("create clusterrole nodes --verb=list --resource=nodes", "created"),
    Step("create clusterrolebinding nodes --clusterrole=nodes --serviceaccount=team:bot", "created"),
    Step("auth can-i list configmaps -n team --as=system:serviceaccount:team:bot", "^yes$"),
    Step(
        "auth can-i --list -n team --as=system:serviceaccount:team:bot",
        r"configmaps +\[\] +\[\] +\[get list\]",
    ),
    _no(
        "get secrets -n team --as=system:serviceaccount:team:bot",
        r'cannot list resource "secrets" in API group "" in the namespace "team"',
    ),
    Step("wait --for=create cm/made --timeout=10s", "condition met"),
    Step("delete cm made", 'configmap "made" deleted'),
    Step("wait --for=delete cm/made --timeout=10s", r"^$|condition met"),
    Step("delete cm made --ignore-not-found", r"^$"),
    Step("delete cm -l app=web", '"settings" deleted'),
)

WORKLOADS = (
    Step("apply -f -", "deployment.apps/web created", WEB),
    Step("rollout status deploy/web --timeout=60s", "successfully rolled out"),
    Step("wait --for=condition=Available deploy/web --timeout=60s", "condition met"),
    Step("wait '--for=jsonpath={.status.readyReplicas}=2' deploy/web --timeout=60s", "condition met"),
    Step("get deploy web -o wide", r"web +2/2 +2 +2 +\S+ +main +server:1 +app=web"),
    Step("get pods -l app=web -o wide", r"(?s)web-\S+ +1/1 +Running +0 +\S+ +127\.\S+ +lab.*web-"),
    Step("get pods --field-selector=status.phase=Running -o name", r"(?s)pod/web-.*pod/web-"),
    Step("get deploy web --subresource=status -o 'jsonpath={.status.replicas}'", "^2$"),
    Step("get all", r"(?s)pod/web-.*service/kubernetes.*deployment.apps/web.*replicaset.apps/web-"),
    Step("expose deploy web --port=80 --target-port=http", "service/web exposed"),
    Step("get svc web -o wide", r"web +ClusterIP +127\.\S+ +<none> +80/TCP +\S+ +app=web"),
    Step("create service loadbalancer lb --tcp=80:http", "service/lb created"),
    Step("wait '--for=jsonpath={.status.loadBalancer.ingress[0].ip}' svc/lb --timeout=30s", "condition met"),
    Step("create service clusterip ip --tcp=80:8080", "service/ip created"),
    Step("create service nodeport np --tcp=80:8080", "service/np created"),
    Step("create service externalname en --external-name=a.test", "service/en created"),
    Step("scale deploy/web --replicas=3", "scaled"),
    Step("rollout status deploy/web --timeout=60s", "successfully rolled out"),
    _no("scale deploy/web --current-replicas=2 --replicas=1", "Expected replicas to be 2, was 3"),
    Step("scale deploy/web --replicas=1", "scaled"),
    Step('patch deploy web --subresource=scale --type=merge -p \'{"spec":{"replicas":2}}\'', "patched"),
    Step("set image deploy/web main=server:2", "image updated"),
    Step("rollout status deploy/web --timeout=60s", "successfully rolled out"),
    Step("set env deploy/web COLOR=red", "env updated"),
    Step("set env deploy/web --list", r"COLOR=red"),
    Step("rollout status deploy/web --timeout=60s", "successfully rolled out"),
    Step("set resources deploy/web --requests=cpu=10m", "resource requirements updated"),
    Step("rollout status deploy/web --timeout=60s", "successfully rolled out"),
    Step("rollout history deploy/web", r"(?m)^4 +<none>$"),
    Step("rollout undo deploy/web", "rolled back"),
    Step("rollout status deploy/web --timeout=60s", "successfully rolled out"),
    Step("rollout restart deploy/web", "restarted"),
    Step("rollout status deploy/web --timeout=60s", "successfully rolled out"),
    Step("rollout pause deploy/web", "paused"),
    Step("rollout resume deploy/web", "resumed"),
    Step("describe deploy web", r"(?s)Replicas: +2 desired.*OldReplicaSets:.*ScalingReplicaSet"),
    Step("describe svc web", r"(?s)Endpoints: +127\."),
    Step("create deployment idle --image=tool --replicas=0", "created"),
    Step("apply -f -", "pod/talker created", TALKER),
    Step(
        "wait '--for=jsonpath={.status.containerStatuses[0].restartCount}=1' pod/talker --timeout=60s",
        "condition met",
    ),
    Step("wait --for=condition=Ready pod/talker --timeout=60s", "condition met"),
    Step("logs talker -c one", r"^one$"),
    Step("logs talker -c one --previous", r"^one$"),
    Step(
        "logs talker --all-containers --prefix",
        r"(?s)(?=.*\[pod/talker/one\] one)(?=.*\[pod/talker/two\] two)",
    ),
    Step("logs -l app=talker --all-containers --tail=5", r"(?s)(?=.*one)(?=.*two)"),
    _no("logs -f talker -c two --request-timeout=1s", r"^two"),
    Step("logs deploy/web --tail=-1", "listening"),
    Step("logs talker -c two --since=1h --timestamps --limit-bytes=60", r"^20\d\d-\S+ two"),
    _no("logs talker -c three", "container three is not valid for pod talker"),
    Step("get pod talker", r"talker +2/2 +Running +1 \("),
    Step("describe pod talker", r"(?s)Last State: +Terminated.*Exit Code: +3.*Restart Count: +1.*Started"),
    Step("events --for pod/talker", r"Started"),
    Step("run once --image=sh --restart=Never -- 'echo done'", "pod/once created"),
    Step("wait '--for=jsonpath={.status.phase}=Succeeded' pod/once --timeout=60s", "condition met"),
    Step("logs -f once", "^done$"),
    Step("run lost --image=registry.test/none:1", "pod/lost created"),
    Step(
        "wait '--for=jsonpath={.status.containerStatuses[0].state.waiting.reason}=ImagePullBackOff' pod/lost --timeout=60s",
        "condition met",
    ),
    Step("get pod lost", r"lost +0/1 +ImagePullBackOff"),
    Step("delete pod lost once", r'(?s)"lost" deleted.*"once" deleted'),
    Step("delete pod talker --grace-period=0 --force", r'pod "talker" force deleted'),
    Step("delete deploy web --cascade=foreground", 'deployment.apps "web" deleted'),
    Step("wait --for=delete pod -l app=web --timeout=60s", ""),
    Step("delete deploy idle --cascade=orphan", 'deployment.apps "idle" deleted'),
    Step("get rs -l app=idle -o name", r"replicaset.apps/idle-"),
    Step("delete ns team --timeout=60s", 'namespace "team" deleted'),
)

REFUSED = (
    _no("get jobs", "the server doesn't have a resource type"),
    _no("create job j --image=tool", r"the server could not find the requested resource|no matches|NotFound"),
    _no("create cronjob c --image=tool '--schedule=0 0 1 1 *'", "could not find the requested resource"),
    _no("create quota q --hard=secrets=9", "could not find the requested resource"),
    _no("create ingress i '--rule=a.test/*=svc:80'", "could not find the requested resource"),
    _no("create pdb p --selector=app=web --min-available=1", "could not find the requested resource"),
    _no("autoscale deploy nosuch --max=2", "not found|could not find"),
    _no("top pods", "Metrics API not available"),
    _no("get cm nosuch", 'configmaps "nosuch" not found'),
    _no("apply -f -", 'unknown field "dato"', SETTINGS.replace("\ndata:", "\ndato:")),
    _no("create ns default", "already exists"),
    _no("delete ns default", "this namespace may not be deleted"),
    _no("logs nosuch", 'pods "nosuch" not found'),
    _no("create -f -", 'no matches for kind "StatefulSet"', STATEFUL),
    Step("run quiet --image=sh -- 'sleep 600'", "created"),
    Step("wait --for=condition=Ready pod/quiet --timeout=60s", "condition met"),
    _no("exec quiet -- true", "the embedded Kubernetes has no pods/exec"),
    _no("attach quiet", "the embedded Kubernetes has no pods/attach"),
    _no("port-forward pod/quiet 18999:80", "the embedded Kubernetes has no pods/portforward"),
    _no("cp quiet:/etc/passwd /nowhere", "the embedded Kubernetes has no pods/exec"),
    _no("debug quiet --image=sh", "the embedded Kubernetes has no pods/ephemeralcontainers"),
)
