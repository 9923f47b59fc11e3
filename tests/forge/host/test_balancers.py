"""MetalLB: pinned, applied, and waited for until its webhook lets the pool pass; on embedded the pool alone."""

from __future__ import annotations

import hashlib
import http.server
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from forge.errors import Interrupted, OperationFailed
from forge.host.balancers import MetalLB
from forge.plan.lab_resources import BalancerResource, PinnedFile
from forge.plan.values import Owner
from tests.kit.fake_kube_api import FakeCluster, FakeKube

OWNER = Owner("lab", "0" * 32)
MANIFEST = Path(__file__).parents[2] / "kind" / "metallb.yaml"
POOL = "10.64.3.1-10.64.3.20"
WEBHOOK = "failed calling webhook ipaddresspoolvalidationwebhook.metallb.io: connection refused"


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster()


@pytest.fixture
def wanted() -> BalancerResource:
    digest = hashlib.sha256(MANIFEST.read_bytes()).hexdigest()
    return BalancerResource("east", POOL, PinnedFile(path=str(MANIFEST), sha256=digest))


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def install(cluster: FakeCluster, told: list[str]) -> Callable[..., Any]:
    def install(wanted: BalancerResource, metallb: MetalLB | None = None, **more: Any) -> Any:
        cancel = more.get("cancel", threading.Event())
        return (metallb or MetalLB()).install(wanted, OWNER, FakeKube(cluster), told.append, cancel)

    return install


def refusing(cluster: FakeCluster, times: int, *, may_pass: bool = True) -> None:
    """The webhook refuses the pool so often."""
    left = [times]

    def before(what: str) -> None:
        if what.startswith("apply IPAddressPool") and left[0]:
            left[0] -= 1
            error = OperationFailed("FG0735", f"cannot {what}", why=WEBHOOK)
            error.may_pass = may_pass
            raise error

    cluster.before = before


def test_the_pool_and_its_announcement_are_what_it_gives(
    install: Any, wanted: BalancerResource, cluster: FakeCluster
) -> None:
    refs = install(wanted)
    assert [(r.kind, r.namespace, r.name) for r in refs] == [
        ("IPAddressPool", "metallb-system", "forge-pool"),
        ("L2Advertisement", "metallb-system", "forge-pool"),
    ]
    found = FakeKube(cluster).get("metallb.io/v1beta1", "IPAddressPool", "metallb-system", "forge-pool")
    assert found is not None
    assert found["spec"] == {"addresses": [POOL]}
    assert "Deployment metallb-system/controller" in cluster.inventory()


def test_a_second_time_changes_nothing(install: Any, wanted: BalancerResource) -> None:
    assert install(wanted) == install(wanted)


def test_a_webhook_that_refuses_for_a_while_is_waited_for(
    install: Any, wanted: BalancerResource, cluster: FakeCluster, told: list[str]
) -> None:
    refusing(cluster, 2)
    assert len(install(wanted)) == 2
    assert [line for line in told if "webhook" in line] == [f"waiting for MetalLB's webhook ({WEBHOOK})"]


def test_one_that_never_lets_it_pass_is_named_with_its_words(
    install: Any, wanted: BalancerResource, cluster: FakeCluster
) -> None:
    refusing(cluster, 1000)
    with pytest.raises(OperationFailed) as failed:
        install(wanted, MetalLB(accept_s=0.0))
    assert (failed.value.code, failed.value.why) == ("FG0716", WEBHOOK)


def test_a_refusal_that_time_does_not_heal_is_passed_on_at_once(
    install: Any, wanted: BalancerResource, cluster: FakeCluster
) -> None:
    refusing(cluster, 1000, may_pass=False)
    with pytest.raises(OperationFailed) as failed:
        install(wanted)
    assert failed.value.code == "FG0735"


def test_a_controller_that_never_comes_is_told_with_its_events(
    install: Any, wanted: BalancerResource, cluster: FakeCluster
) -> None:
    cluster.lazy = True
    cluster.events["apps/v1", "Deployment", "metallb-system", "controller"] = ["Failed: ImagePullBackOff"]
    with pytest.raises(OperationFailed) as failed:
        install(wanted, MetalLB(available_s=0.05))
    assert failed.value.code == "FG0716"
    assert failed.value.why == "0 of 1 pods are available after 0 s"
    assert failed.value.detail == ("Failed: ImagePullBackOff",)


