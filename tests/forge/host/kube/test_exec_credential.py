"""Programs that give credentials: asked as client-go asks them, once, again when that ends, and never quoted."""

from __future__ import annotations

import json
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from forge.errors import ForgeError, OperationFailed
from forge.host.clusters import existing
from forge.host.kube import access, exec_credential
from forge.host.kube.client import open_kube
from forge.plan.lab_ports import Access
from tests.kit.scripted_api import failure, scripted

V1 = "client.authentication.k8s.io/v1"
CANARY = "canary-7d1f-token"


def program(folder: Path, text: str, name: str = "login") -> Path:
    """A program beside the kubeconfig; `give` writes an ExecCredential, `count` says how often it ran."""
    head = f"""#!{sys.executable} -S
import json, os, sys, time
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
ran = {str(folder / "ran")!r}
with open(ran, "a") as file: file.write("x")
count = os.path.getsize(ran)
def give(version=info["apiVersion"], kind="ExecCredential", **status):
    print(json.dumps({{"apiVersion": version, "kind": kind, "status": status}}))
"""
    path = folder / name
    path.write_text(head + text)
    path.chmod(0o755)
    return path


def runs(folder: Path) -> int:
    return len((folder / "ran").read_text())


def kubeconfig(folder: Path, server: str = "http://127.0.0.1:1", cluster: Any = None, **plugin: Any) -> Path:
    """A context `far` whose user is asked of ./login."""
    how = {"apiVersion": V1, "command": "./login", "interactiveMode": "Never", **plugin}
    document = {
        "clusters": [{"name": "c", "cluster": {"server": server, **(cluster or {})}}],
        "users": [{"name": "u", "user": {"exec": how}}],
        "contexts": [{"name": "far", "context": {"cluster": "c", "user": "u"}}],
    }
    file = folder / "config"
    file.write_text(json.dumps(document))
    return file


def token(file: Path) -> str:
    return access.read(file, "far").token


@pytest.mark.parametrize("version", [V1, "client.authentication.k8s.io/v1beta1"])
def test_its_token_is_used(tmp_path: Path, version: str) -> None:
    program(tmp_path, f"give(token={CANARY!r})")
    assert token(kubeconfig(tmp_path, apiVersion=version)) == CANARY


def test_it_gets_its_arguments_environment_and_what_is_asked_for(tmp_path: Path) -> None:
    program(
        tmp_path,
        "give(token='/'.join([*sys.argv[1:], os.environ['WHO'], str(info['spec'])]).replace(' ', ''))",
    )
    env = [{"name": "WHO", "value": "me"}]
    found = token(kubeconfig(tmp_path, args=["get", "-x"], env=env))
    assert found == "get/-x/me/{'interactive':False}"


