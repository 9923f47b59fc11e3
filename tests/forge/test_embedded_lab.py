"""A real lab of processes, driven by the real command: comes up, survives everything, goes away."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.kit.praxis_forge import Forge, processes_with

SERVE = """
import http.server, os, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = (sys.argv[1] + " " + open(os.path.join(os.path.dirname(sys.argv[0]), "text")).read()).encode()
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass
print("up", flush=True)
http.server.HTTPServer((os.environ["POD_IP"], 8080), Handler).serve_forever()
"""

STORE_CHECK = """\
healthCheck: {type: http, port: 8080, interval: 200ms, timeout: 5s, retries: 50}
      env: {TOKEN: canary-a81f03}"""

FILE = """\
apiVersion: forge.praxis.dev/v1alpha1
kind: Environment
metadata: {{name: {name}}}
spec:
  runtime: {{provider: embedded}}
  images: [{{name: 'app:1', process: []}}]
  services:
    - name: store
      image: app:1
      network: environment
      args: [python3, /app/serve.py, store]
      volumes: [{{source: app, target: /app, readOnly: true}}]
      healthCheck: {{type: http, port: 8080, interval: 200ms, timeout: 5s, retries: 50}}
      env: {{TOKEN: canary-a81f03}}
    - name: web
      image: app:1
      network: environment
      args: [python3, /app/serve.py, web]
      dependsOn: [store]
      volumes: [{{source: app, target: /app, readOnly: true}}]
      ports: [{{bindAddress: 127.0.0.1, host: {port}, container: 8080}}]
      healthCheck: {{type: http, port: 8080, interval: 200ms, timeout: 5s, retries: 50}}
"""


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Forge]:
    forge = new_lab(tmp_path)
    yield forge
    forge("down", check=None)
    assert processes_with(str(tmp_path)) == {}


def new_lab(folder: Path, name: str = "") -> Forge:
    home = folder / "lab"
    (home / "app").mkdir(parents=True)
    (home / "app" / "serve.py").write_text(SERVE)
    (home / "app" / "text").write_text("says hello")
    (home / "forge.yaml").write_text(FILE.format(name=name or f"t{os.getpid()}", port=free_port()))
    return Forge(home, {"XDG_STATE_HOME": str(folder / "xdg")})


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def port_of(lab: Forge) -> int:
    found = re.search(r"host: (\d+)", (lab.folder / "forge.yaml").read_text())
    assert found is not None
    return int(found[1])


def fetch(lab: Forge) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port_of(lab)}/", timeout=10) as answer:
        return str(answer.read().decode())


def pids(lab: Forge) -> dict[str, int]:
    return {s["name"]: s["live"]["pid"] for s in lab.data("service", "list")["services"] if s["live"]}


def eventually(check: Callable[[], bool], within: float = 20.0) -> None:
    deadline = time.monotonic() + within
    while not check():
        assert time.monotonic() < deadline, "it did not become so"
        time.sleep(0.02)  # between two looks at a real process


def edit(lab: Forge, old: str, new: str) -> None:
    path = lab.folder / "forge.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_from_nothing_to_an_answer_and_back_to_nothing(lab: Forge) -> None:
    before = sorted(p.name for p in lab.folder.iterdir())
    assert lab("plan", "--detailed-exitcode", check=3).stdout.startswith("  + network/lab")
    lab("up")
    assert fetch(lab) == "web says hello"
    assert lab("plan", "--detailed-exitcode").stdout.endswith(
        "No changes: 3 resources are as forge.yaml says.\n"
    )
    assert "All is as forge.yaml says." in lab("status").stdout
    lab("down")
    assert sorted(p.name for p in lab.folder.iterdir()) == before
    assert lab("down").stdout.startswith("Nothing is up here: there is no state in ")


def test_up_again_restarts_nothing(lab: Forge) -> None:
    lab("up")
    lab("evidence", "mark")
    lab("up")
    lab("up", "--parallel", "1")
    assert "nothing changed" in lab("evidence", "diff").stdout


def test_evidence_names_what_was_restarted(lab: Forge) -> None:
    lab("up")
    lab("evidence", "mark", "before")
    lab("service", "restart", "web")
    fields = {d["field"] for d in lab.data("evidence", "diff", "before", check=3)["differences"]}
    assert "pid" in fields
    assert {d["service"] for d in lab.data("evidence", "diff", "before", check=3)["differences"]} == {"web"}


def test_published_on_loopback_only(lab: Forge) -> None:
    """On the host, the port is bound to the one address that the file names."""
    lab("up")
    listeners = subprocess.run(["ss", "-Hltn"], capture_output=True, text=True, check=True).stdout
    bound = {
        line.split()[3] for line in listeners.splitlines() if line.split()[3].endswith(f":{port_of(lab)}")
    }
    assert bound == {f"127.0.0.1:{port_of(lab)}"}


@pytest.mark.parametrize("points", [pytest.param(range(1, 40), marks=pytest.mark.long, id="every point"), pytest.param((1, 3, 4, 6, 8), id="a sample")])  # fmt: skip
@pytest.mark.parametrize("command", ["up", "down"])
def test_killed_after_an_entry_of_the_journal(tmp_path: Path, command: str, points: range) -> None:
    """kill -9 of the command, for real: `up` converges, `down` leaves nothing."""
    for point in points:
        lab = new_lab(tmp_path / f"{command}{point}")
        if command == "down":
            lab("up")
        was_killed = lab.killed_at(point, command)
        lab("up")
        assert fetch(lab) == "web says hello"
        lab("plan", "--detailed-exitcode")
        lab.killed_at(point, command)
        lab("down")
        assert processes_with(str(lab.folder)) == {}
        assert not (lab.folder / ".forge").exists()
        if not was_killed:
            return


def test_a_supervisor_that_was_killed_is_repaired_by_up(lab: Forge) -> None:
    lab("up")
    services = pids(lab)
    daemon = next(
        pid
        for pid, line in processes_with(str(lab.folder)).items()
        if "forge.embedded.process" in line and pid not in services.values()
    )
    os.kill(daemon, signal.SIGKILL)
    eventually(lambda: lab("status", check=None).returncode == 6)
    lab("up")
    assert fetch(lab) == "web says hello"
    assert set(pids(lab).values()).isdisjoint(services.values())
    eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in services.values()))


def test_a_supervisor_that_was_killed_does_not_hinder_down(lab: Forge) -> None:
    lab("up")
    for pid, line in processes_with(str(lab.folder)).items():
        if "forge.embedded.process" in line:
            os.kill(pid, signal.SIGKILL)
    lab("down")
    eventually(lambda: processes_with(str(lab.folder)) == {})


def test_the_file_may_be_gone_when_it_comes_to_down(lab: Forge) -> None:
    lab("up")
    (lab.folder / "forge.yaml").unlink()
    lab("down")
    assert processes_with(str(lab.folder)) == {}


def test_a_broken_file_keeps_status_and_logs_working(lab: Forge) -> None:
    lab("up")
    (lab.folder / "forge.yaml").write_text("spec: [")
    status = lab("status", check=2)
    assert "service/web" in status.stdout
    assert "FG0101" in status.stderr
    assert "web" in lab("service", "logs", "web").stdout
    lab("up", check=2)
    lab("down")


def waiting_for(lab: Forge, *command: str) -> None:
    """The store's health check becomes a command, so that a test decides when `up` goes on."""
    words = ", ".join(f"'{word}'" for word in command)
    edit(lab, STORE_CHECK, STORE_CHECK.replace("type: http, port: 8080", f"type: exec, command: [{words}]"))


