"""Every cluster's steps come in their order, each with the captures it reads and writes."""

from __future__ import annotations

from pathlib import Path

from forge.host.files import LabFiles
from forge.plan.lab_resources import StepResource
from forge.plan.values import Key
from forge.spec.load import load_text
from forge.spec.model import Environment
from forge.stack.flatten import flatten

FILE = """\
apiVersion: forge.praxis.dev/v1alpha1
kind: Environment
metadata: {name: lab}
spec:
  runtime: {}
  clusters:
    - name: east
      stacks: [base, site, base]
      properties: {zones: [a, b]}
    - {name: west, stacks: [site], properties: {zones: []}}
  stacks:
    base:
      steps:
        - {type: manifest, path: base.yaml}
        - {type: capture, resource: svc/a, jsonpath: "{.x}", key: ip, timeout: 1s, interval: 1s}
    site:
      steps:
        - type: for-each
          property: zones
          steps:
            - {type: capture, resource: "svc/{{ item }}", jsonpath: "{.x}", key: "ip-{{ item }}", timeout: 1s, interval: 1s}
        - {type: exec, command: [echo, "{{ captures.east.ip }}"], when: "{{ cluster.name }} == west"}
        - {type: template-manifest, path: "t-{{ cluster.name }}.yaml"}
"""


def environment() -> Environment:
    return load_text(FILE, environ={}).environment


def shown(pairs: tuple[tuple[Key, StepResource], ...]) -> list[str]:
    return [
        f"{key}" + "".join(f" <{c}.{k}" for c, k in step.reads) + "".join(f" >{k}" for k in step.writes)
        for key, step in pairs
    ]


def test_steps_come_in_list_order_with_what_they_read_and_write(tmp_path: Path) -> None:
    (tmp_path / "t-east.yaml").write_text("a: {{ captures.east.ip }} {{ captures.east.ip-b }}")
    found = flatten(environment(), LabFiles(tmp_path, tmp_path / "state"))
    assert shown(found) == [
        "step/east/base/01-manifest",
        "step/east/base/02-capture >ip",
        "step/east/site/01-for-each >ip-a >ip-b",
        "step/east/site/02-exec",
        "step/east/site/03-template-manifest <east.ip <east.ip-b",
        "step/east/base~2/01-manifest",
        "step/east/base~2/02-capture >ip",
        "step/west/site/01-for-each",
        "step/west/site/02-exec <east.ip",
        "step/west/site/03-template-manifest",
    ]


def test_without_files_only_the_file_itself_is_read() -> None:
    (found,) = (step for key, step in flatten(environment()) if key.name == "east/site/03-template-manifest")
    assert (found.index, found.step.type, found.reads) == (3, "template-manifest", ())