def test_it_is_told_of_the_cluster_where_it_wants_to_be(tmp_path: Path) -> None:
    program(tmp_path, "give(token=json.dumps(info['spec']['cluster'], separators=(',', ':')))")
    extensions = [{"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}}]
    cluster = {"tls-server-name": "api.test", "extensions": extensions}
    found = json.loads(token(kubeconfig(tmp_path, cluster=cluster, provideClusterInfo=True)))
    assert found == {
        "server": "http://127.0.0.1:1",
        "tls-server-name": "api.test",
        "config": {"audience": "a"},
    }


def test_a_program_on_path_is_found_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    program(folder, "give(token='t')", "cloud")
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    assert token(kubeconfig(tmp_path, command="cloud")) == "t"


@pytest.mark.parametrize(
    ("text", "plugin", "words"),
    [
        pytest.param("sys.exit('Error: log in first')", {}, "FG0753.*exit code 1: Error: log in first", id="it fails"),
        pytest.param("pass", {}, "FG0753.*it is no JSON", id="it says nothing"),
        pytest.param("print('[' * 100000)", {}, "FG0753.*it is no JSON", id="it writes nonsense"),
        pytest.param("print('[]')", {}, "FG0753.*no ExecCredential", id="it writes a list"),
        pytest.param("give(kind='Secret', token='t')", {}, "FG0753.*no ExecCredential", id="it writes another kind"),
        pytest.param("give(version='v9', token='t')", {}, "FG0753.*is not of client", id="it writes another version"),
        pytest.param("give()", {}, "FG0753.*neither a token nor a certificate", id="it gives nothing"),
        pytest.param("give(clientCertificateData='c')", {}, "FG0753.*without its key", id="a key is missing"),
        pytest.param("give(token='t', expirationTimestamp='soon')", {}, "FG0753.*is no time", id="no time"),
        pytest.param("give(token='a b')", {}, "FG0751.*characters that no token has", id="a token with a blank"),
        pytest.param("give(token='a\\r\\nX: y')", {}, "FG0751.*characters that no token has", id="a header in it"),
        pytest.param("", {"apiVersion": "client.authentication.k8s.io/v1alpha1"}, "FG0751.*v1alpha1", id="too old"),
        pytest.param("", {"command": ""}, "FG0751.*no command", id="no command"),
        pytest.param("", {"interactiveMode": "Always"}, "FG0751.*at a terminal", id="it wants a terminal"),
        pytest.param("", {"command": "no-such-cloud"}, "FG0741.*no-such-cloud", id="it is not installed"),
    ],
)  # fmt: skip
def test_what_gives_nothing_says_why(tmp_path: Path, text: str, plugin: dict[str, Any], words: str) -> None:
    program(tmp_path, text)
    with pytest.raises(ForgeError, match=words):
        token(kubeconfig(tmp_path, **plugin))


def test_what_is_not_installed_says_how_to_install_it(tmp_path: Path) -> None:
    with pytest.raises(ForgeError) as caught:
        token(kubeconfig(tmp_path, command="no-such-cloud", installHint="Install it from\n  https://x.test"))
    assert caught.value.hint == "Install it from https://x.test"
    assert caught.value.exit_code == 7


def test_nothing_secret_is_in_its_errors(tmp_path: Path) -> None:
    program(tmp_path, f"give(token={CANARY!r}); print(os.environ['KEY'], file=sys.stderr); sys.exit(3)")
    with pytest.raises(OperationFailed) as caught:
        token(kubeconfig(tmp_path, env=[{"name": "KEY", "value": CANARY}]))
    error = caught.value
    assert error.why == "it ended with exit code 3: ***"
    assert CANARY not in f"{error!r} {error.hint} {error.detail}"


def test_nothing_secret_is_in_what_is_remembered(tmp_path: Path) -> None:
    program(tmp_path, f"give(token={CANARY!r})")
    assert CANARY not in repr(access.read(kubeconfig(tmp_path), "far"))


def test_one_that_does_not_end_is_ended_with_all_it_started(tmp_path: Path) -> None:
    program(tmp_path, f"os.system('sleep 600 & echo $! > {tmp_path}/child'); time.sleep(600)")
    plugin = {"apiVersion": V1, "command": "./login"}
    with pytest.raises(OperationFailed, match=r"did not end within 1 s"):
        exec_credential.ask(plugin, {}, tmp_path, {"PATH": "/usr/bin:/bin"}, timeout_s=1)
    child = Path("/proc") / (tmp_path / "child").read_text().strip() / "stat"
    deadline = time.monotonic() + 10
    while child.exists() and " Z " not in child.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def until(delta: timedelta) -> str:
    return (datetime.fromtimestamp(time.time(), UTC) + delta).isoformat().replace("+00:00", "Z")


def test_what_it_gave_is_kept_while_it_is_good(tmp_path: Path) -> None:
    program(tmp_path, f"give(token=str(count), expirationTimestamp={until(timedelta(hours=1))!r})")
    file = access.AccessFile(kubeconfig(tmp_path), "far")
    assert [file.credentials().token, token(file._file)] == ["1", "1"]
    assert runs(tmp_path) == 1


def test_what_has_ended_is_asked_for_anew(tmp_path: Path) -> None:
    program(tmp_path, f"give(token=str(count), expirationTimestamp={until(timedelta(seconds=5))!r})")
    file = access.AccessFile(kubeconfig(tmp_path), "far")
    assert file.credentials().token == "2", "so near its end it is not used"


def test_many_at_once_ask_it_once(tmp_path: Path) -> None:
    program(tmp_path, "time.sleep(0.2); give(token=str(count))")
    file = kubeconfig(tmp_path)
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(token(file))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["1"] * 8


def test_what_the_cluster_refuses_is_asked_for_anew_once(tmp_path: Path) -> None:
    program(tmp_path, "give(token=f't{count}')")
    good = ["Bearer t2"]

    def script(method: str, path: str, body: Any) -> tuple[int, Any]:
        if api.headers[-1].get("Authorization") not in good:
            return failure(401, "Unauthorized", "Unauthorized")
        return 200, {"metadata": {"name": "kube-system", "uid": "u"}}

    with scripted(script) as api:
        file = kubeconfig(tmp_path, api.url)
        kube = open_kube(Access(file, "far", api.url, api.url, b""))
        assert [kube.identity(), kube.identity()] == ["u", "u"]
        assert runs(tmp_path) == 2
        good.clear()
        with pytest.raises(OperationFailed, match=r"FG0755|not allowed"):
            kube.identity()
        assert runs(tmp_path) == 3
        kube.close()


def test_a_token_beside_it_wins(tmp_path: Path) -> None:
    file = kubeconfig(tmp_path, command="no-such-cloud")
    document = json.loads(file.read_text())
    document["users"][0]["user"]["token"] = "static"
    file.write_text(json.dumps(document))
    assert token(file) == "static"


def test_the_copy_of_an_existing_clusters_access_runs_the_same_program(tmp_path: Path) -> None:
    program(tmp_path, "give(token='t')")
    config = existing.extract("far", {"KUBECONFIG": str(kubeconfig(tmp_path))})
    copy = tmp_path / "elsewhere" / "kubeconfig"
    copy.parent.mkdir()
    copy.write_bytes(config.text())
    assert access.read(copy, "far").token == "t"
