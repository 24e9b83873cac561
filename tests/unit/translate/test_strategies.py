"""The strategies beside exact, against their definitions record by record; never later than t(c)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pytest

from fakes.pages import KeptPages, let_go_of_all_but
from generators.mirrored_logs import World, write_logs
from offset_sync.model.values import ABSENT, State
from offset_sync.translate.exact import Bounds, Strategy
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import Runs
from offset_sync.translate.index.time_index import TimeIndex
from offset_sync.translate.partition import Translations, translate_partition
from offset_sync.translate.partition_log import PartitionLog, PartitionMetadata
from offset_sync.translate.strategies import answer_by_timestamp
from oracles.translation import Answer, Case, Log, LogRecord, answers, below_the_cut
from tools.thorough import examples

CODES = {"A": 0, "B": 1, "C": 2}
BOTH_WAYS = (("A", "B"), ("B", "A"))


def drawn(rng: random.Random, cluster: str) -> Log:
    """Up to five records with few times, in any order, and offsets left out; what a mirror without headers leaves."""
    kept = sorted(rng.sample(range(7), rng.choice((0, 0, 1, 2, 3, 5))))
    times = [rng.randint(1, 4) for _ in kept]
    times = sorted(times) if rng.random() < 0.5 else times
    return Log(cluster, tuple(LogRecord(o, cluster, o, at) for o, at in zip(kept, times, strict=True)), 0, 7, 7)


def mirrored(rng: random.Random, *, is_one_way: bool) -> list[Log]:
    """Logs of which each copy has a header, seldom of a third cluster."""
    clusters = ("A", "B", "C") if rng.random() < 0.2 else ("A", "B")
    routes = BOTH_WAYS[:1] if is_one_way else BOTH_WAYS if len(clusters) == 2 else (*BOTH_WAYS, ("C", "A"))
    written = write_logs(World(clusters, clusters[:1] if is_one_way else clusters, routes, 12, marker=0.5), rng)
    logs = [tuple(record for record in written[alias] if record is not None) for alias in "AB"]
    return [Log(alias, log, 0, len(written[alias]), len(written[alias])) for alias, log in zip("AB", logs, strict=True)]


def index_of(log: Log, begin: int, seen_ms: int) -> LogIndex:
    index = LogIndex(begin)
    rows = [(r.offset, 1, CODES[r.origin], r.origin_offset, seen_ms) for r in log.indexed]
    index.extend(Runs.of(*np.array(rows, np.int64).reshape(-1, 5).T), log.frontier)
    times = [(r.offset, 1, r.timestamp_ms, r.offset, 0) for r in log.indexed]
    same = Runs.of(*np.array(times, np.int64).reshape(-1, 5).T).joined()
    index.times = TimeIndex()
    index.times.extend(same.start, same.length, *[same.origin.astype(np.int64)] * 2)
    return index


@dataclass(frozen=True)
class Question:
    """Commits of A that are asked for at B; *begins* and *seen_ms* are of both indexes, *log_start* of both logs."""

    name: str
    source: Log
    target: Log
    begins: tuple[int, int] = (0, 0)
    seen_ms: tuple[int, int] = (0, 0)
    idle_since_ms: int = -1
    look_back: int = 1000
    cut_at: int | None = None
    page_runs: int = 0
    has_times: tuple[bool, bool] = (True, True)

    @property
    def is_by_times(self) -> bool:
        return self.name == "timestamp" and all(self.has_times)

    def ask(self) -> Translations:
        logs = []
        for n, log in enumerate((self.source, self.target)):
            index = index_of(log, self.begins[n], self.seen_ms[n])
            index.times = index.times if self.has_times[n] else None
            if self.page_runs:
                let_go_of_all_but(index, 1, self.page_runs, KeptPages())
            said = PartitionMetadata("id", log.log_start, log.log_end, frozenset({"id"}), index.frontier)
            logs.append(PartitionLog(index, CODES[log.cluster], said))
        logs[1] = replace(logs[1], metadata=logs[1].metadata._replace(cut_at=self.cut_at))
        commits = np.arange(self.source.log_end + 2)
        strategy = Strategy(self.name, self.look_back, self.idle_since_ms)
        return translate_partition(commits, [None] * len(commits), logs[0], logs[1], Bounds(10**15), strategy)


class Choice(NamedTuple):
    """What a strategy answers by itself."""

    offset: int
    is_exact: bool = False
    duplicates: int = 0
    at_most: int = 0
    is_disordered: bool = False


def by_timestamp(source: Sequence[LogRecord], target: Sequence[LogRecord], c: int, end: int) -> Choice:
    """The definition: the first record not older than the first unread one."""
    if not source or not target:
        return Choice(target[0].offset if target else end)
    read, unread = ([r for r in source if (r.offset < c) is side] for side in (True, False))
    newest, at_ms = max((r.timestamp_ms for r in read), default=-99), (unread or source[-1:])[0].timestamp_ms
    first = next((record for record in target if record.timestamp_ms >= at_ms), None)
    offset = end if first is None else first.offset
    last = max((r.offset for r in target if r.timestamp_ms <= newest), default=-1)
    at_most = sum(offset <= r.offset <= last for r in target)
    as_new = next((n for n, r in enumerate(read) if r.timestamp_ms >= at_ms), len(read))
    repeats = 0 if first is None else min(len(read) - as_new, at_most)
    return Choice(offset, first is not None and repeats == 0, repeats, at_most, newest > at_ms)


def by_header(source: Sequence[LogRecord], c: int, look_back: int) -> Choice:
    """The definition: the header of the record at the commit, else of the nearest one before it."""
    read, unread = ([r for r in source if (r.offset < c) is side] for side in (True, False))
    if unread and unread[0].origin == "B":
        return Choice(unread[0].origin_offset + max(0, c - unread[0].offset))
    near = [record for record in read if record.origin == "B" and record.offset >= c - look_back]
    return Choice(near[-1].origin_offset + 1 if near else ABSENT)


def refused(asked: Question) -> bool:
    origins = [{record.origin for record in log.indexed} for log in (asked.source, asked.target)]
    return max(map(len, origins)) > 1 if asked.name == "timestamp" else not origins[0] | origins[1] <= {"A", "B"}


def is_stamped(asked: Question, target: Log) -> bool:
    return any(record.origin != log.cluster for log in (asked.source, target) for record in log.indexed)


def is_idle(asked: Question, target: Log) -> bool:
    is_known = asked.source.frontier == asked.source.log_end and target.frontier == target.log_end
    ends = [max((r.timestamp_ms for r in log.indexed), default=-99) for log in (asked.source, target)]
    seen_ms = [ms if log.indexed else 0 for ms, log in zip(asked.seen_ms, (asked.source, asked.target), strict=True)]
    return is_known and max(seen_ms) <= asked.idle_since_ms and (not asked.is_by_times or ends[1] <= ends[0])


def choice_of(asked: Question, target: Log, c: int) -> Choice:
    source = asked.source.indexed
    found = by_header(source, c, asked.look_back)
    if asked.is_by_times:
        found = by_timestamp(source, target.indexed, c, target.frontier)
    if found.offset < 0 and c <= (source[0].offset if source else asked.source.frontier):
        found = found._replace(offset=target.log_start)
    if not target.indexed:
        found = found._replace(offset=target.frontier)
    if is_idle(asked, target) and c >= asked.source.log_end:
        found = Choice(target.log_end, True, is_disordered=found.is_disordered)
    return found if asked.cut_at is None else found._replace(offset=min(found.offset, asked.cut_at))


def wanted(asked: Question, case: Case, c: int) -> tuple[State, Choice, Answer]:
    """Return the state, and the answer: t(c) where headers tell records apart and the strategy's is not below it."""
    target = case.target
    choice = choice_of(asked, target, c)
    (best,) = answers(case, [c])
    state, offset, is_behind = best.state, choice.offset, c > asked.source.frontier
    if asked.name == "header" or is_stamped(asked, target):
        is_exact = not 0 <= choice.offset < best.offset
        offset, is_late = best.offset if is_exact else choice.offset, choice.offset > best.offset
        answer = replace(best, offset=offset, clamped_offset=max(offset, target.log_start))
    else:
        deleted = sum(offset <= r.offset < target.log_start for r in target.indexed)
        counts = [max(0, each - deleted) for each in choice[2:4]]
        lost = max(0, deleted - choice.duplicates)
        is_exact, is_late = offset >= target.frontier, False
        state = State.INDEX_BEHIND if is_behind else State.AT_FRONTIER if is_exact else State.EXACT
        answer = Answer(offset, max(offset, target.log_start), state, *counts, lost)
    state = state if is_exact or choice.is_exact else State.APPROXIMATE
    state = State.STRATEGY_REFUSED if is_late else State.NO_REFERENCE if choice.offset < 0 else state
    is_unknown = c < asked.begins[0] > asked.source.log_start
    is_unknown |= choice.offset <= min(asked.begins[1], target.frontier) > target.log_start
    state = State.NOT_INDEXED if is_unknown else state
    return State.COMMIT_BEYOND_END if c > asked.source.log_end else state, choice, answer


