"""The command translate: names that it asks by, and its answers as tests/golden/outputs/translate.txt has them."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console

from fakes.reconciler_site import config_of
from offset_sync.jobs import translate
from offset_sync.jobs.translation.answers import print_csv, print_json, show_answers, summary, to_answer_table
from offset_sync.jobs.translation.offsets import parse_csv, to_offsets
from offset_sync.model.values import State
from offset_sync.status.kept_offsets import KeptAnswers
from tools.golden_output import expect


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


NOW_MS = 1_795_000_000_000
LINES = b'topic,sink,partition,offset\norders,"a, ""b""",0,007\norders,=x,1,9\npay-in,,12,1000000\n'
REASON = 'orders-1 ends at 3 at dc1: "another" topic, or cluster'


def answers() -> pa.Table:
    found = KeptAnswers(3)
    found.target_offset = np.array([5, -1, 1_000_017])
    found.state = np.array([State.EXACT, State.COMMIT_BEYOND_END, State.INDEX_BEHIND])
    found.duplicates, found.duplicates_at_most = np.array([0, 0, 12]), np.array([0, 0, 30])
    found.lost = np.array([0, 0, 4])
    found.explain(np.array([1]), REASON)
    return to_answer_table(parse_csv(LINES, NOW_MS), found)


def shown(table: pa.Table, width: int) -> str:
    out = io.StringIO()
    show_answers(table, "dc1 → dc2", Console(file=out, width=width))
    return out.getvalue()


def test_csv_json_and_the_table_say_the_same() -> None:
    out = io.StringIO()
    for form in (print_csv, print_json):
        form(answers(), out)
        out.write("\n")
    expect(
        "translate.txt", "\n".join([out.getvalue(), shown(answers(), 80), shown(answers(), 120), *summary(answers())])
    )
    assert summary(answers().slice(2)) == []


def test_a_name_cannot_bring_control_characters_into_the_terminal() -> None:
    table = parse_csv(b"topic,partition,offset,s\x1b[31m\norders,0,1,\x1b[2J[red]\n", NOW_MS)
    text = shown(to_answer_table(table, KeptAnswers(1)), 100)
    assert "\x1b" not in text
    assert "[red]" in text
