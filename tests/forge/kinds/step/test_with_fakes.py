"""Steps where no real thing can be had or made to fail: helm, downloads, an API that comes and goes."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from forge.errors import ForgeError, OperationFailed, ToolMissing, Unhealthy
from forge.host.kube import faults
from forge.kinds.step import kind
from forge.plan import metallb
from forge.plan.lab_ports import Access, Answer, Ran
from forge.plan.values import Change, Observed, Phase, Verb
from forge.stack.flatten import flatten
from tests.kit.fake_kube_api import FakeCluster, FakeKube
from tests.kit.kube_contract import widget_definition
from tests.kit.step_lab import StepLab

Fake = tuple[StepLab, FakeCluster]

HELM = """#!{python} -S
import os, sys
if sys.argv[1] == "status":
    sys.exit("Error: release: not found")
values = sys.argv[sys.argv.index("--values") + 1]
print("args", *[a for a in sys.argv[1:] if a != values])
print("mode", oct(os.stat(values).st_mode & 0o777))
print(open(values).read())
print(open(os.environ["KUBECONFIG"]).read())
sys.exit({code})
"""


@pytest.fixture
def helm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for helm, first on PATH, that says how it was called."""
    program = tmp_path / "bin" / "helm"
    program.parent.mkdir()
    program.write_text(HELM.format(python=sys.executable, code=0))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return program


RELEASE = """{type: helm, release: op, chart: charts/op, version: "0.1.0", namespace: sys,
  values: {image: {tag: "{{ cluster.name }}"}, ports: [1, 2], on: true, key: s3cret-in-values}}""".replace(
    "\n", " "
)


def with_access(lab: StepLab, folder: Path) -> None:
    (folder / "kubeconfig").write_text(
        "contexts: [{name: lab, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: 'https://x'}}]\nusers: [{name: u, user: {}}]\n"
    )
    lab.accesses = {"east": Access(folder / "kubeconfig", "lab", "", "", b"")}
    lab.__post_init__()


def test_helm_gets_its_values_by_a_private_file(fake: Fake, helm: Path, tmp_path: Path) -> None:
    lab, _ = fake
    with_access(lab, tmp_path)
    lab.write("charts/op/Chart.yaml", "name: op\n")
    lab.run(RELEASE)
    args = lab.said[0].split()
    chart = str(lab.folder / "lab" / "charts" / "op")
    assert args == [
        "args",
        "upgrade",
        "--install",
        "op",
        chart,
        "--version",
        "0.1.0",
        "--namespace",
        "sys",
        "--create-namespace",
        "--values",
    ]
    assert lab.said[1] == "mode 0o600"
    end = lab.said.index("{")
    values = yaml.safe_load("\n".join(lab.said[2:end]))
    assert values == {"image": {"tag": "east"}, "ports": [1, 2], "on": True, "key": "s3cret-in-values"}
    assert any('"current-context": "kind-pre-east"' in line for line in lab.said)


def test_a_chart_that_is_no_folder_is_helms_to_find(fake: Fake, helm: Path, tmp_path: Path) -> None:
    lab, _ = fake
    with_access(lab, tmp_path)
    lab.run(RELEASE.replace("charts/op", "oci://registry.test/op"))
    assert "oci://registry.test/op" in lab.said[0]


def test_helm_that_fails_says_so(fake: Fake, helm: Path, tmp_path: Path) -> None:
    lab, _ = fake
    with_access(lab, tmp_path)
    helm.write_text(HELM.format(python=sys.executable, code=1))
    with pytest.raises(OperationFailed, match=r"FG0740.*helm upgrade op failed"):
        lab.run(RELEASE)


