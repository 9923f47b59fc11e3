"""What nodes say to each other, and what a node tells its shell to do: values only.

A node returns outputs from every call. The shell sends, reports, sets one timer and makes exchanges; it
decides nothing, and the node does none of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum

from grid.swim.members import Claim


class Kind(IntEnum):
    """What a message is for. Every kind carries claims and facts in the room it leaves."""

    PING = 1  # are you there? (SWIM 2002, 3.1)
    ACK = 2
    PING_REQ = 3  # ask `about` at `at` for me
    RELAYED_ACK = 4  # `about` answered me
    JOIN = 5  # sent to an address whose owner is not known
    WELCOME = 6  # to who joins: as many members as fit
    GOSSIP = 7  # news only
    EXCHANGE = 8  # one side of a push/pull: everything, by stream


class Lane(IntEnum):
    """Kinds of facts that never wait for each other."""

    STATE = 1
    GATEWAY = 2
    CERT = 3
    METADATA = 4


@dataclass(frozen=True, slots=True)
class Fact:
    """What one origin says in one lane. payload: None where only its digest is told, to be fetched.

    revision: counts the origin's writes in that lane. age_s: since the origin said so, by the clocks of those
    who held it and without the time between them; clocks of two sites are never compared.
    """

    lane: Lane
    origin: str
    revision: int
    age_s: float
    digest: bytes
    payload: bytes | None


@dataclass(frozen=True, slots=True)
class Message:
    """kind: None for one this version does not know; its claims and facts are good all the same.

    seq: which probe, for those that probe. digest: of all the sender holds. sender: what it claims of itself.
    about: the site meant, empty for whoever receives. at: its address.
    """

    kind: Kind | None
    seq: int
    digest: int
    sender: Claim
    about: str = ""
    at: str = ""
    claims: tuple[Claim, ...] = ()
    facts: tuple[Fact, ...] = ()


class Malformed(StrEnum):
    """Why a text was dropped; also a metric's label."""

    TOO_LARGE = "text_too_large"
    VERSION = "text_version"
    MALFORMED = "text_malformed"


@dataclass(frozen=True, slots=True)
class SendTo:
    """text: to be sealed and sent as one datagram."""

    address: str
    text: bytes


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Call tick then, and no sooner than anything else said; replaces the instant said before."""

    instant: float


@dataclass(frozen=True, slots=True)
class Exchange:
    """Make a push/pull with whoever answers there: send `offer`, give what comes back to `merge`.
    Who is asked gives the offer to `answer`."""

    address: str


@dataclass(frozen=True, slots=True)
class MemberUp:
    """New, or back from the gone."""

    site: str
    address: str


@dataclass(frozen=True, slots=True)
class MemberSuspect:
    """Did not answer, and has not said otherwise yet."""

    site: str


@dataclass(frozen=True, slots=True)
class MemberTrusted:
    """Was suspected, and refuted it."""

    site: str


@dataclass(frozen=True, slots=True)
class MemberDown:
    site: str


@dataclass(frozen=True, slots=True)
class MemberLeft:
    """Said goodbye."""

    site: str


@dataclass(frozen=True, slots=True)
class MemberChanged:
    """Is now to be found at another address, or is another run of the same name."""

    site: str
    address: str


@dataclass(frozen=True, slots=True)
class MemberForgotten:
    """Gone for so long that nothing is known of it any more, its facts included."""

    site: str


@dataclass(frozen=True, slots=True)
class FactHeard:
    """A newer revision from another origin; payload as it is held now. changed: whether it is other bytes."""

    lane: Lane
    origin: str
    revision: int
    payload: bytes
    changed: bool


@dataclass(frozen=True, slots=True)
class Refuted:
    """This node was thought suspect or gone, and says with a new incarnation that it is not."""

    incarnation: int


@dataclass(frozen=True, slots=True)
class NameTaken:
    """Another living node goes by this node's name, and answers what this one says."""

    address: str


Event = (
    MemberUp
    | MemberSuspect
    | MemberTrusted
    | MemberDown
    | MemberLeft
    | MemberChanged
    | MemberForgotten
    | FactHeard
    | Refuted
    | NameTaken
)


@dataclass(frozen=True, slots=True)
class Notify:
    event: Event


Output = SendTo | WakeAt | Exchange | Notify
