"""edge-control is gone: the edge serves on from memory, leaves rotation when its overlay is too old, and
cuts no stream."""

from __future__ import annotations

import json
import threading

from e2e import actions, checks
from e2e.lab import CONTROL, EAST, MODEL, US
from e2e.scenario import Broken, Evidence, NotYet, Run, Scenario, Step, eventually
from e2e.wire import Connection

NOT_READY_S = 90.0
"""30 seconds of an overlay's life and 30 more until it is too old, and time to see it."""
_TOKENS = 12_000


def _begin_stream(run: Run) -> None:
    """A stream that goes on while the overlay grows old, read in a thread of its own."""
    lab = run.lab
    connection = Connection(lab.public(US), timeout_s=120.0)
    body = {
        "model": MODEL,
        "stream": True,
        "max_tokens": _TOKENS,
        "messages": [{"role": "user", "content": "word " * _TOKENS}],
    }
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {lab.api_key()}"}

    def read() -> None:
        run.memory["streamed"] = connection.ask(
            "POST", "/v1/chat/completions", json.dumps(body).encode(), headers
        )
        connection.close()

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    run.memory["stream"] = thread


def _streamed(run: Run) -> Evidence:
    thread: threading.Thread = run.recall("stream")
    thread.join(120)
    answer = run.memory.get("streamed")
    if answer is None:
        raise NotYet("the stream has not ended")
    if answer.status != 200 or not answer.body.rstrip().endswith(b"data: [DONE]"):
        raise Broken(f"the stream ended with {answer.status} {answer.error} {answer.body[-120:]!r}")
    return Evidence(
        "the stream that was open went on to its end", f"{answer.took_s:.0f} s, {len(answer.body)} bytes"
    )


def _undo(run: Run) -> None:
    actions.restore_all(run)
    eventually(checks.ready(US, wanted=True), 90)(run)


SCENARIO = Scenario(
    "control_plane_outage",
    "Without a control plane the edge serves from memory, and says so when its overlay is too old.",
    (
        Step("The lab is at rest.", (eventually(checks.at_rest(), 90),)),
        Step(
            "A long stream is open, and edge-control is stopped.",
            act=actions.both(actions.remember_state(), _begin_stream, actions.fault("stop", CONTROL)),
        ),
        Step(
            "The edge goes on answering from the overlay it has.",
            act=actions.ask("during"),
            shows=(checks.answered("during"), eventually(checks.handled_by("during", EAST), 10)),
        ),
        Step(
            "When the overlay is too old, the edge leaves rotation; requests are still answered.",
            (
                eventually(checks.ready(US, wanted=False), NOT_READY_S),
                lambda run: (actions.ask("old")(run), checks.answered("old")(run))[1],
            ),
        ),
        Step("The stream that was open all the time ends whole.", (_streamed,)),
        Step(
            "edge-control is back: the edge is ready again, without a restart.",
            act=actions.restore(CONTROL),
            shows=(
                eventually(checks.ready(US, wanted=True), 90),
                checks.nothing_restarted(("grid-edge-us-east",)),
            ),
        ),
    ),
    undo=_undo,
)
