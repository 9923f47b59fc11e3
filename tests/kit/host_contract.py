"""What every Host keeps, by the words of forge/plan/ports.py: one class of tests for all of them.

A test module subclasses HostContract (or RealHostContract, where programs really run) and gives fixtures:

    host          the Host, on a machine where it owns nothing
    owner         whose things are made;  other_owner: somebody else
    make_service  (name, args, **fields of ServiceResource) -> ServiceResource, its image, network and
                  address filled in as the runtime needs them; two calls for a name give the same container
    network       a NetworkResource that can be made;  image: an ImageResource that can be made present
    program       argv for what a service does; PythonPrograms where `python3` is on the service's PATH
    free_port     a port of this machine nobody listens on

Everything is left as it was found: `clean` removes what a test made.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pytest

from forge.errors import NotOurs, OperationFailed
from forge.plan.ports import Host, LogLine
from forge.plan.resources import (
    HealthCheck,
    ImageResource,
    Mount,
    NetworkResource,
    PortBinding,
    ProbeType,
    RestartPolicy,
    Secret,
    ServiceResource,
)
from forge.plan.values import Key, Observed, Owner, Phase

DEADLINE_S = 60.0
"""Far over what anything here takes, so that only a hang fails a test on a busy machine."""

NETWORK = Key("network", "lab")
IMAGE = Key("image", "app")
WEB = Key("service", "web")

FINGERPRINT = "0123456789abcdef0123456789abcdef"


class Programs(Protocol):
    """argv for a service's args. Each prints `ready` on stdout once it does what it is named for."""

    def serve(self, port: int) -> tuple[str, ...]:
        """Answers HTTP 200 on ${POD_IP:-0.0.0.0}:port, 404 below /missing; ends on SIGTERM."""
        ...

    def stay(self) -> tuple[str, ...]:
        """Runs until SIGTERM."""
        ...

    def ignore_term(self) -> tuple[str, ...]:
        """Runs until SIGKILL."""
        ...

    def exit_with(self, code: int) -> tuple[str, ...]: ...

    def say(self, *lines: str) -> tuple[str, ...]:
        """Prints the lines, those that begin with `!` on stderr; then runs until SIGTERM."""
        ...

    def say_and_exit(self, code: int, *lines: str) -> tuple[str, ...]: ...

    def missing(self) -> tuple[str, ...]:
        """A program that does not exist."""
        ...

    def true(self) -> tuple[str, ...]:
        """A command to run beside a service that exits with 0;  false: with 1."""
        ...

    def false(self) -> tuple[str, ...]: ...


_SERVE = """
import http.server, os, signal, sys
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"hello"
        self.send_response(404 if self.path.startswith("/missing") else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer((os.environ.get("POD_IP", "0.0.0.0"), int(sys.argv[1])), Answer)
print("ready", flush=True)
server.serve_forever()
"""

_SAY = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # a handler could miss one just before a pause
for line in sys.argv[2:]:
    print(line, file=sys.stderr if line.startswith("!") else sys.stdout, flush=True)
print("ready", flush=True)
if sys.argv[1] != "stay":
    os._exit(int(sys.argv[1]))
signal.sigwait({signal.SIGTERM})
"""

_IGNORE = """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
while True:
    signal.pause()
"""


class PythonPrograms:
    """Programs for a service that has `python3`."""

    def serve(self, port: int) -> tuple[str, ...]:
        return ("python3", "-c", _SERVE, str(port))

    def stay(self) -> tuple[str, ...]:
        return self.say()

    def ignore_term(self) -> tuple[str, ...]:
        return ("python3", "-c", _IGNORE)

    def exit_with(self, code: int) -> tuple[str, ...]:
        return self.say_and_exit(code)

    def say(self, *lines: str) -> tuple[str, ...]:
        return ("python3", "-c", _SAY, "stay", *lines)

    def say_and_exit(self, code: int, *lines: str) -> tuple[str, ...]:
        return ("python3", "-c", _SAY, str(code), *lines)

    def missing(self) -> tuple[str, ...]:
        return ("no-such-program-anywhere",)

    def true(self) -> tuple[str, ...]:
        return ("python3", "-c", "")

    def false(self) -> tuple[str, ...]:
        return ("python3", "-c", "raise SystemExit(1)")


MakeService = Callable[..., ServiceResource]
T = TypeVar("T")


def eventually(look: Callable[[], T], passes: Callable[[T], bool] = bool) -> T:
    """What look gives once it passes. Fails, showing the last look, when it never does."""
    until = time.monotonic() + DEADLINE_S
    while not passes(seen := look()):
        assert time.monotonic() < until, f"never came true; the last look was {seen!r}"
        time.sleep(0.02)
    return seen


def listens(port: int) -> bool:
    """Whether somebody takes connections on this machine's own loopback."""
    with socket.socket() as peer:
        peer.settimeout(5)
        return peer.connect_ex(("127.0.0.1", port)) == 0


