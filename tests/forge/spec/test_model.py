"""The whole schema: every key of the file is taken, in camelCase, and becomes a value that cannot change."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, ValidationError

from forge.spec.load import load_text
from forge.spec.model import Environment
from tests.forge.spec.reading import HEAD, problems

EVERYTHING = """\
apiVersion: forge.praxis.dev/v1alpha1
kind: Environment
metadata: {name: lab}
spec:
  root: ..
  runtime: {provider: docker, clusterPrefix: pre}
  network:
    crossCluster: true
    dnsZone: lab.test
    subnet: 172.30.0.0/16
    loadBalancer: {type: metallb, manifest: {url: "https://x/y", sha256: "@SHA@"}, poolSize: 10}
  inputs: [{name: TAG, default: dev, description: what to run}]
  secrets: [{name: key, bytes: 16, encoding: base64}]
  certificates:
    enabled: true
    authorities: [{name: ca, commonName: CA, organization: org, lifetime: 30d}]
    leaves:
      - name: web
        authority: ca
        commonName: web
        organization: org
        sans: {dns: [web.lab.test], ip: [10.0.0.1], uri: ["spiffe://lab/web"]}
        usages: [server]
        lifetime: 24h
        directory: .forge/runtime/web
        secrets: [{cluster: east, name: web-tls, namespace: web}]
  images:
    - {name: web, build: {context: src, file: src/Containerfile, args: {V: "1"}}, pull: never, process: [web, -v], load: [east]}
    - {name: api, load: all}
  clusters:
    - name: east
      nodes: {controlPlanes: 1, workers: 2}
      stacks: [all]
      properties: {region: us, list: [{a: 1}], nested: {deep: [true, null, 1.5]}}
      driver: kind
      nodeImage: kindest/node:v1
      kindConfig: {networking: {ipFamily: ipv4}}
    - {name: far, driver: existing, context: prod}
  services:
    - name: web
      image: "web:${env:TAG}"
      autoStart: true
      network: environment
      dependsOn: [api, {name: init, condition: completed}]
      ports: [{bindAddress: 127.0.0.1, host: 8080, container: 80, protocol: tcp}]
      volumes: [{source: .forge/runtime/web, target: /etc/web, readOnly: true}]
      env: {EMPTY: "", CLUSTER: "{{ cluster.name }}"}
      args: ["--listen={{ services.web.address }}"]
      restart: on-failure
      inheritHostGroup: true
      healthCheck: {type: http, port: 80, path: /healthz, interval: 500ms, timeout: 2s, retries: 5, startPeriod: 1m}
      healthGate: false
      after: [east/all]
      fromCluster: east
    - {name: api, image: api, healthCheck: {type: exec, command: [check], interval: 1s, timeout: 1s, retries: 1}}
    - {name: init, image: api}
  stacks:
    all:
      description: every step there is
      steps:
        - {type: url, url: "https://x/{{ cluster.properties.region }}", sha256: "@SHA@", retries: 2, timeout: 1m, when: "{{ cluster.name }} == east"}
        - {type: manifest, path: .forge/a.yaml}
        - {type: kustomize, path: .forge/k}
        - {type: helm, release: r, chart: charts/x, version: "1", namespace: n, values: {a: {b: [1, "{{ stack.name }}", null]}}}
        - {type: deployment, name: d, image: i, namespace: n, args: [x]}
        - {type: service, name: d, port: 80, namespace: n}
        - {type: wait, resource: deployment/d, condition: available, timeout: 2m, namespace: n}
        - {type: exec, command: [echo, "{{ captures.east.ip }}"], env: {A: ""}, when: "{{ cluster.properties.region }} == eu"}
        - {type: for-each, property: list, steps: [{type: exec, command: ["{{ item.a }}"]}]}
        - {type: metallb-auto-pool, name: pool}
        - {type: core-dns-forward, zone: lab.test, upstreams: ["10.0.0.2:53"]}
        - {type: capture, resource: svc/d, namespace: n, jsonpath: "{.spec.clusterIP}", key: ip, timeout: 30s, interval: 1s}
        - {type: template-manifest, path: .forge/t.yaml}
        - {type: template-file, source: .forge/t, target: .forge/o}
        - {type: configmap, name: c, namespace: n, data: {k: "{{ network.pool }}"}, files: {f: .forge/f}}
        - {type: secret, name: s, namespace: n, secretType: Opaque, data: {k: v}, files: {f: .forge/f}, secrets: {key: key}}
        - {type: kubeconfig, serviceAccount: sa, namespace: n, target: .forge/kubeconfig, context: c, address: host, lifetime: 1d}
        - {type: delete, resource: pod/x, namespace: n}
        - {type: delete, path: .forge/a.yaml}
        - {type: http-wait, url: "http://{{ services.web.address }}/", status: 204, contains: ok, ca: .forge/ca.crt, timeout: 1m, interval: 2s}