def questions(seed: int, name: str) -> Question:
    rng = random.Random(seed)
    logs = [drawn(rng, "A"), drawn(rng, "B")]
    if rng.random() < (0.8 if name == "header" else 0.3):
        logs = mirrored(rng, is_one_way=rng.random() < (0.2 if name == "header" else 0.9))
    begins = [rng.choice((0, 0, 3)) if name == "timestamp" else 0 for _ in logs]
    for n, log in enumerate(logs):
        kept = tuple(record for record in log.records if record.offset >= begins[n])
        frontier = rng.choice((log.log_end, log.log_end, rng.randint(begins[n], max(begins[n], log.log_end))))
        start = rng.choice((0, *[rng.randint(0, log.log_end)] * 2))
        logs[n] = replace(log, records=kept, frontier=frontier, log_start=start, log_end=max(frontier, log.log_end))
    cut_at = rng.choice((None, None, rng.randint(0, logs[1].frontier)))
    seen_ms, look_back = (rng.choice((1, 1, 5)), rng.choice((1, 1, 5))), rng.choice((0, 1, 3, 1000))
    has_times = rng.choice(((True, True), (True, True), (False, True), (True, False)))
    return Question(
        name,
        *logs,
        tuple(begins),
        seen_ms,
        rng.choice((-1, 4, 5, 5)),
        look_back,
        cut_at,
        rng.choice((0, 1, 2)),
        has_times,
    )


