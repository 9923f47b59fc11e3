"""A cluster that is there is taken as it is: checked, remembered, never made, never removed."""

from __future__ import annotations

import json
import stat
import threading
from base64 import b64decode
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from forge.errors import ForgeError, NotOurs, OperationFailed
from forge.host.clusters import existing, kubeconfig
from forge.host.clusters.drivers import open_clusters
from forge.plan.lab_ports import Clusters
from forge.plan.lab_resources import ClusterResource, Driver
from forge.plan.values import Key, Observed, Owner, Phase
from tests.kit.clusters_contract import FINGERPRINT, recorded, silent
from tests.kit.embedded_cluster import EmbeddedCluster, running

FAR = Key("cluster", "far")
OWNER = Owner("lab", "0" * 32)
WANTED = ClusterResource("far", "forge-far", Driver.EXISTING, context="prod")


@pytest.fixture(scope="module")
def prod(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    with running(tmp_path_factory.mktemp("prod")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    with running(tmp_path_factory.mktemp("other")) as cluster:
        yield cluster


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    return tmp_path / "config"


@pytest.fixture
def leads_to(config: Path) -> Callable[..., None]:
    """Writes the user's kubeconfig: context `prod` of that cluster, beside another one."""

    def leads_to(cluster: EmbeddedCluster, context: str = "prod") -> None:
        document = yaml.safe_load(cluster.kubeconfig.read_text())
        document["contexts"][0]["name"] = context
        document["contexts"].append({"name": "else", "context": {"cluster": "gone", "user": "gone"}})
        document["current-context"] = "else"
        config.write_text(yaml.safe_dump(document))

    return leads_to


@pytest.fixture
def clusters(tmp_path: Path) -> Clusters:
    return open_clusters("embedded", tmp_path / "state")


@pytest.fixture
def create(clusters: Clusters) -> Callable[..., str]:
    def create(wanted: ClusterResource = WANTED, owner: Owner = OWNER) -> str:
        return clusters.create(FAR, wanted, owner, FINGERPRINT, silent, threading.Event())

    return create


@pytest.fixture
def look(clusters: Clusters) -> Callable[[], Observed | None]:
    return lambda: clusters.observe(OWNER, {FAR: WANTED}, recorded(WANTED)).get(FAR)


def objects(cluster: EmbeddedCluster) -> set[str]:
    with cluster.client() as client:
        found = client.get("/api/v1/configmaps").json()["items"]
    return {i["metadata"]["name"] for i in found}


def test_it_is_not_seen_before_it_was_taken(leads_to: Any, prod: EmbeddedCluster, look: Any) -> None:
    leads_to(prod)
    assert look() is None


def test_taking_it_checks_it_and_writes_nothing_but_an_access_file_with_that_context(
    leads_to: Any, prod: EmbeddedCluster, create: Any, clusters: Clusters, look: Any, config: Path
) -> None:
    leads_to(prod)
    before, user = objects(prod), config.read_bytes()
    identity = create()
    found = look()
    assert (found.owner, found.fingerprint, found.phase) == (OWNER, FINGERPRINT, Phase.RUNNING)
    assert (found.id, found.kept) == (identity, True)
    access = clusters.access("far")
    assert (access.context, access.server) == ("prod", prod.url)
    assert stat.S_IMODE(access.kubeconfig.stat().st_mode) == 0o600
    document = json.loads(access.kubeconfig.read_text())
    assert [c["name"] for c in document["contexts"]] == ["prod"]
    assert (objects(prod), config.read_bytes()) == (before, user)


def test_removing_it_removes_our_traces_alone(
    leads_to: Any, prod: EmbeddedCluster, create: Any, clusters: Clusters, look: Any, tmp_path: Path
) -> None:
    leads_to(prod)
    create()
    clusters.remove(look(), WANTED.full_name, threading.Event())
    assert not (tmp_path / "state" / "clusters").exists()
    assert look() is None
    with prod.client() as client:
        assert client.get("/readyz").text == "ok"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param(None, "has no context 'prod'", id="no file at all"),
        pytest.param("contexts: []", "has no context 'prod'", id="no such context"),
        pytest.param("[", "cannot be read", id="no YAML"),
        pytest.param("words", "no mapping", id="no kubeconfig"),
        pytest.param(
            "contexts: [{name: prod, context: {cluster: c}}]", "has no cluster 'c'", id="without its cluster"
        ),
        pytest.param(
            "contexts: [{name: prod, context: {cluster: c, user: u}}]\n"
            "clusters: [{name: c, cluster: {server: 'https://x', certificate-authority: nowhere.crt}}]",
            "nowhere.crt",
            id="without its authority's file",
        ),
    ],
)
def test_a_context_that_cannot_be_used_says_why_and_leaves_nothing(
    create: Any, config: Path, tmp_path: Path, text: str | None, why: str
) -> None:
    if text is not None:
        config.write_text(text)
    with pytest.raises(OperationFailed, match=why) as failed:
        create()
    assert (failed.value.code, failed.value.changed) == ("FG0708", False)
    assert not (tmp_path / "state" / "clusters").exists()


