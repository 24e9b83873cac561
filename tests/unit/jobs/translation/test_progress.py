"""What a person hears while many offsets are translated, and how the work ends early."""

from __future__ import annotations

import io
import logging
import os
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pytest
from rich.console import Console
from rich.progress import Progress

from offset_sync.jobs import translate
from offset_sync.jobs.translation import progress
from offset_sync.jobs.translation.progress import TranslationProgress, told_progress
from offset_sync.model.errors import OffsetSyncError


def test_a_line_comes_now_and_then_where_nobody_watches(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    with told_progress(3_000_000, threading.Event()) as told:
        told.add(1_000_000)
        assert caplog.messages == []
        monkeypatch.setattr(progress, "LINE_EVERY_S", 0.0)
        told.add(500)
    assert caplog.messages == ["translated 1.00M of 3.00M offsets"]


def test_a_bar_moves_where_somebody_watches() -> None:
    out = io.StringIO()
    with Progress(console=Console(file=out, force_terminal=True, width=80)) as bar:
        told = TranslationProgress(4, threading.Event(), bar)
        told.add(1)
        told.add(2)
        assert [(task.completed, task.total) for task in bar.tasks] == [(3, 4)]


def test_a_stop_ends_the_work_between_two_partitions() -> None:
    stop = threading.Event()
    told = TranslationProgress(4, stop, None)
    told.add(1)
    stop.set()
    with pytest.raises(OffsetSyncError, match="stopped; nothing was printed"):
        told.add(1)


@pytest.mark.parametrize("form", ["csv", "json"])
def test_whoever_reads_the_output_may_have_had_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    read, write = os.pipe()
    os.close(read)
    answers = pa.table({"topic": ["orders"] * 100_000, "target_offset": [1] * 100_000})
    with os.fdopen(write, "w") as out:
        monkeypatch.setattr(sys, "stdout", out)
        translate._print(answers, form, ("dc1", "dc2"))
