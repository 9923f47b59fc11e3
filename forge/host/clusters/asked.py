"""What a driver is asked to look at: one cluster by its key, with what is known of it beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from forge.errors import NotOurs
from forge.host.clusters import folder
from forge.host.clusters.folder import About, Folder
from forge.plan.lab_resources import ClusterResource, Driver
from forge.plan.values import Key, Observed, Owner, Phase, Recorded


@dataclass(frozen=True, slots=True)
class Asked:
    """about: what its folder says, None where it has none. is_recorded: by the state file, or by its
    folder, which is a record of its own."""

    key: Key
    full_name: str
    driver: Driver
    folder: Folder
    about: About | None
    is_recorded: bool

    @property
    def is_whole(self) -> bool:
        """Whether one of that name was once made to its end, and is remembered."""
        return self.about is not None and self.about.made and self.about.full_name == self.full_name

    def observed(self, owner: Owner | None, phase: Phase, detail: str = "", identity: str = "") -> Observed:
        about = self.about
        known = about if about is not None and owner == about.owner else None
        return Observed(
            self.key,
            owner,
            None if known is None else known.fingerprint,
            phase,
            id=identity or ("" if known is None else known.id),
            detail=detail,
        )

    def unfinished(self, owner: Owner | None, detail: str) -> Observed:
        """Half made: BROKEN, so that it goes before it is made anew."""
        return self.observed(owner, Phase.BROKEN, detail)

    def silent(self, owner: Owner | None, detail: str) -> Observed:
        """Not answering: STOPPED where it was whole once, since then it only needs a start."""
        if not self.is_whole:
            return self.unfinished(owner, detail)
        return self.observed(owner, Phase.STOPPED, detail)


def all_of(
    state_dir: Path,
    wanted: Mapping[Key, ClusterResource],
    recorded: Mapping[Key, Recorded],
    default: Driver,
) -> list[Asked]:
    """The clusters that are wanted, recorded or have a folder. default: the driver of one that has no
    folder to say it."""
    records = {key: record for key, record in recorded.items() if key.kind == "cluster"}
    keys = {*wanted, *records, *(Key("cluster", name) for name in folder.known(state_dir))}
    asked = []
    for key in sorted(keys):
        place = Folder(state_dir, key.name)
        about = place.about()
        name, driver = _named(wanted.get(key), records.get(key), about, default)
        if name:
            asked.append(Asked(key, name, driver, place, about, key in records or about is not None))
    return asked


def _named(
    wanted: ClusterResource | None, record: Recorded | None, about: About | None, default: Driver
) -> tuple[str, Driver]:
    """What stands goes before what is wanted: a cluster whose driver or name was changed in the file is
    still the old one."""
    if about is not None:
        return about.full_name, about.driver
    if wanted is not None:
        return wanted.full_name, wanted.driver
    return (record.name if record is not None else ""), default


def begun(wanted: ClusterResource, owner: Owner, fingerprint: str) -> About:
    """What is written down before anything is made."""
    return About(
        wanted.driver,
        wanted.full_name,
        owner.environment,
        owner.environment_id,
        fingerprint,
        context=wanted.context or "",
    )


def finished(about: About, identity: str, network_server: str) -> About:
    return replace(about, made=True, id=identity, network_server=network_server)


def not_ours(what: str, name: str, why: str, hint: str) -> NotOurs:
    return NotOurs("FG0701", f"{what}: cluster {name!r} is not ours", why=why, hint=hint, changed=False)


def whose(owner: Owner | None) -> str:
    return "no environment of Forge" if owner is None else f"environment {owner.environment!r}"
