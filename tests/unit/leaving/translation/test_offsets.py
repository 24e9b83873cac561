"""Offsets as text: what is read out of it, and that every line which says nothing is named at once."""

from __future__ import annotations

import pytest

from offset_sync.jobs.translation.offsets import OffsetTable, parse_csv, parse_time
from offset_sync.model.errors import ConfigError

NOW_MS = 1_795_000_000_000
HEADER = b"topic,partition,offset\n"


def rows(table: OffsetTable) -> list[tuple[str, int, int]]:
    known = table.offsets
    columns = (known.topic.tolist(), known.partition.tolist(), known.offset.tolist())
    return [(known.topics[code], partition, offset) for code, partition, offset in zip(*columns, strict=True)]


def problems(text: bytes) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse_csv(text, NOW_MS)
    return caught.value.problems


def test_columns_may_have_any_order_and_others_are_kept_as_they_are() -> None:
    text = b'\xef\xbb\xbfsink,offset,partition,topic\r\n"a ""b"", 1",7,0,orders\r\n 007 , 8 ,1,pay\r\n'
    table = parse_csv(text, NOW_MS)
    assert rows(table) == [("orders", 0, 7), ("pay", 1, 8)]
    assert table.given.column_names == ["sink", "offset", "partition", "topic"]
    assert table.given.column("sink").to_pylist() == ['a "b", 1', " 007 "]


def test_every_bad_line_is_named_with_its_number_in_the_file() -> None:
    lines = [
        b"orders,0,1",
        b"",
        b"orders,0",
        b"orders,0,-1",
        b"orders,x,1",
        b"bad name,0,1",
        b"orders,0,9223372036854775808",
        b"orders,2147483648,9223372036854775807",
        b"orders,0,1,2",
        b",0,1",
        b"orders,0,1e3",
        b"orders,0,",
        "orders,0,\u0663".encode(),
    ]
    assert problems(HEADER + b"\n".join(lines)) == [
        "line 4: expected 3 columns, found 2",
        "line 5: offset '-1' is no number from 0 to 9223372036854775807",
        "line 6: partition 'x' is no number from 0 to 2147483647",
        "line 7: topic 'bad name' is no topic's name",
        "line 8: offset '9223372036854775808' is no number from 0 to 9223372036854775807",
        "line 9: partition '2147483648' is no number from 0 to 2147483647",
        "line 10: expected 3 columns, found 4",
        "line 11: topic '' is no topic's name",
        "line 12: offset '1e3' is no number from 0 to 9223372036854775807",
        "line 13: offset '' is no number from 0 to 9223372036854775807",
        "line 14: offset '\u0663' is no number from 0 to 9223372036854775807",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "expected a header with topic,partition,offset; topic, partition, offset not in: nothing"),
        (b"topic;partition;offset\n", "topic, partition, offset not in: topic;partition;offset"),
        (b"topic,partition,offset,offset\n", "column 'offset' occurs twice"),
        (b"topic,partition,offset,state\n", "column 'state' is a column of the answer; rename it"),
        (b"\xff,partition,offset\n", "not UTF-8"),
    ],
)
def test_a_header_that_will_not_do_is_told(text: bytes, said: str) -> None:
    assert [said in each and each.startswith("line 1: ") for each in problems(text)] == [True]


def test_times_may_be_there_and_may_be_empty() -> None:
    text = b"topic,partition,offset,taken_at\no,0,1,2026-01-31T12:00:00Z\no,0,1,\n"
    text += b"o,0,1,2026-01-31T13:00:00.0019+01:00\n"
    known = parse_csv(text, NOW_MS).offsets
    noon_ms = 1_769_860_800_000
    assert known.taken_at_ms.tolist() == [noon_ms, -1, noon_ms + 1]


def test_a_time_without_its_zone_or_to_come_proves_nothing_and_is_bad() -> None:
    times = ["2026-01-31T12:00:00", "yesterday", "2099-01-01T00:00:00Z", "1769860800000", "2026-01-31T12:00:00Z"]
    text = b"topic,partition,offset,taken_at\n" + b"".join(b"o,0,1,%s\n" % time.encode() for time in times)
    no_time = "is no time with its zone, as 2026-01-31T12:00:00Z"
    assert problems(text) == [
        f"line 2: taken_at '2026-01-31T12:00:00' {no_time}",
        f"line 3: taken_at 'yesterday' {no_time}",
        "line 4: taken_at '2099-01-01T00:00:00Z' is in the future",
        f"line 5: taken_at '1769860800000' {no_time}",
    ]
    assert problems(b"topic,partition,offset,taken_at\no,0,1,2099-01-01T00:00:00Z\n")[0].endswith("in the future")
    with pytest.raises(ValueError, match="zone"):
        parse_time("2026-01-31T12:00:00", NOW_MS)