def test_it_stops_when_it_is_told_to(install: Any, wanted: BalancerResource, cluster: FakeCluster) -> None:
    refusing(cluster, 1000)
    cancel = threading.Event()
    cluster.after = lambda what: cancel.set() if "Deployment" in what else None
    with pytest.raises(Interrupted):
        install(wanted, cancel=cancel)


def test_without_a_manifest_only_the_objects_and_their_kinds_are_made(
    install: Any, wanted: BalancerResource, cluster: FakeCluster
) -> None:
    refs = install(replace(wanted, manifest=None))
    assert [r.kind for r in refs] == ["IPAddressPool", "L2Advertisement"]
    assert cluster.inventory() == {
        "CustomResourceDefinition ipaddresspools.metallb.io",
        "CustomResourceDefinition l2advertisements.metallb.io",
        "IPAddressPool metallb-system/forge-pool",
        "L2Advertisement metallb-system/forge-pool",
        "Namespace metallb-system",
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("{", "while parsing", id="no YAML"),
        pytest.param("just words", "no object with a kind", id="words"),
        pytest.param("kind: Service\nmetadata: {}", "no object with a kind and a name", id="no name"),
        pytest.param("kind: Service\nmetadata: []", "no object with a kind and a name", id="odd metadata"),
    ],
)
def test_what_is_no_manifest_is_refused_before_anything_is_applied(
    install: Any, cluster: FakeCluster, tmp_path: Path, text: str, why: str
) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(text)
    with pytest.raises(OperationFailed, match=why) as failed:
        install(BalancerResource("east", POOL, PinnedFile(path=str(file))))
    assert (failed.value.code, failed.value.changed) == ("FG0714", False)
    assert cluster.inventory() == set()


def test_a_file_of_another_hash_is_not_used(
    install: Any, cluster: FakeCluster, wanted: BalancerResource
) -> None:
    manifest = PinnedFile(path=str(MANIFEST), sha256="0" * 64)
    with pytest.raises(OperationFailed) as failed:
        install(replace(wanted, manifest=manifest))
    assert failed.value.code == "FG0715"
    assert cluster.inventory() == set()


class TestDownload:
    @pytest.fixture
    def asked(self) -> list[str]:
        return []

    @pytest.fixture
    def url(self, asked: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.delenv(name, raising=False)

        class Answer(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                self.send_response(404 if "missing" in self.path else 200)
                self.end_headers()
                self.wfile.write(MANIFEST.read_bytes())

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's
                """Nothing."""

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        server.server_close()

    def test_it_is_downloaded_once_and_used_without_a_network_then(
        self, install: Any, wanted: BalancerResource, url: str, asked: list[str]
    ) -> None:
        assert wanted.manifest is not None
        by_url = PinnedFile(url=f"{url}/metallb.yaml", sha256=str(wanted.manifest.sha256).upper())
        install(replace(wanted, manifest=by_url))
        install(replace(wanted, manifest=replace(by_url, url="http://127.0.0.1:9/nobody")))
        assert asked == ["/metallb.yaml"]

    def test_a_cache_that_was_tampered_with_is_not_believed(
        self, install: Any, wanted: BalancerResource, url: str, asked: list[str], tmp_path: Path
    ) -> None:
        assert wanted.manifest is not None
        by_url = replace(wanted, manifest=PinnedFile(url=f"{url}/m", sha256=wanted.manifest.sha256))
        install(by_url)
        (kept,) = (tmp_path / "cache").rglob("*.yaml")
        kept.write_text("kind: Evil")
        install(by_url)
        assert asked == ["/m", "/m"]

    @pytest.mark.parametrize(
        ("path", "sha256", "code"),
        [
            pytest.param("/missing", "0" * 64, "FG0714", id="not found"),
            pytest.param("/m", "0" * 64, "FG0715", id="another file"),
        ],
    )
    def test_what_is_not_the_file_is_refused_and_not_kept(
        self,
        install: Any,
        wanted: BalancerResource,
        url: str,
        tmp_path: Path,
        path: str,
        sha256: str,
        code: str,
    ) -> None:
        with pytest.raises(OperationFailed) as failed:
            install(replace(wanted, manifest=PinnedFile(url=url + path, sha256=sha256)))
        assert failed.value.code == code
        assert not list((tmp_path / "cache").rglob("*.yaml"))

    def test_a_network_that_is_down_may_pass(self, install: Any, wanted: BalancerResource, url: str) -> None:
        with pytest.raises(OperationFailed) as failed:
            install(replace(wanted, manifest=PinnedFile(url="http://127.0.0.1:9/", sha256="0" * 64)))
        assert (failed.value.code, failed.value.may_pass) == ("FG0714", True)
