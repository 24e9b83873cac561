"""Logs as a power failure leaves them: the newest entry goes and comes again, any other needs a person."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from offset_sync.model.errors import TableError
from offset_sync.tables.log_repair import repair_log

WHOLE = '{"commitInfo":{}}\n{"add":{"path":"part-0.parquet"}}\n'
DAMAGED = {"empty": "", "zeros": "\0" * 300, "cut off": WHOLE[:-20], "blank": "\n"}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "commits" / "_delta_log").mkdir(parents=True)
    for version in range(4):
        entry(tmp_path / "commits", version).write_text(WHOLE)
    return tmp_path / "commits"


def entry(table: Path, version: int, kind: str = "json") -> Path:
    return table / "_delta_log" / f"{version:020d}.{kind}"


@pytest.mark.parametrize("kind", DAMAGED)
def test_the_newest_entry_is_removed_where_it_is_not_whole(
    table: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    entry(table, 3).write_text(DAMAGED[kind])
    entry(table, 3, "crc").write_text("{}")
    with caplog.at_level(logging.WARNING):
        assert [repair_log(table), repair_log(table)] == [True, False]
    assert sorted(each.name for each in (table / "_delta_log").iterdir()) == [entry(table, n).name for n in range(3)]
    (line,) = caplog.messages
    assert line.startswith(str(entry(table, 3)))


def test_a_log_that_is_whole_stays_as_it_is_without_a_wait_for_its_lock(table: Path) -> None:
    (table / "_delta_log" / "_last_checkpoint").write_text("")
    assert not repair_log(table)
    assert not repair_log(table.parent / "another")
    assert not (table.parent / ".commits.lock").exists()


@pytest.mark.parametrize("version", [0, 2])
def test_an_entry_before_others_is_refused_by_name_with_the_remedy(table: Path, version: int) -> None:
    entry(table, version).write_text("")
    with pytest.raises(TableError, match=rf"{version:020d}.json: empty .* put back a copy .* tables.checkpoints new"):
        repair_log(table)
    entry(table, 3).write_text("")
    with pytest.raises(TableError, match=rf"{version:020d}.json"):
        repair_log(table)
    assert entry(table, 3).exists()


def test_an_entry_that_a_checkpoint_holds_is_refused(table: Path) -> None:
    entry(table, 3).write_text("")
    entry(table, 3, "checkpoint.parquet").write_bytes(b"PAR1 and so on PAR1")
    with pytest.raises(TableError):
        repair_log(table)


def test_a_log_that_names_a_checkpoint_that_is_not_there_names_none_after(table: Path) -> None:
    last = table / "_delta_log" / "_last_checkpoint"
    last.write_text('{"version":2,"size":5}')
    entry(table, 2, "checkpoint.parquet").write_bytes(b"PAR1 and so on PAR1")
    assert not repair_log(table)
    assert last.exists()
    entry(table, 2, "checkpoint.parquet").unlink()
    assert not repair_log(table), "no entry has gone"
    assert [each.name for each in (table / "_delta_log").iterdir() if each.suffix != ".json"] == []


def test_of_two_checkpoints_only_that_goes_which_cannot_be_read(table: Path) -> None:
    last = table / "_delta_log" / "_last_checkpoint"
    last.write_text('{"version":1}')
    entry(table, 1, "checkpoint.parquet").write_bytes(b"PAR1 and so on PAR1")
    entry(table, 3, "checkpoint.parquet").write_bytes(b"PAR1 and so on")
    repair_log(table)
    assert entry(table, 1, "checkpoint.parquet").exists()
    assert last.exists()
    assert not entry(table, 3, "checkpoint.parquet").exists()
    assert entry(table, 3).exists()
