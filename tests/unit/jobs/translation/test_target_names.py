"""Offsets are given by the name at the source; the answer has the name at the target beside it."""

from __future__ import annotations

import io
import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa

from fakes.reconciler_site import config_of
from offset_sync.jobs.translate import target_names
from offset_sync.jobs.translation.answers import to_answer_table
from offset_sync.jobs.translation.offset_table import OffsetTable, to_offsets
from offset_sync.jobs.translation.print_answers import print_spark
from offset_sync.status.kept_offsets import KeptAnswers


def given(*topics: str) -> OffsetTable:
    columns = {"topic": list(topics), "partition": ["0"] * len(topics), "offset": ["9"] * len(topics)}
    return to_offsets(pa.table(columns), np.arange(len(topics)), 0)


def test_the_name_at_the_target_is_in_the_answer_and_in_what_spark_starts_from() -> None:
    config, table = config_of(["dc1", "dc2"], mirror={"names": "mm2"}), given("orders", "dc2.orders", "orders")
    names = target_names(config, ("dc1", "dc2"), table)
    answers = KeptAnswers(3)
    answers.target_offset[:] = (11, 7, 12)
    found = to_answer_table(table, answers, names)
    assert found.column("target_topic").to_pylist() == ["dc1.orders", "orders", "dc1.orders"]
    out = io.StringIO()
    print_spark(found, out)
    assert out.getvalue() == '{"dc1.orders":{"0":12},"orders":{"0":7}}\n'


def test_with_the_same_names_an_answer_has_the_columns_that_it_had() -> None:
    config, table = config_of(["dc1", "dc2"]), given("orders")
    assert target_names(config, ("dc1", "dc2"), table) is None
    assert "target_topic" not in to_answer_table(table, KeptAnswers(1), None).column_names


def test_what_is_translated_is_the_stream(monkeypatch: Any) -> None:
    from offset_sync.jobs import translate

    asked: list[list[str]] = []

    class Translation:
        def __init__(self, *_parts: object) -> None: ...

        def translate(self, _pair: object, offsets: Any, **_more: object) -> KeptAnswers:
            asked.append(list(offsets.topics))
            return KeptAnswers(len(offsets))

    class Live:
        def __enter__(self) -> Any:
            return SimpleNamespace(state=None, clusters=None)

        def __exit__(self, *_problem: object) -> None: ...

    monkeypatch.setattr(translate, "OffsetTranslation", Translation)
    monkeypatch.setattr(translate, "IndexCatchUp", lambda _state: None)
    monkeypatch.setattr(translate, "_live_state", lambda *_parts: Live())
    config, table = config_of(["dc1", "dc2"], mirror={"names": "mm2"}), given("orders", "dc2.orders")
    translate.translate_table(config, ("dc1", "dc2"), table, is_source_lost=False, stop=threading.Event())
    assert asked == [["dc1.orders", "dc2.orders"]]
