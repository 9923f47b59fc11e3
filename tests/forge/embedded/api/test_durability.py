"""What was acknowledged is there after a kill, and watches go on where they were."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path

import httpx
import pytest

from tests.kit.embedded_cluster import EmbeddedCluster, config_map

MAPS = "/api/v1/namespaces/default/configmaps"


def test_a_kill_loses_no_acknowledged_write(tmp_path: Path) -> None:
    cluster = EmbeddedCluster(tmp_path)
    cluster.start()
    acknowledged: dict[str, str] = {}

    def write() -> None:
        with cluster.client() as client:
            for number in itertools.count():
                try:
                    answer = client.post(MAPS, json=config_map(f"w{number}", k=str(number)))
                except httpx.TransportError:
                    return
                if answer.status_code == 201:
                    acknowledged[f"w{number}"] = answer.json()["metadata"]["resourceVersion"]

    writer = threading.Thread(target=write)
    writer.start()
    while len(acknowledged) < 200:
        assert writer.is_alive()
    cluster.kill()
    writer.join()
    cluster.start()
    try:
        with cluster.client() as client:
            items = client.get(MAPS).json()["items"]
    finally:
        cluster.stop()
    stored = {i["metadata"]["name"]: i["metadata"]["resourceVersion"] for i in items}
    assert acknowledged.items() <= stored.items()


def test_a_watch_resumes_across_a_restart(tmp_path: Path) -> None:
    cluster = EmbeddedCluster(tmp_path)
    cluster.start()
    with cluster.client() as client:
        start = client.get(MAPS).json()["metadata"]["resourceVersion"]
        client.post(MAPS, json=config_map("before", k="1"))
    cluster.kill()
    cluster.start()
    try:
        with cluster.client() as client:
            client.post(MAPS, json=config_map("after", k="1"))
            query = {"watch": "true", "resourceVersion": start, "timeoutSeconds": "1"}
            lines = client.get(MAPS, params=query).text.splitlines()
    finally:
        assert cluster.stop() == 0
    assert [line.split('"name":"')[1].split('"')[0] for line in lines] == ["before", "after"]


def test_a_folder_belongs_to_one_process(tmp_path: Path) -> None:
    first, second = EmbeddedCluster(tmp_path), EmbeddedCluster(tmp_path)
    first.start()
    try:
        with pytest.raises(AssertionError, match="the daemon ended"):
            second.start()
    finally:
        first.stop()
