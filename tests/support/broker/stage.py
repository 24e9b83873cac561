"""Cases that are played side by side on the same clusters: with the jobs running, and with ``--once``.

A case is a generator. It acts, yields what it waits for, and looks at what came of it. All cases wait at the same
time, so twenty of them take hardly longer than one. Each has a group and a topic of its own in each mode.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from enum import Enum
from pathlib import Path
from typing import Any

from broker.committed_offsets import commit, committed
from broker.crafted_logs import Clusters
from broker.installation import Installation, Job, install, until
from broker.performer import CANARY, Performer, fill_topic

SILENCE_S = 10.0
REFRESH_S = 4.0
MODES = ("running", "once")
_PASSES_S = 2.5  # two passes over everything, a second apart
_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "running": {"trigger_interval": "500ms", "reconcile_interval": "1s"},
    "once": {},
}


class Pause(Enum):
    """What a case waits for."""

    SYNC = "all that was committed has been taken in, and two passes over everything have been made"
    SILENCE = "the same, and all that was committed before is older than sync.home_silence"


SYNC, SILENCE = Pause.SYNC, Pause.SILENCE
Case = Callable[[Performer], Iterator[Pause]]


class Sync:
    """An installation in one of the modes, whose topics begin with *prefix*; *jobs* are those that run."""

    def __init__(
        self, mode: str, prefix: str, clusters: Clusters, installation: Installation, jobs: Sequence[Job]
    ) -> None:
        self.mode, self.prefix, self.installation = mode, prefix, installation
        self.failures: list[str] = []
        self._clusters, self._jobs, self._canaries = clusters, jobs, 0

    def performer(self, name: str) -> Performer:
        """Return what plays a case here."""
        return Performer(self._clusters, self.installation, self.mode, f"{self.prefix}-{name}")

    def settle(self) -> None:
        """Return when all that is committed now has been taken in."""
        if self.mode == "once":
            self.failures = [*self.installation.index(), *self.installation.sync()]
            return
        place = (f"{self.prefix}-{CANARY}", 0)
        for source in self._clusters:
            self._canaries += 1
            group = f"{self.prefix}-{CANARY}-{self._canaries}"
            commit(self._clusters[source], {group: {place: 5}})
            for target in self._clusters.keys() - {source}:
                until(lambda: place in committed(self._clusters[target], [group])[group], job=self._jobs[-1])  # noqa: B023
        time.sleep(_PASSES_S)


@contextmanager
def opened(clusters: Clusters, folder: Path, **sync: Any) -> Iterator[list[Sync]]:
    """Install both modes over *clusters*, and start the jobs of one; topics begin with folder and mode."""
    servers = {alias: each.bootstrap_servers for alias, each in clusters.items()}
    with ExitStack() as stack:
        opened = []
        for mode in MODES:
            prefix = f"{folder.name}-{mode}"
            settings = {"home_silence": f"{SILENCE_S:g}s", "refresh_interval": f"{REFRESH_S:g}s"}
            page = {"page": str(folder / mode / "status.html")}
            installation = install(
                folder / mode, servers, [f"{prefix}-.*"], sync={**settings, **_OPTIONS[mode], **sync},
                index={"trigger_interval": "500ms"}, status=page,
            )  # fmt: skip
            fill_topic(clusters, f"{prefix}-{CANARY}", 1, 10)
            names = ("index_records", "sync_offsets") if mode == "running" else ()
            jobs = [stack.enter_context(installation.started(name)) for name in names]
            opened.append(Sync(mode, prefix, clusters, installation, jobs))
        yield opened


def _settle(syncs: Sequence[Sync]) -> None:
    """Settle all at the same time; ``--once`` in this thread, where Spark's session is."""
    others = [each for each in syncs if each.mode == "running"]
    with ThreadPoolExecutor(1) as pool:
        waiting = [pool.submit(each.settle) for each in others]
        for each in syncs:
            if each not in others:
                each.settle()
        for each in waiting:
            each.result()


class Stage:
    """Plays *cases* in every mode when it is made, and remembers how each ended.

    *failures* are those of the passes with ``--once``.
    """

    def __init__(self, clusters: Clusters, folder: Path, cases: Sequence[Case], **sync: Any) -> None:
        self._ended: dict[tuple[str, str], str] = {}
        self.failures: list[str] = []
        with opened(clusters, folder, **sync) as syncs, ExitStack() as stack:
            performers = {
                (case.__name__, each.mode): Performer(
                    clusters, each.installation, each.mode, f"{each.prefix}-{case.__name__}"
                )
                for case in cases
                for each in syncs
            }
            for performer in performers.values():
                stack.callback(performer.close)
            self._play({case.__name__: case for case in cases}, performers, syncs)

    def ended_well(self, case: str, mode: str) -> None:
        """Raise AssertionError with what was wrong, if anything was."""
        problem = self._ended.get((case, mode))
        assert problem is None, problem

    def _play(
        self, cases: Mapping[str, Case], performers: Mapping[tuple[str, str], Performer], syncs: Sequence[Sync]
    ) -> None:
        going = {key: cases[key[0]](performer) for key, performer in performers.items()}
        act = 0
        while going:
            act += 1
            pauses = {key: self._go_on(key, steps) for key, steps in going.items()}
            for key in [key for key, pause in pauses.items() if pause is None]:
                del going[key]
                performers[key].close()
            if SILENCE in pauses.values():
                time.sleep(SILENCE_S + 1)
            _settle([each for each in syncs if any(mode == each.mode for _, mode in going)])
            for performer in performers.values():
                performer.begin_act(act)
            self.failures += [f"{each.mode}: {failure}" for each in syncs for failure in each.failures]

    def _go_on(self, key: tuple[str, str], steps: Iterator[Pause]) -> Pause | None:
        try:
            return next(steps, None)
        except Exception:  # of this case alone; the others go on
            self._ended[key] = traceback.format_exc(limit=-6)
            return None
