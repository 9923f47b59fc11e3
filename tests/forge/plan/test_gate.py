"""The law of the gates, row by row: ready, waiting or lost."""

from __future__ import annotations

import pytest

from forge.plan.gate import SETTLE_S, Look, Standing, judge
from forge.plan.resources import HealthCheck, ProbeType
from forge.plan.values import Condition, Observed, Phase
from tests.kit.plans import live, service

WEB = service("web")
CHECK = HealthCheck(ProbeType.TCP, port=80, retries=2, start_period_s=5.0)
STARTED, HEALTHY, COMPLETED = Condition.STARTED, Condition.HEALTHY, Condition.COMPLETED


def at(phase: Phase, code: int | None = None) -> Observed:
    return live(WEB, phase, exit_code=code)


@pytest.mark.parametrize(
    ("condition", "check", "look", "failures", "standing", "detail"),
    [
        pytest.param(STARTED, None, Look(None, 0), 0, "lost", "it is gone", id="gone"),
        pytest.param(STARTED, None, Look(at(Phase.RUNNING), 0), 0, "waiting", "starting", id="just started"),
        pytest.param(STARTED, None, Look(at(Phase.RUNNING), SETTLE_S), 0, "ready", "running", id="settled"),
        pytest.param(STARTED, None, Look(at(Phase.STARTING), 9), 0, "waiting", "starting", id="between restarts"),
        pytest.param(STARTED, None, Look(at(Phase.STARTING, 1), 9, restarts=3), 0, "lost", "keeps exiting (last with 1), restarted 3 times", id="crash loop"),
        pytest.param(STARTED, None, Look(at(Phase.COMPLETED, 0), 0), 0, "ready", "completed", id="one-shot done"),
        pytest.param(STARTED, None, Look(at(Phase.FAILED, 2), 0), 0, "lost", "exited with 2", id="exited at once"),
        pytest.param(STARTED, None, Look(at(Phase.STOPPED), 0), 0, "lost", "it was stopped", id="stopped by somebody"),
        pytest.param(STARTED, None, Look(at(Phase.BROKEN), 0), 0, "lost", "it never started", id="half made"),
        pytest.param(HEALTHY, None, Look(at(Phase.RUNNING), SETTLE_S), 0, "ready", "running", id="no check to pass"),
        pytest.param(HEALTHY, CHECK, Look(at(Phase.RUNNING), 0), 0, "waiting", "starting", id="not probed yet"),
        pytest.param(HEALTHY, CHECK, Look(at(Phase.RUNNING), 0, probe_ok=True), 0, "ready", "healthy", id="healthy"),
        pytest.param(HEALTHY, CHECK, Look(at(Phase.RUNNING), 4.9, probe_ok=False, probe_detail="refused"), 0, "waiting", "refused", id="failing in its start period"),
        pytest.param(HEALTHY, CHECK, Look(at(Phase.RUNNING), 5, probe_ok=False, probe_detail="refused"), 0, "waiting", "refused", id="first failure that counts"),
        pytest.param(HEALTHY, CHECK, Look(at(Phase.RUNNING), 6, probe_ok=False, probe_detail="refused"), 1, "lost", "failed 2 times in a row: refused", id="as many as retries"),
        pytest.param(HEALTHY, CHECK, Look(at(Phase.COMPLETED, 0), 6), 1, "ready", "completed", id="a one-shot with a check"),
        pytest.param(COMPLETED, None, Look(at(Phase.RUNNING), 99), 0, "waiting", "running", id="not done yet"),
        pytest.param(COMPLETED, None, Look(at(Phase.FAILED, 1), 99), 0, "lost", "exited with 1", id="done badly"),
    ],
)  # fmt: skip
def test_judgement(
    condition: Condition, check: HealthCheck | None, look: Look, failures: int, standing: str, detail: str
) -> None:
    judgement = judge(condition, check, look, failures)
    assert (judgement.standing, judgement.detail) == (Standing(standing), detail)


def test_failures_in_the_start_period_do_not_count_later() -> None:
    early = judge(HEALTHY, CHECK, Look(at(Phase.RUNNING), 1, probe_ok=False), 7)
    assert early.failures == 0