def test_two_ups_at_once(lab: Forge) -> None:
    waiting_for(lab, "false")
    with lab.running("up") as first:
        eventually(lambda: "service/store" in _state(lab))
        done = lab("up", "--lock-timeout", "0.3", check=5)
        assert f"process {first.pid} (praxis-forge up" in done.stderr
        first.send_signal(signal.SIGINT)
        assert first.wait(20) == 130


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_the_state_and_up_goes_on(lab: Forge, number: int, code: int) -> None:
    waiting_for(lab, "test", "-e", str(lab.folder / "go"))
    with lab.running("up") as process:
        eventually(lambda: "store" in _state(lab))
        process.send_signal(number)
        assert process.wait(20) == code
    assert (
        json.loads((lab.folder / ".forge" / "state.json").read_text())["lastOperation"]["outcome"]
        == "interrupted"
    )
    (lab.folder / "go").touch()
    lab("up")
    assert fetch(lab) == "web says hello"


def test_a_second_signal_kills_at_once_and_down_cleans_up(lab: Forge) -> None:
    waiting_for(lab, "sleep", "50")
    with lab.running("up") as process:
        eventually(lambda: '"created"' in _state(lab) and "service/store" in _state(lab))
        process.send_signal(signal.SIGINT)
        eventually(lambda: process.poll() is not None or _signal(process))
        assert process.returncode == 130
    lab("down")


def _signal(process: subprocess.Popen[str]) -> bool:
    process.send_signal(signal.SIGINT)
    return False


def _state(lab: Forge) -> str:
    path = lab.folder / ".forge" / "state.json"
    return path.read_text() if path.exists() else ""


def test_a_port_that_is_taken_names_its_holder(lab: Forge) -> None:
    with socket.create_server(("127.0.0.1", port_of(lab))):
        assert "error" in lab("doctor", check=4).stdout
        done = lab("up", check=1)
    assert str(port_of(lab)) in done.stderr
    assert "pytest" in done.stderr or "python" in done.stderr
    lab("up")
    assert fetch(lab) == "web says hello"


def test_a_service_that_exits_at_once_shows_why(lab: Forge) -> None:
    edit(lab, "python3, /app/serve.py, store", "sh, -c, 'echo no such database >&2; exit 3'")
    done = lab("up", check=6)
    assert "exited with 3" in done.stderr
    assert "no such database" in done.stderr
    assert "needs service/store healthy, which failed" in done.stderr


