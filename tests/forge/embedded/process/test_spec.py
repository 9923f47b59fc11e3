"""Specs and statuses survive JSON whole, and no repr shows an environment."""

from __future__ import annotations

import json

from forge.embedded.process.spec import (
    Backoff,
    Bind,
    LogBounds,
    Phase,
    ProcessSpec,
    Publish,
    Restart,
    Status,
    plain,
)

SPEC = ProcessSpec(
    "web",
    ("run", "--fast"),
    "/lab/web/root",
    env={"TOKEN": "hunter2"},
    cwd="/data",
    address="127.40.1.1",
    mounts=(Bind("/src", "/data", create=True),),
    publish=(Publish(8443, 443, ("127.0.0.1", "10.0.0.5"), ("10.0.0.5",)),),
    restart=Restart.ON_FAILURE,
    backoff=Backoff(0.5, 2.0, 3.0),
    log=LogBounds(1000, 100),
    grace_s=3.0,
    groups=(7,),
    labels={"owner": "x"},
)
STATUS = Status(
    "web.1",
    "web",
    Phase.STARTING,
    labels={"owner": "x"},
    address="127.40.1.1",
    run=3,
    started_at=1.5,
    ended_at=2.5,
    restarts=2,
    exit_code=137,
    detail="again soon",
    ports=(("127.0.0.1", 8443),),
)


def test_a_spec_survives_json() -> None:
    assert ProcessSpec.parse(json.loads(json.dumps(plain(SPEC)))) == SPEC


def test_a_status_survives_json() -> None:
    assert Status.parse(json.loads(json.dumps(plain(STATUS)))) == STATUS


def test_a_repr_shows_no_environment() -> None:
    assert "hunter2" not in repr(SPEC)
