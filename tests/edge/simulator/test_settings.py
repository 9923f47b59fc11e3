"""Flags win over variables, and addresses follow the pod."""

from __future__ import annotations

import pytest

from edge.simulator.settings import parse


def test_addresses_are_the_pods_own() -> None:
    made = parse([], {"POD_IP": "127.40.0.9"})
    assert (made.host, made.admin_host) == ("127.40.0.9", "127.40.0.9")


def test_without_a_pod_the_switches_stay_on_loopback() -> None:
    made = parse([], {})
    assert (made.host, made.admin_host) == ("0.0.0.0", "127.0.0.1")


def test_a_flag_wins_over_its_variable() -> None:
    made = parse(["--ttft-ms", "7"], {"PRAXIS_SIM_TTFT_MS": "9", "PRAXIS_SIM_ITL_MS": "3"})
    assert (made.ttft_ms, made.itl_ms) == (7, 3)


def test_a_service_of_the_same_name_is_not_a_port() -> None:
    assert parse([], {"PRAXIS_SIM_PORT": "tcp://10.0.0.1:8000"}).port == 8000


def test_models_are_a_list() -> None:
    assert parse(["--models", "a, b"], {}).models == ("a", "b")


def test_a_variable_is_held_to_the_same_choices(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse([], {"PRAXIS_SIM_MODE": "sing"})
    assert "'sing' is none of echo, random" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        pytest.param("--port", "70000", id="a port there is not"),
        pytest.param("--admin-port", "-1", id="a negative port"),
        pytest.param("--running", "0", id="nobody served"),
        pytest.param("--waiting", "-1", id="fewer than none waiting"),
        pytest.param("--kv-blocks", "0", id="no cache"),
        pytest.param("--block-tokens", "0", id="blocks of nothing"),
        pytest.param("--tokens", "0", id="answers of nothing"),
        pytest.param("--ttft-ms", "-1", id="before it was asked"),
        pytest.param("--ttft-ms", "nan", id="no time at all"),
        pytest.param("--itl-ms", "inf", id="never"),
        pytest.param("--jitter", "1.5", id="jitter past nothing"),
        pytest.param("--load-factor", "0", id="faster under load"),
    ],
)
def test_numbers_have_bounds(flag: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse([flag, value], {})
    assert f"{flag}: " in capsys.readouterr().err
    variable = f"PRAXIS_SIM_{flag.removeprefix('--').replace('-', '_').upper()}"
    with pytest.raises(SystemExit):
        parse([], {variable: value})


@pytest.mark.parametrize("argv", [["--models", " "], ["--mode", "sing"], ["--unknown"], ["--port", "many"]])
def test_what_does_not_read_ends_with_usage(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(argv, {})
    assert "usage: praxis-sim" in capsys.readouterr().err