class Lab:
    """One environment on a host, in the words the tests speak."""

    def __init__(self, host: Host, owner: Owner) -> None:
        self.host = host
        self.owner = owner

    def create(
        self, wanted: ServiceResource, *, owner: Owner | None = None, fingerprint: str = FINGERPRINT
    ) -> Observed:
        """Makes the service; gives it as observed directly after."""
        key = Key("service", wanted.name)
        made = self.host.create_service(key, wanted, owner or self.owner, fingerprint, threading.Event())
        seen = self.look(wanted)
        assert seen.id == made
        return seen

    def look(self, wanted: ServiceResource) -> Observed:
        seen = self.host.inspect_service(Key("service", wanted.name), wanted.container)
        assert seen is not None
        return seen

    def reaches(self, wanted: ServiceResource, phase: Phase) -> Observed:
        return eventually(lambda: self.look(wanted), lambda seen: seen.phase is phase)

    def texts(self, seen: Observed) -> list[str]:
        return [line.text for line in self.host.logs(seen)]

    def says(self, seen: Observed, text: str, times: int = 1) -> None:
        """Waits until its log has a line so many times."""
        eventually(lambda: self.texts(seen).count(text), lambda count: count >= times)

    def clean(self, owner: Owner) -> None:
        found = self.host.observe(owner, {}).values()
        for seen in found:
            if seen.key.kind == "service":
                self.host.remove_service(seen, 0.2)
        for seen in found:
            if seen.key.kind == "network":
                self.host.remove_network(seen)
        self.host.close(owner)


@pytest.fixture
def lab(host: Host, owner: Owner, other_owner: Owner) -> Iterator[Lab]:
    """The host under test; empty again afterwards."""
    it = Lab(host, owner)
    yield it
    it.clean(owner)
    it.clean(other_owner)


@pytest.fixture
def program() -> Programs:
    return PythonPrograms()


@pytest.fixture
def other_owner() -> Owner:
    return Owner("elsewhere", "ffffffffffffffff")


