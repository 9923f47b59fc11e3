"""A certificate reaches a cluster as a Secret, is renewed there, and never takes the place of a foreign one."""

from __future__ import annotations

import threading
from base64 import b64decode
from dataclasses import dataclass, field, replace

import pytest

from forge.errors import NotOurs, OperationFailed
from forge.host.kube.labels import ENVIRONMENT_ID
from forge.kinds import certificate_secret
from forge.plan.facts import Facts
from forge.plan.kind import Made, Site
from forge.plan.lab_ports import Kube, Material
from forge.plan.lab_resources import AuthorityResource, LeafResource, LeafSecretResource
from forge.plan.values import Change, Desired, Key, Observed, Owner, Phase, Verb
from tests.kit.fake_host import FakeHost, Machine
from tests.kit.fake_kube_api import FakeCluster, FakeKube
from tests.kit.fake_material import FakeMaterial, Shelf

KEY = Key("certificate-secret", "east/web/shop/web-tls")
SECRET = ("v1", "Secret", "shop", "web-tls")
WANTED = LeafSecretResource("web", "east", "web-tls", "shop")
LEAF = LeafResource("web", "ca", "web", None, ("web.test",), (), (), ("server",), 9e6, "/certs/web")


@dataclass
class Place:
    """One cluster and one certificate. What the site cannot do here, nobody asks of it."""

    cluster: FakeCluster = field(default_factory=lambda: FakeCluster(uid="uid-of-east"))
    material: Material = field(default_factory=lambda: FakeMaterial(Shelf()))
    owner: Owner = field(default_factory=lambda: Owner("lab", "id-of-lab"))
    previous: Made | None = None

    def __post_init__(self) -> None:
        self.material.make_authority(AuthorityResource("ca", "ca", None, 9e7, "/certs/ca"), "f")
        self.material.make_leaf(LEAF, "f")

    def kube(self, cluster: str) -> Kube:
        assert cluster == "east"
        return FakeKube(self.cluster, cluster)

    @property
    def desired(self) -> Desired:
        return Desired(KEY, "shop/web-tls", "as planned", WANTED)

    @property
    def site(self) -> Site:
        return Site(
            host=FakeHost(Machine()),
            owner=self.owner,
            progress=lambda _: None,
            cancel=threading.Event(),
            lab=self,  # type: ignore[arg-type]  # the two ports that this kind uses
            facts=lambda: Facts(fingerprints=self.material.fingerprints()[0]),
            previous=self.previous.objects if self.previous else (),
        )

    def apply(self) -> Made:
        made = certificate_secret.apply(Change(Verb.CREATE, KEY, "not found"), self.desired, None, self.site)
        self.previous = made
        return made

    def remove(self) -> None:
        certificate_secret.remove(Observed(KEY, self.owner, "f", Phase.PRESENT), self.site)

    def data(self) -> dict[str, bytes]:
        found = self.cluster.objects[SECRET]["data"]
        return {name: b64decode(value) for name, value in found.items()}


@pytest.fixture
def place() -> Place:
    return Place()


def test_it_carries_the_certificate_in_a_namespace_that_is_made(place: Place) -> None:
    made = place.apply()
    found = place.cluster.objects[SECRET]
    assert found["type"] == "kubernetes.io/tls"
    assert found["metadata"]["labels"][ENVIRONMENT_ID] == "id-of-lab"
    assert tuple(place.data()[name] for name in ("tls.crt", "tls.key", "ca.crt")) == place.material.read_leaf(
        "web"
    )
    assert made.id == "uid-of-east"
    assert [(ref.kind, ref.name) for ref in made.objects] == [("Secret", "web-tls")]
    assert place.cluster.inventory() == {"Namespace shop", "Secret shop/web-tls"}


def test_a_namespace_that_is_there_is_left_as_it_is(place: Place) -> None:
    place.cluster.put(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"a": "b"}}}
    )
    place.apply()
    assert place.cluster.objects["v1", "Namespace", "", "shop"]["metadata"]["labels"] == {"a": "b"}


def test_a_renewed_certificate_comes_in_its_place(place: Place) -> None:
    first = place.apply()
    place.material.make_leaf(LEAF, "another")
    second = place.apply()
    assert second.fingerprint != first.fingerprint
    assert place.data()["tls.crt"] == place.material.read_leaf("web")[0]
    assert first.objects[0].uid == second.objects[0].uid


@pytest.mark.parametrize(
    "labels", [{}, {ENVIRONMENT_ID: "somebody"}], ids=["nobody's", "another environment's"]
)
def test_a_foreign_secret_is_refused_and_left(place: Place, labels: dict[str, str]) -> None:
    foreign = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "web-tls", "namespace": "shop", "labels": labels},
        "data": {"tls.crt": "eA=="},
    }
    place.cluster.put(foreign)
    with pytest.raises(NotOurs) as raised:
        place.apply()
    assert raised.value.code == "FG0776"
    assert place.data() == {"tls.crt": b"x"}


def test_one_that_was_half_made_is_taken_up(place: Place) -> None:
    place.apply()
    place.previous = None
    assert place.apply().objects[0].uid == place.cluster.objects[SECRET]["metadata"]["uid"]


@pytest.mark.parametrize("known", [True, False], ids=["recorded", "killed before it was recorded"])
def test_removing_takes_it_away_and_can_be_repeated(place: Place, known: bool) -> None:
    made = place.apply()
    for _ in range(2):
        place.previous = made if known else None
        place.remove()
        assert SECRET not in place.cluster.objects


def test_a_foreign_secret_of_its_name_is_not_removed(place: Place) -> None:
    place.apply()
    place.cluster.drop(SECRET)
    place.cluster.put(
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "web-tls", "namespace": "shop"}}
    )
    place.remove()
    assert SECRET in place.cluster.objects


def test_a_cluster_that_does_not_answer_is_said(place: Place) -> None:
    place.cluster.down = True
    with pytest.raises(OperationFailed) as raised:
        place.apply()
    assert raised.value.may_pass


def test_no_key_is_in_what_it_gives_back(place: Place) -> None:
    made = place.apply()
    assert "PRIVATE KEY" not in repr(made)
    assert "PRIVATE KEY" not in repr(place.desired)
    assert "PRIVATE KEY" not in repr(replace(place.site, previous=made.objects).previous)
