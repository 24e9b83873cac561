"""The report in the terminal."""

from __future__ import annotations

import io
import random
import re
import unicodedata

import pyarrow as pa
from rich.console import Console

from generators.reports import HOSTILE_NAMES, REPORTED_AT, random_drift, random_status
from offset_sync.status.report import Report
from offset_sync.status.terminal import render_table

CHANCE = random.Random(11)
GROUPS = [*(f"billing-service-{n}" for n in range(30)), *HOSTILE_NAMES]
STATUS = random_status(CHANCE, GROUPS)
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


def test_what_is_piped_is_plain_text_and_hostile_names_bring_no_control_characters() -> None:
    text = printed(STATUS, 120, details=True)
    assert {char for char in text if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp")} == {"\n"}
    assert "[red]markup[/red]" in re.sub(r"\s", "", text)
