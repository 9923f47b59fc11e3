"""Authorities, certificates and secrets: what the file's words become, and what each waits for."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from forge.errors import UsageError
from forge.kinds import authority, certificate, certificate_secret, secret
from forge.plan.facts import Facts
from forge.plan.kind import Context
from forge.plan.lab_resources import AuthorityResource, LeafResource, LeafSecretResource, SecretResource
from forge.plan.values import Allocation, Desired, Key, Need
from forge.spec.load import load_text
from forge.spec.model import Environment

FILE = """\
apiVersion: forge.praxis.dev/v1alpha1
kind: Environment
metadata: {name: lab}
spec:
  runtime: {provider: embedded}
  clusters: [{name: east}]
  certificates:
    authorities: [{name: lab-ca, commonName: Lab CA, organization: Lab, lifetime: 30d}]
    leaves:
      - name: web
        authority: lab-ca
        sans: {dns: [web.test], ip: [127.0.0.1], uri: ["spiffe://lab/web"]}
        usages: [server]
        lifetime: 12h
        secrets: [{cluster: east, name: web-tls, namespace: shop}]
      - {name: api, authority: lab-ca, directory: tls/../keys/api}
      - {name: own, authority: lab-ca, directory: .forge/own}
  secrets: [{name: token, bytes: 8, encoding: raw}]
"""


def spec(text: str = FILE) -> Environment:
    return load_text(text, file="forge.yaml").environment


def context(**issued: str) -> Context:
    return Context("/lab", "/state", "embedded", Allocation(), Facts(fingerprints=issued))


def only(desired: tuple[Desired, ...], name: str) -> Desired:
    return next(d for d in desired if PurePosixPath(d.key.name).name == name)


def test_an_authority_is_as_the_file_says() -> None:
    (found,) = authority.desire(spec(), context())
    assert found.resource == AuthorityResource(
        "lab-ca", "Lab CA", "Lab", 30 * 86400.0, "/state/runtime/certs/lab-ca"
    )
    assert (found.key, found.needs, found.in_place) == (Key("authority", "lab-ca"), (), True)


def test_a_leaf_is_as_the_file_says_and_follows_its_authority() -> None:
    found = only(certificate.desire(spec(), context()), "web")
    assert found.resource == LeafResource(
        name="web",
        authority="lab-ca",
        common_name="web",
        organization=None,
        dns=("web.test",),
        ip=("127.0.0.1",),
        uri=("spiffe://lab/web",),
        usages=("server",),
        lifetime_s=12 * 3600.0,
        directory="/state/runtime/certs/web",
    )
    ca = Key("authority", "lab-ca")
    assert (found.needs, found.follows, found.in_place) == ((Need(ca),), (ca,), True)


@pytest.mark.parametrize(
    ("leaf", "directory"),
    [
        ("web", "/state/runtime/certs/web"),
        ("api", "/lab/keys/api"),
        ("own", "/state/own"),
    ],
)
def test_a_leaf_is_written_where_the_file_says(leaf: str, directory: str) -> None:
    resource = only(certificate.desire(spec(), context()), leaf).resource
    assert isinstance(resource, LeafResource)
    assert resource.directory == directory


def test_a_secret_is_as_the_file_says() -> None:
    (found,) = secret.desire(spec(), context())
    assert found.resource == SecretResource("token", 8, "raw", "/state/secrets/token/value")
    assert (found.key, found.needs, found.in_place) == (Key("secret", "token"), (), True)


def test_a_secret_of_a_certificate_waits_for_both() -> None:
    (found,) = certificate_secret.desire(spec(), context())
    assert found.resource == LeafSecretResource("web", "east", "web-tls", "shop")
    assert found.key == Key("certificate-secret", "east/web/shop/web-tls")
    assert found.key.cluster == "east"
    assert set(found.needs) == {Need(Key("certificate", "web")), Need(Key("cluster", "east"))}
    assert found.follows == (Key("certificate", "web"),)


def test_its_fingerprint_is_of_the_certificate_it_carries() -> None:
    prints = [
        certificate_secret.desire(spec(), context(**issued))[0].fingerprint
        for issued in ({}, {"web": "a"}, {"web": "b"}, {"web": "a"})
    ]
    assert prints[0] == ""
    assert prints[1] == prints[3] != prints[2]


def test_every_name_that_no_certificate_can_carry_is_told_at_once() -> None:
    long = "x" * 65
    text = FILE.replace("web.test", "bücher.test").replace("name: api,", f"name: api, organization: {long},")
    with pytest.raises(UsageError) as raised:
        certificate.desire(spec(text), context())
    assert raised.value.code == "FG0775"
    assert "certificate web: dns name 'bücher.test'" in raised.value.why
    assert "certificate api: organization" in raised.value.why
    with pytest.raises(UsageError, match="authority lab-ca: commonName"):
        authority.desire(spec(FILE.replace("Lab CA", long)), context())


def test_a_file_without_any_asks_for_nothing() -> None:
    bare = spec(
        "apiVersion: forge.praxis.dev/v1alpha1\nkind: Environment\nmetadata: {name: lab}\nspec: {runtime: {}}\n"
    )
    for kind in (authority, certificate, certificate_secret, secret):
        assert kind.desire(bare, context()) == ()


@pytest.mark.parametrize(
    ("leaf", "why"),
    [
        (
            "{name: x, authority: lab-ca, directory: keys/./api}",
            "certificate api and certificate x are both written to /lab/keys/api",
        ),
        (
            "{name: x, authority: lab-ca, directory: .forge/runtime/certs/lab-ca}",
            "authority lab-ca and certificate x are both written to /state/runtime/certs/lab-ca",
        ),
        (
            "{name: x, authority: lab-ca, secrets: [{cluster: east, name: web-tls, namespace: shop}]}",
            "certificate web and certificate x are both written to Secret shop/web-tls of cluster east",
        ),
    ],
)
def test_certificates_do_not_take_each_others_place(leaf: str, why: str) -> None:
    text = FILE.replace("  secrets: [{name: token", f"      - {leaf}\n  secrets: [{{name: token")
    with pytest.raises(UsageError) as raised:
        [kind.desire(spec(text), context()) for kind in (certificate, certificate_secret)]
    assert (raised.value.code, raised.value.why) == ("FG0787", why)
