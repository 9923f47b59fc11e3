"""What every Material keeps, fake or real.

A test module names its fixtures and inherits MaterialContract:

    desk   a Desk: opens the Material anew at each call, as commands do, and can move its clock and
           spoil what it made
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import pytest

from forge.errors import NotOurs, OperationFailed
from forge.plan.lab_ports import Material
from forge.plan.lab_resources import AuthorityResource, LeafResource, SecretResource
from forge.plan.values import Key, Observed, Owner, Phase

DAY = 86400.0
CA = Key("authority", "ca")
WEB = Key("certificate", "web")
API = Key("certificate", "api")
TOKEN = Key("secret", "token")
F, G = "f" * 32, "e" * 32


class Desk(Protocol):
    """One environment's material. Paths are where its resources say."""

    owner: Owner

    def open(self) -> Material:
        """The material as the next command finds it."""
        ...

    def authority(self, name: str = "ca") -> AuthorityResource:
        """One of 3650 days."""
        ...

    def leaf(self, name: str = "web", authority: str = "ca") -> LeafResource:
        """One of 90 days for the name `<name>.test`, in a folder of its own."""
        ...

    def secret(self, name: str = "token", bytes: int = 32, encoding: str = "hex") -> SecretResource:  # noqa: A002 - the file's word
        ...

    def later(self, seconds: float) -> None:
        """Moves the clock."""
        ...

    def lose(self, key: Key) -> None:
        """Takes away what users see of it: a leaf's folder, an authority's ca.crt, a secret's value."""
        ...

    def spoil(self, key: Key) -> None:
        """Writes rubbish over one file of it."""
        ...

    def lose_key(self, authority: str) -> None:
        """Takes an authority's private key away, and nothing else."""
        ...

    def occupy(self, leaf: LeafResource) -> None:
        """A user's own tls.crt lies in the leaf's folder."""
        ...

    def put_secret(self, name: str, value: bytes) -> None:
        """A user writes a secret's value."""
        ...


