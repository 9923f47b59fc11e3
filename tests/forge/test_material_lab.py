"""Certificates and secrets of a real lab: made, kept, renewed, and gone, whatever was cut off in between."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.praxis_forge import Forge

FILE = """\
apiVersion: forge.praxis.dev/v1alpha1
kind: Environment
metadata: {{name: {name}}}
spec:
  runtime: {{provider: embedded}}
  certificates:
    authorities: [{{name: lab-ca, organization: Lab}}]
    leaves:
      - {{name: web, authority: lab-ca, sans: {{dns: [{san}]}}}}
      - {{name: api, authority: lab-ca, directory: tls/api}}
  secrets: [{{name: token}}, {{name: seed, bytes: 16, encoding: raw}}]
  images: [{{name: "app:1", process: []}}]
  services:
    - name: reader
      image: "app:1"
      args: [python3, -c, "import time; print(open('/tls/tls.key').read()[:27], flush=True); time.sleep(600)"]
      env: {{PIN: "{{{{ certificates.web.sha256 }}}}", WAS: "{{{{ certificates.web.previousSha256 }}}}"}}
      volumes: [{{source: .forge/runtime/certs/web, target: /tls, readOnly: true}}]
"""


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Forge]:
    forge = Forge(tmp_path, {"XDG_STATE_HOME": str(tmp_path / "xdg")}, timeout_s=180.0)
    write(forge)
    try:
        yield forge
    finally:
        forge("down", check=None)


def write(lab: Forge, san: str = "web.test") -> None:
    (lab.folder / "forge.yaml").write_text(FILE.format(name=f"ml{os.getpid() % 100000}", san=san))


def hashes(lab: Forge) -> dict[str, str]:
    """The id of every certificate and secret, as the state records it."""
    state = json.loads((lab.folder / ".forge" / "state.json").read_text())
    made = ("authority/", "certificate/", "secret/")
    return {key: record["id"] for key, record in state["resources"].items() if key.startswith(made)}


def left(lab: Forge) -> set[str]:
    return {str(p.relative_to(lab.folder)) for p in lab.folder.rglob("*") if "xdg" not in p.parts} - {
        "forge.yaml"
    }


def test_a_changed_name_renews_that_leaf_and_what_reads_it(lab: Forge) -> None:
    lab("up")
    before = hashes(lab)
    assert "No changes" in lab("up").stdout
    write(lab, "other.test")
    changes = {f"{c['kind']}/{c['name']}": c["verb"] for c in lab.data("plan")["changes"]}
    assert changes == {"certificate/web": "update", "service/reader": "update"}
    lab("up")
    after = hashes(lab)
    assert {key for key in before if before[key] != after[key]} == {"certificate/web"}
    assert environment(lab) == {"PIN": after["certificate/web"], "WAS": before["certificate/web"]}
    assert "No changes" in lab("plan").stdout


def environment(lab: Forge) -> dict[str, str]:
    """What the service was told."""
    pid = next(s["live"]["pid"] for s in lab.data("service", "list")["services"])
    found = dict(
        entry.split("=", 1) for entry in Path(f"/proc/{pid}/environ").read_text().split("\0") if "=" in entry
    )
    return {name: found[name] for name in ("PIN", "WAS")}


def test_damage_is_seen_told_and_mended_without_a_new_authority(lab: Forge) -> None:
    lab("up")
    before = hashes(lab)
    (lab.folder / ".forge" / "runtime" / "certs" / "web" / "tls.key").write_text("rubbish")
    (lab.folder / ".forge" / "runtime" / "certs" / "lab-ca" / "ca.crt").unlink()
    (lab.folder / "tls" / "api" / "tls.crt").unlink()
    told = lab("status", check=6).stdout
    for line in (
        "authority/lab-ca: ca.crt is gone",
        "certificate/web: tls.key gone",
        "certificate/api: tls.crt gone",
    ):
        assert line in told
    lab("up")
    after = hashes(lab)
    assert {key for key in before if before[key] != after[key]} == {"certificate/web", "certificate/api"}
    lab("status")


def test_a_lost_authority_key_stops_up_and_says_what_to_do(lab: Forge) -> None:
    lab("up")
    before = hashes(lab)
    folder = lab.folder / ".forge" / "secrets" / "_forge" / "authority"
    key = (folder / "lab-ca.key").read_bytes()
    (folder / "lab-ca.key").unlink()
    failed = lab("up", check=1).stderr
    assert "error[FG0771]: authority lab-ca cannot sign any more" in failed
    assert str(folder / "lab-ca.crt") in failed
    (folder / "lab-ca.key").write_bytes(key)
    lab("up")
    assert hashes(lab) == before


@pytest.mark.parametrize("stride", [3, pytest.param(1, marks=pytest.mark.long)])
def test_killed_at_a_write_up_converges_and_down_leaves_nothing(lab: Forge, stride: int) -> None:
    point = 1
    while lab.killed_at(point, "up"):
        lab("down" if point % 2 else "up")
        if point % 2 == 0:
            assert "No changes" in lab("plan").stdout
            lab("down")
        assert left(lab) == set(), point
        point += stride
    assert point > 10
    lab("down")
    assert left(lab) == set()


def test_no_private_byte_is_said_anywhere(lab: Forge) -> None:
    lab("up")
    runtime, secrets = lab.folder / ".forge" / "runtime" / "certs", lab.folder / ".forge" / "secrets"
    keys = [
        runtime / "web" / "tls.key",
        lab.folder / "tls" / "api" / "tls.key",
        secrets / "_forge" / "authority" / "lab-ca.key",
    ]
    bodies = [line for key in keys for line in key.read_text().splitlines() if not line.startswith("-")]
    bodies.append((secrets / "token" / "value").read_text())
    (runtime / "web" / "tls.key").write_text("rubbish")
    words = (
        ["plan"],
        ["status"],
        ["graph"],
        ["config", "show", "--resolved"],
        ["up"],
        ["service", "logs"],
        ["status", "-o", "json"],
    )
    said = [text for done in (lab(*w, check=None) for w in words) for text in (done.stdout, done.stderr)]
    private = {path.resolve() for path in (*keys, secrets / "token" / "value", secrets / "seed" / "value")}
    files = [p for p in (lab.folder / ".forge").rglob("*") if p.is_file() and p.resolve() not in private]
    said += [file.read_text(errors="replace") for file in files]
    for body in bodies:
        assert not any(body in text for text in said)


def test_an_up_without_changes_loads_no_cryptography(lab: Forge) -> None:
    lab("up")
    script = (
        "import sys; from forge.cli.main import run; run(['up']); sys.exit('cryptography' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=lab.folder,
        env=lab.environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "No changes" in done.stdout