""".replace("@SHA@", "0" * 64)  # fmt: skip


@pytest.fixture(scope="module")
def environment() -> Environment:
    return load_text(EVERYTHING).environment


def test_every_key_is_set_somewhere_in_the_example(environment: Environment) -> None:
    """A key that is added to the models has to be added to the example, so that nothing is untried."""
    unset = {f"{type(shape).__name__}.{name}" for shape in _shapes(environment) for name in _unset(shape)}
    tried = {
        f"{type(shape).__name__}.{name}" for shape in _shapes(environment) for name in shape.model_fields_set
    }
    everywhere = {"retries", "timeout", "when"}  # of any step
    assert {name for name in unset - tried if name.split(".")[1] not in everywhere} == {"PinnedManifest.path"}


def _shapes(value: object) -> list[BaseModel]:
    if isinstance(value, BaseModel):
        below = [s for name in type(value).model_fields for s in _shapes(getattr(value, name))]
        return [value, *below]
    if isinstance(value, dict):
        return [s for inner in value.values() for s in _shapes(inner)]
    return [s for inner in value for s in _shapes(inner)] if isinstance(value, tuple) else []


def _unset(shape: BaseModel) -> set[str]:
    return set(type(shape).model_fields) - shape.model_fields_set


def test_all_nineteen_step_types_are_read(environment: Environment) -> None:
    assert len({step.type for step in environment.spec.stacks["all"].steps}) == 19


def test_values_are_what_the_file_says(environment: Environment) -> None:
    service = environment.spec.services[0]
    check = service.health_check
    assert check is not None
    assert (check.interval_s, check.timeout_s, check.start_period_s, check.retries) == (0.5, 2.0, 60.0, 5)
    assert service.env == {"EMPTY": "", "CLUSTER": "{{ cluster.name }}"}
    assert service.image == "web:dev"
    assert environment.spec.clusters[0].properties["nested"] == {"deep": [True, None, 1.5]}


def test_what_a_service_waits_for(environment: Environment) -> None:
    web, api, init = environment.spec.services
    assert [web.condition_for(d, t) for d, t in zip(web.depends_on, (api, init), strict=True)] == [
        "healthy",
        "completed",
    ]
    plain = web.depends_on[1].model_copy(update={"condition": None})
    assert web.condition_for(plain, init) == "started"
    assert web.condition_for(plain, api.model_copy(update={"health_gate": False})) == "started"


def test_an_image_is_loaded_where_it_says(environment: Environment) -> None:
    web, api = environment.spec.images
    assert [web.is_loaded_into("east"), web.is_loaded_into("far"), api.is_loaded_into("far")] == [
        True,
        False,
        True,
    ]


def test_a_value_cannot_change(environment: Environment) -> None:
    with pytest.raises(ValidationError):
        environment.metadata.name = "other"  # type: ignore[misc]  # the point of the test


def test_secret_values_are_not_in_a_repr(environment: Environment) -> None:
    text = HEAD + """\
  services: [{name: a, image: x, env: {K: CANARY}, args: [CANARY]}]
  stacks: {s: {steps: [{type: secret, name: n, data: {k: CANARY}}, {type: exec, command: [CANARY], env: {K: CANARY}}]}}
  clusters: [{name: c, properties: {k: CANARY}}]
  inputs: [{name: I, default: CANARY}]
"""  # fmt: skip
    assert "CANARY" not in repr(load_text(text).environment)


@pytest.mark.parametrize(
    ("added", "code"),
    [
        pytest.param("  services: [{name: a, image: x, auto_start: true}]\n", "FG0103", id="snake case is not read"),
        pytest.param("  services: [{name: a, image: x, network: bridge}]\n", "FG0104", id="an unknown network"),
        pytest.param("  services: [{name: a, image: x, restart: false}]\n", "FG0104", id="a truth for a choice"),
        pytest.param("  services: [{name: a, image: x, args: [" + "x, " * 129 + "]}]\n", "FG0104", id="too many arguments"),
        pytest.param("  services: [{name: a, image: x, args: [" + "x" * 4097 + "]}]\n", "FG0104", id="too long an argument"),
        pytest.param("  services: [{name: a, image: x, ports: [{host: 1, container: 1, protocol: udp}]}]\n", "FG0104", id="udp"),
        pytest.param("  services: [{name: a, image: x, healthCheck: {type: tcp}}]\n", "FG0105", id="a tcp check without a port"),
        pytest.param("  services: [{name: a, image: x, healthCheck: {type: exec}}]\n", "FG0105", id="an exec check without a command"),
        pytest.param("  services: [{name: a, image: x, healthCheck: {type: exec, command: [a], retries: 301}}]\n", "FG0104", id="too many retries"),
        pytest.param("  clusters: [{name: a, nodes: {controlPlanes: 0}}]\n", "FG0104", id="no control plane"),
        pytest.param("  network: {loadBalancer: {manifest: {url: 'https://x'}}}\n", "FG0105", id="a url without its checksum"),
        pytest.param("  network: {loadBalancer: {manifest: {}}}\n", "FG0105", id="a manifest from nowhere"),
        pytest.param("  stacks: {s: {steps: [{type: delete}]}}\n", "FG0105", id="nothing to delete"),
        pytest.param("  stacks: {s: {steps: [{type: exec, command: []}]}}\n", "FG0104", id="an empty command"),
        pytest.param("  stacks: {s: {steps: [{type: exec, command: [' ']}]}}\n", "FG0104", id="a blank argument"),
        pytest.param("  stacks: {s: {steps: [{type: for-each, property: p, steps: []}]}}\n", "FG0104", id="nothing to repeat"),
        pytest.param("  stacks: {S: {}}\n", "FG0110", id="a stack's name"),
        pytest.param("  runtime: {clusterPrefix: A}\n", "FG0102", id="a runtime twice"),
        pytest.param("  profiles: {}\n", "FG0103", id="profiles are not there yet"),
    ],
)  # fmt: skip
def test_what_the_shape_refuses(added: str, code: str) -> None:
    assert [p.code for p in problems(added)] == [code]
