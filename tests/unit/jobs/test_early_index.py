"""The index is read while Spark starts, where that is possible; whoever comes later reads on from there."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from builders.index_rows import run
from offset_sync.config import Config, parse_config
from offset_sync.jobs.early_index import begin_to_read, taken_over
from offset_sync.model.errors import TableError
from offset_sync.tables import store
from offset_sync.tables.catalog import LOG_INCARNATIONS, RECORD_RUNS
from offset_sync.tables.files import Files
from offset_sync.tables.store import TableStore

PLACE = ("dc1", "orders", 0)


def config(root: Path | str, **mirror: Any) -> Config:
    ends = {f"dc{n}": {"kafka": {"bootstrap.servers": f"127.0.0.1:{n}"}} for n in (1, 2)}
    places = {"root": str(root), "checkpoints": f"{root}-checkpoints"}
    return parse_config({"clusters": ends, "topics": {"include": ["orders"]}, "tables": places, **mirror}, {})


def append(tables: TableStore, start: int) -> None:
    """Append a run as index_records does."""
    rows = pa.Table.from_pylist([run(start, 10, "dc1", start, place=PLACE)], RECORD_RUNS.arrow_schema)
    tables.append(RECORD_RUNS, rows)


@pytest.fixture
def root(template: Path, tmp_path: Path) -> Path:
    """Tables with a run."""
    found = tmp_path / "tables"
    shutil.copytree(template, found)
    append(TableStore(str(found)), 0)
    return found


@pytest.fixture
def tables(root: Path) -> TableStore:
    return TableStore(str(root))


def test_the_index_is_read_and_whoever_takes_it_over_reads_on(tables: TableStore, root: Path) -> None:
    begun = begin_to_read(config(root))
    assert begun is not None
    later = TableStore(str(root))
    index = taken_over(begun, config(root), later)
    assert index is begun
    append(tables, 10)
    index.refresh()
    log = index.log(*PLACE)
    assert log is not None
    assert (log.run_count, log.frontier) == (1, 20)
    assert index._tables is later


def test_nothing_is_read_where_tables_are_not_made_or_a_cluster_has_to_be_asked(root: Path, tmp_path: Path) -> None:
    assert begin_to_read(config(tmp_path / "none")) is None
    assert begin_to_read(config(root, mirror={"names": "mm2"})) is None
    shutil.rmtree(root / LOG_INCARNATIONS.name)
    assert begin_to_read(config(root)) is None


@pytest.mark.parametrize("place", ["hdfs://127.0.0.1:1/a", "gopher://name/a"])
def test_tables_that_nobody_reaches_are_left_to_whoever_makes_them(place: str) -> None:
    assert begin_to_read(config(place)) is None
    with pytest.raises(OSError, match=r"Connection refused|Unknown scheme"):
        TableStore.of(config(place)).create()


def test_tables_that_lie_elsewhere_are_read_too(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere than on this disk, though below it: as Hadoop's settings may say of a path without a scheme."""
    files = Files(default=f"file://{root.parent}")
    monkeypatch.setattr(store, "files_of", lambda _config: files)
    assert files.local("/tables") is None
    begun = begin_to_read(config("/tables"))
    assert begun is not None
    begun.refresh()
    assert begun.log(*PLACE) is not None


@pytest.mark.parametrize("name", [RECORD_RUNS.name, LOG_INCARNATIONS.name])
@pytest.mark.parametrize("left", ["", "\n", "{", "\0" * 300])
def test_what_a_power_failure_left_of_a_log_is_removed_before_its_number_is_remembered(
    tables: TableStore, root: Path, left: str, name: str
) -> None:
    torn = root / name / "_delta_log" / f"{2 if name == RECORD_RUNS.name else 1:020d}.json"
    torn.write_text(left)
    begun = begin_to_read(config(root))
    assert begun is not None
    begun.refresh()
    assert not torn.exists()
    tables.create()
    for start in (10, 20):  # what was to be entered comes again, under the same number
        append(tables, start)
        taken_over(begun, config(root), tables).refresh()
    log = begun.log(*PLACE)
    assert log is not None
    assert (log.run_count, log.frontier, log.last_unknown) == (1, 30, -1)


def test_a_log_that_cannot_be_mended_is_left_to_whoever_makes_the_tables(tables: TableStore, root: Path) -> None:
    append(tables, 10)
    (root / RECORD_RUNS.name / "_delta_log" / f"{1:020d}.json").write_text("")
    assert begin_to_read(config(root)) is None
    with pytest.raises(TableError):
        tables.create()


def test_without_an_index_that_was_begun_there_is_a_new_one(tables: TableStore, root: Path) -> None:
    index = taken_over(None, config(root), tables)
    index.refresh()
    assert index.log(*PLACE) is not None


def test_a_table_that_is_other_than_its_files_say_is_left_to_whoever_reads_next(root: Path) -> None:
    """As one for which somebody has switched the mapping of columns on."""
    entry = root / RECORD_RUNS.name / "_delta_log" / f"{2:020d}.json"
    features = '"readerFeatures":["columnMapping"],"writerFeatures":["columnMapping"]'
    entry.write_text(f'{{"protocol":{{"minReaderVersion":3,"minWriterVersion":7,{features}}}}}\n')
    begun = begin_to_read(config(root))
    assert begun is not None
    with pytest.raises(TableError, match=r"not all as its files say, by columnMapping; give tables\.root another"):
        begun.refresh()
