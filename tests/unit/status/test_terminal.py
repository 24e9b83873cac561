"""The report in the terminal."""

from __future__ import annotations

import io
import random
import re
import unicodedata

import pyarrow as pa
import pytest
from rich.cells import cell_len
from rich.console import Console

from generators.reports import HOSTILE_NAMES, REPORTED_AT, random_drift, random_status
from offset_sync.status.report import Report
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


@pytest.mark.parametrize("width", [80, 100, 160])
@pytest.mark.parametrize("status", [STATUS, TWO_PAIRS], ids=["one pair", "two pairs"])
def test_no_line_is_wider_than_the_terminal(status: pa.Table, width: int) -> None:
    lines = printed(status, width, details=True).splitlines()
    assert max(map(cell_len, lines)) <= width


def test_what_is_piped_is_plain_text_and_hostile_names_bring_no_control_characters() -> None:
    text = printed(STATUS, 120, details=True)
    assert {char for char in text if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp")} == {"\n"}
    assert "[red]markup[/red]" in re.sub(r"\s", "", text)
