"""Groups that come and go: what a start takes in, and leaves for the next, stays as large as two weeks."""

from __future__ import annotations

import numpy as np

from fakes.clusters import MemoryIndex
from fakes.reconciler_site import config_of
from offset_sync.model.values import ABSENT, GroupPartition
from offset_sync.state import last_known
from offset_sync.state.committed_offsets import CommitRecords
from offset_sync.state.last_known import KEPT_MS, to_rows, without
from offset_sync.state.restore import fill_commits
from offset_sync.state.sync_state import SyncState

DAY_MS = 24 * 3600 * 1000
EXPIRED_AFTER_DAYS = 7  # offsets.retention.minutes, of a group without members
KEPT_DAYS = KEPT_MS // DAY_MS
NEW_A_DAY = 20
DAYS = 30
STAYS = GroupPartition("payments", "orders", 0)


class Days:
    """Clusters X and Y: console consumers that read once at X, and a group that stays."""

    def __init__(self) -> None:
        self.state, self.log_offset = self._empty(), 0

    def _empty(self) -> SyncState:
        return SyncState(config_of(["X", "Y"]), MemoryIndex())

    def live(self, day: int) -> None:
        """Let new groups commit, and the offsets of old ones expire at both clusters."""
        self._record(day, [STAYS, *consoles(day)], offset=day)
        if day >= EXPIRED_AFTER_DAYS:
            self._record(day, consoles(day - EXPIRED_AFTER_DAYS), offset=None)

    def _record(self, day: int, keys: list[GroupPartition], offset: int | None) -> None:
        count, is_tombstone = len(keys), offset is None
        for alias in "XY":
            self.log_offset += count
            records = CommitRecords(
                key=np.empty(0, np.intp),
                offset=np.full(count, ABSENT if offset is None else offset),
                is_tombstone=np.full(count, is_tombstone),
                committed_at_ms=np.full(count, day * DAY_MS),
                made_ms=np.full(count, day * DAY_MS),
                log_partition=np.zeros(count, np.int64),
                log_offset=np.arange(self.log_offset, self.log_offset + count),
                topic_id=[None] * count,
                leader_epoch=np.full(count, ABSENT),
            )
            if alias == "Y" and offset is not None:
                self.state.offsets.clusters["Y"].own_writes.begin(self.state.offsets.ids(keys), records.offset)
            self.state.record(alias, keys, records)

    def start_again(self) -> int:
        """Fold what is known and begin with that; return how many rows the fold has."""
        offsets = self.state.offsets
        over = np.flatnonzero(last_known.is_over(offsets)).tolist()
        rows = without(to_rows(offsets), [offsets.keys[row] for row in over])
        self.state = self._empty()
        fill_commits(self.state, rows, ["X", "Y"])
        return int(rows.num_rows)


def test_groups_whose_members_have_left_are_forgotten_after_the_silence() -> None:
    homes = Days().state.homes
    homes.silence_ms = DAY_MS
    for day in range(365):
        homes.note_members("X", {STAYS.group_id, *(each.group_id for each in consoles(day))}, day * DAY_MS)
    assert sum(map(len, homes._seen_ms.values())) == 1 + NEW_A_DAY


def consoles(day: int) -> list[GroupPartition]:
    return [GroupPartition(f"console-consumer-{day}-{number}", "orders", 0) for number in range(NEW_A_DAY)]


def test_groups_that_come_and_go_leave_no_more_than_two_weeks_of_them() -> None:
    site, keys, rows = Days(), list[int](), list[int]()
    for day in range(DAYS):
        site.live(day)
        keys.append(len(site.state.offsets.keys))
        rows.append(site.start_again())
    settled = slice(EXPIRED_AFTER_DAYS + KEPT_DAYS + 2, None)
    assert len({*keys[settled]}) == len({*rows[settled]}) == 1
    assert keys[-1] <= 1 + NEW_A_DAY * (EXPIRED_AFTER_DAYS + KEPT_DAYS + 2)
    assert site.state.offsets.keys[0] == STAYS
    assert [site.state.offsets.clusters[alias].columns["actual_offset"][0] for alias in "XY"] == [DAYS - 1] * 2