def test_one_that_does_not_answer_is_not_taken(
    leads_to: Any, prod: EmbeddedCluster, create: Any, config: Path, tmp_path: Path
) -> None:
    leads_to(prod)
    config.write_text(config.read_text().replace(prod.url, "https://127.0.0.1:9"))
    with pytest.raises(ForgeError):
        create()
    assert not (tmp_path / "state" / "clusters").exists()


def test_a_context_that_leads_elsewhere_now_is_refused(
    leads_to: Any, prod: EmbeddedCluster, other: EmbeddedCluster, create: Any, look: Any, clusters: Clusters
) -> None:
    leads_to(prod)
    identity = create()
    leads_to(other)
    found = look()
    assert (found.phase, found.detail) == (Phase.STOPPED, "context 'prod' has changed")
    with pytest.raises(OperationFailed) as refused:
        clusters.start(found, WANTED, silent, threading.Event())
    assert (refused.value.code, refused.value.changed) == ("FG0709", False)
    with pytest.raises(OperationFailed):
        create()
    assert clusters.access("far").server == prod.url
    leads_to(prod)
    assert look().id == identity


def test_another_cluster_behind_the_same_access_is_seen(
    leads_to: Any, prod: EmbeddedCluster, create: Any, look: Any, tmp_path: Path
) -> None:
    leads_to(prod)
    create()
    about = tmp_path / "state" / "clusters" / "far" / "about.json"
    about.write_text(json.dumps({**json.loads(about.read_text()), "id": "of another"}))
    found = look()
    assert found.phase is Phase.BROKEN
    assert found.detail == "context 'prod' leads to another cluster than before"


def test_another_address_of_the_same_cluster_is_followed(
    leads_to: Any, prod: EmbeddedCluster, create: Any, look: Any, clusters: Clusters, config: Path
) -> None:
    leads_to(prod)
    identity = create()
    config.write_text(config.read_text().replace("127.0.0.1", "localhost"))
    clusters.start(look(), WANTED, silent, threading.Event())
    assert look().id == identity
    assert "localhost" in clusters.access("far").server


def test_a_context_that_is_gone_is_told(
    leads_to: Any, prod: EmbeddedCluster, create: Any, look: Any, config: Path
) -> None:
    leads_to(prod)
    create()
    config.unlink()
    found = look()
    assert found.phase is Phase.STOPPED
    assert "has no context 'prod'" in found.detail


def test_another_environment_in_the_same_folder_does_not_get_it(
    leads_to: Any, prod: EmbeddedCluster, create: Any
) -> None:
    leads_to(prod)
    create()
    with pytest.raises(NotOurs):
        create(owner=Owner("other", "1" * 32))


def test_it_is_not_stopped(leads_to: Any, prod: EmbeddedCluster, create: Any, clusters: Clusters) -> None:
    leads_to(prod)
    create()
    with pytest.raises(OperationFailed) as refused:
        clusters.stop(FAR, WANTED.full_name)
    assert refused.value.code == "FG0707"


