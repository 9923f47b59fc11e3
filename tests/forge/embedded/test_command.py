"""Flags become settings; those that cannot be end the command with a line that says why."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge.embedded import command
from forge.embedded.daemon import POD_CIDR, SERVICE_CIDR, Settings

NEEDED = ["--name", "lab", "--dir", "/x"]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        pytest.param([], Settings("lab", Path("/x")), id="what it is without flags"),
        pytest.param(
            [
                *("--listen", "172.18.0.2:6443", "--pod-cidr", "127.9.0.0/18", "--images", "/i.json"),
                *("--service-cidr", "127.9.64.0/18", "--lb-pool", "127.9.200.1-127.9.200.9,127.9.201.0/28"),
                *("--lb-interface", "eth0"),
            ],
            Settings(
                "lab", Path("/x"), "172.18.0.2", 6443, "127.9.0.0/18", "127.9.64.0/18",
                "127.9.200.1-127.9.200.9,127.9.201.0/28", Path("/i.json"), True, "eth0",
            ),
            id="every flag",
        ),
        pytest.param(
            ["--listen", ":0", "--api-only"],
            Settings("lab", Path("/x"), "127.0.0.1", 0, POD_CIDR, SERVICE_CIDR, node=False),
            id="an API alone, on any port",
        ),
    ],
)  # fmt: skip
def test_flags_become_settings(flags: list[str], expected: Settings) -> None:
    assert command.parse([*NEEDED, *flags]) == expected


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        pytest.param(
            ["--name", "A_b"], "argument --name: 'A_b' is no name", id="a name that no node may have"
        ),
        pytest.param(["--name", ""], "argument --name: '' is no name", id="no name"),
        pytest.param(["--listen", "127.0.0.1"], "does not end with :PORT", id="no port"),
        pytest.param(["--listen", "127.0.0.1:70000"], "does not end with :PORT", id="a port beyond the last"),
        pytest.param(["--pod-cidr", "pods"], "argument --pod-cidr: Expected 4 octets", id="no network"),
        pytest.param(["--pod-cidr", "127.9.0.1/18"], "has host bits set", id="an address inside a network"),
        pytest.param(["--service-cidr", "127.9.0.0/30"], "too few addresses", id="a network without room"),
        pytest.param(
            ["--lb-pool", "127.9.0.9-127.9.0.1"], "ends before it begins", id="a range turned round"
        ),
        pytest.param(
            ["--pod-cidr", SERVICE_CIDR], "--pod-cidr and --service-cidr share", id="one network twice"
        ),
        pytest.param(
            ["--lb-pool", "127.44.1.1-127.44.1.1"], "--pod-cidr and --lb-pool share", id="pool in pods"
        ),
    ],
)
def test_flags_that_cannot_be_are_refused(
    flags: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        command.parse([*NEEDED, *flags])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
