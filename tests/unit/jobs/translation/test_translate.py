"""The command translate: names that it asks by and answers with, what it says meanwhile, and how it ends early."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from fakes.reconciler_site import config_of
from offset_sync.jobs import translate
from offset_sync.jobs.translation.offsets import to_offsets
from offset_sync.status.kept_offsets import KeptAnswers


class Translation:
    """Notes the streams that it is *asked* for."""

    asked: list[str]

    def __init__(self, *_parts: object) -> None: ...

    def translate(self, _pair: object, offsets: Any, **_more: object) -> KeptAnswers:
        Translation.asked = list(offsets.topics)
        answers = KeptAnswers(len(offsets))
        answers.target_offset[:] = range(11, 11 + len(offsets))
        return answers


def answered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, topics: list[str], names: str) -> pa.Table:
    monkeypatch.setattr(translate, "OffsetTranslation", Translation)
    monkeypatch.setattr(translate, "IndexCatchUp", lambda _state: None)
    monkeypatch.setattr(translate, "LiveState", lambda *_parts: SimpleNamespace(state=None, clusters=None))
    config = config_of(["dc1", "dc2"], mirror={"names": names}, tables={"root": str(tmp_path)})
    columns = {"topic": topics, "partition": ["0"] * len(topics), "offset": ["9"] * len(topics)}
    table = to_offsets(pa.table(columns), range(len(topics)), 0)
    return translate.translate_table(config, ("dc1", "dc2"), table, is_source_lost=False)


def test_streams_are_translated_and_the_name_at_the_target_is_in_the_answer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = answered(monkeypatch, tmp_path, ["orders", "dc2.orders", "orders"], "mm2")
    assert Translation.asked == ["dc1.orders", "dc2.orders"]
    assert found.column("topic").to_pylist() == ["orders", "dc2.orders", "orders"]
    assert found.column("target_topic").to_pylist() == ["dc1.orders", "orders", "dc1.orders"]


@pytest.mark.parametrize("form", ["csv", "json"])
def test_the_reader_of_the_output_may_close_it(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    read, write = os.pipe()
    os.close(read)
    answers = pa.table({"topic": ["orders"] * 100_000, "target_offset": [1] * 100_000})
    with os.fdopen(write, "w") as out:
        monkeypatch.setattr(sys, "stdout", out)
        translate._print(answers, form, ("dc1", "dc2"))
