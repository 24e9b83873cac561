"""Tables are read and followed as they are, by any writer and after any maintenance."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from offset_sync.config.prefix_names import PrefixNames
from offset_sync.config.stream_names import SAME_NAMES
from offset_sync.tables.catalog import OFFSET_COMMITS, OFFSET_TRANSLATIONS
from offset_sync.tables.store import TableStore

MM2 = PrefixNames({"dc1": "dc1", "dc2": "dc2"}, ".")
INSIDE = [("dc1", "dc1.orders"), ("dc2", "dc1.orders"), ("dc2", "dc2.orders"), ("dc1", "heartbeats at dc1")]
OUTSIDE = [("dc1", "orders"), ("dc2", "dc1.orders"), ("dc2", "orders"), ("dc1", "heartbeats")]


def test_rows_are_written_with_the_names_of_their_clusters_and_read_as_streams(tmp_path: Path) -> None:
    named, plain = TableStore(str(tmp_path), names=MM2), TableStore(str(tmp_path))
    named.create([OFFSET_COMMITS])
    rows = [{"cluster": cluster, "topic": topic, "committed_offset": n} for n, (cluster, topic) in enumerate(INSIDE)]
    named.append(OFFSET_COMMITS, pa.Table.from_pylist(rows, OFFSET_COMMITS.arrow_schema))
    for wanted, found in (
        (OUTSIDE, plain.all_rows(OFFSET_COMMITS)),
        (INSIDE, named.all_rows(OFFSET_COMMITS)),
        (INSIDE, named.read_added(OFFSET_COMMITS, 0, 1)),
        (INSIDE, named.rows_since(OFFSET_COMMITS, None)[0]),
        (INSIDE, pa.concat_tables(named.batches(OFFSET_COMMITS))),
    ):
        rows = found.sort_by("committed_offset").to_pylist()
        assert [(row["cluster"], row["topic"]) for row in rows] == wanted
    few = pa.concat_tables(named.batches(OFFSET_COMMITS, ["topic", "committed_offset"]))
    assert few.sort_by("committed_offset").column("topic").to_pylist() == [topic for _, topic in INSIDE]


@pytest.mark.parametrize(("names", "taken"), [(SAME_NAMES, ["orders"]), (MM2, ["dc1.orders", "orders"])])
def test_answers_under_another_name_at_the_target_are_left_out(tmp_path: Path, names: Any, taken: list[str]) -> None:
    same = {"source_cluster": "dc1", "target_cluster": "dc2", "translated_at": datetime.now(timezone.utc)}
    rows = [
        same | dict(zip(("topic", "stream", "target_topic"), each, strict=True))
        for each in (
            ("orders", "orders", "orders"),
            ("orders", "dc1.orders", "dc1.orders"),
            ("orders", "dc1.orders", "dc1-orders"),
            ("dc2.orders", "dc2.orders", "orders"),
        )
    ]
    plain, named = TableStore(str(tmp_path)), TableStore(str(tmp_path), names=names)
    plain.create([OFFSET_TRANSLATIONS])
    plain.append(OFFSET_TRANSLATIONS, pa.Table.from_pylist(rows, OFFSET_TRANSLATIONS.arrow_schema))
    assert named.all_rows(OFFSET_TRANSLATIONS).column("target_topic").to_pylist() == taken
    (part,) = named.batches(OFFSET_TRANSLATIONS, ["topic", "translated_at"])
    assert (part.column_names, part.num_rows) == (["topic", "translated_at"], len(taken))
