"""Read lists of copies that are recognised by their contents, and of records of which only bounds are known."""

from __future__ import annotations

import numpy as np
import pytest

from contents.fingerprint_follower import COPIES, ORIGIN, Follower
from contents.mirror_settings import fuzz
from contents.unstamped_copies import history
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN, Runs, at_most
from offset_sync.translate.partition_log import PartitionLog
from offset_sync.translate.read_list import FoundList, read_list
from oracles.read_list import offsets_in

EPOCH = 7
X, Y, Z = 0, 1, 2


def ranges(found: FoundList) -> list[tuple[int, int]]:
    told = found.read_list.ranges
    return [(start, start + length) for start, length in zip(told.start.tolist(), told.length.tolist())]


def test_of_copies_told_by_their_contents_none_is_on_a_list_whose_original_is_unread() -> None:
    assert sum(map(listed_of_history, range(12))) > 1_000


def listed_of_history(seed: int) -> int:
    """Return how many records were on lists of one history, both ways and as it was read; none of them was unread."""
    setting = fuzz(seed)
    told, rng = history(setting.workload, seed), np.random.default_rng(seed + 1)
    follower, count = Follower(told, setting.reading, setting.settings, rng), 0
    first_copy = np.full(len(told.original), 1 << 60)
    np.minimum.at(first_copy, told.of, told.copy)
    while not follower.is_done:
        follower.step()
        originals, copies = PartitionLog(follower.originals, ORIGIN), PartitionLog(follower.copies, COPIES)
        ways = (originals, copies, told.copy, told.identity), (copies, originals, told.original, first_copy)
        for source, target, offset, needs in ways:
            for committed in rng.integers(0, source.index.frontier + 1, 4).tolist():
                found = ranges(read_list(committed, 0, source, target, leader_epoch=EPOCH))
                rows = np.flatnonzero(np.isin(offset, list(offsets_in(found))))
                assert (needs[rows] < committed).all(), seed
                count += len(rows)
    return count


@pytest.mark.parametrize(("committed", "wanted"), [(5, []), (6, [(1, 2)]), (7, [(1, 2)])])
def test_of_a_record_that_is_only_bounded_a_native_offset_of_the_source_decides(
    committed: int, wanted: list[tuple[int, int]]
) -> None:
    source, target = LogIndex(), LogIndex()
    source.extend(Runs.of([0, 5], [5, 5], [X, Z], [0, 0], [0, 0]), 10)
    target.extend(Runs.of([0, 1, 2], [1, 1, 1], [at_most(Z), at_most(X), UNKNOWN_ORIGIN], [0, 5, 0], [0] * 3), 3)
    logs = PartitionLog(source, X), PartitionLog(target, Y)
    assert ranges(read_list(committed, 0, *logs, leader_epoch=EPOCH)) == wanted


def test_an_unrecognised_original_may_be_above_the_commit_so_it_is_not_on_the_list() -> None:
    source, target = LogIndex(), LogIndex()
    source.note_unrecognised(Runs.of([1], [1], [Z], [1], [0]))
    source.extend(Runs.of([0, 2], [1, 1], [Z, Z], [0, 2], [0, 0]), 4)
    target.extend(Runs.of([0], [3], [Z], [0], [0]), 3)
    logs = PartitionLog(source, X), PartitionLog(target, Y)
    assert ranges(read_list(4, 0, *logs, leader_epoch=EPOCH)) == [(0, 1), (2, 3)]
