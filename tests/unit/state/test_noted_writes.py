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

    def write(self, target: str, offset: int) -> None:
        self.state.offsets.clusters[target].own_writes.begin(self.key, np.array([offset]), 10 * offset)
        self.noted.note(target)

    def pending(self, target: str) -> list[int]:
        unrecorded = self.state.offsets.clusters[target].own_writes.unrecorded()
        assert all(at_ms == 10 * offset for _, offset, at_ms in unrecorded)
        return [offset for _, offset, _ in unrecorded]


def test_each_driver_replaces_its_own_file_and_deletes_those_of_earlier_ones_once_it_has_noted_there_itself() -> None:
    files = memory_files()
    first = Driver(files, 9)
    for target, offset in (("X", 4), ("Y", 5), ("X", 6)):
        first.write(target, offset)
    files[f"{CONFIG.tables.checkpoints}/noted_writes/.9.X.json.tmp"] = "[["  # it was killed as it wrote
    second = Driver(files, 10)
    assert (second.pending("X"), second.pending("Y")) == ([4, 6], [5])
    second.write("X", 7)
    assert len(files) == 3  # its own, that of Y, and what is no file
    Driver(files, 9).write("X", 3)  # it was suspended before it had inherited, and wakes
    assert len(files) == 4
    assert Driver(files, 11).pending("X") == [3, 4, 6, 7]


def test_at_its_end_a_driver_notes_all_that_a_target_holds_of_ours_for_one_with_new_tables() -> None:
    first = Driver(memory_files(), 1)
    for name, value in {"actual_offset": 4, "actual_made_ms": 40, "actual_is_own": True}.items():
        first.state.offsets.clusters["X"].columns[name][first.key] = value
    first.noted.note_held("X")
    first.noted.inherit()
    assert (first.pending("X"), Driver(first.noted._files, 1).pending("X")) == ([], [4])


def test_the_folder_of_an_installation_that_was_rebuilt_has_files_of_later_epochs() -> None:
    files = memory_files()
    Driver(files, 7).write("X", 5)
    Driver(files, 1).write("X", 10)
    assert Driver(files, 2).pending("X") == [5, 10]


def test_a_write_is_inherited_unless_its_record_was_captured() -> None:
    """Else a reset to where the group was started would be taken for it."""
    files = memory_files()
    first = Driver(files, 1)
    for offset in (3, 4):
        first.write("X", offset)
    for is_own, left in ((True, [3, 4]), (False, [3, 4, 4, 3, 4])):
        state = SyncState(CONFIG, MemoryIndex())  # type: ignore[arg-type]
        columns = state.offsets.clusters["X"].columns
        key = state.offsets.ids([KEY])
        columns["actual_offset"][key], columns["captured_ms"][key], columns["actual_is_own"][key] = 4, 40, is_own
        NotedWrites(files, CONFIG, 2, state).inherit()
        inherit_writes(state, "X", [NotedWrite(KEY, offset, at) for at, offset in enumerate((4, 3, 4))])
        assert [offset for _, offset, _ in state.offsets.clusters["X"].own_writes.unrecorded()] == left