def test_helm_that_is_missing_says_so(fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab, _ = fake
    with_access(lab, tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissing, match="FG0741"):
        lab.run(RELEASE)


class Downloads:
    """Tools that give *files* by address, and nothing else."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = files
        self.asked: list[tuple[str, str]] = []

    def find(self, program: str) -> str | None:
        return None

    def run(self, argv: Sequence[str], **given: Any) -> Ran:
        raise AssertionError(argv)

    def download(self, url: str, sha256: str, *, cancel: Any) -> bytes:
        self.asked.append((url, sha256))
        return self.files[url]

    def answer(self, url: str, *, ca: bytes | None, timeout_s: float) -> Answer:
        raise AssertionError(url)

    def now(self) -> float:
        return 0.0


def test_url(fake: Fake) -> None:
    lab, _ = fake
    text = (
        b"apiVersion: v1\nkind: Namespace\nmetadata: {name: metallb-system}\n---\n"
        + yaml.safe_dump(widget_definition()).encode()
    )
    lab.tools = Downloads({"https://x.test/east.yaml": text})
    (made,) = lab.run(f'{{type: url, url: "https://x.test/{{{{ cluster.name }}}}.yaml", sha256: {"0" * 64}}}')
    assert [r.kind for r in made.objects] == ["Namespace", "CustomResourceDefinition"]
    assert lab.tools.asked == [("https://x.test/east.yaml", "0" * 64)]


def test_a_downloaded_document_that_is_bad_is_named_by_its_address(fake: Fake) -> None:
    lab, _ = fake
    lab.tools = Downloads({"https://x.test/": b"kind: X\n"})
    with pytest.raises(OperationFailed) as caught:
        lab.run(f"{{type: url, url: 'https://x.test/', sha256: {'0' * 64}}}")
    assert str(caught.value.place) == "https://x.test/:1:1"


def test_an_api_that_is_away_is_waited_for(fake: Fake) -> None:
    lab, cluster = fake
    lab.write("cm.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n")
    spec = lab.spec(
        "{type: manifest, path: cm.yaml}", "{type: wait, resource: cm/c, condition: exists, timeout: 60s}"
    )
    lab.run_spec(spec)
    looks = [3]

    class Flaky(FakeCluster):
        @property
        def index(self) -> Any:
            looks[0] -= 1
            if looks[0] > 0:
                raise faults.unreachable("east", "connection refused")
            return super().index

    flaky = Flaky(objects=cluster.objects, uid=cluster.uid)
    lab.kube = lambda name: FakeKube(flaky, name)
    lab.apply(spec, list(lab.made)[1])
    assert "waiting: connection refused" in lab.said


def test_an_api_that_stays_away_ends_the_wait_with_the_reason(fake: Fake) -> None:
    lab, _ = fake

    class Away(FakeCluster):
        @property
        def index(self) -> Any:
            raise faults.unreachable("east", "connection refused")

    lab.kube = lambda name: FakeKube(Away(), name)
    with pytest.raises(Unhealthy, match=r"FG0736.*after 200ms: connection refused"):
        lab.run("{type: wait, resource: cm/c, condition: exists, timeout: 200ms}")


def test_nothing_is_pruned_when_the_apply_failed(fake: Fake) -> None:
    lab, cluster = fake
    document = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {}}}\n"
    lab.write("cm.yaml", document.format("one") + "---\n" + document.format("two"))
    lab.run("{type: manifest, path: cm.yaml}")
    lab.write("cm.yaml", document.format("one"))

    def refuse(what: str) -> None:
        if what.startswith("apply"):
            raise faults.refused("apply", "it", "no")

    cluster.before = refuse
    with pytest.raises(ForgeError):
        lab.run("{type: manifest, path: cm.yaml}")
    assert "ConfigMap default/two" in cluster.inventory()
    cluster.before = lambda _: None
    lab.run("{type: manifest, path: cm.yaml}")
    assert "ConfigMap default/two" not in cluster.inventory()


def test_retries_are_told_and_end(fake: Fake) -> None:
    lab, cluster = fake
    left = [2]

    def refuse(what: str) -> None:
        left[0] -= 1
        if left[0] >= 0:
            raise faults.refused("apply", "it", "webhook says no")

    cluster.before = refuse
    lab.run("{type: configmap, name: c, retries: 2}")
    assert [line for line in lab.said if "again" in line] == [
        "webhook says no; trying again (1 of 2)",
        "webhook says no; trying again (2 of 2)",
    ]
    left[0] = 5
    with pytest.raises(OperationFailed, match="webhook says no"):
        lab.run("{type: configmap, name: c, retries: 1}")


def test_secret_values_are_in_no_record(fake: Fake) -> None:
    lab, _ = fake
    value = lab.material.read_secret("token").decode()
    spec = lab.spec("{type: secret, name: s, data: {plain: s3cret-word}, secrets: {t: token}}")
    (made,) = lab.run_spec(spec)
    (key,) = lab.made
    shown = repr(made) + repr(lab.settled(spec, key)) + repr(lab.said)
    assert value not in shown
    assert "s3cret-word" not in shown


def test_a_cluster_without_a_pool_is_said(fake: Fake) -> None:
    lab, _ = fake
    lab.pools = {}
    with pytest.raises(OperationFailed, match="FG0752"):
        lab.run("{type: metallb-auto-pool, name: p}")


def test_a_cluster_without_dns_is_said(fake: Fake) -> None:
    lab, _ = fake
    lab.runtime = "docker"
    with pytest.raises(OperationFailed, match="FG0746"):
        lab.run("{type: core-dns-forward, zone: lab.test, upstreams: ['10.0.0.2']}")


def test_metallb_whose_kinds_come_late_is_waited_for(fake: Fake) -> None:
    lab, cluster = fake
    lab.runtime = "docker"
    asked = [0]

    class Late(FakeKube):
        def apply(self, objects: Any, **more: Any) -> Any:
            asked[0] += 1
            if asked[0] == 3:
                super().apply(metallb.definitions(), **{**more, "places": ()})
            return super().apply(objects, **more)

    lab.kube = lambda name: Late(cluster, name)
    (made,) = lab.run("{type: metallb-auto-pool, name: p}")
    assert [r.name for r in made.objects] == ["p", "p-l2"]
    assert lab.said == ["waiting for MetalLB's kinds"] * 2


MOVING = (
    "{type: manifest, path: one.yaml}",
    "{type: manifest, path: two.yaml}",
    "{type: configmap, name: three}",
)


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param(("{type: configmap, name: first}", *MOVING), id="one put in before"),
        pytest.param((MOVING[1], MOVING[0], MOVING[2]), id="two swapped"),
        pytest.param(
            (MOVING[0], "{type: manifest, path: zero.yaml}", MOVING[1], MOVING[2]), id="one put in between"
        ),
        pytest.param((MOVING[0], MOVING[2], MOVING[1]), id="types swapped"),
    ],
)
def test_what_only_moves_to_another_place_is_neither_deleted_nor_made_anew(
    fake: Fake, steps: tuple[str, ...]
) -> None:
    lab, cluster = fake
    for name in ("zero", "one", "two"):
        lab.write(f"{name}.yaml", f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n")
    gone: list[str] = []
    lab.run(*MOVING)
    before = {key[3]: o["metadata"]["uid"] for key, o in cluster.objects.items()}
    cluster.before = lambda what: gone.append(what) if what.startswith("delete") else None
    known = set(lab.made)
    spec = lab.spec(*steps)
    lab.run_spec(spec)
    wanted = {key for key, _ in flatten(spec)}
    for key in known - wanted:
        lab.remove(key)
    assert gone == []
    after = {key[3]: o["metadata"]["uid"] for key, o in cluster.objects.items()}
    assert before.items() <= after.items()
    lab.run("{type: configmap, name: alone}")
    for key in set(lab.made) - {key for key, _ in flatten(lab.spec("{type: configmap, name: alone}"))}:
        lab.remove(key)
    assert cluster.inventory() == {"ConfigMap default/alone"}


def test_what_another_download_takes_over_is_not_made_anew(fake: Fake) -> None:
    lab, cluster = fake
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"
    lab.tools = Downloads({f"https://x.test/{n}": (text % n).encode() for n in ("a", "b")})
    a, b = (f"{{type: url, url: 'https://x.test/{n}', sha256: {'0' * 64}}}" for n in "ab")
    lab.run(a)
    uid = cluster.objects["v1", "ConfigMap", "default", "a"]["metadata"]["uid"]
    lab.run(b, a)
    assert cluster.objects["v1", "ConfigMap", "default", "a"]["metadata"]["uid"] == uid
    c = a.replace("/a", "/c")
    lab.tools = Downloads({f"https://x.test/{n}": (text % n).encode() for n in ("a", "b", "c")})
    lab.run(b, c)
    assert cluster.inventory() == {"ConfigMap default/b", "ConfigMap default/c"}, "nobody names a any more"
    lab.run(b)
    for key in [key for key in lab.made if "02" in key.name]:
        lab.remove(key)
    assert cluster.inventory() == {"ConfigMap default/b"}


def test_a_file_goes_with_its_step_and_when_it_is_written_elsewhere(fake: Fake) -> None:
    lab, _ = fake
    lab.write("t", "text\n")
    step = "{{type: template-file, source: t, target: '.forge/runtime/{}/f'}}"
    lab.run(step.format("a"))
    (key,) = lab.made
    spec = lab.spec(step.format("b"))
    change = Change(Verb.UPDATE, key, "a test")
    kind.apply(change, lab.settled(spec, key), None, replace(lab.site(), wrote=".forge/runtime/a/f"))
    assert [p.name for p in (lab.state_dir / "runtime").iterdir()] == ["b"]
    seen = Observed(key, None, None, Phase.PRESENT)
    kind.remove(seen, replace(lab.site(), wrote=".forge/runtime/b/f"))
    assert list((lab.state_dir / "runtime").iterdir()) == []
