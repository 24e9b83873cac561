"""What a history says is the same however it comes: in whichever order, in how many pieces, however little is held.

What that is, one by one, is held by ``test_restore.py``.
"""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from builders.commit_histories import BEGINS, STEP, History, known, new_state
from fakes.tables import MemoryTables
from offset_sync.decode.consumer_offsets import coordinator_hashes
from offset_sync.model.values import POLLED
from offset_sync.state import replay
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations, Lineage
from offset_sync.state.replay import restore_commits
from offset_sync.tables.catalog import OFFSET_COMMITS


@pytest.mark.parametrize("held", [10, 1_000_000])
@pytest.mark.parametrize("seed", range(6))
def test_any_order_and_any_pieces_say_what_all_rows_say_in_order(
    monkeypatch: pytest.MonkeyPatch, seed: int, held: int
) -> None:
    history, tables = History(seed), MemoryTables()
    history.go_on(300)
    history.write(tables)  # type: ignore[arg-type]
    wanted, found = new_state(), new_state()
    newest_ms = restore_commits(tables, wanted, CommitLogIncarnations(tables))  # type: ignore[arg-type]
    assert any(each["rewound_ms"] > 0 for each in known(wanted).values())
    assert any(each["genuine_offset"] >= 0 > each["log_offset"] for each in known(wanted).values())
    rows = tables.all_rows(OFFSET_COMMITS)
    order = [*random.Random(seed).sample(range(rows.num_rows), rows.num_rows), *range(40, 90)]
    batches = [rows.take(order[first : first + 50]) for first in range(0, len(order), 50)]
    batches.append(rows.slice(0, 0))
    monkeypatch.setattr(tables, "batches", lambda _table, names: [each.select(names) for each in batches])
    monkeypatch.setattr(replay, "MOST_ROWS", held)
    assert restore_commits(tables, found, CommitLogIncarnations(tables)) == newest_ms  # type: ignore[arg-type]
    assert known(found) == known(wanted)
    clocks = [[each.clock.ahead_ms for each in state.offsets.clusters.values()] for state in (found, wanted)]
    assert clocks[0] == clocks[1] != [None, None]


def ranked(partitions: int, *places: tuple[int, int, int]) -> list[int]:
    """Return the ranks of one group's commits at *places*: partition, offset, and second in which they were read."""
    row = {"group_id": "g", "topic": "orders", "partition": 0, "cluster": "X", "committed_offset": 1}
    row |= {"is_tombstone": False, "is_own": False}
    rows = [
        {**row, "log_partition": number, "log_offset": offset}
        | dict.fromkeys(("committed_at", "made_at", "captured_at"), BEGINS + STEP * second)
        for number, offset, second in places
    ]
    _, ranks = Lineage((), {"X": partitions}).of(pa.Table.from_pylist(rows, OFFSET_COMMITS.arrow_schema))
    found: list[int] = ranks.tolist()
    return found


def test_commits_in_former_partitions_are_in_the_order_of_their_times_but_for_those_of_one_partition() -> None:
    (present,) = (coordinator_hashes(["g"]) % 4).tolist()
    first, second, _ = (number for number in range(4) if number != present)
    assert ranked(4, (second, 5, 2), (first, 900, 1), (present, 0, 0)) == [1, 0, 2]
    assert ranked(4, (first, 901, 1), (first, 900, 2)) == [1, 0], "a clock was set back"


def test_of_commits_from_before_a_cluster_was_polled_the_last_of_a_micro_batch_counts() -> None:
    assert ranked(POLLED, (0, 1024, 1), (0, 1023, 1)) == [1, 0]
