"""MetalLB's speaker, as far as a test node needs one: puts Services' addresses on the node's eth0.

The embedded API gives a LoadBalancer Service its address out of the IPAddressPools, and its proxy
listens there as soon as the address exists. This program, a pod of tests/kind/metallb.yaml, makes it
exist, so that other containers and clusters on the network reach it; the kernel answers for it.

Level-based: what is wanted is compared with what eth0 has under a label of ours, after each change.
"""

from __future__ import annotations

import ipaddress
import json
import os
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterable
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any

_DEVICE = "eth0"
_LABEL = "eth0:lb"
_SERVICES = "/api/v1/services"
_WATCH_S = 60
_AGAIN_S = 0.5


def main() -> int:
    api = Api(os.environ["API"], Path(os.environ["ACCESS"]))
    while True:
        try:
            listed = api.get(_SERVICES)
            settle(wanted(listed["items"]), held())
            api.wait_for_change(_SERVICES, listed["metadata"]["resourceVersion"])
        except (OSError, HTTPException, ValueError, subprocess.CalledProcessError) as error:
            sys.stderr.write(f"looking again: {error}\n")
            time.sleep(_AGAIN_S)


@dataclass(frozen=True, slots=True)
class Api:
    """access: the folder with the account's token and the authority. Raises OSError and its kind."""

    url: str
    access: Path

    def get(self, path: str) -> Any:
        with self._open(path) as answer:
            return json.load(answer)

    def wait_for_change(self, path: str, version: str) -> None:
        """Until something was written after *version*, or a minute is over."""
        query = f"?watch=1&timeoutSeconds={_WATCH_S}&resourceVersion={version}"
        with self._open(path + query) as answer:
            answer.readline()

    def _open(self, path: str) -> HTTPResponse:
        token = (self.access / "token").read_text()  # renewed by the node, so read each time
        request = urllib.request.Request(self.url + path, headers={"Authorization": f"Bearer {token}"})
        context = ssl.create_default_context(cafile=str(self.access / "ca.crt"))
        answer: HTTPResponse = urllib.request.urlopen(request, timeout=_WATCH_S + 10.0, context=context)
        return answer


def wanted(services: Iterable[Any]) -> set[str]:
    """The addresses that Services have been given; those of loopback need no device."""
    given = (
        ingress["ip"]
        for service in services
        for ingress in (service.get("status", {}).get("loadBalancer") or {}).get("ingress") or ()
        if ingress.get("ip")
    )
    return {address for address in given if not ipaddress.ip_address(address).is_loopback}


def held() -> set[str]:
    """The addresses that are on the device because of us."""
    return labelled(_ip("-j", "address", "show", "dev", _DEVICE, "label", _LABEL))


def labelled(shown: str) -> set[str]:
    """The addresses in what `ip -j` shows; the ones it leaves out are empty objects there."""
    return {a["local"] for link in json.loads(shown or "[]") for a in link.get("addr_info", ()) if a}


def settle(wanted: set[str], held: set[str]) -> None:
    for address in held - wanted:
        _ip("address", "delete", f"{address}/32", "dev", _DEVICE)
        sys.stdout.write(f"withdrew {address}\n")
    for address in wanted - held:
        _ip("address", "add", f"{address}/32", "dev", _DEVICE, "label", _LABEL)
        sys.stdout.write(f"announces {address}\n")


def _ip(*words: str) -> str:
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
