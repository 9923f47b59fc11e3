"""What Forge put into a cluster that stays goes when nobody asks for it any more, however it came there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from forge.errors import ToolMissing
from forge.host.kube import faults
from tests.kit.fake_doors import Clustered
from tests.kit.fake_host import Killed, Machine
from tests.kit.fake_kube_api import FakeCluster
from tests.kit.kube_contract import thing

SPEC = """\
apiVersion: forge.praxis.dev/v1alpha1
kind: Environment
metadata: {name: lab}
spec:
  runtime: {provider: docker}
  clusters: [{name: east, driver: existing, context: theirs, stacks: [base]}]
  stacks: {base: {steps: [%s]}}
"""
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"
CERTIFICATE = """\
  certificates:
    authorities: [{name: ca}]
    leaves: [{name: web, authority: ca, sans: {dns: [web.test]}, secrets: [%s]}]
"""


@pytest.fixture(autouse=True)
def _own_host_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))


@pytest.fixture
def lab(tmp_path: Path) -> Clustered:
    made = Clustered(tmp_path / "lab", Machine())
    made.fleet.contexts["theirs"] = "id-of-theirs"
    made.apis["id-of-theirs"] = FakeCluster(uid="id-of-theirs")
    return made


@pytest.fixture
def cluster(lab: Clustered) -> FakeCluster:
    return lab.apis["id-of-theirs"]


def write(lab: Clustered, *steps: str, more: str = "") -> None:
    lab.write(SPEC % ", ".join(f"{{{step}}}" for step in steps) + more)


def manifest(lab: Clustered, name: str, *maps: str) -> str:
    (lab.folder / name).write_text("---\n".join(MAP % one for one in maps))
    return f"type: manifest, path: {name}"


def refuse(cluster: FakeCluster, what: str) -> None:
    def before(now: str) -> None:
        if now == what:
            raise faults.refused("apply", "it", "no")

    cluster.before = before


def cut_off(cluster: FakeCluster, what: str) -> None:
    def after(now: str) -> None:
        if now == what:
            raise Killed(now)

    cluster.after = after


def test_a_run_that_is_refused_leaves_no_folder(lab: Clustered, cluster: FakeCluster) -> None:
    write(lab, "type: exec, command: [no-such-program-anywhere]")
    with pytest.raises(ToolMissing, match="FG0741"):
        lab.up()
    assert sorted(path.name for path in lab.folder.iterdir()) == ["forge.yaml"]


class TestAStepThatFailedHalfWay:
    @pytest.fixture
    def half(self, lab: Clustered, cluster: FakeCluster) -> Clustered:
        """one is made, two is refused."""
        lab.folder.mkdir()
        write(lab, manifest(lab, "m.yaml", "one", "two"))
        refuse(cluster, "apply ConfigMap default/two")
        assert not lab.up()[1].is_complete
        assert cluster.inventory() == {"ConfigMap default/one"}
        cluster.before = lambda _: None
        return lab

    def test_goes_whole_when_the_step_goes(self, half: Clustered, cluster: FakeCluster) -> None:
        write(half)
        assert "remove step/east/base/01-manifest" in half.plan()
        assert half.up()[1].is_complete
        assert cluster.inventory() == set()

    def test_loses_what_the_manifest_no_longer_has(self, half: Clustered, cluster: FakeCluster) -> None:
        manifest(half, "m.yaml", "two", "three")
        assert half.up()[1].is_complete
        assert cluster.inventory() == {"ConfigMap default/two", "ConfigMap default/three"}

    def test_goes_with_down(self, half: Clustered, cluster: FakeCluster) -> None:
        half.down()
        assert cluster.inventory() == set()

    def test_is_finished_by_the_next_run(self, half: Clustered, cluster: FakeCluster) -> None:
        assert half.up()[1].is_complete
        assert half.up()[0].is_empty
        assert cluster.inventory() == {"ConfigMap default/one", "ConfigMap default/two"}

    def test_leaves_what_was_there_before_it(self, lab: Clustered, cluster: FakeCluster) -> None:
        lab.folder.mkdir()
        cluster.put(thing("ConfigMap", "one", "default"))
        write(lab, manifest(lab, "m.yaml", "one", "two"))
        refuse(cluster, "apply ConfigMap default/two")
        lab.up()
        cluster.before = lambda _: None
        lab.down()
        assert cluster.inventory() == {"ConfigMap default/one"}

    def test_and_was_killed_there_goes_too(self, lab: Clustered, cluster: FakeCluster) -> None:
        lab.folder.mkdir()
        write(lab, manifest(lab, "m.yaml", "one", "two"))
        cut_off(cluster, "apply ConfigMap default/one")
        with pytest.raises(Killed):
            lab.up()
        cluster.after = lambda _: None
        write(lab)
        assert lab.up()[1].is_complete
        assert cluster.inventory() == set()

    def test_takes_its_file_with_it(self, lab: Clustered) -> None:
        lab.folder.mkdir()
        (lab.folder / "t").write_text("text\n")
        write(lab, "type: template-file, source: t, target: '.forge/runtime/a/f', retries: 0")
        target = lab.folder / ".forge" / "runtime" / "a"
        assert lab.up()[1].is_complete
        assert target.is_dir()
        write(lab)
        lab.up()
        assert not target.exists()


class TestTheNamespaceOfACertificatesSecret:
    def up(self, lab: Clustered, *secrets: str) -> None:
        lab.folder.mkdir(exist_ok=True)
        rows = ", ".join(f"{{cluster: east, {one}}}" for one in secrets)
        write(lab, more=CERTIFICATE % rows)
        assert lab.up()[1].is_complete

    def test_goes_with_the_last_secret_in_it(self, lab: Clustered, cluster: FakeCluster) -> None:
        self.up(lab, "name: one, namespace: shop", "name: two, namespace: shop")
        assert "Namespace shop" in cluster.inventory()
        self.up(lab, "name: two, namespace: shop")
        assert cluster.inventory() == {"Namespace shop", "Secret shop/two"}
        self.up(lab)
        assert cluster.inventory() == set()

    def test_goes_with_down(self, lab: Clustered, cluster: FakeCluster) -> None:
        self.up(lab, "name: one, namespace: shop", "name: two, namespace: shop")
        lab.down()
        assert cluster.inventory() == set()

    def test_stays_for_a_secret_that_takes_the_place_of_another(
        self, lab: Clustered, cluster: FakeCluster
    ) -> None:
        self.up(lab, "name: one, namespace: shop")
        uid = cluster.objects["v1", "Namespace", "", "shop"]["metadata"]["uid"]
        self.up(lab, "name: two, namespace: shop")
        assert cluster.inventory() == {"Namespace shop", "Secret shop/two"}
        assert cluster.objects["v1", "Namespace", "", "shop"]["metadata"]["uid"] == uid

    def test_stays_while_something_of_others_is_in_it(self, lab: Clustered, cluster: FakeCluster) -> None:
        self.up(lab, "name: one, namespace: shop")
        cluster.put(thing("ConfigMap", "theirs", "shop"))
        cluster.put(thing("ConfigMap", "kube-root-ca.crt", "shop"))
        lab.down()
        assert "ConfigMap shop/theirs" in cluster.inventory()
        assert any("namespace shop stays: ConfigMap theirs is in it" in e.text for e in lab.events)

    def test_stays_when_it_was_there_before(self, lab: Clustered, cluster: FakeCluster) -> None:
        cluster.put(thing("Namespace", "shop"))
        self.up(lab, "name: one, namespace: shop")
        lab.down()
        assert cluster.inventory() == {"Namespace shop"}


HELM = """#!{python} -S
import pathlib, sys
here, args = pathlib.Path({folder!r}), sys.argv[1:]
name = args[2] if args[1].startswith("-") else args[1]
space = args[args.index("--namespace") + 1] if "--namespace" in args else "default"
release = here / f"release-{{space}}-{{name}}"
with (here / "said").open("a") as said:
    print(*[a for a in args if "/tmp" not in a][:3], file=said)
