"""What a checkpoint says, from files exactly as Spark 4.2 writes them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from offset_sync.ingest.checkpoint import Checkpoint
from offset_sync.model.errors import OtherClusterError, TableError
from offset_sync.tables.files import Files
from tools.stored_names import note_stored

BATCH = '{"batchWatermarkMs":0,"batchTimestampMs":1795256074434,"conf":{"spark.sql.shuffle.partitions":"4"}}'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two batches of a query on two topics; orders-1 appears in the second."""
    (tmp_path / "metadata").write_text('{"id":"9b7e2f5e-6b44-4c53-93a7-2d2a4c7ab0a4"}')
    for name in ("offsets", "commits", "sources/0"):
        (tmp_path / name).mkdir(parents=True)
    first = {"orders": {"0": 5}, "größe": {"0": 0}}
    (tmp_path / "sources" / "0" / "0").write_bytes(b"\0v1\n" + json.dumps(first).encode())
    ends = [{"orders": {"0": 9}, "größe": {"0": 0}}, {"orders": {"0": 12, "1": 3}, "größe": {"0": 4_000_000_000}}]
    for batch_id, end in enumerate(ends):
        (tmp_path / "offsets" / str(batch_id)).write_text(f"v1\n{BATCH}\n{json.dumps(end)}")
    return tmp_path


def test_a_batch_starts_where_the_one_before_ended_and_has_at_most_as_many_records_as_offsets(folder: Path) -> None:
    checkpoint = Checkpoint(Files(), f"file://{folder}/")
    assert checkpoint.query_id() == "9b7e2f5e-6b44-4c53-93a7-2d2a4c7ab0a4"
    assert checkpoint.start_offsets(0) == {("orders", 0): 5, ("größe", 0): 0}
    assert checkpoint.start_offsets(1) == checkpoint.end_offsets(0) == {("orders", 0): 9, ("größe", 0): 0}
    assert checkpoint.end_offsets(1) == {("orders", 0): 12, ("orders", 1): 3, ("größe", 0): 4_000_000_000}
    assert [checkpoint.record_limit(batch) for batch in (0, 1)] == [4, 3 + 3 + 4_000_000_000]
    assert checkpoint.position() == {}
    (folder / "offsets" / "0").write_text(f'v1\n{BATCH}\n{{"__consumer_offsets": {{"0": 9, "49": 3}}}}')
    (folder / "commits" / "0").write_text("v1\n{}")
    assert checkpoint.position() == {0: 9, 49: 3}


@pytest.mark.parametrize("first_line", ["v2", "", "\0v12"])
def test_a_file_of_another_format_is_an_error_that_names_it_and_stays_as_it_is(folder: Path, first_line: str) -> None:
    (folder / "offsets" / "1").write_text(text := f"{first_line}\n{BATCH}\n{{}}")
    checkpoint = Checkpoint(Files(), str(folder))
    for act in (lambda: checkpoint.record_limit(1), lambda: checkpoint.leave_out(lambda _log: True)):
        with pytest.raises(TableError, match=r"/offsets/1: expected a checkpoint of format v1, found .*; go on with"):
            act()
    assert (folder / "offsets" / "1").read_text() == text


def plans(folder: Path) -> set[str]:
    found = ("offsets/0", "offsets/1", "sources/0/0")
    return {name for name in found if (folder / name).exists()}


def refuse() -> None:
    raise OtherClusterError("dc1", "another id")


def test_what_another_cluster_planned_is_planned_again_under_another_name(folder: Path) -> None:
    (folder / "commits" / "0").write_text("v1\n{}")
    checkpoint = Checkpoint(Files(), str(folder))
    before = checkpoint.query_id()
    checkpoint.begin(lambda: None)
    assert (plans(folder), checkpoint.query_id()) == ({"offsets/0", "offsets/1", "sources/0/0"}, before)
    with pytest.raises(OtherClusterError):
        checkpoint.begin(refuse)
    assert plans(folder) == {"offsets/0", "sources/0/0"}
    assert checkpoint.query_id() != before
    checkpoint.forget_plan()
    assert plans(folder) == {"offsets/0", "sources/0/0"}, "what is done stays"
    (folder / "commits" / "0").unlink()
    Checkpoint(Files(), str(folder)).forget_plan()
    assert plans(folder) == set(), "the first plan is forgotten with where it begins"


def test_a_plan_that_was_not_stored_is_planned_again_under_another_name(folder: Path) -> None:
    """Under the same name the tables would skip it as a repetition, though it may end elsewhere."""
    checkpoint = Checkpoint(Files(), str(folder))
    before = checkpoint.query_id()
    (folder / "offsets" / "1").write_text("v1\n")
    checkpoint.begin(lambda: None)
    assert (plans(folder), checkpoint.query_id() != before) == ({"offsets/0", "sources/0/0"}, True)


def test_a_plan_is_stored_before_anything_is_done_by_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = note_stored(monkeypatch)
    checkpoint = Checkpoint(Files(), str(folder))
    checkpoint.end_offsets(1)
    assert stored == ["1", "offsets"]
    checkpoint.end_offsets(1)
    assert len(stored) == 2, "once"
