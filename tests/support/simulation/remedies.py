"""Holes of which the simulation is known to find the fault: closed ones with the remedy taken out, and open ones."""

from __future__ import annotations

import numpy as np

from fakes.unchecked import UncheckedLogs
from offset_sync.model.values import ABSENT
from offset_sync.translate.exact import needs_of_unindexed
from offset_sync.translate.replication_gap import NEVER_YOUNG
from simulation.finding import Remedy
from simulation.home_remedies import OF_HOMES_CLOSED
from simulation.job_remedies import OF_JOBS_CLOSED
from simulation.poll_remedies import OF_POLLS_CLOSED

CLOSED: dict[str, Remedy] = {
    "a hole ages only while the index keeps up": Remedy(
        frozenset({"late"}),
        (("offset_sync.state.translator.watched_until_ms", lambda _log, _log_end, now_ms: now_ms),),
        seed=18,
    ),
    "an index that grows may still be behind": Remedy(
        frozenset({"late", "backlog"}),
        (
            (
                "offset_sync.ingest.log_check.Completeness.of",
                lambda _known, _read, ends, asked_at: dict.fromkeys(ends, asked_at),
            ),
        ),
        seed=183,
    ),
    "lives of logs are told apart": Remedy(
        frozenset({"third_anew"}),
        (("offset_sync.ingest.incarnation_check.IncarnationCheck._rows", lambda _check, *_said: ([], 0)),),
        seed=42,
    ),
    "leader epochs are compared": Remedy(
        frozenset({"cut_grows"}),
        (
            ("offset_sync.ingest.incarnation_check.IncarnationCheck._is_questionable", lambda _check, *_said: False),
            ("offset_sync.state.checked_metadata.CheckedMetadata._changes", lambda *_said: {}),
        ),
        seed=4,
    ),
    "leader epochs are compared before each translation": Remedy(
        frozenset({"cut_grows"}),
        (("offset_sync.state.checked_metadata.CheckedMetadata._changes", lambda *_said: {}),),
        seed=161,
    ),
    "answers at a target that was cut end at the cut": Remedy(
        frozenset({"cut_grows"}),
        (("offset_sync.translate.index.log_index.LogIndex.below", lambda log, _offset: log),),
        seed=78,
    ),
    "records that an election has lost are not what was read": Remedy(
        frozenset({"elected"}),
        (("offset_sync.state.translator.of_lost_records", lambda given, _ends: np.full(len(given.offset), ABSENT)),),
    ),
    "copies that a cut has taken are unread": Remedy(
        frozenset({"cut_grows"}),
        (("offset_sync.translate.index.log_index.LogIndex.lose", lambda *_lost: None),),
        seed=120,
    ),
    "holes below an index that began late are read with the next record only": Remedy(
        frozenset({"late_index", "drop"}),
        (
            (
                "offset_sync.translate.partition.needs_of_unindexed",
                lambda source, target, bounds: needs_of_unindexed(source, target, bounds) - 1,
            ),
        ),
        seed=45,
    ),
    "below an index that began late there may be copies that a cut has taken, or of a former life": Remedy(
        frozenset({"late_index", "cut_grows"}),
        (("offset_sync.translate.exact._may_differ", lambda first_runs, *_known: np.zeros(len(first_runs), np.bool_)),),
        seed=5321,
        steps=600,
    ),
    "the first own record of an index that began late may be a copy that came back": Remedy(
        frozenset({"late_index", "echo"}),
        (("offset_sync.translate.exact._is_echo", lambda first_runs, _origin: np.zeros(len(first_runs), np.bool_)),),
        seed=226,
    ),
    "our clock may be ahead of the index's": Remedy(
        frozenset({"clocks", "late"}),
        (("offset_sync.state.cluster_clock.ClockOffset.at_most", lambda _clock: 0),),
        seed=15,
    ),
    "__consumer_offsets shrinks": Remedy(
        frozenset({"shrink"}),
        (("offset_sync.ingest.commit_log_check.CommitLogCheck.look", lambda _check, _id: UncheckedLogs().look(_id)),),
    ),
    "a log that could not be read at the start may have a newer commit": Remedy(
        frozenset({"unreadable"}),
        (("offset_sync.state.group_homes.UnreadLogs.may_count", lambda _logs, _source, rows, _answered: rows >= 0),),
        seed=51,
    ),
    "a commit that some cluster has is not forgotten": Remedy(
        frozenset({"expire", "crash"}),
        (("simulation.persisted.is_over", lambda offsets, _kept_ms: (offsets.column("is_deleted") != 0).any(axis=0)),),
        seed=201,
    ),
    "a driver that was taken over writes nothing": Remedy(
        frozenset({"second", "pause"}),
        (("offset_sync.state.lease.Lease.is_open", lambda _lease: True),),
        seed=77,
    ),
    "what another driver took in is read": Remedy(
        frozenset({"second", "pause"}),
        (("simulation.persisted.Persisted.restore_between", lambda *_arguments: np.empty(0, np.intp)),),
        seed=57,
    ),
}
_LISTS = "offset_sync.sync.read_lists.ReadLists."
CLOSED |= (
    OF_HOMES_CLOSED
    | OF_POLLS_CLOSED
    | OF_JOBS_CLOSED
    | {
        "a hole is on no list": Remedy(
            frozenset({"lists", "drop"}), (("offset_sync.translate.read_list._HOLES_ARE_UNREAD", NEVER_YOUNG),), seed=4
        ),
        "a list is of a leader epoch": Remedy(
            frozenset({"lists", "cut_grows"}),
            (
                (
                    "simulation.skipping.is_skipped",
                    lambda _world, _where, found, offset: found and offset in found.listed,
                ),
            ),
            seed=79,
        ),
        "a rewind that is noted after a list was planned takes it away": Remedy(
            frozenset({"lists", "reset", "pause"}), ((_LISTS + "_rewinds", lambda _lists, _row: (0,)),), seed=52
        ),
        "what was set back elsewhere is not listed there": Remedy(
            frozenset({"lists", "drop", "reorder", "reset"}),
            (
                (
                    "offset_sync.state.sync_state.SyncState._is_back_elsewhere",
                    lambda _state, _alias, rows: np.zeros(len(rows), np.bool_),
                ),
            ),
            seed=5207,
            steps=600,
        ),
    }
)
OPEN = {
    "headers leak": Remedy(frozenset({"leak"})),
}
"""Switches that are off: today's code does not withstand them."""