class MaterialContract:
    """The tests. Each begins with nothing made."""

    def both(self, desk: Desk) -> tuple[str, str]:
        """Makes the authority and the leaf; gives their hashes."""
        authority = desk.open().make_authority(desk.authority(), F)
        return authority, desk.open().make_leaf(desk.leaf(), F)

    def see(self, desk: Desk, key: Key) -> Observed | None:
        return desk.open().observe(desk.owner, [key]).get(key)

    def test_nothing_is_there_at_first(self, desk: Desk) -> None:
        material = desk.open()
        assert material.observe(desk.owner, [CA, WEB, TOKEN]) == {}
        assert material.fingerprints() == ({}, {}, {})

    def test_what_was_made_is_seen_with_its_hash(self, desk: Desk) -> None:
        authority, leaf = self.both(desk)
        token = desk.open().make_secret(desk.secret(), F)
        seen = desk.open().observe(desk.owner, [CA, WEB, TOKEN])
        assert {k: (o.id, o.phase, o.fingerprint, o.owner) for k, o in seen.items()} == {
            CA: (authority, Phase.PRESENT, F, desk.owner),
            WEB: (leaf, Phase.PRESENT, F, desk.owner),
            TOKEN: (token, Phase.PRESENT, F, desk.owner),
        }
        assert desk.open().fingerprints() == ({"web": leaf}, {}, {"token": token})

    def test_only_what_is_asked_for_is_told(self, desk: Desk) -> None:
        self.both(desk)
        assert set(desk.open().observe(desk.owner, [WEB, TOKEN])) == {WEB}

    def test_an_authority_made_again_is_the_same(self, desk: Desk) -> None:
        authority, leaf = self.both(desk)
        assert desk.open().make_authority(desk.authority(), F) == authority
        assert desk.open().make_leaf(desk.leaf(), F) == leaf

    def test_a_leaf_without_its_authority_is_refused(self, desk: Desk) -> None:
        with pytest.raises(OperationFailed) as raised:
            desk.open().make_leaf(desk.leaf(), F)
        assert raised.value.code == "FG0773"

    def test_a_changed_leaf_is_issued_anew_and_alone(self, desk: Desk) -> None:
        authority, leaf = self.both(desk)
        other = desk.open().make_leaf(desk.leaf("api"), F)
        changed = replace(desk.leaf(), dns=("web.test", "www.test"))
        again = desk.open().make_leaf(changed, G)
        assert again != leaf
        assert desk.open().fingerprints() == ({"web": again, "api": other}, {"web": leaf}, {})
        assert {k: o.id for k, o in desk.open().observe(desk.owner, [CA, WEB, API]).items()} == {
            CA: authority,
            WEB: again,
            API: other,
        }

    def test_the_files_of_a_leaf_fit(self, desk: Desk) -> None:
        self.both(desk)
        certificate, key, ca = desk.open().read_leaf("web")
        desk.open().make_leaf(desk.leaf(), G)
        other_certificate, other_key, other_ca = desk.open().read_leaf("web")
        assert certificate != other_certificate
        assert key != other_key
        assert ca == other_ca

    @pytest.mark.parametrize("mishap", ["lose", "spoil"])
    def test_a_damaged_leaf_is_not_taken_for_whole_and_is_issued_anew(self, desk: Desk, mishap: str) -> None:
        authority, leaf = self.both(desk)
        getattr(desk, mishap)(WEB)
        seen = self.see(desk, WEB)
        assert seen is None or (seen.phase is Phase.BROKEN and seen.detail)
        again = desk.open().make_leaf(desk.leaf(), F)
        assert again != leaf
        assert desk.open().fingerprints() == ({"web": again}, {"web": leaf}, {})
        whole = self.see(desk, WEB)
        assert whole is not None
        assert (whole.phase, whole.id) == (Phase.PRESENT, again)
        assert desk.open().make_authority(desk.authority(), F) == authority

    @pytest.mark.parametrize("mishap", ["lose", "spoil"])
    def test_the_public_file_of_an_authority_is_put_back(self, desk: Desk, mishap: str) -> None:
        authority, leaf = self.both(desk)
        getattr(desk, mishap)(CA)
        seen = self.see(desk, CA)
        assert seen is not None
        assert seen.phase is Phase.BROKEN
        assert desk.open().make_authority(desk.authority(), F) == authority
        assert desk.open().make_leaf(desk.leaf(), F) == leaf
        whole = self.see(desk, CA)
        assert whole is not None
        assert whole.phase is Phase.PRESENT

    def test_a_lost_authority_key_stops_it_while_leaves_stand(self, desk: Desk) -> None:
        _, leaf = self.both(desk)
        desk.lose_key("ca")
        seen = self.see(desk, CA)
        assert seen is not None
        assert seen.phase is Phase.BROKEN
        assert "key" in seen.detail
        with pytest.raises(OperationFailed) as raised:
            desk.open().make_authority(desk.authority(), F)
        assert raised.value.code == "FG0771"
        assert raised.value.hint
        assert desk.open().fingerprints()[0] == {"web": leaf}

    def test_a_lost_authority_key_that_signed_nothing_is_made_anew(self, desk: Desk) -> None:
        authority = desk.open().make_authority(desk.authority(), F)
        desk.lose_key("ca")
        assert desk.open().make_authority(desk.authority(), F) != authority

    def test_a_new_lifetime_keeps_the_authority_key_and_its_leaves(self, desk: Desk) -> None:
        authority, leaf = self.both(desk)
        longer = replace(desk.authority(), lifetime_s=7300 * DAY)
        renewed = desk.open().make_authority(longer, G)
        assert renewed != authority
        assert desk.open().make_leaf(desk.leaf(), F) == leaf
        assert desk.open().fingerprints()[1] == {}

    def test_a_leaf_lags_until_it_follows_its_authority(self, desk: Desk) -> None:
        self.both(desk)
        desk.open().make_authority(replace(desk.authority(), lifetime_s=7300 * DAY), G)
        seen = self.see(desk, WEB)
        assert seen is not None
        assert seen.phase is Phase.BROKEN
        desk.open().make_leaf(desk.leaf(), F)
        followed = self.see(desk, WEB)
        assert followed is not None
        assert followed.phase is Phase.PRESENT

    def test_a_new_subject_is_a_new_authority_and_new_leaves(self, desk: Desk) -> None:
        authority, leaf = self.both(desk)
        renamed = desk.open().make_authority(replace(desk.authority(), common_name="another"), G)
        assert renamed != authority
        seen = self.see(desk, WEB)
        assert seen is not None
        assert seen.phase is Phase.BROKEN
        assert desk.open().make_leaf(desk.leaf(), F) != leaf

    def test_a_leaf_is_renewed_when_a_third_of_its_life_is_left(self, desk: Desk) -> None:
        authority, leaf = self.both(desk)
        desk.later(59 * DAY)
        early = self.see(desk, WEB)
        assert early is not None
        assert early.phase is Phase.PRESENT
        assert desk.open().make_leaf(desk.leaf(), F) == leaf
        desk.later(2 * DAY)
        late = self.see(desk, WEB)
        assert late is not None
        assert late.phase is Phase.BROKEN
        assert late.detail
        again = desk.open().make_leaf(desk.leaf(), F)
        assert again != leaf
        assert desk.open().fingerprints() == ({"web": again}, {"web": leaf}, {})
        assert desk.open().make_authority(desk.authority(), F) == authority

    def test_files_of_a_user_are_not_written_over(self, desk: Desk) -> None:
        desk.open().make_authority(desk.authority(), F)
        desk.occupy(desk.leaf())
        with pytest.raises(NotOurs) as raised:
            desk.open().make_leaf(desk.leaf(), F)
        assert raised.value.code == "FG0772"
        assert self.see(desk, WEB) is None

    def test_a_secret_is_made_once(self, desk: Desk) -> None:
        first = desk.open().make_secret(desk.secret(), F)
        value = desk.open().read_secret("token")
        assert desk.open().make_secret(desk.secret(), F) == first
        assert desk.open().read_secret("token") == value

    def test_a_secret_of_another_shape_is_made_anew(self, desk: Desk) -> None:
        first = desk.open().make_secret(desk.secret(bytes=32), F)
        assert desk.open().make_secret(desk.secret(bytes=8), G) != first
        assert len(desk.open().read_secret("token")) == 16

    def test_a_lost_secret_is_made_anew(self, desk: Desk) -> None:
        first = desk.open().make_secret(desk.secret(), F)
        desk.lose(TOKEN)
        seen = self.see(desk, TOKEN)
        assert seen is None or (seen.phase is Phase.BROKEN and seen.detail)
        assert desk.open().make_secret(desk.secret(), F) != first

    def test_a_users_own_value_is_taken_and_stays(self, desk: Desk) -> None:
        desk.put_secret("token", b"mine")
        assert self.see(desk, TOKEN) is None
        desk.open().make_secret(desk.secret(), F)
        assert desk.open().read_secret("token") == b"mine"
        desk.open().make_secret(desk.secret(bytes=8), G)
        desk.open().remove(TOKEN)
        assert self.see(desk, TOKEN) is None
        desk.open().make_secret(desk.secret(), F)
        assert desk.open().read_secret("token") == b"mine"

    def test_a_value_that_a_user_changed_is_noticed_and_taken(self, desk: Desk) -> None:
        desk.open().make_secret(desk.secret(), F)
        desk.put_secret("token", b"mine")
        seen = self.see(desk, TOKEN)
        assert seen is not None
        assert seen.phase is Phase.BROKEN
        taken = desk.open().make_secret(desk.secret(), F)
        assert desk.open().read_secret("token") == b"mine"
        assert desk.open().fingerprints()[2] == {"token": taken}
        whole = self.see(desk, TOKEN)
        assert whole is not None
        assert whole.phase is Phase.PRESENT

    def test_removing_takes_away_and_can_be_repeated(self, desk: Desk) -> None:
        self.both(desk)
        desk.open().make_secret(desk.secret(), F)
        for _ in range(2):
            for key in (WEB, CA, TOKEN):
                desk.open().remove(key)
        assert desk.open().observe(desk.owner, [CA, WEB, TOKEN]) == {}
        assert desk.open().fingerprints() == ({}, {}, {})

    def test_a_removed_leaf_leaves_its_authority(self, desk: Desk) -> None:
        authority, leaf = self.both(desk)
        desk.open().remove(WEB)
        assert desk.open().make_authority(desk.authority(), F) == authority
        assert desk.open().make_leaf(desk.leaf(), F) != leaf
        assert desk.open().fingerprints()[1] == {}

    def test_what_is_not_there_cannot_be_read(self, desk: Desk) -> None:
        for read in (desk.open().read_leaf, desk.open().read_secret):
            with pytest.raises(OperationFailed) as raised:
                read("web")
            assert raised.value.code == "FG0774"