def test_an_image_without_a_process_is_refused_before_anything_is_done(lab: Forge) -> None:
    edit(lab, "images: [{name: 'app:1', process: []}]", "images: []")
    done = lab("up", check=2)
    assert "FG0501" in done.stderr
    assert not (lab.folder / ".forge" / "state.json").exists()


def test_a_changed_service_is_replaced_and_the_other_left_alone(lab: Forge) -> None:
    lab("up")
    before = pids(lab)
    edit(lab, "serve.py, web", "serve.py, WEB")
    assert "-/+ service/web" in lab("up").stdout
    assert fetch(lab) == "WEB says hello"
    assert pids(lab)["store"] == before["store"]


def test_stop_start_and_status_agree(lab: Forge) -> None:
    lab("up")
    assert lab("service", "stop", "web").stdout == "stopped web\n"
    assert "stopped" in lab("service", "list").stdout
    lab("service", "start", "web")
    assert fetch(lab) == "web says hello"
    assert lab.data("status")["ok"] is True


def test_a_service_that_was_killed_is_drift_and_up_mends_it(lab: Forge) -> None:
    lab("up")
    os.kill(pids(lab)["store"], signal.SIGKILL)
    eventually(lambda: lab("status", check=None).returncode == 6)
    assert "service/store: exited with" in lab("status", check=6).stdout
    assert "~ service/store" in lab("up").stdout


def test_exec_runs_beside_the_service_and_gives_its_code(lab: Forge) -> None:
    lab("up")
    lab("service", "exec", "store", "--", "sh", "-c", 'test "$TOKEN" = canary-a81f03 && exit 7', check=7)
    assert lab("service", "exec", "nope", "true", check=2).stderr.startswith("error[FG0408]")


def test_logs_of_both_over_a_restart(lab: Forge) -> None:
    lab("up")
    with lab.running("service", "logs", "--follow", "--output", "json") as follower:
        assert follower.stdout is not None
        lines = [json.loads(follower.stdout.readline()) for _ in range(2)]
        lab("service", "restart", "web")
        lines.append(json.loads(follower.stdout.readline()))
        edit(lab, "serve.py, web", "serve.py, again")
        lab("up")
        lines.append(json.loads(follower.stdout.readline()))
        follower.send_signal(signal.SIGINT)
        assert follower.wait(20) == 130
    assert sorted((line["service"], line["text"]) for line in lines) == [
        ("store", "up"),
        *[("web", "up")] * 3,
    ]
    assert len({line["run"] for line in lines if line["service"] == "web"}) == 3


def test_a_follower_ends_when_the_lab_goes(lab: Forge) -> None:
    lab("up")
    with lab.running("service", "logs", "--follow") as follower:
        assert follower.stdout is not None
        follower.stdout.readline()
        lab("down")
        assert follower.wait(20) == 0


def test_the_canary_is_nowhere(lab: Forge) -> None:
    """The secret value reaches its service, and nothing else: no output, file, argv or error."""
    said: list[str] = []
    for words in (
        ["plan"],
        ["up"],
        ["status"],
        ["plan", "-o", "json"],
        ["config", "show", "--resolved"],
        ["status", "-o", "json"],
        ["doctor"],
        ["service", "list"],
        ["service", "logs"],
        ["evidence", "mark"],
    ):
        done = lab(*words, check=None)
        said += [done.stdout, done.stderr]
    edit(lab, "TOKEN: canary-a81f03", "TOKEN: [canary-a81f03]")
    said.append(lab("config", "validate", check=2).stderr)
    assert not any("canary-a81f03" in text for text in said)
    files = [p for p in (lab.folder / ".forge").rglob("*") if p.is_file()]
    assert files
    assert not any(b"canary-a81f03" in p.read_bytes() for p in files)
    argv = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in processes_with(str(lab.folder))]
    assert argv
    assert not any(b"canary-a81f03" in line for line in argv)


def test_a_damaged_state_names_the_way_back(lab: Forge) -> None:
    lab("up")
    state = lab.folder / ".forge" / "state.json"
    state.write_text(state.read_text()[:-40])
    done = lab("down", check=1)
    assert "FG0201" in done.stderr
    restore = re.search(r"mv \S+ \S+", done.stderr)
    assert restore is not None
    subprocess.run(restore[0].split(), check=True)
    lab("down")


def test_another_checkout_of_the_same_name_is_refused(lab: Forge, tmp_path: Path) -> None:
    other = Forge(new_lab(tmp_path / "other").folder, lab.env)
    lab("up")
    assert "another environment called" in other("up", check=8).stderr
    other("down")
    assert fetch(lab) == "web says hello"


def test_labs_of_two_names_have_addresses_of_their_own(lab: Forge, tmp_path: Path) -> None:
    other = Forge(new_lab(tmp_path / "other", f"t{os.getpid()}-other").folder, lab.env)
    lab("up")
    other("up")
    assert fetch(lab) == fetch(other)
    addresses = [
        {r["live"]["address"] for r in forge.data("status")["resources"] if r["kind"] == "service"}
        for forge in (lab, other)
    ]
    assert addresses[0].isdisjoint(addresses[1])
    other("down")
    assert fetch(lab) == "web says hello"
