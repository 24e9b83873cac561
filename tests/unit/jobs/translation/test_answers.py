"""Answers as people and programs get them."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console

from offset_sync.jobs.translation.answers import (
    MOST,
    print_csv,
    print_json,
    show_answers,
    summary,
    to_answer_table,
)
from offset_sync.jobs.translation.offsets import ANSWER_COLUMNS, parse_csv
from offset_sync.model.values import State
from offset_sync.status.kept_offsets import KeptAnswers

NOW_MS = 1_795_000_000_000
LINES = b'topic,sink,partition,offset\norders,"a, ""b""",0,007\norders,=x,1,9\npay-in,,12,1000000\n'
REASON = 'orders-1 ends at 3 at dc1: "another" topic, or cluster'


def answers() -> pa.Table:
    table = parse_csv(LINES, NOW_MS)
    found = KeptAnswers(3)
    found.target_offset = np.array([5, -1, 1_000_017])
    found.state = np.array([State.EXACT, State.COMMIT_BEYOND_END, State.INDEX_BEHIND])
    found.duplicates, found.duplicates_at_most = np.array([0, 0, 12]), np.array([0, 0, 30])
    found.lost = np.array([0, 0, 4])
    found.explain(np.array([1]), REASON)
    return to_answer_table(table, found)


def printed(how: Any) -> str:
    out = io.StringIO()
    how(answers(), out)
    return out.getvalue()


def test_csv_has_what_was_given_and_the_answer() -> None:
    text = printed(print_csv)
    assert list(csv.reader(io.StringIO(text))) == [
        ["topic", "sink", "partition", "offset", *ANSWER_COLUMNS],
        ["orders", 'a, "b"', "0", "7", "5", "EXACT", "0", "0", "0", ""],
        ["orders", "=x", "1", "9", "", "COMMIT_BEYOND_END", "", "", "", REASON],
        ["pay-in", "", "12", "1000000", "1000017", "INDEX_BEHIND", "12", "30", "4", ""],
    ]
    assert text.splitlines()[3] == "pay-in,,12,1000000,1000017,INDEX_BEHIND,12,30,4,"


def test_csv_goes_out_in_parts_and_none_is_lost() -> None:
    table = pa.concat_tables([answers()] * 50_000).combine_chunks()
    out = io.StringIO()
    print_csv(table, out)
    assert out.getvalue().count("\n") == 150_001
    assert len(list(csv.reader(io.StringIO(out.getvalue())))) == 150_001


def test_json_is_an_object_per_line() -> None:
    first, second, _ = (json.loads(line) for line in printed(print_json).splitlines())
    assert first == {
        "topic": "orders",
        "sink": 'a, "b"',
        "partition": 0,
        "offset": 7,
        "target_offset": 5,
        "state": "EXACT",
        "duplicates": 0,
        "duplicates_at_most": 0,
        "lost": 0,
        "reason": None,
    }
    assert (second["target_offset"], second["reason"]) == (None, REASON)


def test_the_summary_counts_by_reason() -> None:
    assert summary(answers()) == ["1 of 3 offsets are withheld: COMMIT_BEYOND_END 1"]
    assert summary(answers().slice(2)) == []


@pytest.mark.parametrize("width", [80, 120])
def test_the_table_fits_and_says_why(width: int) -> None:
    out = io.StringIO()
    show_answers(answers(), "dc1 → dc2", Console(file=out, width=width))
    text = out.getvalue()
    assert max(map(len, text.splitlines())) <= width
    for word in ("COMMIT_BEYOND_END", "1000017", "12 to 30", "INDEX_BEHIND", "pay-in-12"):
        assert word in text, word
    assert "orders-1: orders-1 ends at 3 at dc1" in " ".join(text.split())


def test_of_very_many_the_withheld_ones_come_first() -> None:
    table = answers()
    many = pa.concat_tables([table.slice(0, 1)] * 200 + [table.slice(1, 1)])
    out = io.StringIO()
    show_answers(many, "dc1 → dc2", Console(file=out, width=100))
    lines = [line for line in out.getvalue().splitlines() if "EXACT" in line or "COMMIT_BEYOND_END" in line]
    assert len(lines) == MOST
    assert "COMMIT_BEYOND_END" in lines[0]
    assert "… and 151 more" in out.getvalue()


def test_a_name_cannot_bring_control_characters_into_the_terminal() -> None:
    table = parse_csv(b"topic,partition,offset,s\x1b[31m\norders,0,1,\x1b[2J[red]\n", NOW_MS)
    out = io.StringIO()
    show_answers(to_answer_table(table, KeptAnswers(1)), "dc1 → dc2", Console(file=out, width=100))
    assert "\x1b" not in out.getvalue()
    assert "[red]" in out.getvalue()
