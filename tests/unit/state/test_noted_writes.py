"""Writes that a killed driver has noted, and may have sent: the next one knows which of them it has not read yet."""

from __future__ import annotations

from typing import Any

import numpy as np

from fakes.clusters import MemoryIndex
from fakes.files import memory_files
from fakes.reconciler_site import config_of
from offset_sync.model.values import GroupPartition
from offset_sync.state.noted_writes import NotedWrite, NotedWrites, inherit_writes
from offset_sync.state.sync_state import SyncState

CONFIG = config_of(["X", "Y"])
KEY = GroupPartition("g", "orders", 0)


class Driver:
    """The driver of *epoch*; all have the same *files*."""

    def __init__(self, files: Any, epoch: int) -> None:
        self.state = SyncState(CONFIG, MemoryIndex())  # type: ignore[arg-type]
        self.noted = NotedWrites(files, CONFIG, epoch, self.state)
        self.noted.inherit()
        self.key = self.state.offsets.ids([KEY])

    def write(self, target: str, offset: int, at_ms: int) -> None:
        self.state.offsets.clusters[target].own_writes.begin(self.key, np.array([offset]), at_ms)
        self.noted.note(target)

    def pending(self, target: str) -> list[tuple[int, int]]:
        return [(offset, at_ms) for _, offset, at_ms in self.state.offsets.clusters[target].own_writes.unrecorded()]


def test_each_driver_replaces_its_own_file_and_deletes_those_of_earlier_ones_once_it_has_noted_there_itself() -> None:
    files = memory_files()
    first = Driver(files, 9)
    for target, offset, at_ms in (("X", 4, 100), ("Y", 5, 101), ("X", 6, 102)):
        first.write(target, offset, at_ms)
    files[f"{CONFIG.tables.checkpoints}/noted_writes/.9.X.json.tmp"] = "[["  # it was killed as it wrote
    second = Driver(files, 10)
    assert (second.pending("X"), second.pending("Y")) == ([(4, 100), (6, 102)], [(5, 101)])
    second.write("X", 7, 103)
    assert len(files) == 3  # its own, that of Y, and what is no file
    Driver(files, 9).write("X", 3, 102)  # it was suspended before it had inherited, and wakes
    assert len(files) == 4
    assert Driver(files, 11).pending("X") == [(4, 100), (6, 102), (3, 102), (7, 103)]


def test_what_is_left_once_the_log_is_read_and_is_written_again_is_one_write() -> None:
    files = memory_files()
    Driver(files, 1).write("X", 4, 100)
    second = Driver(files, 2)
    second.state.unread.begin("X")
    second.state.note_read("X")
    second.write("X", 4, 101)
    own_writes, four = second.state.offsets.clusters["X"].own_writes, np.full(2, 4)
    assert own_writes.claim(second.key.repeat(2), four, four).tolist() == [True, False]


def test_at_its_end_a_driver_notes_all_that_a_target_holds_of_ours_for_one_with_new_tables() -> None:
    first = Driver(memory_files(), 1)
    for name, value in {"actual_offset": 4, "actual_made_ms": 99, "actual_is_own": True}.items():
        first.state.offsets.clusters["X"].columns[name][first.key] = value
    first.noted.note_held("X")
    first.noted.inherit()
    assert (first.pending("X"), Driver(first.noted._files, 1).pending("X")) == ([], [(4, 99)])


def inherited(*writes: tuple[int, int], **read: int) -> list[tuple[int, int]]:
    """Return what is pending at X whose last captured record is of offset 4, ours and captured 110, but for *read*."""
    driver = Driver(memory_files(), 1)
    values = {"captured_ms": 110, "actual_offset": 4, "actual_is_own": True}
    for name, value in (values | read).items():
        driver.state.offsets.clusters["X"].columns[name][driver.key] = value
    inherit_writes(driver.state, "X", [NotedWrite(*KEY, *each) for each in writes])
    return driver.pending("X")


def test_a_write_is_inherited_unless_its_record_was_captured() -> None:
    writes = (6, 120), (4, 100), (4, 100)  # of two files
    assert inherited(*writes) == [(6, 120)]
    assert inherited(*writes, actual_offset=5) == inherited(*writes, actual_is_own=False) == [(4, 100), (6, 120)]
    ahead = {"actual_is_own": False, "log_offset": 0, "actual_made_ms": 5_120}
    assert inherited(*writes, **ahead) == [(4, 100), (6, 120)], "the group's, by a clock that is ahead"
