"""Follows the configuration file and everything it reads, and takes over what is sound.

Directories are watched, not files: an editor, a kubelet and our own writers replace a file (or the `..data`
link beside it) rather than write into it. After an event there is a short silence to wait for, then all
contents are compared by digest, so that an event that changed nothing costs nothing. What is not sound is
logged, counted and forgotten; the configuration in use stays whole.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from watchfiles import awatch

from edge.built import Built, digest
from edge.config.problems import ConfigRejected
from grid.telemetry.metrics import Counter

log = logging.getLogger("edge.reload")

_DEBOUNCE_MS = 100
_LOOK_AGAIN_MS = 5000  # not every change makes an event: network file systems, files mounted singly


@dataclass(slots=True)
class Reloader:
    """built: the configuration in use. build: makes the next one from the files, in a thread; raises
    ConfigRejected. apply: takes it into use; raises OSError. counter: by outcome. asked: set to look now
    (SIGHUP).

    loaded_at: unix seconds of the configuration in use. rejections: since the start; last_rejection: first
    problem.
    """

    built: Built
    build: Callable[[Built], Built]
    apply: Callable[[Built], Awaitable[None]]
    counter: Counter
    wall: Callable[[], float]
    loaded_at: float
    rejections: int = 0
    last_rejection: str | None = None
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    _refused: str | None = None

    async def run(self) -> None:
        """Reloads at every change and whenever `asked` is set (SIGHUP), until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch())
            await asyncio.sleep(0)  # the watch stands now; what changed before it is found by looking once
            self.asked.set()
            while True:
                await self.asked.wait()
                self.asked.clear()
                await self.reload()

    async def reload(self) -> bool:
        """Whether another configuration is in use now. Never raises for what is wrong with one."""
        before = self.built
        found = await asyncio.to_thread(digest, before.files)
        if found == before.digest:
            self.counter.add("unchanged")
            return False
        try:
            built = await asyncio.to_thread(self.build, before)
            if await asyncio.to_thread(digest, before.files) != found or built.files != before.files:
                # Something was written while we read, or may have been: what was built is taken, and looked
                # at again.
                built = replace(built, digest="")
            await self.apply(built)
        except (ConfigRejected, OSError) as error:
            problems = error.problems if isinstance(error, ConfigRejected) else ()
            self._reject(found, [str(p) for p in problems] or [f"cannot bind: {error}"])
            return False
        except Exception as error:  # a file that trips over a bug of ours must not end what serves
            log.exception("reload failed")
            self._reject(found, [f"cannot be built: {type(error).__name__}"])
            return False
        self.built = built
        self.loaded_at = self.wall()
        self.counter.add("applied")
        if not built.digest:
            self.asked.set()
        log.info("configuration applied", extra={"digest": built.digest})
        return True

    def _reject(self, found: str, problems: list[str]) -> None:
        self.rejections += 1
        self._refused = found
        self.last_rejection = problems[0]
        self.counter.add("rejected")
        log.error("configuration rejected, the one in use stays", extra={"problems": problems})

    async def _watch(self) -> None:
        """Watches the folders of all files read; begins anew when a reload reads others.

        Where the system has no more watches to give, it looks every so often instead.
        """
        polls = False
        while True:
            folders = watched(self.built.files)
            if not folders:  # all gone for the moment, as while a folder is exchanged
                await asyncio.sleep(_LOOK_AGAIN_MS / 1000)
                continue
            try:
                await self._watch_folders(folders, polls=polls)
            except (
                OSError,
                RuntimeError,
            ) as error:  # the second is how the watcher says what the first is to others
                log.warning("cannot watch, polling instead", extra={"reason": type(error).__name__})
                polls = True

    async def _watch_folders(self, folders: tuple[Path, ...], *, polls: bool) -> None:
        """Until other folders are to be watched. Raises OSError or RuntimeError when the system refuses."""
        changes = awatch(
            *folders,
            recursive=False,
            step=_DEBOUNCE_MS,
            force_polling=polls,
            poll_delay_ms=_LOOK_AGAIN_MS // 10,
            rust_timeout=_LOOK_AGAIN_MS,
            yield_on_timeout=True,
        )
        async for change in changes:
            if change or await self._differs():
                self.asked.set()
            if watched(self.built.files) != folders:
                return

    async def _differs(self) -> bool:
        """Whether something changed without an event, as files mounted one by one do; what was refused is not
        told again."""
        now = await asyncio.to_thread(digest, self.built.files)
        return now not in {self.built.digest, self._refused}


def watched(files: frozenset[Path]) -> tuple[Path, ...]:
    """The folders that hold *files*, each once, those that exist."""
    return tuple(sorted({file.parent for file in files if file.parent.is_dir()}))
