"""Polls through the Python package of ``consumer/python`` without a broker: what ``SkipReadCases.java`` is for Java."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from consumer.python_log import logging_to
from consumer.skip_read_cases import SkipReadCases
from offset_sync_consumer.group_commits import Answer, GroupCommits, Place
from offset_sync_consumer.progress import Commit
from offset_sync_consumer.read_list import decode_read_list
from offset_sync_consumer.skip_read import SkipRead

_FAILURES: Mapping[str, BaseException] = {
    "timeout": TimeoutError(),
    "interrupted": KeyboardInterrupt(),
    "error": MemoryError("made up"),
    "use refused": KafkaException(KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED, "made up")),
}


class PythonCases(SkipReadCases):
    """Answers the questions that the JVM answers for Java."""

    def __init__(self, log: Path) -> None:
        self._log, self._now, self._said = log, 1_000_000, {}
        self._commits, self._subject = FakeCommits(""), None
        self._told: str | None = None

    def _ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        if "texts" in question:
            return {"readings": [_told_reading(text) for text in question["texts"]]}
        said: dict[str, Any] = {}
        if "close" in question and self._subject is not None:
            self._subject.close()
            self._subject = None
        if "open" in question:
            self._open_subject(question["open"], keeps="keeps" in question)
        for what, value in question.get("set", {}).items():
            self._commits.set(what, value)
        if "cluster" in question and self._subject is not None:
            self._told = question["cluster"]
            self._subject.observe(self._told)
        if "sought" in question:
            self._subject.note_sought([TopicPartition(*_place(question["sought"]), 0)])
        if "poll" in question:
            said |= self._poll_subject(question["poll"], breaks="breaks" in question)
        shown = self._subject is not None and self._commits.group
        metrics = self._subject.counters() if shown else {}
        found = {name: getattr(self._commits, name) for name in ("reads", "marks", "uses")}
        self._said |= said | found | {"metrics": metrics}
        return self._said

    def _open_subject(self, settings: Mapping[str, str], *, keeps: bool) -> None:
        before = self._commits
        self._commits = FakeCommits(settings["group.id"])
        if keeps:  # what is committed outlives a consumer
            for kept, former in zip(self._commits.found, before.found, strict=True):
                kept.update(former)
        self._told = None
        source = SimpleNamespace(cluster_id=self._cluster_id, assignment=list, pause=list)
        self._subject = SkipRead(source, settings, self._commits, lambda: self._commits.now)

    def _cluster_id(self, timeout: float) -> str:
        if self._told is None:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        return self._told

    def _poll_subject(self, polled: Mapping[str, Sequence[Any]], *, breaks: bool) -> dict[str, Any]:
        messages = [
            Message(topic=_place(name)[0], partition=_place(name)[1], offset=offset, leader_epoch=_or_none(epoch))
            for name, records in polled.items()
            for offset, epoch in records
        ]
        unread = self._subject.unread(_Breaking(messages) if breaks else messages)
        try:
            self._subject.raise_interrupt()
            is_interrupted = False
        except KeyboardInterrupt:
            is_interrupted = True
        delivered: dict[str, list[int]] = {}
        for each in list.__iter__(unread):
            delivered.setdefault(f"{each.topic()}-{each.partition()}", []).append(each.offset())
        return {"delivered": delivered, "interrupted": is_interrupted}


class FakeCommits(GroupCommits):
    """Answers with what the test has set; *uses* and *marks* are what was written."""

    def __init__(self, group: str) -> None:
        super().__init__(group, {}, SimpleNamespace())
        self.found: tuple[dict[Place, Commit], ...] = ({}, {}, {}, {})
        self.reads: list[int] = []
        self.uses: list[dict[str, tuple[int, str]]] = []
        self.marks: list[dict[str, tuple[int, str]]] = []
        self.now, self.failure = 1_000_000, ""
        self._is_open = False

    @property
    def is_open(self) -> bool:
        return self._is_open

    def set(self, what: str, value: Any) -> None:
        if what in ("now", "failure"):
            setattr(self, what, value)
            return
        commits = self.found[("lists", "own", "used", "seen").index(what)]
        for name, commit in value.items():
            commits.pop(_place(name), None)
            if commit is not None:
                commits[_place(name)] = Commit(*commit) if isinstance(commit, (list, tuple)) else Commit(commit, "")

    def read(self, places: Sequence[Place], cluster: str, wait_ms: int) -> Answer:
        self.reads.append(wait_ms)
        self._is_open = True
        if self.failure in _FAILURES and self.failure != "use refused":
            raise _FAILURES[self.failure]
        lists, own, used = ({place: found[place] for place in places if place in found} for found in self.found[:3])
        return Answer(lists, {place: commit.offset for place, commit in own.items()}, used)

    def use(self, uses: Mapping[Place, Commit], wait_ms: int) -> None:
        self.uses.append(_told_commits(uses))
        if self.failure == "use refused":
            raise _FAILURES[self.failure]
        self.found[2].update(uses)

    def mark(self, marks: Mapping[Place, Commit]) -> FakeWrite:
        self._is_open = True
        self.marks.append(_told_commits(marks))
        if not self.failure:
            self.found[3].update(marks)
        return FakeWrite()

    def standing(self, places: Sequence[Place], wait_ms: int) -> dict[Place, int]:
        return {place: commit.offset for place, commit in self.found[3].items()}

    def close(self, *prefixes: str) -> None:
        self._is_open = False


class FakeWrite:
    """Commits that have come to be."""

    def is_done(self) -> bool:
        return True

    def wait(self, timeout: float) -> None:
        pass


class _Breaking(list):  # type: ignore[type-arg]
    """A list that cannot be iterated, as if the memory ended meanwhile."""

    def __iter__(self) -> Iterator[Any]:
        raise MemoryError("made up")


@contextmanager
def python_cases(folder: Path) -> Iterator[PythonCases]:
    """Polls of the Python package; its log goes to *folder*, with the words of Java's levels."""
    log = folder / "skip-read.log"
    with logging_to(log):
        yield PythonCases(log)


def _told_commits(commits: Mapping[Place, Commit]) -> dict[str, tuple[int, str]]:
    return {f"{topic}-{number}": (each.offset, each.metadata) for (topic, number), each in commits.items()}


def _told_reading(text: str) -> str | None:
    found = decode_read_list(text)
    if found is None:
        return None
    ranges = " ".join(f"{first}-{end}" for first, end in zip(found.firsts, found.ends, strict=True))
    return f"{found.cluster} {found.start} {found.epoch} {ranges}"


def _place(name: str) -> Place:
    topic, _, partition = name.rpartition("-")
    return topic, int(partition)


def _or_none(epoch: int | None) -> int:
    return -1 if epoch is None else epoch
