"""Answers of translate as people and programs get them: tests/golden/outputs/translate.txt has all three forms."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
from rich.console import Console

from offset_sync.jobs.translation.answers import print_csv, print_json, show_answers, summary, to_answer_table
from offset_sync.jobs.translation.offsets import parse_csv
from offset_sync.model.values import State
from offset_sync.status.kept_offsets import KeptAnswers
from tools.golden_output import expect

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
