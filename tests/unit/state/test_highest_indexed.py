"""How far each log is known to reach, from what is indexed of it anywhere."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from builders.index_rows import add, begin, edge, life, run
from fakes.tables import MemoryTables
from generators.hypothesis_strategies import law
from offset_sync.model.values import ClusterPartition
from offset_sync.state.highest_indexed import highest_indexed
from offset_sync.tables.catalog import ARRIVED, LOG_INCARNATIONS, RECORD_RUNS, RECREATED, TRUNCATED


@law(100)
@given(st.randoms(use_true_random=False))
def test_the_end_of_the_last_record_counts_that_was_indexed_in_the_last_life(rng: random.Random) -> None:
    tables = MemoryTables(batch_rows=rng.randrange(1, 9))
    noticed = {f"{cluster}": rng.randrange(40) for cluster in rng.sample("XY", rng.randrange(3))}
    rows, wanted = [begin(5, place=("X", "orders", 0)), edge(70, place=("Y", "orders", 0))], {}
    for _ in range(rng.randrange(12)):
        origin, number, length, seen_ms = (
            rng.choice(["X", "Y", ""]),
            rng.randrange(50),
            rng.randrange(1, 4),
            rng.randrange(60),
        )
        place = (rng.choice("XY"), rng.choice(["orders", "pay"]), rng.randrange(2))
        stands_at = number if origin == place[0] else rng.randrange(90)
        rows.append(run(stands_at, length, origin, number, place=place, seen_ms=seen_ms))
        for cluster, start in ((origin, number), (place[0], stands_at)):
            is_earlier = place[1:] == ("orders", 0) and cluster in noticed and seen_ms <= noticed[cluster]
            if cluster and not is_earlier:
                log = ClusterPartition(cluster, *place[1:])
                wanted[log] = max(start + length, wanted.get(log, 0))
    add(tables, RECORD_RUNS, *rows)
    if noticed:
        begun = [life(cluster, 0, at_ms, rng.choice([TRUNCATED, RECREATED])) for cluster, at_ms in noticed.items()]
        add(tables, LOG_INCARNATIONS, *begun, life("X", 9, 99, ARRIVED))
    assert highest_indexed(tables) == wanted  # type: ignore[arg-type]
