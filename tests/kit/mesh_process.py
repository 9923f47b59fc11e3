"""One site's mesh as a process of its own: `python -m tests.kit.mesh_process HOST NAME SEED...`.

Prints a line of JSON whenever its living members or held facts change; says in its state lane what it reads
on its standard input, line by line.
"""

from __future__ import annotations

import asyncio
import json
import sys

from grid.swim.messages import Lane
from tests.kit.meshes import NETWORK, Site, opened


def look(site: Site) -> str:
    facts = {f.origin: f.payload.decode() for f in site.node.view.facts if f.origin != site.name}
    return json.dumps({"living": sorted(site.living()), "facts": facts})


async def main(host: str, name: str, seeds: list[str]) -> None:
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    async with opened(name, seeds, host=host, port=7946) as site, asyncio.TaskGroup() as group:
        shown = group.create_task(show(site))
        while line := await lines.readline():
            site.mesh.publish(NETWORK, Lane.STATE, line.strip())
        shown.cancel()


async def show(site: Site) -> None:
    last = ""
    while True:
        if (now := look(site)) != last:
            last = now
            sys.stdout.write(now + "\n")
            sys.stdout.flush()
        await asyncio.sleep(0.02)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
