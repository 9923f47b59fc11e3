"""Commands run to their end with nothing left behind; downloads are checked and kept; addresses answer."""

from __future__ import annotations

import hashlib
import http.server
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from forge.errors import Interrupted, OperationFailed, ToolMissing
from forge.host.tools import LabTools
from forge.plan.lab_ports import Access
from tests.kit.certs import Authority
from tests.kit.embedded_node import eventually

MANIFEST = b"kind: ConfigMap\n"
SHA = hashlib.sha256(MANIFEST).hexdigest()


def never() -> threading.Event:
    return threading.Event()


@pytest.fixture
def tools(tmp_path: Path) -> LabTools:
    (tmp_path / "lab").mkdir()
    return LabTools(tmp_path / "lab", tmp_path / "state", tmp_path / "cache")


def shell(tools: LabTools, script: str, **more: Any) -> tuple[int, tuple[str, ...]]:
    ran = tools.run(("sh", "-c", script), progress=lambda _: None, cancel=never(), **more)
    return ran.exit_code, ran.lines


def test_a_command_runs_in_the_folder_and_says_how_it_ended(tools: LabTools, tmp_path: Path) -> None:
    code, lines = shell(tools, 'pwd; echo "$FORGE_STATE_DIR" >&2; echo "$X"; exit 3', env={"X": "y"})
    assert code == 3
    assert sorted(lines) == sorted((str(tmp_path / "lab"), str(tmp_path / "state"), "y"))


def test_its_whole_output_is_kept_and_its_last_lines(tools: LabTools) -> None:
    told: list[str] = []
    ran = tools.run(("seq", "20000"), progress=told.append, cancel=never())
    assert ran.output == b"".join(b"%d\n" % n for n in range(1, 20001))
    assert ran.lines == tuple(str(n) for n in range(19961, 20001))
    assert told[0] == "1"


def test_a_line_without_end_is_bounded(tools: LabTools) -> None:
    _, lines = shell(tools, "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end")
    assert lines[-1] == "end"
    assert max(map(len, lines)) <= 2000


def test_secrets_are_masked_in_lines_and_progress(tools: LabTools) -> None:
    told: list[str] = []
    ran = tools.run(
        ("sh", "-c", "echo a s3cretive b; echo s3cretive >&2"),
        secrets=("s3cretive", "no"),
        progress=told.append,
        cancel=never(),
    )
    assert sorted(ran.lines) == ["***", "a *** b"]
    assert sorted(told) == ["***", "a *** b"]


def test_it_has_no_input(tools: LabTools) -> None:
    assert shell(tools, "cat; echo done") == (0, ("done",))


def test_a_private_file_stands_in_its_place_and_is_gone(tools: LabTools) -> None:
    script = 'stat -c %a "$0"; cat "$0"; echo; echo "$0"'
    ran = tools.run(
        ("sh", "-c", script, "{f}"), files={"{f}": b"inside"}, progress=lambda _: None, cancel=never()
    )
    mode, content, name = ran.lines
    assert (mode, content) == ("600", "inside")
    assert not Path(name).exists()


def test_clusters_are_in_reach_by_name(tools: LabTools, tmp_path: Path) -> None:
    def access(name: str) -> Access:
        config = {
            "current-context": "lab",
            "contexts": [{"name": "lab", "context": {"cluster": "c", "user": "u", "namespace": "n"}}],
            "clusters": [{"name": "c", "cluster": {"server": f"https://{name}"}}],
            "users": [{"name": "u", "user": {"token": f"token-{name}"}}],
        }
        file = tmp_path / name
        file.write_text(json.dumps(config))
        return Access(file, "lab", "", "", b"")

    ran = tools.run(
        ("sh", "-c", 'cat "$KUBECONFIG"'),
        contexts={"kind-a": access("a"), "kind-b": access("b")},
        progress=lambda _: None,
        cancel=never(),
    )
    config = json.loads(ran.output)
    assert config["current-context"] == "kind-a"
    assert [c["name"] for c in config["contexts"]] == ["kind-a", "kind-b"]
    assert config["contexts"][1]["context"] == {"cluster": "kind-b", "user": "kind-b", "namespace": "n"}
    assert config["clusters"][1] == {"name": "kind-b", "cluster": {"server": "https://b"}}
    assert config["users"][0] == {"name": "kind-a", "user": {"token": "token-a"}}


def test_an_access_file_that_is_broken_is_said(tools: LabTools, tmp_path: Path) -> None:
    (tmp_path / "broken").write_text("contexts: []")
    reach = Access(tmp_path / "broken", "lab", "", "", b"")
    with pytest.raises(OperationFailed, match="FG0751"):
        tools.run(("true",), contexts={"a": reach}, progress=lambda _: None, cancel=never())


