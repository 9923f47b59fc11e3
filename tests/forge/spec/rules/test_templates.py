"""Templates are found wrong before anything runs: where they stand, what they lead to, on which cluster."""

from __future__ import annotations

import pytest

from tests.forge.spec.reading import HEAD, KnownFiles, problems, told

CLUSTERS = """\
  clusters:
    - {name: a, stacks: [s], properties: {region: x, image: {tag: v}, list: [p, q], objects: [{n: 1}]}}
    - {name: b, stacks: [s], properties: {region: y, image: {tag: v}, list: [p], objects: []}}
  certificates: {authorities: [{name: ca}], leaves: [{name: web, authority: ca}]}
  secrets: [{name: key}]
  services:
    - {name: on, image: x, network: environment}
    - {name: off, image: x}
"""


def stepped(text: str, files: KnownFiles | None = None) -> list[str]:
    """Of a stack s on clusters a and b with one exec step that says *text*: code and message."""
    stacks = f"  stacks:\n    s:\n      steps:\n        - {{type: exec, command: ['{text}']}}\n"
    return [
        line.split(" ", 2)[0] + " " + line.split(" ", 2)[2] for line in told(CLUSTERS + stacks, files=files)
    ]


@pytest.mark.parametrize(
    "path",
    ["cluster.name", "cluster.properties.region", "cluster.properties.image.tag", "cluster.properties.list.0", "stack.name",
     "network.dnsZone", "network.pool", "certificates.web.sha256", "certificates.web.previousSha256",
     "services.on.address", "secrets.key.sha256"],
)  # fmt: skip
def test_a_path_that_leads_somewhere(path: str) -> None:
    assert stepped(f"{{{{ {path} }}}}") == []


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("clutser.name", 'FG0131 {{ clutser.name }} begins with "clutser", which is nothing'),
        ("cluster.nam", 'FG0131 {{ cluster.nam }}: there is no "cluster.nam"'),
        ("cluster.properties.zone", 'FG0131 each of the clusters "a", "b" has no property "zone", for {{ cluster.properties.zone }}'),
        ("cluster.properties.image.x", 'FG0131 each of the clusters "a", "b" has no property "image.x", for {{ cluster.properties.image.x }}'),
        ("cluster.properties.list.1", 'FG0131 cluster "b" has no property "list.1", for {{ cluster.properties.list.1 }}'),
        ("cluster.properties.list", "FG0131 {{ cluster.properties.list }} is a list, and only text, numbers and true or false can stand in a text"),
        ("stack.x", 'FG0131 {{ stack.x }}: there is no "stack.x"'),
        ("item", "FG0131 {{ item }}: item exists only inside a for-each step"),
        ("network.zone", 'FG0131 {{ network.zone }}: there is no "network.zone"'),
        ("captures.c.ip", 'FG0132 {{ captures.c.ip }}: there is no cluster "c"'),
        ("captures.a.ip", 'FG0132 {{ captures.a.ip }}: no stack of cluster "a" captures "ip"'),
        ("certificates.wep.sha256", 'FG0131 {{ certificates.wep.sha256 }}: there is no "certificates.wep"'),
        ("certificates.web.sha1", 'FG0131 {{ certificates.web.sha1 }}: there is no "certificates.web.sha1"'),
        ("services.off.address", 'FG0131 {{ services.off.address }}: "off" has no address on the lab network'),
        ("services.no.address", 'FG0131 {{ services.no.address }}: there is no "services.no"'),
        ("secrets.key.value", "FG0131 {{ secrets.key.value }}: of a secret only its sha256 can stand in a template"),
        ("secrets.other.sha256", 'FG0131 {{ secrets.other.sha256 }}: there is no "secrets.other"'),
    ],
)  # fmt: skip
def test_a_path_that_leads_nowhere(path: str, expected: str) -> None:
    assert stepped(f"{{{{ {path} }}}}") == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ cluster.name", "FG0130 a template is opened with {{ and never closed"),
        ("{{ }}", "FG0130 a template is empty"),
        ("{{ .Values.x }}", 'FG0130 a template wants words joined by dots, or text in double quotes ("{{")'),
        ("{{ a | b }}", 'FG0130 a template wants words joined by dots, or text in double quotes ("{{")'),
    ],
)
def test_a_template_that_cannot_be_read(text: str, expected: str) -> None:
    assert stepped(text) == [expected]


