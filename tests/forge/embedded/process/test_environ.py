"""A process inherits what it needs to run, and no secret of the caller's shell."""

from __future__ import annotations

from forge.embedded.process import environ


def test_only_what_a_program_needs_is_kept() -> None:
    outer = {
        "PATH": "/usr/bin",
        "HOME": "/home/u",
        "LC_TIME": "C",
        "TZ": "UTC",
        "AWS_SECRET_ACCESS_KEY": "x",
        "HTTP_PROXY": "http://proxy",
        "PYTHONPATH": "/src",
        "PRAXIS_FORGE_ID": "lab/web/1",
    }
    assert environ.base(outer, "/venv/bin") == {
        "PATH": "/venv/bin:/usr/bin",
        "HOME": "/home/u",
        "LC_TIME": "C",
        "TZ": "UTC",
        "PYTHONUNBUFFERED": "1",
    }


def test_a_caller_without_a_path_gets_the_usual_one() -> None:
    assert environ.base({}, "/venv/bin")["PATH"].startswith("/venv/bin:/usr/local/sbin:")