def test_a_program_that_is_missing_is_said(tools: LabTools, tmp_path: Path) -> None:
    with pytest.raises(ToolMissing, match="FG0741"):
        tools.run(("no-such-program",), progress=lambda _: None, cancel=never())
    assert tools.find("no-such-program") is None
    assert tools.find("sh")
    (tmp_path / "lab" / "own.sh").write_text("#!/bin/sh\n")
    assert tools.find("./own.sh") is None, "it may not be executed"
    (tmp_path / "lab" / "own.sh").chmod(0o755)
    assert tools.find("./own.sh")


def test_a_cancel_ends_it_with_its_children(tools: LabTools, tmp_path: Path) -> None:
    cancel = threading.Event()
    script = f"sh -c 'echo $$ > {tmp_path}/pid; exec sleep 300' & wait"

    def started() -> None:
        eventually(
            lambda: (tmp_path / "pid").exists() and bool((tmp_path / "pid").read_text().strip()),
            bool,
        )
        cancel.set()

    thread = threading.Thread(target=started)
    thread.start()
    with pytest.raises(Interrupted, match="FG0757"):
        tools.run(("sh", "-c", script), progress=lambda _: None, cancel=cancel)
    thread.join()
    pid = int((tmp_path / "pid").read_text())
    eventually(lambda: _runs(pid), lambda runs: not runs)


def test_what_it_leaves_running_goes_with_it(tools: LabTools, tmp_path: Path) -> None:
    code, _ = shell(tools, f"sleep 300 & echo $! > {tmp_path}/pid; exit 0")
    assert code == 0
    eventually(lambda: _runs(int((tmp_path / "pid").read_text())), lambda runs: not runs)


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in ("Z", "X")


@contextmanager
def serving(
    answer: Callable[[str], tuple[int, dict[str, str], bytes]], context: ssl.SSLContext | None
) -> Iterator[str]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, body = answer(self.path)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"{'https' if context else 'http'}://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[ssl.SSLContext, bytes]:
    """A server's context with a certificate for 127.0.0.1, and the authority it is from; trusted here."""
    authority = Authority(tmp_path)
    leaf = authority.leaf("127.0.0.1")
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.path))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(leaf.certificate, leaf.key)
    return context, authority.path.read_bytes()


def test_a_download_is_checked_kept_and_not_asked_for_again(
    tools: LabTools, trusted: Any, tmp_path: Path
) -> None:
    asked: list[str] = []

    def answer(path: str) -> tuple[int, dict[str, str], bytes]:
        asked.append(path)
        return (302, {"Location": "/file"}, b"") if path == "/moved" else (200, {}, MANIFEST)

    with serving(answer, trusted[0]) as url:
        assert tools.download(f"{url}/moved", SHA.upper(), cancel=never()) == MANIFEST
        assert tools.download(f"{url}/moved", SHA, cancel=never()) == MANIFEST
        assert asked == ["/moved", "/file"]
    assert tools.download(f"{url}/moved", SHA, cancel=never()) == MANIFEST, "offline"
    (tmp_path / "cache" / SHA).write_bytes(b"tampered with")
    with pytest.raises(OperationFailed, match="FG0738"):
        tools.download(f"{url}/moved", SHA, cancel=never())


@pytest.mark.parametrize(
    ("reply", "code", "may_pass"),
    [
        pytest.param((200, {}, b"other"), "FG0739", False, id="other bytes"),
        pytest.param((404, {}, b""), "FG0738", False, id="not there"),
        pytest.param((503, {}, b""), "FG0738", True, id="not now"),
        pytest.param((302, {"Location": "http://127.0.0.1:9/"}, b""), "FG0738", True, id="to plain http"),
    ],
)
def test_a_download_that_is_not_right_is_refused(
    tools: LabTools, trusted: Any, tmp_path: Path, reply: Any, code: str, may_pass: bool
) -> None:
    with serving(lambda _: reply, trusted[0]) as url, pytest.raises(OperationFailed) as caught:
        tools.download(url, SHA, cancel=never())
    assert (caught.value.code, caught.value.may_pass) == (code, may_pass)
    assert not (tmp_path / "cache" / SHA).exists()


def test_an_address_answers(tools: LabTools, trusted: Any) -> None:
    with serving(lambda path: (418, {}, path.encode()), None) as url:
        assert tools.answer(f"{url}/tea", ca=None, timeout_s=60).status == 418
        assert tools.answer(f"{url}/tea", ca=None, timeout_s=60).body == b"/tea"
    context, ca = trusted
    with serving(lambda _: (302, {"Location": "http://x/"}, b""), context) as url:
        assert tools.answer(url, ca=ca, timeout_s=60).status == 302, "not followed"
    assert tools.answer("http://127.0.0.1:9/", ca=None, timeout_s=5).error
    assert tools.answer("http://[", ca=None, timeout_s=5).status == 0
    assert tools.answer("http://127.0.0.1:9/", ca=b"no certificate", timeout_s=5).error


def test_what_is_not_trusted_is_no_answer(
    tools: LabTools, trusted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with serving(lambda _: (200, {}, b""), trusted[0]) as url:
        answer = tools.answer(url, ca=None, timeout_s=60)
        assert answer.status == 0
        assert "certificate" in answer.error.lower()
