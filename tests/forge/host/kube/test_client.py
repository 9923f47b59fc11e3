"""The client against a real embedded API: the port's contract, and what only a real one shows."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from forge.errors import OperationFailed
from forge.host.kube.client import ApiKube, open_kube
from forge.plan.lab_ports import Access
from tests.kit.embedded_cluster import EmbeddedCluster, running
from tests.kit.kube_contract import DEADLINE_S, OWNER, KubeContract, apply, delete, thing, widget_definition


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    with running(tmp_path_factory.mktemp("cluster")) as started:
        yield started


def reach(cluster: EmbeddedCluster) -> Access:
    return Access(cluster.kubeconfig, "lab", cluster.url, cluster.url, b"")


@contextmanager
def opened(cluster: EmbeddedCluster) -> Iterator[ApiKube]:
    kube = open_kube(reach(cluster), "east")
    try:
        yield kube
    finally:
        kube.close()


@pytest.fixture(scope="module")
def kube(cluster: EmbeddedCluster) -> Iterator[ApiKube]:
    with opened(cluster) as kube:
        yield kube


class TestApiKube(KubeContract):
    def test_five_thousand_documents(self, kube: ApiKube, space: str) -> None:
        told: list[str] = []
        refs = kube.apply(
            [thing("ConfigMap", f"c{i}", space) for i in range(5000)],
            owner=OWNER,
            progress=told.append,
            cancel=threading.Event(),
        )
        assert kube.observe(refs) == {ref: ref for ref in refs}
        assert "applied 2,500 of 5,000 objects" in told

    def test_everything_that_is_refused_is_told(self, kube: ApiKube, space: str) -> None:
        objects = [
            thing("ConfigMap", "good", space),
            thing("ConfigMap", "Bad", space),
            thing("ConfigMap", "w", "nowhere"),
        ]
        with pytest.raises(OperationFailed) as caught:
            apply(kube, *objects, places=["a", "b", "c"])
        assert caught.value.what == "2 of 3 objects could not be applied"
        assert "ConfigMap nowhere/w (c)" in caught.value.detail[1]
        assert caught.value.changed is True
        assert kube.get("v1", "ConfigMap", space, "good") is not None

    def test_a_field_that_does_not_exist_is_refused(self, kube: ApiKube, space: str) -> None:
        with pytest.raises(OperationFailed, match="replicsa"):
            apply(kube, thing("Deployment", "w", space, "apps/v1", spec={"replicsa": 1}))

    def test_a_namespace_goes_with_what_is_in_it(self, kube: ApiKube) -> None:
        refs = apply(kube, thing("Namespace", "short-lived"), thing("ConfigMap", "a", "short-lived"))
        assert delete(kube, refs[0]) == (refs[0],)
        assert kube.observe(refs) == {}


def test_a_server_that_comes_back_is_asked_again(tmp_path_factory: pytest.TempPathFactory) -> None:
    with running(tmp_path_factory.mktemp("cluster")) as cluster, opened(cluster) as kube:
        apply(kube, thing("ConfigMap", "before"))
        watching = kube.watch(
            "v1", "ConfigMap", "default", "after", cancel=threading.Event(), timeout_s=DEADLINE_S
        )
        assert next(watching) is None
        cluster.kill()
        with pytest.raises(OperationFailed, match="API of cluster east does not answer") as caught:
            kube.identity()
        assert caught.value.may_pass
        restart = threading.Timer(0.3, cluster.start)
        restart.start()
        refs = apply(kube, thing("ConfigMap", "after"))
        restart.join()
        assert kube.observe(refs) == {refs[0]: refs[0]}
        assert next(watching) is not None


def test_a_cancel_ends_an_apply_to_a_server_that_is_away(tmp_path_factory: pytest.TempPathFactory) -> None:
    with running(tmp_path_factory.mktemp("cluster")) as cluster, opened(cluster) as kube:
        kube.identity()
        cluster.kill()
        cancel = threading.Event()
        threading.Timer(0.2, cancel.set).start()
        with pytest.raises(Exception, match="was stopped"):
            kube.apply([thing("ConfigMap", "a")], owner=OWNER, progress=lambda _: None, cancel=cancel)


def test_what_is_on_its_way_out_is_waited_for_before_it_is_made_again(kube: ApiKube) -> None:
    held = thing("ConfigMap", "held")
    held["metadata"]["finalizers"] = ["lab.test/held"]
    (first,) = apply(kube, held)
    leaving = threading.Event()

    def let_go() -> None:
        leaving.wait(DEADLINE_S)
        kube.patch("v1", "ConfigMap", "default", "held", {"metadata": {"finalizers": None}})

    threads = [threading.Thread(target=delete, args=(kube, first)), threading.Thread(target=let_go)]
    for thread in threads:
        thread.start()
    for now in kube.watch("v1", "ConfigMap", "default", "held", cancel=leaving, timeout_s=DEADLINE_S):
        if now is not None and now["metadata"].get("deletionTimestamp"):
            leaving.set()
    (second,) = apply(kube, thing("ConfigMap", "held"))
    for thread in threads:
        thread.join()
    assert second.uid != first.uid
    assert kube.observe([second]) == {second: second}


def test_a_cluster_that_is_made_anew_is_reached_by_its_new_access_file(tmp_path: Path) -> None:
    """Another authority, another port, no definitions: nothing of the old one is held to be true."""
    access_file = tmp_path / "kubeconfig"
    with running(tmp_path / "first") as first:
        access_file.write_text(first.kubeconfig.read_text())
        kube = open_kube(Access(access_file, "", "", "", b""), "east")
        apply(kube, widget_definition(), thing("Widget", "w", "default", "lab.test/v1"))
        before = kube.identity()
    with running(tmp_path / "second") as second:
        access_file.write_text(second.kubeconfig.read_text())
        assert kube.identity() not in ("", before)
        assert kube.find("widgets.lab.test", "default") == ()
        with pytest.raises(OperationFailed, match="FG0733"):
            apply(kube, thing("Widget", "w", "default", "lab.test/v1"))
        kube.close()
