"""The promises of the overlay's data path, each by real processes: nothing restarts, nothing is replayed, and
nobody is sent where Grid does not say."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from tests.edge.proof.bad_overlays import bad_overlays
from tests.edge.proof.lab import ALL, EAST_A, EAST_B, KEY, WEST, Lab, body, lab, logged, soon
from tests.edge.proof.load import loaded
from tests.kit.overlays import candidate

A, B, FAR = "gateway-provider-east-a", "gateway-provider-east-b", "gateway-provider-west"
CUSTOMER = {"Authorization": f"Bearer {KEY}"}
CORPUS = tuple(f"conversation-{n}" for n in range(48))


async def placed(made: Lab, sessions: tuple[str, ...] = CORPUS) -> dict[str, str]:
    """session -> the cluster that served it."""
    answers = [await made.ask(session) for session in sessions]
    assert {answer.status for answer in answers} == {200}, answers
    return dict(zip(sessions, await made.clusters(*answers), strict=True))


async def test_update_the_overlay_from_provider_a_to_b_without_process_or_listener_restart(
    tmp_path: Path,
) -> None:
    async with lab(tmp_path, EAST_A) as made:
        before = (made.edge.pid, (await made.admin("/details")).json()["config"]["loaded_at"])
        assert await made.clusters(await made.ask()) == [A]
        await made.published(WEST)
        assert await made.clusters(await made.ask()) == [FAR]
        after = (made.edge.pid, (await made.admin("/details")).json()["config"]["loaded_at"])
        assert after == before
        assert [line["msg"] for line in logged(made.edge.log)].count("listening") == 1


async def test_a_candidate_whose_cluster_is_not_configured_never_blocks_the_update(tmp_path: Path) -> None:
    async with lab(tmp_path, EAST_A) as made:
        await made.published(candidate("provider-north"), {**WEST, "rank": 1})
        assert await made.clusters(await made.ask()) == [FAR]
        metrics = (await made.admin("/metrics")).text
        assert 'praxis_overlay_candidates{reach="unconfigured"} 1.0' in metrics
        said = [
            line for line in logged(made.edge.log) if line["msg"] == "candidates without a configured cluster"
        ]
        assert [line["count"] for line in said] == [1]


async def test_expiry_may_refuse_new_requests_and_cuts_no_stream(tmp_path: Path) -> None:
    async with lab(tmp_path, itl_ms=1_500) as made:
        made.reconfigure("hard_expiry: serve", "hard_expiry: reject")

        async def applied() -> bool:
            return "configuration applied" in made.edge.log.read_text()

        await soon(applied, "the configuration is in use")
        await made.published(*ALL, valid_s=2)
        url, asked = "/v1/chat/completions", body(stream=True)
        async with made.client.stream("POST", url, headers=CUSTOMER, json=asked) as stream:

            async def refused() -> bool:
                reply = await made.client.post("/v1/chat/completions", headers=CUSTOMER, json=body())
                return (reply.status_code, reply.headers.get("retry-after")) == (503, "5")

            await soon(refused, "new requests are refused")
            text = "".join([piece async for piece in stream.aiter_text()])
        assert text.rstrip().endswith("data: [DONE]"), text[-200:]
        assert (await made.status())["serving"] is None


@pytest.mark.parametrize(
    ("reloads", "every_s"),
    [
        pytest.param(40, 0.05, id="a sample"),
        pytest.param(500, 0.12, id="500 in a minute", marks=pytest.mark.long),
    ],
)
async def test_reloads_under_load_fail_no_request(tmp_path: Path, reloads: int, every_s: float) -> None:
    worlds = (ALL, (EAST_A, EAST_B), (WEST,), (EAST_B, {**WEST, "rank": 2}))
    async with lab(tmp_path) as made:
        pid = made.edge.pid
        async with loaded(made) as load:
            for number in range(reloads):
                made.publish(*worlds[number % len(worlds)])
                await asyncio.sleep(every_s)
            await load.more(50)
        last = made.revision

        async def caught_up() -> bool:
            return bool((await made.status())["serving"]["revision"] == last)

        await soon(caught_up, "the last revision serves")
        assert set(load.outcomes()) == {200}, load.outcomes()
        assert (made.edge.pid, made.edge.process and made.edge.process.poll()) == (pid, None)
        assert (await made.status())["rejections"] == 0


async def test_invalid_missing_and_empty_replacements_retain_last_known_good(tmp_path: Path) -> None:
    async with lab(tmp_path) as made:
        await made.published(EAST_A)
        serving, kinds, reasons = (await made.status())["serving"], 0, set()
        for name, content in bad_overlays(made.revision):
            before = (await made.status())["rejections"]
            if content is None:
                made.overlay.unlink()
            else:
                new = made.overlay.with_name(".new")
                new.write_bytes(content)
                new.replace(made.overlay)

            async def refused(before: int = before) -> bool:
                return bool((await made.status())["rejections"] > before)

            await soon(refused, name)
            found = await made.status()
            assert (found["serving"], found["ready"]) == (serving, True), name
            reasons.add(found["last_rejection"]["reason"])
            kinds += 1
        assert kinds >= 40
        assert len(reasons) >= 20, reasons
        assert await made.clusters(await made.ask()) == [A]
        made.revision += 1
        await made.published(WEST)
        assert await made.clusters(await made.ask()) == [FAR]
        assert "canary" not in made.edge.log.read_text()


async def test_provider_killed_under_load_only_in_flight_requests_fail(tmp_path: Path) -> None:
    async with lab(tmp_path) as made:
        async with loaded(made) as load:
            await load.more(100)
            began_at = time.monotonic()
            made.east.kill()
            killed_at = time.monotonic()
            await load.more(300)
        assert load.failed(killed_at) == []
        in_flight = [request for request in load.requests if request.began_at < killed_at and not request.ok]
        assert all(request.ended_at >= began_at for request in in_flight)
        assert len(in_flight) <= 8
        assert {request.answer and request.answer.status for request in in_flight} <= {502}
        last = [request.answer for request in load.requests[-20:] if request.answer]
        assert set(await made.clusters(*last)) == {FAR}
        moved = [line for line in logged(made.edge.log) if line.get("attempts")]
        assert moved
        assert {attempt["fault"] for line in moved for attempt in line["attempts"]} <= {
            "connect_failed",
            "tls_failed",
        }


async def test_all_candidate_providers_unavailable_fails_closed_and_recovers(tmp_path: Path) -> None:
    async with lab(tmp_path) as made:
        made.east.kill()
        made.west.kill()
        reply = await made.client.post("/v1/chat/completions", headers=CUSTOMER, json=body())
        assert (reply.status_code, reply.headers["retry-after"]) == (503, "1")
        assert (await made.admin("/readyz")).status_code == 200, "a provider's failure is not the edge's"
        await asyncio.gather(made.east.start(), made.west.start())

        async def served() -> bool:
            return (await made.ask()).status == 200

        await soon(served, "requests are served again")


async def test_sessions_stick_reach_every_equal_and_never_cross_tiers(tmp_path: Path) -> None:
    async with lab(tmp_path) as made:
        first = await placed(made)
        assert set(first.values()) == {A, B}
        assert await placed(made) == first
        assert (await made.status())["bindings"] == len(CORPUS)
        await made.published({**ALL[1], "rank": 0}, {**ALL[0], "rank": 1}, WEST)
        assert await placed(made) == first, "another order of equals moves nobody"


async def test_failed_provider_remaps_exactly_its_sessions_and_recovery_pulls_none_back(
    tmp_path: Path,
) -> None:
    async with lab(tmp_path) as made:
        first = await placed(made)
        await made.published(EAST_A, {**EAST_B, "admission_state": "none"}, WEST)
        second = await placed(made)
        assert {session for session in CORPUS if first[session] != second[session]} == {
            session for session in CORPUS if first[session] == B
        }
        assert set(second.values()) == {A}
        await made.published(*ALL)
        assert await placed(made) == second
        assert set((await placed(made, tuple(f"new-{n}" for n in range(32)))).values()) == {A, B}


async def test_a_backend_that_died_behind_a_live_gateway_is_failed_over_by_its_word(tmp_path: Path) -> None:
    async with lab(tmp_path) as made:
        first = await placed(made, CORPUS[:16])
        await made.down("sim-a")
        answers = [await made.ask(session) for session in CORPUS[:16]]
        assert {answer.status for answer in answers} == {200}
        lines = await made.lines(*answers)
        assert {line["cluster"] for line in lines} == {B}
        moved = [line for line, session in zip(lines, CORPUS[:16], strict=True) if first[session] == A]
        assert moved
        assert all([attempt["fault"] for attempt in line["attempts"]] == ["unsent"] for line in moved)
        assert {line["binding"] for line in moved} == {"rebound"}
        again = await made.lines(*[await made.ask(session) for session in CORPUS[:16]])
        assert all(line["cluster"] == B and "attempts" not in line for line in again)


async def test_forged_fields_change_nothing(tmp_path: Path) -> None:
    forged = {
        "X-Region": "eu-west",
        "X-Country": "DE",
        "X-Tenant-ID": "another",
        "X-Model": "other-model",
        "X-AI-Routing-Candidate": str(WEST["stable_id"]),
        "X-AI-Routing-Request-ID": "mine",
        "X-AI-Routing-Revision": "999",
        "X-AI-Provider-Unsent": "1",
        "X-Grid-Peer-Selected-Candidate": str(WEST["stable_id"]),
        "X-Forwarded-For": "203.0.113.9",
        "X-Sim-Fault": "500",
    }
    async with lab(tmp_path) as made:
        plain = await placed(made, CORPUS[:12])
        answers = [await made.ask(session, forged) for session in CORPUS[:12]]
        lines = await made.lines(*answers)
        assert {answer.status for answer in answers} == {200}
        assert [line["cluster"] for line in lines] == list(plain.values())
        assert {(line["model"], line["binding"], line["revision"]) for line in lines} == {
            ("shared-model", "reused", "1")
        }
        said = made.edge.log.read_text() + made.east.log.read_text() + made.overlay.read_text()
        for program in (made.edge, made.east):
            for path in ("/metrics", "/status", "/details", "/config"):
                said += (await made.admin(path, program)).text
        secrets = ("203.0.113", "conversation-", "customer-key", "provider-token-of", bytes(range(32)).hex())
        assert not any(text in said for text in secrets)


async def test_a_configuration_reload_keeps_the_bindings(tmp_path: Path) -> None:
    async with lab(tmp_path) as made:
        first = await placed(made)
        await made.published(EAST_A, {**EAST_B, "admission_state": "none"}, WEST)
        moved = await placed(made)
        await made.published(*ALL)
        made.reconfigure("max_attempts: 3", "max_attempts: 4")

        async def applied() -> bool:
            return "configuration applied" in made.edge.log.read_text()

        await soon(applied, "the configuration is in use")
        assert moved != first
        assert await placed(made) == moved


async def test_readiness_is_of_the_overlay_s_age_and_of_a_drain(tmp_path: Path) -> None:
    async with lab(tmp_path) as made:
        await made.published(*ALL, valid_s=2)

        async def withdrawn() -> bool:
            return (await made.admin("/readyz")).text == "overlay_expired\n"

        await soon(withdrawn, "the gateway withdraws when its overlay expires")
        assert (await made.ask()).status == 200, "which only readiness is about"
        await made.published(*ALL)
        assert (await made.admin("/readyz")).status_code == 200
        await made.admin("/drain", method="POST")
        assert (await made.admin("/readyz")).text == "draining\n"
        assert ((await made.status())["draining"], (await made.ask()).status) == (True, 200)


@pytest.mark.parametrize(
    "sessions",
    [pytest.param(1_500, id="a sample"), pytest.param(25_000, id="20,000 and more", marks=pytest.mark.long)],
)
async def test_sessions_without_end_are_bounded(tmp_path: Path, sessions: int) -> None:
    async with lab(tmp_path, ttft_ms=0, itl_ms=0) as made:
        await placed(made, CORPUS[:8])
        before = resident(made.edge.pid)
        statuses: set[int] = set()

        async def client(first: int) -> None:
            for number in range(first, sessions, 8):
                statuses.add((await made.ask(f"s-{number}")).status)

        async with asyncio.TaskGroup() as group:
            for first in range(8):
                group.create_task(client(first))
        assert statuses == {200}
        assert (await made.status())["bindings"] <= 20_000
        assert resident(made.edge.pid) - before < 64 * 1024 * 1024


def resident(pid: int) -> int:
    """Bytes."""
    fields = Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1].split()
    return int(fields[0]) * 1024