@pytest.fixture
def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class HostContract:
    """What holds for any host, a fake too: told through the port alone."""

    def test_a_host_says_what_it_is(self, lab: Lab) -> None:
        assert lab.host.runtime in ("docker", "podman", "embedded")
        assert lab.host.describe()
        assert "\n" not in lab.host.describe()

    def test_nothing_is_there_at_first(self, lab: Lab, network: NetworkResource) -> None:
        assert lab.host.observe(lab.owner, {NETWORK: network.name, WEB: "no-such-container"}) == {}

    def test_a_network_is_there_until_it_is_removed(self, lab: Lab, network: NetworkResource) -> None:
        made = lab.host.create_network(NETWORK, network, lab.owner, FINGERPRINT)
        seen = lab.host.observe(lab.owner, {})[NETWORK]
        assert (seen.id, seen.owner, seen.fingerprint) == (made, lab.owner, FINGERPRINT)
        assert seen.phase is Phase.PRESENT
        lab.host.remove_network(seen)
        assert lab.host.observe(lab.owner, {NETWORK: network.name}) == {}
        lab.host.remove_network(seen)

    def test_a_network_of_somebody_else_is_seen_and_refused(
        self, lab: Lab, network: NetworkResource, other_owner: Owner
    ) -> None:
        lab.host.create_network(NETWORK, network, other_owner, FINGERPRINT)
        assert lab.host.observe(lab.owner, {}) == {}
        seen = lab.host.observe(lab.owner, {NETWORK: network.name})[NETWORK]
        assert seen.owner == other_owner
        with pytest.raises(NotOurs):
            lab.host.create_network(NETWORK, network, lab.owner, FINGERPRINT)
        assert lab.host.observe(other_owner, {})[NETWORK] == seen

    def test_a_taken_subnet_is_refused(self, lab: Lab, network: NetworkResource) -> None:
        lab.host.create_network(NETWORK, network, lab.owner, FINGERPRINT)
        again = replace(network, name=f"{network.name}-2")
        with pytest.raises(OperationFailed):
            lab.host.create_network(Key("network", "second"), again, lab.owner, FINGERPRINT)
        assert list(lab.host.observe(lab.owner, {})) == [NETWORK]

    def test_an_image_is_seen_when_it_is_present_and_wanted(self, lab: Lab, image: ImageResource) -> None:
        assert lab.host.ensure_image(IMAGE, image, lambda _: None, threading.Event())
        seen = lab.host.observe(lab.owner, {IMAGE: image.reference})[IMAGE]
        assert seen.phase is Phase.PRESENT
        assert IMAGE not in lab.host.observe(lab.owner, {})

    def test_a_service_runs_as_it_was_labelled(
        self, lab: Lab, make_service: MakeService, program: Programs
    ) -> None:
        web = make_service("web", program.stay())
        before = time.time()
        seen = lab.create(web)
        assert seen.phase is Phase.RUNNING
        assert (seen.key, seen.owner, seen.fingerprint) == (WEB, lab.owner, FINGERPRINT)
        assert seen.pid
        assert seen.started_at is not None
        assert abs(seen.started_at - before) < DEADLINE_S
        assert (seen.restarts, seen.exit_code) == (0, None)
        assert lab.host.observe(lab.owner, {}) == {WEB: lab.look(web)}

    def test_an_unknown_service_is_none(self, lab: Lab) -> None:
        assert lab.host.inspect_service(WEB, "no-such-container") is None

    def test_a_program_that_does_not_exist_leaves_nothing(
        self, lab: Lab, make_service: MakeService, program: Programs
    ) -> None:
        with pytest.raises(OperationFailed) as failure:
            lab.create(make_service("web", program.missing()))
        assert "no-such-program-anywhere" in f"{failure.value.why} {failure.value.detail}"
        assert lab.host.observe(lab.owner, {}) == {}

    def test_a_leftover_of_ours_is_replaced(
        self, lab: Lab, make_service: MakeService, program: Programs
    ) -> None:
        first = lab.create(make_service("web", program.stay()))
        second = lab.create(make_service("web", program.stay()), fingerprint="f" * 32)
        assert second.id != first.id
        assert second.pid != first.pid
        assert lab.host.observe(lab.owner, {})[WEB].fingerprint == "f" * 32

    def test_a_service_of_somebody_else_is_seen_and_refused(
        self, lab: Lab, make_service: MakeService, program: Programs, other_owner: Owner
    ) -> None:
        web = make_service("web", program.stay())
        theirs = lab.create(web, owner=other_owner)
        assert lab.host.observe(lab.owner, {}) == {}
        assert lab.host.observe(lab.owner, {WEB: web.container})[WEB].owner == other_owner
        with pytest.raises(NotOurs):
            lab.create(web)
        assert lab.look(web).pid == theirs.pid

    @pytest.mark.parametrize(
        ("policy", "code", "phase"),
        [
            pytest.param(RestartPolicy.NO, 0, Phase.COMPLETED, id="a job that is done"),
            pytest.param(RestartPolicy.NO, 3, Phase.FAILED, id="a job that failed"),
            pytest.param(RestartPolicy.ON_FAILURE, 0, Phase.COMPLETED, id="done, to be restarted on failure"),
        ],
    )
    def test_an_end_is_told_with_its_exit_code(
        self,
        lab: Lab,
        make_service: MakeService,
        program: Programs,
        policy: RestartPolicy,
        code: int,
        phase: Phase,
    ) -> None:
        web = make_service("web", program.exit_with(code), restart=policy)
        lab.create(web)
        seen = lab.reaches(web, phase)
        assert (seen.exit_code, seen.pid, seen.restarts) == (code, None, 0)

    @pytest.mark.parametrize(
        ("policy", "code"),
        [
            pytest.param(RestartPolicy.ON_FAILURE, 1, id="after a failure"),
            pytest.param(RestartPolicy.ALWAYS, 0, id="always"),
            pytest.param(RestartPolicy.UNLESS_STOPPED, 0, id="unless stopped"),
        ],
    )
    def test_the_policy_restarts_and_counts(
        self, lab: Lab, make_service: MakeService, program: Programs, policy: RestartPolicy, code: int
    ) -> None:
        web = make_service("web", program.exit_with(code), restart=policy)
        lab.create(web)
        seen = eventually(lambda: lab.look(web), lambda seen: seen.restarts >= 2)
        assert seen.phase in (Phase.STARTING, Phase.RUNNING)
        assert seen.exit_code == code

    def test_what_was_stopped_stays_stopped_with_its_logs(
        self, lab: Lab, make_service: MakeService, program: Programs
    ) -> None:
        web = make_service("web", program.say("one"), restart=RestartPolicy.ALWAYS)
        first = lab.create(web)
        lab.says(first, "ready")
        lab.host.stop_service(first)
        seen = lab.look(web)
        assert (seen.phase, seen.pid, seen.id) == (Phase.STOPPED, None, first.id)
        assert lab.texts(seen) == ["one", "ready"]

    def test_a_stop_between_two_attempts_holds(
        self, lab: Lab, make_service: MakeService, program: Programs
    ) -> None:
        web = make_service("web", program.exit_with(1), restart=RestartPolicy.ALWAYS)
        lab.create(web)
        seen = eventually(lambda: lab.look(web), lambda seen: seen.restarts >= 1)
        lab.host.stop_service(seen)
        assert lab.reaches(web, Phase.STOPPED).pid is None

    def test_a_stopped_service_starts_again_as_it_was_made(
        self, lab: Lab, make_service: MakeService, program: Programs
    ) -> None:
        web = make_service("web", program.say("one"))
        first = lab.create(web)
        lab.says(first, "ready")
        lab.host.stop_service(first)
        lab.host.start_service(lab.look(web), web)
        seen = lab.look(web)
        assert seen.phase is Phase.RUNNING
        assert (seen.id, seen.fingerprint) == (first.id, FINGERPRINT)
        assert seen.pid != first.pid
        lab.says(seen, "ready", times=2)
        assert len({line.run for line in lab.host.logs(seen)}) == 2

    def test_starting_what_runs_changes_nothing(
        self, lab: Lab, make_service: MakeService, program: Programs
    ) -> None:
        web = make_service("web", program.stay())
        first = lab.create(web)
        lab.host.start_service(first, web)
        assert lab.look(web).pid == first.pid

    def test_what_ignores_sigterm_is_killed_after_its_grace(
        self, lab: Lab, make_service: MakeService, program: Programs
    ) -> None:
        web = make_service("web", program.ignore_term())
        seen = lab.create(web)
        lab.says(seen, "ready")
        begun = time.monotonic()
        lab.host.stop_service(seen, 0.3)
        assert time.monotonic() - begun >= 0.3
        assert lab.look(web).phase is Phase.STOPPED
        assert lab.look(web).exit_code == 137

    def test_without_a_grace_it_is_killed_at_once_and_stays_down(
        self, lab: Lab, make_service: MakeService, program: Programs
    ) -> None:
        web = make_service("web", program.stay(), restart=RestartPolicy.ALWAYS)
        seen = lab.create(web)
        lab.says(seen, "ready")
        lab.host.stop_service(seen, 0.0)
        ended = lab.look(web)
        assert (ended.phase, ended.exit_code, ended.restarts) == (Phase.STOPPED, 137, 0)
        lab.host.start_service(ended, web)
        lab.says(seen, "ready", 2)
        assert lab.look(web).phase is Phase.RUNNING

    def test_a_removed_service_is_gone_and_may_be_removed_again(
        self, lab: Lab, make_service: MakeService, program: Programs
    ) -> None:
        web = make_service("web", program.say("one"))
        seen = lab.create(web)
        lab.says(seen, "ready")
        lab.host.remove_service(seen)
        assert lab.host.inspect_service(WEB, web.container) is None
        assert lab.host.observe(lab.owner, {WEB: web.container}) == {}
        lab.host.remove_service(seen)

    def test_several_services_do_not_disturb_each_other(
        self, lab: Lab, make_service: MakeService, program: Programs
    ) -> None:
        names = ("one", "two", "three")
        wanted = [make_service(name, program.say(name)) for name in names]
        threads = [threading.Thread(target=lab.create, args=(one,)) for one in wanted]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(DEADLINE_S)
        for one in wanted:
            lab.says(lab.look(one), "ready")
            assert lab.texts(lab.look(one)) == [one.name, "ready"]
        assert {key.name for key in lab.host.observe(lab.owner, {})} == set(names)

    def test_log_lines_come_in_order_with_their_stream(
        self, lab: Lab, make_service: MakeService, program: Programs
    ) -> None:
        seen = lab.create(make_service("web", program.say("one", "!two", "three")))
        lab.says(seen, "ready")
        eventually(lambda: "!two" in lab.texts(seen))
        lines = list(lab.host.logs(seen))
        assert [line.text for line in lines if line.stream == "stdout"] == ["one", "three", "ready"]
        assert [line.text for line in lines if line.stream == "stderr"] == ["!two"]
        assert {line.service for line in lines} == {"web"}
        assert [line.at for line in lines] == sorted(line.at for line in lines)

    def test_a_tail_is_the_last_lines(self, lab: Lab, make_service: MakeService, program: Programs) -> None:
        seen = lab.create(make_service("web", program.say(*(str(n) for n in range(20)))))
        lab.says(seen, "ready")
        assert [line.text for line in lab.host.logs(seen, tail=3)] == ["18", "19", "ready"]
        assert list(lab.host.logs(seen, tail=0)) == []

    def test_since_leaves_out_what_was_before(
        self, lab: Lab, make_service: MakeService, program: Programs
    ) -> None:
        web = make_service("web", program.say("one"))
        seen = lab.create(web)
        lab.says(seen, "ready")
        lab.host.stop_service(seen)
        middle = time.time()
        lab.host.start_service(lab.look(web), web)
        lab.says(seen, "ready", times=2)
        assert [line.text for line in lab.host.logs(seen, since=middle)] == ["one", "ready"]

    def test_following_goes_on_over_a_restart_until_it_is_cancelled(
        self, lab: Lab, make_service: MakeService, program: Programs
    ) -> None:
        web = make_service("web", program.say("one"))
        seen = lab.create(web)
        lab.says(seen, "ready")
        with following(lab.host, seen) as lines:
            eventually(lambda: len(lines), lambda count: count == 2)
            lab.host.stop_service(seen)
            lab.host.start_service(lab.look(web), web)
            eventually(lambda: len(lines), lambda count: count >= 4)
        assert [line.text for line in lines] == ["one", "ready", "one", "ready"]

    def test_following_ends_when_the_service_is_removed(
        self, lab: Lab, make_service: MakeService, program: Programs
    ) -> None:
        seen = lab.create(make_service("web", program.say("one")))
        lab.says(seen, "ready")
        with following(lab.host, seen, cancelled=False) as lines:
            eventually(lambda: len(lines), lambda count: count == 2)
            lab.host.remove_service(seen)
        assert [line.text for line in lines] == ["one", "ready"]

    def test_closing_does_nothing_while_something_is_owned(
        self, lab: Lab, make_service: MakeService, program: Programs
    ) -> None:
        web = make_service("web", program.stay())
        seen = lab.create(web)
        lab.host.close(lab.owner)
        assert lab.look(web).pid == seen.pid

    def test_closing_with_nothing_owned_may_be_repeated(self, lab: Lab) -> None:
        lab.host.close(lab.owner)
        lab.host.close(lab.owner)
        assert lab.host.observe(lab.owner, {}) == {}