def test_on_the_embedded_runtime_every_service_has_an_address() -> None:
    head = HEAD.replace("runtime: {}", "runtime: {provider: embedded}")
    step = "{type: exec, command: ['{{ services.off.address }}']}"
    found = told(f"{CLUSTERS}  stacks: {{s: {{steps: [{step}]}}}}\n", head=head)
    assert [line for line in found if "FG0128" not in line] == []


def test_items_of_for_each_are_known() -> None:
    def each(prop: str, path: str) -> list[str]:
        step = f"{{type: for-each, property: {prop}, steps: [{{type: exec, command: ['{{{{ {path} }}}}']}}]}}"
        return [line.split(" ", 2)[2] for line in told(f"{CLUSTERS}  stacks: {{s: {{steps: [{step}]}}}}\n")]

    assert each("list", "item") == []
    assert each("objects", "item.n") == []
    assert each("objects", "item.m") == ['{{ item.m }}: there is no "item.m"']
    assert each("region", "item") == ['each of the clusters "a", "b" has no list in the property "region"']
    assert each("none", "item.x.y") == ['each of the clusters "a", "b" has no property "none"']


def test_for_each_has_a_bound() -> None:
    many = f"  clusters: [{{name: a, stacks: [s], properties: {{l: [{', '.join('x' * 257)}]}}}}]\n"
    stack = "  stacks: {s: {steps: [{type: for-each, property: l, steps: [{type: exec, command: [a]}]}]}}\n"
    (line,) = told(many + stack)
    assert line.endswith('cluster "a" has 257 items in "l", and for-each takes at most 256')


def test_for_each_in_for_each_is_looked_at_only_so_far() -> None:
    many = f"  clusters: [{{name: a, stacks: [s], properties: {{l: [{', '.join('x' * 256)}]}}}}]\n"
    inner = "{type: exec, command: [a]}"
    for _ in range(3):
        inner = f"{{type: for-each, property: l, steps: [{inner}]}}"
    (line,) = told(f"{many}  stacks: {{s: {{steps: [{inner}]}}}}\n")
    assert line.startswith("warning FG0135")


def test_a_step_that_never_runs_on_a_cluster_need_not_resolve_there() -> None:
    clusters = "  clusters: [{name: a, stacks: [s], properties: {role: x, only: 1}}, {name: b, stacks: [s], properties: {role: y}}]\n"
    step = (
        "{type: exec, command: ['{{ cluster.properties.only }}'], when: '{{ cluster.properties.role }} == x'}"
    )
    assert told(f"{clusters}  stacks: {{s: {{steps: [{step}]}}}}\n") == []
    assert len(told(f"{clusters}  stacks: {{s: {{steps: [{step.replace('== x', '!= z')}]}}}}\n")) == 1


def test_when_itself_must_resolve() -> None:
    step = "{type: exec, command: [a], when: '{{ cluster.properties.nope }} == x'}"
    assert len(told(f"{CLUSTERS}  stacks: {{s: {{steps: [{step}]}}}}\n")) == 1


@pytest.mark.parametrize(
    "added",
    [
        "  services: [{name: a, image: 'x:{{a.b}}'}]\n",
        "  services: [{name: a, image: x, volumes: [{source: '{{ a.b }}', target: /x}]}]\n",
        "  clusters: [{name: a, properties: {p: '{{ a.b }}'}}]\n",
        "  images: [{name: x, process: ['{{ a.b }}']}]\n",
        "  stacks: {s: {steps: [{type: secret, name: n, secretType: '{{ a.b }}'}]}}\n",
    ],
)
def test_a_template_is_rendered_only_in_steps_args_and_env(added: str) -> None:
    assert [p.code for p in problems(added)] == ["FG0130"]