if args[0] in ("status", "uninstall") and not release.exists():
    sys.exit("Error: uninstall: Release not loaded: op: release: not found")
if args[0] == "upgrade":
    release.touch()
    sys.exit(int((here / "code").read_text()) if (here / "code").exists() else 0)
if args[0] == "uninstall":
    release.unlink()
"""


class TestAHelmRelease:
    """With a stand-in for helm that keeps its releases as files."""

    @pytest.fixture(autouse=True)
    def helm(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        folder = tmp_path / "helm"
        folder.mkdir()
        program = folder / "helm"
        program.write_text(HELM.format(python=sys.executable, folder=str(folder)))
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
        return folder

    def up(self, lab: Clustered, *releases: str) -> bool:
        lab.folder.mkdir(exist_ok=True)
        steps = (
            f"type: helm, release: {one}, chart: 'oci://x.test/op', version: '1.0.0'" for one in releases
        )
        write(lab, *steps)
        return lab.up()[1].is_complete

    def releases(self, helm: Path) -> set[str]:
        return {path.name.removeprefix("release-") for path in helm.glob("release-*")}

    def test_is_uninstalled_when_its_step_goes(self, lab: Clustered, helm: Path) -> None:
        assert self.up(lab, "op, namespace: sys", "web")
        assert self.releases(helm) == {"sys-op", "default-web"}
        assert self.up(lab, "op, namespace: sys")
        assert self.releases(helm) == {"sys-op"}
        assert self.up(lab)
        assert self.releases(helm) == set()

    def test_is_uninstalled_by_down(self, lab: Clustered, helm: Path) -> None:
        assert self.up(lab, "op, namespace: sys")
        lab.down()
        assert self.releases(helm) == set()
        assert not (lab.folder / ".forge" / "state.json").exists()

    def test_of_another_name_takes_its_place(self, lab: Clustered, helm: Path) -> None:
        assert self.up(lab, "op")
        assert self.up(lab, "web")
        assert self.releases(helm) == {"default-web"}

    @pytest.mark.parametrize(
        "after",
        [
            pytest.param(("new", "op", "web"), id="one put in before"),
            pytest.param(("web", "op"), id="two swapped"),
            pytest.param(("web",), id="the one before it goes"),
        ],
    )
    def test_that_moves_to_another_place_stays(
        self, lab: Clustered, helm: Path, after: tuple[str, ...]
    ) -> None:
        assert self.up(lab, "op", "web")
        (helm / "said").unlink()
        assert self.up(lab, *after)
        assert self.releases(helm) == {f"default-{name}" for name in after}
        gone = {line.split()[1] for line in (helm / "said").read_text().splitlines() if "uninstall" in line}
        assert gone == {"op", "web"} - set(after)
        assert self.up(lab)
        assert self.releases(helm) == set()

    def test_that_was_there_before_is_never_ours(self, lab: Clustered, helm: Path) -> None:
        (helm / "release-default-op").touch()
        assert self.up(lab, "op")
        lab.down()
        assert self.releases(helm) == {"default-op"}

    def test_that_failed_goes_with_its_step(self, lab: Clustered, helm: Path) -> None:
        (helm / "code").write_text("1")
        assert not self.up(lab, "op")
        (helm / "code").unlink()
        assert self.up(lab)
        assert self.releases(helm) == set()

    def test_that_somebody_uninstalled_is_gone(self, lab: Clustered, helm: Path) -> None:
        assert self.up(lab, "op")
        (helm / "release-default-op").unlink()
        assert self.up(lab)

    def test_cannot_go_without_helm_and_says_so(self, lab: Clustered, helm: Path) -> None:
        assert self.up(lab, "op")
        (helm / "helm").unlink()
        outcome = lab.down()
        assert outcome is not None
        (error,) = outcome.failed.values()
        assert error.code == "FG0741"
        assert error.what == "helm release op of cluster east cannot be uninstalled"
        assert (lab.folder / ".forge" / "state.json").exists()