class TestExtract:
    """Files that a kubeconfig names come along; of two files the first that has a name wins."""

    def test_files_of_keys_come_along_and_a_tokens_stays_where_it_is(self, tmp_path: Path) -> None:
        for name in ("ca", "crt", "key"):
            (tmp_path / name).write_text(name)
        document = {
            "contexts": [{"name": "a", "context": {"cluster": "c", "user": "u", "namespace": "n"}}],
            "clusters": [{"name": "c", "cluster": {"server": "https://x", "certificate-authority": "ca"}}],
            "users": [
                {
                    "name": "u",
                    "user": {"client-certificate": "crt", "client-key": "key", "tokenFile": "token"},
                }
            ],
        }
        (tmp_path / "one").write_text(yaml.safe_dump(document))
        found = existing.extract("a", {"KUBECONFIG": str(tmp_path / "one")})
        assert (found.ca, found.client, found.namespace) == (b"ca", b"crt\nkey", "n")
        assert found.user["tokenFile"] == str(tmp_path / "token")
        again = tmp_path / "again"
        again.write_bytes(found.text())
        assert kubeconfig.read(again) == found

    def test_the_first_of_several_files_wins(self, tmp_path: Path) -> None:
        for name in ("one", "two"):
            document = {
                "contexts": [{"name": "a", "context": {"cluster": "c", "user": "u"}}],
                "clusters": [{"name": "c", "cluster": {"server": f"https://{name}"}}],
            }
            (tmp_path / name).write_text(yaml.safe_dump(document))
        environ = {"KUBECONFIG": f"{tmp_path}/nowhere:{tmp_path}/one::{tmp_path}/two"}
        assert existing.extract("a", environ).server == "https://one"

    @pytest.mark.parametrize(
        ("environ", "paths"),
        [
            pytest.param({"HOME": "/home/me"}, ["/home/me/.kube/config"], id="the usual place"),
            pytest.param({"HOME": "/home/me", "KUBECONFIG": ""}, ["/home/me/.kube/config"], id="empty"),
            pytest.param({"KUBECONFIG": "/a:/b"}, ["/a", "/b"], id="several"),
        ],
    )
    def test_where_it_looks(self, environ: dict[str, str], paths: list[str]) -> None:
        assert [str(p) for p in existing.paths(environ)] == paths


def test_a_cluster_that_changed_its_context_is_another(
    create: Any, leads_to: Any, prod: Any, other: Any
) -> None:
    leads_to(prod)
    first = create()
    leads_to(other, "new")
    assert create(replace(WANTED, context="new")) != first


def test_a_program_may_give_the_access(
    clusters: Clusters,
    create: Callable[..., str],
    leads_to: Callable[..., None],
    config: Path,
    prod: EmbeddedCluster,
) -> None:
    """With a client's certificate, as some clouds do it; a token is in tests/forge/host/kube."""
    leads_to(prod)
    document = yaml.safe_load(config.read_text())
    user = document["users"][0]["user"]
    given = {
        "clientCertificateData": b64decode(user["client-certificate-data"]).decode(),
        "clientKeyData": b64decode(user["client-key-data"]).decode(),
    }
    version = "client.authentication.k8s.io/v1"
    answer = {"apiVersion": version, "kind": "ExecCredential", "status": given}
    (config.parent / "login").write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(answer)}\nEND\n")
    (config.parent / "login").chmod(0o755)
    document["users"][0]["user"] = {"exec": {"apiVersion": version, "command": "./login"}}
    config.write_text(yaml.safe_dump(document))
    create()
    (look,) = clusters.observe(OWNER, {FAR: WANTED}, recorded(WANTED)).values()
    assert look.phase is Phase.RUNNING
    (config.parent / "login").write_text("#!/bin/sh\necho 'log in first' >&2; exit 1\n")
    document["users"][0]["user"]["exec"]["args"] = ["again"]
    config.write_text(yaml.safe_dump(document))
    with pytest.raises(ForgeError, match=r"FG0753.*log in first"):
        create()
