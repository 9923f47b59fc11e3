"""Where kind or kubectl cannot be had, that is said; where it is in the cache, nothing is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kind import fetch


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, and a machine without any program."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.delenv("KUBECTL", raising=False)
    return fetch.cache()


def test_a_binary_of_the_cache_is_taken_as_it_is(cache: Path) -> None:
    (cache / "trixie").mkdir(parents=True)
    (cache / "trixie" / "kind").write_text("here")
    assert fetch.kind("trixie").read_text() == "here"


def test_a_machine_without_apt_says_so_and_keeps_nothing(cache: Path) -> None:
    with pytest.raises(fetch.CannotFetch, match="no kind of Debian sid: apt-get is not installed"):
        fetch.kind("sid")
    assert not cache.exists()


def test_a_kubectl_of_the_cache_is_found_by_its_version(cache: Path) -> None:
    binary = cache.parent / "kubectl" / "1.37" / "kubectl"
    binary.parent.mkdir(parents=True)
    binary.write_text("#!/bin/sh\necho 'Client Version: v1.37.1'\n")
    binary.chmod(0o755)
    assert fetch.kubectl("1.37") == binary
    assert fetch.kubectls() == {"1.37": str(binary)}
