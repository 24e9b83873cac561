"""Copies aligned as the job does it: whatever stops it, or is set back, no answer is ahead, and nothing contradicts."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from contents.content_job import COPIES, ORIGINALS, ContentJob
from contents.unstamped_copies import History, Workload, history
from fakes.tables import PowerFailure
from offset_sync.tables.catalog import RECORD_RUNS
from offset_sync.translate.index.log_index import LogIndex
from offset_sync_contents.alignment.mirror import Settings
from offset_sync_contents.table import RECORD_FINGERPRINTS

SETTINGS = Settings(hold_ms=300, resend_records=1_200, resend_ms=10**9, entry=30)
WORKLOAD = Workload(2_000, share=0.05, restart=500, resend=100, markers=0.01)
UNIQUE = replace(WORKLOAD, share=0, markers=0, restart=10**6)


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


def copies(job: ContentJob) -> LogIndex:
    return job.index().log(*COPIES) or LogIndex()


def judge(job: ContentJob, *, is_done: bool = False) -> None:
    found = job.judged(is_done=is_done)
    assert (found.ahead, found.ahead_by_content) == (0, 0)


@pytest.mark.parametrize("seed", range(6))
def test_whatever_stops_it_no_answer_is_ahead_and_no_row_says_other_than_one_before(seed: int, tmp_path: Path) -> None:
    workload = replace(WORKLOAD, share=(0.01, 0.5)[seed % 2], drop_contents=(0, 0.05)[seed % 3 == 0])
    job, rng = ContentJob(history(workload, seed), tmp_path, SETTINGS), np.random.default_rng(seed)
    read_all(job, rng, restarts=0.15)
    judge(job)
    job.finish()
    judge(job, is_done=True)
    assert copies(job).frontier == int(job.told.copy[-1]) + 1


def test_it_goes_on_where_it_was_and_nothing_is_decided_twice(tmp_path: Path) -> None:
    job = ContentJob(history(WORKLOAD, 1), tmp_path, SETTINGS)
    read_all(job, np.random.default_rng(1))
    job.finish()
    before = job.tables.version(RECORD_RUNS)
    job.restart()  # its state was never kept
    for _ in range(3):
        job.step(1_000)
    assert job.tables.version(RECORD_RUNS) == before
    assert not job.alignment.is_waiting


def test_copies_wait_for_originals_up_to_where_their_log_ended_after_they_were_read(tmp_path: Path) -> None:
    job = ContentJob(history(replace(WORKLOAD, share=0, markers=0), 1), tmp_path, SETTINGS, is_silent=True)
    job.read_originals(1)
    job.read_copies(100)
    assert [job.step() for _ in range(2)] == [0, 0]  # the end is unknown
    job.is_silent = False
    assert job.step() == 0  # 99 originals are not known yet
    job.read_originals(98)
    assert job.step() == 0
    job.read_originals(1)
    assert job.step() == 1
    assert copies(job).frontier == 100


def test_a_log_that_is_no_longer_read_is_not_waited_for(tmp_path: Path) -> None:
    job = ContentJob(history(WORKLOAD, 1), tmp_path, SETTINGS)
    job.read_originals(500)
    job.read_copies(150)
    job.is_followed = False
    job.restart()
    job.read_originals(500)
    assert job.step() == 0
    assert not job.alignment.is_waiting


def test_a_log_is_complete_by_what_is_decided_not_by_what_is_read(tmp_path: Path) -> None:
    told = history(UNIQUE, 1)
    twins = replace(told, contents=np.where(told.original >= 90, 7, told.contents))
    job = ContentJob(replace(twins, copied=twins.contents[twins.of]), tmp_path, SETTINGS)
    job.read_originals(500)
    job.read_copies(100)  # ten at the end may be of any of many
    first_ms = job.now_ms
    job.step()
    assert (copies(job).frontier, copies(job).complete_until_ms) == (90, 0)
    job.step(SETTINGS.hold_ms + 1)
    assert (copies(job).frontier, copies(job).complete_until_ms) == (100, first_ms)


def test_a_kept_state_that_is_ahead_of_the_runs_is_not_believed(tmp_path: Path) -> None:
    job = ContentJob(history(WORKLOAD, 2), tmp_path, SETTINGS)
    read_all(job, np.random.default_rng(2))
    job.alignment.save()
    runs = job.tables.versions[RECORD_RUNS.name]
    del runs[len(runs) // 2 :]  # the table was restored, and the file beside the checkpoints was not
    job.tables.writers.clear()
    job.restart()
    job.finish()
    assert copies(job).frontier == int(job.told.copy[-1]) + 1
    judge(job)


def test_without_fingerprints_the_mirror_is_searched_again_and_missing_records_are_unread(tmp_path: Path) -> None:
    job = ContentJob(history(replace(WORKLOAD, share=0.02), 3), tmp_path, SETTINGS)
    job.read_originals(800)
    job.read_copies(700)
    job.step()
    job.alignment.save()
    job.read_copies(20)  # in the table, not decided, and lost with it
    del job.tables.versions[RECORD_FINGERPRINTS.name]
    job.restart()
    job.read_originals(1_200)
    job.read_copies(100)
    job.step()
    assert copies(job).last_unknown >= int(job.told.copy[700])
    judge(job)


def test_copies_of_a_mirror_that_alters_records_are_unread_until_it_does_so_no_more(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told = history(replace(UNIQUE, records=6_000), 4)
    told = replace(told, copied=np.where(np.arange(len(told.of)) < 3, 10**9, told.copied))
    job = ContentJob(told, tmp_path, SETTINGS)
    job.read_originals(6_000)
    job.read_copies(100)
    job.step()
    assert copies(job).origins == {-1}
    assert "new copies are unread by all groups: more than 1 in 1,000 match no original" in caplog.text
    for _ in range(5):
        job.read_copies(1_000)
        job.step()
    assert copies(job).last_unknown + 1 == 2_100
    assert copies(job).frontier == 5_100
    judge(job)


def begun_again(records: int = 2_000) -> History:
    """All originals are copied, and then once more from the first one on."""
    told = history(replace(WORKLOAD, records=records, share=0, restart=10**6), 5)
    of = np.concatenate([told.of, told.of])
    copy = np.concatenate([told.copy, told.copy + told.copy[-1] + 1])
    return replace(told, of=of, copy=copy, copied=told.contents[of])


def half_forgotten(told: History, folder: Path) -> ContentJob:
    """Return a job that has taken in the first copies, and has forgotten three quarters of the originals."""
    job = ContentJob(told, folder, replace(SETTINGS, resend_records=300))
    job.read_originals(2_000)
    job.read_copies(2_000)
    job.step()
    rows = job.tables.versions[RECORD_FINGERPRINTS.name]
    job.tables.versions[RECORD_FINGERPRINTS.name] = [
        part.filter([row["cluster"] != "dc1" or row["start_offset"] >= 1_500 for row in part.to_pylist()])
        for part in rows
    ]
    job.read_copies(500)
    job.step()
    job.step(SETTINGS.hold_ms + 1)
    return job


def test_copies_older_than_the_window_have_the_originals_read_again(tmp_path: Path) -> None:
    job = half_forgotten(begun_again(), tmp_path)
    assert copies(job).frontier == int(job.told.copy[1_999]) + 1  # nothing of it is stored
    job.step()
    job.finish()
    assert (copies(job).last_unknown, copies(job).frontier) == (-1, int(job.told.copy[-1]) + 1)
    judge(job, is_done=True)


def test_a_log_of_which_so_few_were_forgotten_that_they_make_no_row_is_looked_through_as_well(tmp_path: Path) -> None:
    job = ContentJob(begun_again(320), tmp_path, replace(SETTINGS, resend_records=300))
    job.read_originals(320)
    job.read_copies(320)
    job.step()
    job.read_copies(10)  # they are below the searched records
    job.step()
    job.finish()
    assert copies(job).last_unknown == -1


def test_copies_without_an_original_are_aliens_once_all_originals_were_looked_through(tmp_path: Path) -> None:
    told = begun_again()
    made_here = np.arange(len(told.of)) >= 2_000
    told = replace(told, copied=np.where(made_here, 10**9 + np.arange(len(told.of)), told.copied))
    job = half_forgotten(told, tmp_path)
    for _ in range(2):
        job.step(SETTINGS.hold_ms + 1)
    assert copies(job).last_unknown == int(told.copy[2_499])


def test_an_incarnation_of_the_originals_log_starts_with_its_present_records(tmp_path: Path) -> None:
    job = ContentJob(history(UNIQUE, 6), tmp_path, SETTINGS)
    job.read_originals(600)
    job.read_copies(500)
    job.step()
    job.topic_id = "orders-2"
    job.now_ms += 60_000
    job.read_copies(100)
    job.step()  # asks for the end, and learns of the life
    job.step()
    assert job.index().incarnations(ORIGINALS)
    assert copies(job).frontier == 500  # what is known of the former life tells nothing any more
    job.originals_to = 0
    job.now_ms = int(time.time() * 1000) + 60_000  # after the life was noticed
    job.read_originals(600)
    job.step(SETTINGS.hold_ms)
    job.step(SETTINGS.hold_ms + 1)
    # What may be copies of the former life are unread by everyone, though the contents are the same.
    assert (copies(job).frontier, copies(job).last_unknown) == (600, 599)