class RealHostContract(HostContract):
    """What holds besides where programs really run on this machine: ports, probes, files, environment."""

    def test_a_survey_names_what_is_held(self, lab: Lab, free_port: int) -> None:
        assert lab.host.survey([("127.0.0.1", free_port)]).ports == ()
        with socket.socket() as server:
            server.bind(("127.0.0.1", free_port))
            server.listen()
            (held,) = lab.host.survey([("127.0.0.1", free_port), ("127.0.0.1", 0)]).ports
        assert (held.bind, held.port, held.owner) == ("127.0.0.1", free_port, None)
        assert held.holder

    def test_a_published_port_is_served_until_removal(
        self, lab: Lab, make_service: MakeService, program: Programs, free_port: int
    ) -> None:
        ports = (PortBinding("127.0.0.1", free_port, 8080),)
        web = make_service("web", program.serve(8080), ports=ports)
        seen = lab.create(web)
        check = HealthCheck(ProbeType.HTTP, 8080, timeout_s=5)
        eventually(lambda: lab.host.probe(lab.look(web), web, check).ok)
        with urllib.request.urlopen(f"http://127.0.0.1:{free_port}/", timeout=DEADLINE_S) as answer:
            assert answer.read() == b"hello"
        (held,) = lab.host.survey([("127.0.0.1", free_port)]).ports
        assert (held.key, held.owner) == (WEB, lab.owner)
        lab.host.remove_service(seen)
        assert not listens(free_port)

    def test_a_taken_port_is_refused_by_name_and_leaves_nothing(
        self, lab: Lab, make_service: MakeService, program: Programs, free_port: int
    ) -> None:
        with socket.socket() as server:
            server.bind(("127.0.0.1", free_port))
            server.listen()
            ports = (PortBinding("127.0.0.1", free_port, 8080),)
            with pytest.raises(OperationFailed) as failure:
                lab.create(make_service("web", program.serve(8080), ports=ports))
        assert str(free_port) in str(failure.value)
        assert lab.host.observe(lab.owner, {}) == {}

    def test_probes_answer(self, lab: Lab, make_service: MakeService, program: Programs) -> None:
        web = make_service("web", program.serve(8080))
        lab.create(web)

        def result(**fields: Any) -> tuple[bool, str]:
            seen = lab.host.probe(lab.look(web), web, HealthCheck(timeout_s=20, **fields))
            return seen.ok, seen.detail

        eventually(lambda: result(type=ProbeType.TCP, port=8080)[0])
        assert result(type=ProbeType.HTTP, port=8080) == (True, "HTTP 200")
        assert result(type=ProbeType.HTTP, port=8080, path="/missing") == (False, "HTTP 404")
        assert result(type=ProbeType.TCP, port=8081) == (False, "connection refused")
        assert result(type=ProbeType.EXEC, command=program.true()) == (True, "exit code 0")
        assert result(type=ProbeType.EXEC, command=program.false()) == (False, "exit code 1")

    def test_exec_gives_the_exit_code(self, lab: Lab, make_service: MakeService, program: Programs) -> None:
        seen = lab.create(make_service("web", program.stay()))
        assert lab.host.exec(seen, program.true(), tty=False) == 0
        assert lab.host.exec(seen, program.false(), tty=False) == 1

    def test_a_program_sees_its_environment_and_its_files(
        self, lab: Lab, make_service: MakeService, tmp_path: Path
    ) -> None:
        (tmp_path / "app.conf").write_text("from the file\n")
        script = 'echo "$COLOUR"; cat /etc/app/app.conf; cat "$CONF"; echo done'
        web = make_service(
            "web",
            ("sh", "-c", script),
            env={"COLOUR": Secret("green"), "CONF": Secret("/etc/app/app.conf")},
            mounts=(Mount(str(tmp_path), "/etc/app", read_only=True),),
        )
        seen = lab.create(web)
        lab.says(seen, "done")
        assert lab.texts(seen) == ["green", "from the file", "from the file", "done"]

    def test_a_missing_source_is_made_where_that_is_asked_for(
        self, lab: Lab, make_service: MakeService, program: Programs, tmp_path: Path
    ) -> None:
        source = tmp_path / "deep" / "data"
        lab.create(make_service("web", program.stay(), mounts=(Mount(str(source), "/data", create=True),)))
        assert source.is_dir()
        assert not source.stat().st_mode & 0o007

    def test_a_replaced_file_in_a_mounted_folder_is_seen(
        self, lab: Lab, make_service: MakeService, tmp_path: Path
    ) -> None:
        (tmp_path / "word").write_text("old\n")
        script = 'while [ "$(cat /etc/app/word)" = old ]; do sleep 0.05; done; echo changed; sleep 600'
        seen = lab.create(
            make_service("web", ("sh", "-c", script), mounts=(Mount(str(tmp_path), "/etc/app"),))
        )
        fresh = tmp_path / "word.new"
        fresh.write_text("new\n")
        fresh.replace(tmp_path / "word")
        lab.says(seen, "changed")
        lab.host.remove_service(seen, 0.2)


@contextlib.contextmanager
def following(host: Host, seen: Observed, *, cancelled: bool = True) -> Iterator[list[LogLine]]:
    """Lines as they are followed. At the end it is cancelled, or has to end by itself."""
    lines: list[LogLine] = []
    cancel = threading.Event()
    thread = threading.Thread(
        target=lambda: lines.extend(host.logs(seen, follow=True, cancel=cancel)), daemon=True
    )
    thread.start()
    yield lines
    if cancelled:
        cancel.set()
    thread.join(DEADLINE_S)
    assert not thread.is_alive(), "following did not end"
