"""Tables are read and followed as they are, by any writer and after any maintenance."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa
import pytest

from offset_sync.config.prefix_names import PrefixNames
from offset_sync.config.stream_names import SAME_NAMES, Names
from offset_sync.tables.catalog import OFFSET_COMMITS, OFFSET_TRANSLATIONS
from offset_sync.tables.store import TableStore

NOON = datetime(2026, 9, 1, 12, tzinfo=timezone.utc)


def mm2() -> Names:
    return PrefixNames({"dc1": "dc1", "dc2": "dc2"}, ".")


def commits(*places: tuple[str, str]) -> pa.Table:
    rows = [{"cluster": cluster, "topic": topic, "committed_offset": n} for n, (cluster, topic) in enumerate(places)]
    return pa.Table.from_pylist(rows, OFFSET_COMMITS.arrow_schema)


def names_in(rows: pa.Table) -> list[tuple[str, str]]:
    rows = rows.sort_by("committed_offset")
    return list(zip(rows.column("cluster").to_pylist(), rows.column("topic").to_pylist(), strict=True))


INSIDE = [("dc1", "dc1.orders"), ("dc2", "dc1.orders"), ("dc2", "dc2.orders"), ("dc1", "heartbeats at dc1")]
OUTSIDE = [("dc1", "orders"), ("dc2", "dc1.orders"), ("dc2", "orders"), ("dc1", "heartbeats")]


def test_rows_are_written_with_the_names_of_their_clusters_and_read_as_streams(tmp_path: Path) -> None:
    named, plain = TableStore(str(tmp_path), names=mm2()), TableStore(str(tmp_path))
    named.create([OFFSET_COMMITS])
    named.append(OFFSET_COMMITS, commits(*INSIDE))
    assert names_in(plain.all_rows(OFFSET_COMMITS)) == OUTSIDE
    version = named.version(OFFSET_COMMITS)
    few = pa.concat_tables(named.batches(OFFSET_COMMITS, ["topic", "committed_offset"]))
    assert few.sort_by("committed_offset").column("topic").to_pylist() == [topic for _, topic in INSIDE]
    for rows in (
        named.all_rows(OFFSET_COMMITS),
        named.read_added(OFFSET_COMMITS, 0, version),
        named.rows_since(OFFSET_COMMITS, None)[0],
        pa.concat_tables(named.batches(OFFSET_COMMITS)),
    ):
        assert names_in(rows) == INSIDE


def answered(topic: str, stream: str, target_topic: str) -> dict[str, object]:
    same = {"source_cluster": "dc1", "target_cluster": "dc2", "translated_at": NOON}
    return {**same, "topic": topic, "stream": stream, "target_topic": target_topic}


@pytest.mark.parametrize(
    ("names", "is_taken"),
    [
        (SAME_NAMES, [True, False, False, False]),
        (mm2(), [False, True, False, True]),
    ],
)
def test_answers_under_another_name_at_the_target_are_left_out(
    tmp_path: Path, names: Names, is_taken: list[bool]
) -> None:
    rows = [
        answered("orders", "orders", "orders"),
        answered("orders", "dc1.orders", "dc1.orders"),
        answered("orders", "dc1.orders", "dc1-orders"),
        answered("dc2.orders", "dc2.orders", "orders"),
    ]
    plain, named = TableStore(str(tmp_path)), TableStore(str(tmp_path), names=names)
    plain.create([OFFSET_TRANSLATIONS])
    plain.append(OFFSET_TRANSLATIONS, pa.Table.from_pylist(rows, OFFSET_TRANSLATIONS.arrow_schema))
    wanted = [row["target_topic"] for row, taken in zip(rows, is_taken, strict=True) if taken]
    assert named.all_rows(OFFSET_TRANSLATIONS).column("target_topic").to_pylist() == wanted
    (part,) = named.batches(OFFSET_TRANSLATIONS, ["topic", "translated_at"])
    assert part.column_names == ["topic", "translated_at"]
    assert part.num_rows == len(wanted)
