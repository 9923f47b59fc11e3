"""A container sees a renewed certificate through its mount, without being started again."""

from __future__ import annotations

from pathlib import Path

import pytest

from forge.plan.resources import Mount
from tests.kit.disk_material import DiskDesk
from tests.kit.docker_lab import host, image, make_service, network, owner
from tests.kit.host_contract import Lab, MakeService, eventually, lab, other_owner
from tests.kit.material_contract import F, G

__all__ = ["host", "image", "lab", "make_service", "network", "other_owner", "owner"]

pytestmark = pytest.mark.docker

WATCH = """
import hashlib, os, ssl, time
seen = None
while True:
    try:
        now = os.path.realpath("/tls/..data")
        pair = open(now + "/tls.crt").read(), open(now + "/tls.key").read()
    except FileNotFoundError:
        continue
    if pair != seen:
        seen = pair
        der = ssl.PEM_cert_to_DER_cert(pair[0])
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(now + "/tls.crt", now + "/tls.key")
        print(hashlib.sha256(der).hexdigest(), flush=True)
    time.sleep(0.05)
"""


def test_a_renewed_certificate_reaches_a_running_container(
    lab: Lab, make_service: MakeService, tmp_path: Path
) -> None:
    desk = DiskDesk(tmp_path)
    desk.open().make_authority(desk.authority(), F)
    first = desk.open().make_leaf(desk.leaf(), F)
    mount = Mount(desk.leaf().directory, "/tls", read_only=True)
    web = make_service("web", ("python3", "-c", WATCH), mounts=(mount,))
    seen = lab.create(web)
    lab.says(seen, first)
    second = desk.open().make_leaf(desk.leaf(), G)
    lab.says(seen, second)
    assert lab.look(web).pid == seen.pid
    assert eventually(lambda: lab.texts(seen)) == [first, second]
