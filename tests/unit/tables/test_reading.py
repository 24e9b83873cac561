"""Answers that were made under other names of topics; ``broker/test_mirror_names.py`` has the names of all rows."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa

from offset_sync.config.prefix_names import PrefixNames
from offset_sync.tables.catalog import OFFSET_TRANSLATIONS
from offset_sync.tables.store import TableStore

MM2 = PrefixNames({"dc1": "dc1", "dc2": "dc2"}, ".")


def test_answers_under_another_name_at_the_target_are_left_out(tmp_path: Path) -> None:
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
    plain, named = TableStore(str(tmp_path)), TableStore(str(tmp_path), names=MM2)
    plain.create([OFFSET_TRANSLATIONS])
    plain.append(OFFSET_TRANSLATIONS, pa.Table.from_pylist(rows, OFFSET_TRANSLATIONS.arrow_schema))
    assert named.all_rows(OFFSET_TRANSLATIONS).column("target_topic").to_pylist() == ["dc1.orders", "orders"]
    (part,) = named.batches(OFFSET_TRANSLATIONS, ["topic", "translated_at"])
    assert (part.column_names, part.num_rows) == (["topic", "translated_at"], 2)
