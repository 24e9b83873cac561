"""Polls through the interceptor of ``consumer/`` without a broker, in one JVM: ``SkipReadCases.java``.

What is committed, which failures there are and what time it is, the test says.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from consumer.read_list_texts import CLUSTER, Ranges, Reading, list_text
from consumer.skip_read_jar import class_path, compiled
from tools.asked_process import ask, asked_jvm

_DRIVER = "offsetsync.consumer.SkipReadCases"
PLACE = "orders-0"
START, RANGES = 100, [(102, 104), (106, 110)]
ALL, UNREAD = list(range(100, 112)), [100, 101, 104, 105, 110, 111]
"""Records that are polled, and those of them that are not on the list."""
_SETTINGS = {"group.id": "billing", "client.id": "app-1", "bootstrap.servers": "nowhere:1"}


class SkipReadCases:
    """Asks the JVM. *log* is the file with what the interceptor logs."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process, self._log = process, log
        self._said: dict[str, Any] = {}
        self._now = 1_000_000

    def read(self, texts: Sequence[str]) -> list[Reading | None]:
        """Return what the interceptor reads in these texts."""
        return [None if each is None else _reading(each) for each in self._ask({"texts": texts})["readings"]]

    def open(self, *, is_told: bool = True, **settings: str) -> None:
        """Make a new interceptor that is told its cluster; an underscore in the name of a setting means a dot."""
        self._open({}, settings, is_told=is_told)

    def restart(self, **settings: str) -> None:
        """Close the interceptor and make a new one, which finds what is committed."""
        self._open({"keeps": True}, settings)

    def _open(self, how: Mapping[str, Any], settings: Mapping[str, str], *, is_told: bool = True) -> None:
        self.close()
        self._log.write_text("")
        self._said = {}
        self._ask({"open": _SETTINGS | {name.replace("_", "."): value for name, value in settings.items()}} | how)
        self.set(now=self._now)
        if is_told:
            self.tell(CLUSTER)

    def tell(self, cluster: str | None) -> None:
        """Tell the interceptor the id of the cluster that its consumer reads from."""
        self._ask({"cluster": cluster})

    def set(self, **what: Any) -> None:
        """Set ``lists``, ``own``, ``used``, ``seen``, ``failure`` or ``now``."""
        self._ask({"set": what})

    def give(
        self,
        start: int,
        ranges: Ranges,
        own: int | None,
        *,
        epoch: int = 3,
        place: str = PLACE,
        cluster_id: str = CLUSTER,
    ) -> None:
        """Commit a list for a partition, and the group's own offset."""
        text = list_text(start, epoch, ranges, cluster_id=cluster_id)
        self.set(lists={place: [start, text]}, own={place: own})

    def later(self, milliseconds: int) -> None:
        """Let time pass."""
        self._now += milliseconds
        self.set(now=self._now)

    def poll(self, *offsets: int, place: str = PLACE, next_offset: int | None = None, **how: bool) -> list[int]:
        """Poll records of one partition with epoch 3; return the offsets that are delivered."""
        records = [[offset, 3] for offset in offsets]
        return self.poll_all({place: records}, {place: next_offset or offsets[-1] + 1}, **how).get(place, [])

    def poll_all(
        self, records: Mapping[str, Any], next_offsets: Mapping[str, int] | None = None, **how: bool
    ) -> dict[str, list[int]]:
        """Poll records, offset and epoch each, of several partitions; return the offsets that are delivered."""
        self._ask({"poll": records, "next": next_offsets or {}} | how)
        delivered: dict[str, list[int]] = self._said["delivered"]
        return delivered

    @property
    def is_interrupted(self) -> bool:
        """Return whether the last poll has left an interrupt."""
        return bool(self._said["interrupted"])

    def seek(self, place: str = PLACE) -> None:
        """Tell the Python package that the application seeks, before the poll that shows it; Java is not told."""
        self._ask({"sought": place})

    def close(self) -> None:
        """Close the interceptor."""
        self._ask({"close": True})

    @property
    def waits(self) -> list[int]:
        """Return how long each question for commits would have waited."""
        waits: list[int] = self._said["reads"]
        return waits

    @property
    def marks(self) -> list[dict[str, tuple[int, str]]]:
        """Return each write of marks: offset and metadata, without the NUL, by partition."""
        return [{place: _told(mark) for place, mark in each.items()} for each in self._said["marks"]]

    @property
    def uses(self) -> list[dict[str, tuple[int, str]]]:
        """Return each write of how the group uses lists: offset and metadata, without the NUL, by partition."""
        return [{place: _told(use) for place, use in each.items()} for each in self._said["uses"]]

    @property
    def metrics(self) -> dict[str, int]:
        """Return what JMX shows; empty where nothing is registered."""
        metrics: dict[str, int] = self._said["metrics"]
        return metrics

    def logged(self) -> list[str]:
        """Return the lines that the interceptor has logged since it was made, without stack traces."""
        return [line for line in self._log.read_text().splitlines() if line[:2].isdigit()]

    def _ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        said = ask(self._process, question)
        self._said |= said
        return said


@contextmanager
def skip_read_cases(folder: Path, jar: Path, client: Path) -> Iterator[SkipReadCases]:
    """Start the JVM with this jar of the interceptor and of kafka-clients; the log goes to *folder*.

    Its classes are compiled once, beside the jar.
    """
    if not (classes := jar.parent / "cases").exists():
        compiled([Path(__file__).with_name("SkipReadCases.java")], [jar], classes)
    with asked_jvm(folder, "skip-read.log", class_path(client, classes, jar), _DRIVER) as process:
        yield SkipReadCases(process, folder / "skip-read.log")


def _told(commit: tuple[int, str]) -> tuple[int, str]:
    # A package's classes that the test compiles are of no jar that would say its version.
    offset, metadata = commit
    return offset, re.sub(r"^(offset-sync/1) (unknown|[\d.]+\w*) ", r"\1 VERSION ", metadata.removesuffix("\0"))


def _reading(told: str) -> Reading:
    cluster_id, start, epoch, *ranges = told.split(" ")
    return Reading(int(start), int(epoch), tuple(_range(each) for each in ranges if each), cluster_id)


def _range(told: str) -> tuple[int, int]:
    first, _, end = told.partition("-")
    return int(first), int(end)
