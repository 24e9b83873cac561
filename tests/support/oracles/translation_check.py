"""The translation core against brute force, answer by answer."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from fakes.pages import KeptPages, let_go_of_all_but
from generators.mirrored_logs import Increment, increments
from offset_sync.model.values import State
from offset_sync.translate.exact import Bounds, translate
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Runs
from offset_sync.translate.partition_log import NOT_ASKED, PartitionLog, PartitionMetadata
from oracles.translation import MALFORMED, Answer, Case, Log


def origin_codes(case: Case) -> dict[str, int]:
    """Return a code for every origin that occurs; a malformed record has the one that means no origin."""
    logs = [case.target] if case.source is None else [case.target, case.source]
    names = {case.source_cluster, *(record.origin for log in logs for record in log.records)}
    names = (names | {origin for origin, _ in case.lost}) - {MALFORMED}
    return {MALFORMED: UNKNOWN_ORIGIN, **{name: code for code, name in enumerate(sorted(names))}}


def extend_index(index: LogIndex, batch: Increment, codes: dict[str, int]) -> None:
    rows = [(run.start, run.length, codes[run.origin], run.origin_start, run.indexed_at_ms) for run in batch.runs]
    index.extend(Runs.of(*np.array(rows, np.int64).reshape(-1, 5).T), batch.frontier)


def growing(
    case: Case, rng: random.Random | None = None, page_runs: int | None = None
) -> Iterator[tuple[Case, LogIndex | None, LogIndex]]:
    """Yield *case* as far as it is known, with its indexes, after each batch; the same two indexes grow all the time.

    Batches of source and target are mixed and cut as *rng* likes; without it each log is read in one. With *page_runs*
    the indexes let go of pages of so many runs, as soon as they may.
    """
    pages = {"target": KeptPages(), "source": KeptPages()}
    codes = origin_codes(case)
    source = None if case.source is None else LogIndex()
    if source is not None:
        lost = [(0, 1, codes[origin], number, 0) for origin, number in case.lost]
        source.lose(Runs.of(*np.array(lost, np.int64).reshape(-1, 5).T))
    target = LogIndex()
    waiting = {"target": _batches(case.target, rng), "source": _batches(case.source, rng)}
    known = replace(case, target=replace(case.target, frontier=0))
    if case.source is not None:
        known = replace(known, source=replace(case.source, frontier=0))
    while sides := [side for side, batches in waiting.items() if batches]:
        for name, index in (("target", target), ("source", source)):
            if page_runs is not None and index is not None and not (rng and rng.random() < 0.3):
                let_go_of_all_but(index, 1, page_runs, pages[name])
        side = rng.choice(sides) if rng else sides[0]
        batch = waiting[side].pop(0)
        if side == "target":
            extend_index(target, batch, codes)
            known = replace(known, target=replace(known.target, frontier=batch.frontier))
        elif source is not None and known.source is not None:
            extend_index(source, batch, codes)
            known = replace(known, source=replace(known.source, frontier=batch.frontier))
        yield known, source, target


def _batches(log: Log | None, rng: random.Random | None) -> list[Increment]:
    if log is None:
        return []
    return increments(log, rng, batches=5) if rng else increments(log, random.Random(0), batches=1, splits=0)


def logs_of(case: Case, source: LogIndex | None, target: LogIndex) -> tuple[PartitionLog, PartitionLog]:
    codes = origin_codes(case)
    metadata = PartitionMetadata("", case.target.log_start, case.target.log_end)
    # The code of the target's own records is of no account to the theorem; it may have none.
    target_origin = codes.get(case.target.cluster, len(codes))
    said = NOT_ASKED._replace(log_start=case.source.log_start if case.source is not None else 0)
    return PartitionLog.of(source, codes[case.source_cluster], said), PartitionLog(target, target_origin, metadata)


def ask(
    case: Case, commits: Sequence[int], source: LogIndex | None, target: LogIndex, *, window_start: int = 0
) -> list[Answer]:
    """Return the core's answers, from these indexes of *case*, in the oracle's words."""
    found = translate(
        np.array(commits, dtype=np.int64),
        *logs_of(case, source, target),
        Bounds(case.now_ms - case.hole_grace_ms, window_start),
    )
    clamped = np.maximum(found.offset, case.target.log_start)
    columns = (found.offset, clamped, found.duplicates, found.duplicates_at_most, found.lost)
    numbers = zip(*columns, strict=True)
    states = [_state(bool(at), bool(behind)) for at, behind in zip(found.at_frontier, found.index_behind, strict=True)]
    return [
        Answer(int(offset), int(clamped), state, int(duplicates), int(at_most), int(lost))
        for (offset, clamped, duplicates, at_most, lost), state in zip(numbers, states, strict=True)
    ]


def translated(case: Case, commits: Sequence[int]) -> list[Answer]:
    """Return the core's answers once everything of *case* is indexed."""
    *_, (_, source, target) = growing(case)
    return ask(case, commits, source, target)


def _state(is_at_frontier: bool, is_index_behind: bool) -> State:
    if is_index_behind:
        return State.INDEX_BEHIND
    return State.AT_FRONTIER if is_at_frontier else State.EXACT


def every_commit(case: Case) -> range:
    """Return all committed offsets the source can have, and a few that it cannot have yet."""
    return range((case.target.log_end if case.source is None else case.source.log_end) + 3)
