"""Checkpoints of streaming queries, as Spark writes them: which of their offsets is a position."""

from __future__ import annotations

from pathlib import Path

import pytest

from offset_sync.jobs.translation.spark_checkpoint import read_checkpoint
from offset_sync.model.errors import ConfigError

NOW_MS = 1_795_000_000_000
PLAN = 'v1\n{"batchWatermarkMs":0,"batchTimestampMs":%d,"conf":{}}\n%s'


def checkpoint(folder: Path, plans: dict[int, str], done: list[int]) -> Path:
    for name in ("offsets", "commits"):
        (folder / name).mkdir(parents=True)
    for number, lines in plans.items():
        (folder / "offsets" / str(number)).write_text(PLAN % (1000 + number, lines))
        (folder / "offsets" / f".{number}.crc").write_bytes(b"crc")
    for number in done:
        (folder / "commits" / str(number)).write_text("v1\n{}")
    return folder


def offsets(folder: Path) -> list[dict[str, str]]:
    return read_checkpoint(str(folder), None, NOW_MS)[0].given.to_pylist()


def row(source: int, topic: str, partition: int, offset: int) -> dict[str, str]:
    return {"source": str(source), "topic": topic, "partition": str(partition), "offset": str(offset)}


def test_the_last_micro_batch_that_is_done_says_what_is_read_and_not_one_that_is_only_planned(tmp_path: Path) -> None:
    plans = {8: '{"orders":{"0":5}}', 9: '{"orders":{"0":7,"1":2}}', 10: '{"orders":{"0":9,"1":4}}'}
    folder = checkpoint(tmp_path, plans, [8, 9])
    table, remarks = read_checkpoint(str(folder), None, NOW_MS)
    assert table.given.to_pylist() == [row(0, "orders", 0, 7), row(0, "orders", 1, 2)]
    assert remarks == [
        "micro-batch 9 is the last one that is done; 10 is planned but not done, so its records count as unread"
    ]


def test_offsets_have_the_time_before_which_they_cannot_have_been_read(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path, {8: '{"orders":{"0":5}}', 9: '{"orders":{"0":7}}'}, [8, 9])

    def taken_at_ms(given_ms: int | None) -> list[int]:
        times: list[int] = read_checkpoint(str(folder), given_ms, NOW_MS)[0].offsets.taken_at_ms.tolist()
        return times

    assert (taken_at_ms(None), taken_at_ms(5000)) == ([1008], [5000])
    (folder / "offsets" / "8").unlink()
    assert (taken_at_ms(None), taken_at_ms(5000)) == ([-1], [5000])


def test_a_query_without_a_finished_batch_is_where_it_began(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path, {0: '{"orders":{"0":5}}\n{"pay":{"3":6}}'}, [])
    for number, text in enumerate(('{"orders":{"0":2}}', '{"pay":{"3":4}}')):
        (folder / "sources" / str(number)).mkdir(parents=True)
        (folder / "sources" / str(number) / "0").write_text(f"\0v1\n{text}")
    assert offsets(folder) == [row(0, "orders", 0, 2), row(1, "pay", 3, 4)]


def test_sources_that_are_not_kafkas_are_left_out_by_name(tmp_path: Path) -> None:
    lines = '5\n{"orders":{"0":7}}\n{"logOffset":3}\n-\n{"sourceVersion":1,"index":{"a":2}}'
    table, remarks = read_checkpoint(str(checkpoint(tmp_path, {0: lines}, [0])), None, NOW_MS)
    assert table.given.to_pylist() == [row(1, "orders", 0, 7)]
    assert [each for each in remarks if "is omitted" in each] == [
        f"source {number} is omitted: it has no Kafka offsets" for number in (0, 2, 3, 4)
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('v2\n{}\n{"orders":{"0":7}}', "expected format v1, found 'v2'"),
        ("v1", "line 2: expected a JSON object"),
        ("v1\n[]\n5", "line 2: expected a JSON object"),
        ("v1\n{}\n5", "none of its sources is Kafka"),
        ("", "expected format v1, found ''"),
    ],
)
def test_what_is_no_checkpoint_of_kafka_is_told(tmp_path: Path, text: str, said: str) -> None:
    folder = checkpoint(tmp_path, {0: "5"}, [0])
    (folder / "offsets" / "0").write_text(text)
    with pytest.raises(ConfigError, match=said):
        read_checkpoint(str(folder), None, NOW_MS)


def test_a_folder_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not a checkpoint of a query"):
        read_checkpoint(str(tmp_path / "nowhere"), None, NOW_MS)
