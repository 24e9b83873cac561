"""The report in the terminal."""

from __future__ import annotations

import io
import random
import re
import unicodedata

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from rich.cells import cell_len
from rich.console import Console

from generators.reports import HOSTILE_NAMES, REPORTED_AT, random_drift, random_status
from offset_sync.model.text import visible
from offset_sync.status.report import GROUP, Report, roll_up
from offset_sync.status.terminal import render_table

CHANCE = random.Random(11)
GROUPS = [*(f"billing-service-{n}" for n in range(30)), *HOSTILE_NAMES]
STATUS = random_status(CHANCE, GROUPS)
TWO_PAIRS = random_status(CHANCE, GROUPS, pairs=[("frankfurt-1", "amsterdam-2"), ("amsterdam-2", "frankfurt-1")])
DRIFT = random_drift(CHANCE, ["billing-service-1"], reports=5)


def printed(
    status: pa.Table, width: int = 80, *, is_terminal: bool = False, most: int = 1000, details: bool = False
) -> str:
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=width,
        force_terminal=is_terminal,
        color_system="truecolor" if is_terminal else None,
        legacy_windows=False,
    )
    render_table(Report(status, DRIFT, REPORTED_AT), console, most=most, details=details)
    return stream.getvalue()


def without_blanks(text: str) -> str:
    return re.sub(r"\s", "", text)


@pytest.mark.parametrize("width", [80, 100, 160])
@pytest.mark.parametrize("status", [STATUS, TWO_PAIRS], ids=["one pair", "two pairs"])
def test_no_line_is_wider_than_the_terminal(status: pa.Table, width: int) -> None:
    lines = printed(status, width, details=True).splitlines()
    assert max(map(cell_len, lines)) <= width


def test_a_long_name_is_folded_not_cut() -> None:
    text = printed(STATUS.filter(pc.equal(STATUS["group_id"], "x" * 249)))
    assert text.count("x") - text.count("exact") >= 249


def test_in_a_narrow_terminal_and_in_a_pipe_the_reasons_are_below_the_tables() -> None:
    told = STATUS.filter(pc.is_valid(STATUS["reason"]))
    chosen = told.filter(pc.equal(told["group_id"], told["group_id"][0]))
    for details, rows in [(False, roll_up(chosen, GROUP)), (True, chosen)]:
        reasons = {reason for reason in rows["reason"].to_pylist() if reason}
        assert reasons
        text = without_blanks(printed(chosen, 80, details=details))
        assert [reason for reason in reasons if ":" + without_blanks(visible(reason)) not in text] == []


def test_what_is_piped_is_plain_text_and_hostile_names_bring_no_control_characters() -> None:
    text = printed(STATUS, 120, details=True)
    assert {char for char in text if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp")} == {"\n"}
    assert "[red]markup[/red]" in re.sub(r"\s", "", text)


def test_on_a_terminal_only_our_own_colours_are_sent() -> None:
    text = printed(STATUS, 120, is_terminal=True, details=True)
    codes = set(re.findall(r"\x1b(\[[0-9;]*m|.)", text))
    assert codes <= {"[0m", "[1m", "[2m", "[31m", "[32m", "[33m", "[34m", "[35m", "[1;31m", "[1;32m"}
    assert "[31m" in codes
    assert "\x1b]8;" not in text