def test_a_template_of_a_service_belongs_to_no_cluster_unless_it_says_so() -> None:
    service = "    - {name: x, image: x, env: {A: '{{ cluster.name }}'}, args: ['{{ captures.a.ip }}']%s}\n"
    capture = "  stacks: {s: {steps: [{type: capture, resource: r, jsonpath: j, key: ip, timeout: 1s, interval: 1s}]}}\n"
    (line,) = told(CLUSTERS + service % "" + capture)
    assert line.endswith("{{ cluster.name }}: a service belongs to no cluster")
    assert told(CLUSTERS + service % ", fromCluster: a" + capture) == []


def test_a_stack_no_cluster_uses_is_read_but_its_cluster_is_unknown() -> None:
    assert (
        told(
            "  stacks: {s: {steps: [{type: exec, command: ['{{ cluster.properties.any }} {{ stack.name }}']}]}}\n"
        )
        == []
    )
    assert len(told("  stacks: {s: {steps: [{type: exec, command: ['{{ clutser.x }}']}]}}\n")) == 1


TEMPLATE = "kind: A\nname: {{ cluster.name }}\nregion: {{ cluster.properties.zone }}\n"


def test_a_template_file_is_read_and_its_place_told() -> None:
    files = KnownFiles({"t.yaml": TEMPLATE})
    stack = "  stacks: {s: {steps: [{type: template-manifest, path: t.yaml}]}}\n"
    (problem,) = problems(CLUSTERS + stack, files=files)
    assert str(problem.place) == "t.yaml:3:9"
    assert problem.path == "spec.stacks.s.steps[0].path"
    assert problem.message.startswith('each of the clusters "a", "b" has no property "zone"')
    assert problem.excerpt is not None
    assert problem.excerpt.text == "{{ cluster.properties.zone }}"


def test_a_template_file_named_by_a_template_is_read_for_each_cluster() -> None:
    files = KnownFiles({"x.yaml": "a: {{ cluster.name }}", "y.yaml": "a: {{ nope }}"})
    stack = "  stacks: {s: {steps: [{type: template-file, source: '{{ cluster.properties.region }}.yaml', target: .forge/o}]}}\n"
    found = problems(CLUSTERS + stack, files=files)
    assert [str(p.place) for p in found if p.is_error] == ["y.yaml:1:4"]


def test_a_plain_manifest_may_hold_braces() -> None:
    files = KnownFiles({"t.yaml": "a: {{ .Values.x }}"})
    assert told(CLUSTERS + "  stacks: {s: {steps: [{type: manifest, path: t.yaml}]}}\n", files=files) == []


def test_values_known_to_be_wrong_are_not_told_of_what_was_left_out() -> None:
    text = "  clusters: [{name: a, stacks: [s], nodes: 3}]\n  stacks: {s: {steps: [{type: exec, command: ['{{ captures.a.ip }}']}, {type: capture, key: ip}]}}\n"
    assert {p.code for p in problems(text)} == {"FG0104", "FG0105"}


def test_properties_that_are_broken_are_not_also_missing() -> None:
    text = "  clusters: [{name: a, stacks: [s], properties: [x]}]\n"
    stack = "  stacks: {s: {steps: [{type: exec, command: ['{{ cluster.properties.x }}']}]}}\n"
    assert [p.code for p in problems(text + stack)] == ["FG0104"]


def test_an_env_variable_called_when_is_none() -> None:
    clusters = "  clusters: [{name: a, stacks: [s]}]\n"
    step = "{type: exec, command: [a], env: {when: '{{ nope }}'}, when: 'a == b'}"
    assert told(f"{clusters}  stacks: {{s: {{steps: [{step}]}}}}\n") == []
