"""Copies aligned as the job does it, where something was set back, cannot be told, or is of another life."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from contents.content_job import COPIES, ORIGINALS, ContentJob
from contents.unstamped_copies import History, Workload, history
from offset_sync.model.values import State
from offset_sync.tables.catalog import LOG_INCARNATIONS, RECORD_FINGERPRINTS, RECORD_RUNS
from offset_sync_contents.alignment.mirror import Settings

SETTINGS = Settings(hold_ms=300, resend_records=1_200, resend_ms=10**9, entry=30)
WORKLOAD = Workload(2_000, share=0.05, restart=500, resend=100, markers=0.01)


# What was set back


def test_a_kept_state_that_is_ahead_of_the_runs_is_not_believed(tmp_path: Path) -> None:
    job = ContentJob(history(WORKLOAD, 2), tmp_path, SETTINGS)
    for _ in range(20):
        job.read_copies(100)
        job.step()
        job.read_originals(job.newest_original - job.originals_to + 20)
        job.step()
    job.step()
    job.alignment.save()
    runs = job.tables.versions[RECORD_RUNS.name]
    del runs[len(runs) // 2 :]  # the table was restored, and the file beside the checkpoints was not
    job.tables.writers.clear()
    job.restart()
    job.finish()
    assert job.index().log(*COPIES).frontier == int(job.told.copy[-1]) + 1  # type: ignore[union-attr]
    assert job.judged(is_done=False).ahead == 0


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
    log = job.index().log(*COPIES)
    assert log is not None
    assert log.last_unknown >= int(job.told.copy[700])
    found = job.judged(is_done=False)
    assert (found.ahead, found.ahead_by_content) == (0, 0)


# What cannot be told


def altered(share: float) -> History:
    return history(replace(WORKLOAD, share=0, altered=share), 4)


def doubt(job: ContentJob) -> State | None:
    return job.index().doubt(COPIES)


def test_a_mirror_that_alters_records_is_withheld(tmp_path: Path) -> None:
    job = ContentJob(altered(0.5), tmp_path, SETTINGS)
    job.finish()
    assert doubt(job) is State.MIRROR_ALTERS_RECORDS
    assert job.index().doubt(ORIGINALS) is None


def test_copies_of_which_hardly_any_is_unique_are_withheld_until_they_are(tmp_path: Path) -> None:
    told = history(replace(WORKLOAD, share=0, markers=0, restart=10**6), 4)
    twins = replace(told, contents=np.where(told.original < 1_500, told.original % 3, told.contents))
    job = ContentJob(replace(twins, copied=twins.contents[twins.of]), tmp_path, SETTINGS)
    job.read_originals(2_000)
    job.read_copies(1_400)
    job.step()
    job.step(SETTINGS.hold_ms + 1)
    assert doubt(job) is State.AMBIGUOUS
    job.restart()
    job.finish()
    assert doubt(job) is None
    assert [row[0] for row in job.tables.rows(LOG_INCARNATIONS, "reason") if row[0]] == ["ALIGNED", "AMBIGUOUS"]


# A mirror that begins again at records that were forgotten


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
    forget_below(job, 1_500)
    return job


def test_copies_older_than_the_window_have_the_originals_read_again(tmp_path: Path) -> None:
    job = half_forgotten(begun_again(), tmp_path)
    job.read_copies(500)
    job.step()
    job.step(SETTINGS.hold_ms + 1)
    assert doubt(job) is State.NOT_INDEXED
    assert job.index().log(*COPIES).last_unknown == -1  # type: ignore[union-attr]
    read_again_and_finish(job)


def test_a_log_of_which_so_few_were_forgotten_that_they_make_no_row_is_looked_through_as_well(tmp_path: Path) -> None:
    job = ContentJob(begun_again(320), tmp_path, replace(SETTINGS, resend_records=300))
    job.read_originals(320)
    job.read_copies(320)
    job.step()
    job.read_copies(10)  # they are below the searched records
    job.step()
    job.step(SETTINGS.hold_ms)
    assert doubt(job) is State.NOT_INDEXED
    read_again_and_finish(job)


def test_what_was_said_of_a_mirror_is_not_taken_back_because_it_begins_again(tmp_path: Path) -> None:
    told = begun_again()
    altered = np.isin(np.arange(len(told.of)), [100, 300, 500, 700, 900])
    told = replace(told, copied=np.where(altered, 10**9 + np.arange(len(told.of)), told.copied))
    job = ContentJob(told, tmp_path, replace(SETTINGS, resend_records=300))
    job.read_originals(2_000)
    job.read_copies(2_000)
    job.step()
    assert doubt(job) is State.MIRROR_ALTERS_RECORDS  # five of two thousand
    job.read_copies(500)
    job.step()
    job.step(SETTINGS.hold_ms + 1)
    assert doubt(job) is State.NOT_INDEXED
    job.restart()
    for _ in range(2):
        job.step()
    assert frontier(job) > int(told.copy[2_000])
    assert doubt(job) is State.MIRROR_ALTERS_RECORDS


def read_again_and_finish(job: ContentJob) -> None:
    """Expect that every copy is one in the end."""
    job.step()
    assert doubt(job) is None
    job.finish()
    log = job.index().log(*COPIES)
    assert log is not None
    assert (log.last_unknown, log.frontier) == (-1, int(job.told.copy[-1]) + 1)
    assert job.judged(is_done=True).ahead == 0


def forget_below(job: ContentJob, offset: int) -> None:
    """Remove what maintenance would."""
    rows = job.tables.versions[RECORD_FINGERPRINTS.name]
    kept = [
        part.filter([row["cluster"] != "dc1" or row["start_offset"] >= offset for row in part.to_pylist()])
        for part in rows
    ]
    job.tables.versions[RECORD_FINGERPRINTS.name] = kept


def test_copies_without_an_original_are_aliens_once_all_originals_were_looked_through(tmp_path: Path) -> None:
    told = begun_again()
    made_here = np.arange(len(told.of)) >= 2_000
    told = replace(told, copied=np.where(made_here, 10**9 + np.arange(len(told.of)), told.copied))
    job = half_forgotten(told, tmp_path)
    job.read_copies(500)
    job.step()
    job.step(SETTINGS.hold_ms + 1)
    for _ in range(2):
        job.step(SETTINGS.hold_ms + 1)
    assert doubt(job) is State.MIRROR_ALTERS_RECORDS
    assert job.index().log(*COPIES).last_unknown == int(told.copy[2_499])  # type: ignore[union-attr]


# Another life


def test_an_incarnation_of_the_originals_log_starts_with_its_present_records(tmp_path: Path) -> None:
    job = ContentJob(history(replace(WORKLOAD, share=0, markers=0, restart=10**6), 6), tmp_path, SETTINGS)
    job.read_originals(600)
    job.read_copies(500)
    job.step()
    job.topic_id = "orders-2"
    job.now_ms += 60_000
    job.read_copies(100)
    job.step()  # asks for the end, and learns of the life
    job.step()
    assert job.index().incarnations(ORIGINALS)
    assert frontier(job) == 500  # what is known of the former life tells nothing any more
    told = job.told
    again = replace(told, contents=told.contents + 10**6, copied=told.copied)
    job.told, job.originals_to = again, 0
    job.now_ms = int(time.time() * 1000) + 60_000  # after the life was noticed
    job.read_originals(600)
    job.step(SETTINGS.hold_ms)
    job.step(SETTINGS.hold_ms + 1)
    log = job.index().log(*COPIES)
    assert log is not None
    assert (log.frontier, log.last_unknown) == (600, 599)  # copies of the former life are unread by everyone


def frontier(job: ContentJob) -> int:
    log = job.index().log(*COPIES)
    return 0 if log is None else log.frontier
