"""Copies aligned as the job does it: whatever stops it, no answer is ahead, and in the end nearly all are exact."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from contents.content_job import COPIES, ContentJob
from contents.unstamped_copies import Workload, history
from fakes.tables import PowerFailure
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync_contents.alignment.mirror import Settings

SETTINGS = Settings(hold_ms=300, resend_records=1_200, resend_ms=10**9, entry=30)
WORKLOAD = Workload(2_000, share=0.05, restart=500, resend=100, markers=0.01)


def read_all(job: ContentJob, rng: np.random.Generator, restarts: float = 0.0) -> None:
    """Read both logs side by side, with stops, and stops in the middle of an append."""
    while job.copies_to < len(job.told.of):
        job.read_copies(int(rng.integers(1, 200)))
        if rng.random() < 0.7:
            job.step()
        job.read_originals(max(job.newest_original - job.originals_to, 0) + int(rng.integers(0, 50)))
        if rng.random() < restarts:
            job.tables.dies_at = RECORD_RUNS if rng.random() < 0.5 else None
        try:
            job.step()
            if rng.random() < 0.3:
                job.alignment.save()
        except PowerFailure:
            job.restart()
        if rng.random() < restarts:
            job.tables.dies_at = None
            job.restart()
    job.tables.dies_at = None


@pytest.mark.parametrize("seed", range(6))
def test_whatever_stops_it_no_answer_is_ahead(seed: int, tmp_path: Path) -> None:
    workload = replace(WORKLOAD, share=(0.01, 0.5)[seed % 2], drop_contents=(0, 0.05)[seed % 3 == 0])
    job, rng = ContentJob(history(workload, seed), tmp_path, SETTINGS), np.random.default_rng(seed)
    read_all(job, rng, restarts=0.15)
    found = job.judged(is_done=False)
    assert (found.ahead, found.ahead_by_content) == (0, 0)
    job.finish()
    found = job.judged(is_done=True)
    assert (found.ahead, found.ahead_by_content) == (0, 0)
    assert found.exact >= (0.85, 0.3)[seed % 2] * found.judged


def test_it_goes_on_where_it_was_and_nothing_is_decided_twice(tmp_path: Path) -> None:
    job = ContentJob(history(WORKLOAD, 1), tmp_path, SETTINGS)
    read_all(job, np.random.default_rng(1))
    job.finish()
    job.alignment.save()
    before = job.tables.version(RECORD_RUNS)
    job.restart()
    for _ in range(3):
        job.step(1_000)
    assert job.tables.version(RECORD_RUNS) == before
    assert not job.alignment.is_waiting


def test_copies_wait_for_originals_up_to_where_their_log_ended_after_they_were_read(tmp_path: Path) -> None:
    job = ContentJob(history(replace(WORKLOAD, share=0, markers=0), 1), tmp_path, SETTINGS)
    job.read_originals(1)
    job.read_copies(100)
    assert job.step() == 0  # 99 originals are not known yet
    job.read_originals(98)
    assert job.step() == 0
    job.read_originals(1)
    assert job.step() == 1
    log = job.index().log(*COPIES)
    assert log is not None
    assert log.frontier == 100


def test_while_the_end_of_the_originals_is_unknown_nothing_is_decided(tmp_path: Path) -> None:
    job = ContentJob(history(replace(WORKLOAD, share=0), 1), tmp_path, SETTINGS, is_silent=True)
    job.read_originals(500)
    job.read_copies(100)
    assert [job.step() for _ in range(3)] == [0, 0, 0]
    job.is_silent = False
    assert job.step() == 1


def test_a_log_that_is_no_longer_read_is_not_waited_for(tmp_path: Path) -> None:
    job = ContentJob(history(WORKLOAD, 1), tmp_path, SETTINGS)
    job.read_originals(500)
    job.read_copies(100)
    job.step()
    job.read_copies(50)  # in the table, and not decided yet
    job.alignment.save()
    job.is_followed = False
    job.restart()
    job.read_originals(500)
    assert job.step() == 0
    assert not job.alignment.is_waiting
    job.is_followed = True
    job.restart()
    job.finish()
    assert job.index().log(*COPIES).frontier == int(job.told.copy[-1]) + 1  # type: ignore[union-attr]


def complete_ms(job: ContentJob) -> int:
    log = job.index().log(*COPIES)
    return 0 if log is None else log.complete_until_ms


def test_a_log_is_complete_by_what_is_decided_not_by_what_is_read(tmp_path: Path) -> None:
    told = history(replace(WORKLOAD, share=0, markers=0), 1)
    twins = replace(told, contents=np.where(told.original >= 90, 7, told.contents))
    twins = replace(twins, copied=twins.contents[twins.of])
    job = ContentJob(twins, tmp_path, SETTINGS)
    job.read_originals(500)
    job.read_copies(50)
    first_ms = job.now_ms
    job.step()
    assert complete_ms(job) == first_ms
    job.now_ms += 50
    job.read_copies(50)  # ten at the end may be of any of many
    job.step()
    assert job.index().log(*COPIES).frontier == 90  # type: ignore[union-attr]
    assert complete_ms(job) == first_ms
    job.step(SETTINGS.hold_ms + 1)
    assert job.index().log(*COPIES).frontier == 100  # type: ignore[union-attr]
    assert complete_ms(job) == first_ms + 51
