"""Cases that are played side by side on the same clusters, beside the running jobs.

A case is a generator. It acts, yields what it waits for, and looks at what came of it. All cases wait at the same
time, so twenty of them take hardly longer than one. Each has a group and a topic of its own.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from enum import Enum
from pathlib import Path

from broker.committed_offsets import commit, committed
from broker.crafted_logs import Clusters
from broker.installation import install, until
from broker.job import ThreadJob
from broker.performer import CANARY, Performer, apart, fill_topic

SILENCE_S = 6.0
REFRESH_S = 20.0
_PASSES_S = 2.5  # two passes over everything, a second apart


class Pause(Enum):
    """What a case waits for."""

    SYNC = "all that was committed has been taken in, and two passes over everything have been made"
    SILENCE = "the same, and all that was committed before is older than sync.home_silence"


SYNC, SILENCE = Pause.SYNC, Pause.SILENCE
Case = Callable[[Performer], Iterator[Pause]]


class Stage:
    """Plays *cases* when it is made, and remembers how each ended; groups and topics begin with the folder's name."""

    def __init__(self, clusters: Clusters, folder: Path, cases: Sequence[Case]) -> None:
        self._clusters, self._prefix, self._canaries = clusters, folder.name, 0
        self._ended: dict[str, str] = {}
        installation = install(
            folder,
            clusters,
            [f"{self._prefix}-.*"],
            sync={
                "home_silence": f"{SILENCE_S:g}s",
                "refresh_interval": f"{REFRESH_S:g}s",
                "trigger_interval": "2s",  # of readers that commit all the time, four times as often
                "reconcile_interval": "1s",
            },
            status={"page": str(folder / "status.html")},
        )
        fill_topic(clusters, f"{self._prefix}-{CANARY}", 1, 10)
        with ExitStack() as stack:
            jobs = [stack.enter_context(installation.here(name)) for name in ("index_records", "sync_offsets")]
            performers = dict[str, Performer]()
            for case in cases:
                name = case.__name__
                performers[name] = Performer(clusters, installation, f"{self._prefix}-{name}")
                stack.callback(performers[name].close)
            self._play({case.__name__: case for case in cases}, performers, jobs[-1])

    def ended_well(self, case: str) -> None:
        """Raise AssertionError with what was wrong, if anything was."""
        problem = self._ended.get(case)
        assert problem is None, problem

    def _play(self, cases: Mapping[str, Case], performers: Mapping[str, Performer], sync: ThreadJob) -> None:
        going = {name: cases[name](performer) for name, performer in performers.items()}
        act = 0
        while going:
            act += 1
            pauses = {name: self._go_on(name, steps) for name, steps in going.items()}
            for name in [name for name, pause in pauses.items() if pause is None]:
                del going[name]
                performers[name].close()
            if not going:
                return
            if SILENCE in pauses.values():
                time.sleep(SILENCE_S + 1)
            self._settle(sync)
            for performer in performers.values():
                performer.begin_act(act)

    def _go_on(self, name: str, steps: Iterator[Pause]) -> Pause | None:
        try:
            return next(steps, None)
        except Exception:  # of this case alone; the others go on
            self._ended[name] = traceback.format_exc(limit=-6)
            return None

    def _settle(self, sync: ThreadJob) -> None:
        """Return when all that is committed now has been taken in."""
        place = (f"{self._prefix}-{CANARY}", 0)
        for source in self._clusters:
            self._canaries += 1
            group = apart(f"{self._prefix}-{CANARY}-{self._canaries}")
            commit(self._clusters[source], {group: {place: 5}})
            for target in self._clusters.keys() - {source}:
                until(lambda: place in committed(self._clusters[target], [group])[group], job=sync)  # noqa: B023
        time.sleep(_PASSES_S)
