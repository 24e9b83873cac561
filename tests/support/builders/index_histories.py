"""What indexers have appended in a dishonest world, and all that an index knows of it."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from builders.index_rows import EPOCH, begin, edge, run
from builders.record_indexes import content
from fakes.tables import MemoryTables
from offset_sync.model.values import ClusterPartition
from offset_sync.state.record_index import RecordIndex
from offset_sync.translate.partition_log import Incarnation

PLACES = [("Y", "orders", 0), ("X", "orders", 0), ("Y", "orders", 1)]
HISTORIES = st.randoms(use_true_random=False)


def index_of(tables: MemoryTables) -> RecordIndex:
    """Return the index of a start; of topic ``pay`` with its timestamps."""
    index = RecordIndex(tables, lambda topic: topic == "pay", memory_bytes=400)  # type: ignore[arg-type]
    index.refresh()
    return index


def known(index: RecordIndex) -> dict[ClusterPartition, tuple[object, ...]]:
    """Return all that is known of each log."""
    found = {}
    for place, log in index.all_logs().items():
        if log.is_contradicted:  # which of two rows counts depends on the codes of their origins
            found[place] = (True, log.begin, log.frontier)
            continue
        names = {code: name for name, code in index._codes.items()}
        lost = sorted((n, s) for n, s in zip(log.lost.origin_start, log.lost.length, strict=True))
        times = None if log.times is None else [log.times.start.tolist(), log.times.most_ms.tolist()]
        found[place] = (
            content(index, tuple(place)),
            log.complete_until_ms,
            log.grew_at_ms,
            log.last_unknown,
            log.lost_records,
            lost,
            times,
            sorted((names[code], log.reach_of(code)) for code in log.origins),
            sorted(zip(log.first_runs().start.tolist(), log.first_runs().origin_start.tolist(), strict=True)),
        )
    return found


def history(rng: random.Random, *, steps_back: bool) -> list[dict[str, Any]]:
    """Return what indexers have appended: micro-batches, some after a gap, or, with *steps_back*, again or repeated."""
    rows: list[dict[str, Any]] = []
    for place in [*PLACES, ("Y", "pay", 0)]:
        at, seen_ms, numbers = rng.randrange(3), 0, {"X": 0, "Y": 0, "": 0}
        for _ in range(rng.randrange(8)):
            seen_ms += rng.randrange(40)
            at = max(0, at + rng.choice([0, 0, 0, 0, 3, -4 * steps_back]))
            rows.append(begin(at, place=place) | {"complete_until": moment(rng.choice([None, seen_ms]))})
            rows[-1]["indexed_at"] = moment(seen_ms)
            for _ in range(rng.randrange(5)):
                origin, length = rng.choice(["X", "Y", "X", "Y", ""]), rng.randrange(1, 4)
                number = at if origin in (place[0], "") else max(0, numbers[origin] + rng.choice([0, 0, 0, 2, -3]))
                if origin == place[0] and rng.random() < 0.2:  # a copy that came back
                    number = rng.randrange(at + 1)
                times = {"min_timestamp": moment(seen_ms), "max_timestamp": moment(seen_ms + rng.randrange(9))}
                rows.append(run(at, length, origin, number, place=place, seen_ms=seen_ms) | times)
                numbers[origin], at = number + length, at + length
            if rng.random() < 0.3:  # where a batch has read further than its last record
                at += 1
                rows.append(edge(at, place=place) | {"indexed_at": moment(seen_ms)})
    return [*rows, *rng.sample(rows, len(rows) // 3 * steps_back)]


def cuts(rng: random.Random) -> dict[ClusterPartition, Incarnation]:
    """Return new lives of one or two logs of partition 0."""
    return {
        ClusterPartition(alias, "orders", 0): Incarnation(
            rng.randrange(12), rng.randrange(120), "id", is_recreated=rng.random() < 0.3
        )
        for alias in rng.sample("XY", rng.randint(1, 2))
    }


def moment(ms: int | None) -> Any:
    return None if ms is None else EPOCH + timedelta(milliseconds=ms)