def test_an_answer_is_its_definition_and_not_above_the_exact_one_where_headers_tell_records_apart() -> None:
    for seed in range(examples(1500)):
        for name in ("timestamp", "header"):
            is_as_defined(questions(seed, name))


def is_as_defined(asked: Question) -> None:
    case = Case("A", asked.source, asked.target, now_ms=9)
    case = case if asked.cut_at is None else below_the_cut(case, asked.cut_at)
    found = asked.ask()
    states = [State(code) for code in found.state.tolist()]
    if refused(asked):
        assert (set(states[:-1]), set(found.wanted.tolist())) == ({State.STRATEGY_REFUSED}, {ABSENT})
        return
    counts = zip(*(each.tolist() for each in (found.duplicates, found.duplicates_at_most, found.lost)), strict=True)
    for c, told in enumerate(counts):
        state, choice, answer = wanted(asked, case, c)
        assert (c, states[c], found.is_disordered[c]) == (c, state, choice.is_disordered), asked
        if states[c].is_withheld:
            assert (found.wanted[c], *told) == (ABSENT, 0, 0, 0)
            continue
        assert found.wanted[c] == answer.clamped_offset
        if asked.name == "timestamp" and not is_stamped(asked, case.target):
            assert told == (answer.duplicates, answer.duplicates_at_most, answer.lost)


@pytest.mark.parametrize("seed", range(100))
def test_times_in_order_skip_nothing_also_where_a_stretch_hides_them(seed: int) -> None:
    rng = random.Random(seed)
    times = sorted(rng.choices(range(1, 5), k=rng.randint(1, 7)))
    copied = sorted(rng.sample(range(len(times)), rng.randint(1, len(times))))

    def merged(some: list[int]) -> TimeIndex:
        found = TimeIndex()
        while some:
            part, some = (some[: (n := rng.choice((1, 1, 2, 3)))], some[n:])
            found.extend(*(np.array([each]) for each in (int(sum(found.length)), len(part), part[0], part[-1])))
        return found

    committed = np.arange(len(times) + 1)
    here, there = merged(times), merged([times[n] for n in copied])
    found = answer_by_timestamp(committed, here, there, len(copied))
    assert all(answer <= sum(n < c for n in copied) for c, answer in enumerate(found.offset.tolist()))
