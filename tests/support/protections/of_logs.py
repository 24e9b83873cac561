"""Recreated topics and truncated logs: for each row of docs/reliability.md's table what protects, taken out."""

from __future__ import annotations

from typing import Any

import numpy as np

from offset_sync.ingest.commit_log_check import CommitLogCheck
from offset_sync.ingest.incarnation_check import IncarnationCheck
from offset_sync.model.values import ABSENT, EpochChange, ReportedEnd
from offset_sync.tables.catalog import RECREATED, TRUNCATED
from protections.entry import Protection

_INGEST, _STATE, _TRANSLATE = "offset_sync.ingest.", "offset_sync.state.", "offset_sync.translate."
_CHECK = _INGEST + "incarnation_check.IncarnationCheck."
_KNOWN = _STATE + "incarnations.KnownIncarnations."
_TESTS = "tests/unit/"


def _without(reason: str, real: Any = IncarnationCheck._rows) -> Any:
    def rows(check: Any, *asked: Any) -> Any:
        found, reach = real(check, *asked)
        return [each for each in found if each.reason != reason], reach

    return rows


def _none(given: Any, *_rest: Any) -> Any:
    return np.full(len(given.offset), ABSENT, np.intp)


def _no_reason(_memory: Any, _partition: Any, _keys: Any, commits: Any, _log: Any) -> Any:
    return np.full(len(commits[0]), ABSENT, np.intp)


def _as_reported(_change: Any, reported: int, _epoch: int) -> ReportedEnd:
    return ReportedEnd(reported, True)


def _certain(change: Any, reported: int, epoch: int, real: Any = EpochChange.end) -> ReportedEnd:
    return real(change, reported, epoch)._replace(is_certain=True)


def _nothing_again(check: Any, batch_id: int, real: Any = CommitLogCheck.look) -> Any:
    return real(check, batch_id)._replace(again={}, whole=frozenset())


def _certain_of_writes(check: Any, batch_id: int, real: Any = CommitLogCheck.look) -> Any:
    return real(check, batch_id)._replace(is_certain=True)


PROTECTIONS: tuple[Protection, ...] = (
    Protection(
        "A recreated topic is noticed by its id",
        ((_CHECK + "_rows", _without(RECREATED)),),
        _TESTS + "ingest/test_incarnation_check.py",
    ),
    Protection(
        "A truncated log is noticed by where its last epoch ended",
        ((_CHECK + "_rows", _without(TRUNCATED)),),
        _TESTS + "ingest/test_incarnation_check.py",
    ),
    Protection(
        "A log with a new incarnation is read again, also by the next driver",
        ((_INGEST + "incarnation_log.IncarnationLog.unread", lambda _log, _alias: {}),),
        _TESTS + "ingest/test_incarnation_check.py",
    ),
    Protection(
        "A commit made before its log was truncated or recreated is withheld",
        ((_STATE + "translator.of_former_incarnations", _none),),
        _TESTS + "sync/test_reconciler_lives.py",
    ),
    Protection(
        "Rows of an earlier incarnation are no part of the index",
        ((_KNOWN + "live", lambda _known, _log, rows, _edges: (rows.length, rows)),),
        _TESTS + "state/test_record_index_lives.py",
    ),
    Protection(
        "Copies of an earlier incarnation have an origin of their own",
        ((_KNOWN + "_told_apart", lambda _known, _log, copies, _origin: copies),),
        _TESTS + "state/test_former_lives.py",
    ),
    Protection(
        "Copies of an earlier incarnation have an origin of their own 2",
        ((_KNOWN + "_told_apart", lambda _known, _log, copies, _origin: copies),),
        _TESTS + "state/test_record_index_lives.py",
    ),
    Protection(
        "What was read of a leader above the end of its epoch is read again",
        ((_CHECK + "elected_since", lambda _check, _alias, _epochs: {}),),
        _TESTS + "ingest/test_records_of_lost_leaders.py",
    ),
    Protection(
        "An old epoch counts at most to where a known later one began",
        (("offset_sync.model.values.EpochChange.end", _as_reported),),
        _TESTS + "kafka/test_leader_epochs.py",
    ),
    Protection(
        "A target that was truncated at an unknown offset is withheld",
        (("offset_sync.model.values.EpochChange.end", _certain),),
        _TESTS + "state/test_checked_metadata.py",
    ),
    Protection(
        "A commit whose last record an election has lost is withheld by its leader epoch",
        ((_STATE + "translator.of_lost_records", _none),),
        _TESTS + "state/test_translator.py",
    ),
    Protection(
        "Copies that a truncation has removed are unread until the mirror has copied them again",
        ((_TRANSLATE + "index.log_index.LogIndex.lose", lambda *_lost: None),),
        _TESTS + "state/test_record_index_beliefs.py",
    ),
    Protection(
        "Below an index that began late there may be copies that the source has lost",
        ((_TRANSLATE + "exact._may_differ", lambda first_runs, *_known: np.zeros(len(first_runs), np.bool_)),),
        _TESTS + "translate/test_partition.py",
    ),
    Protection(
        "Rows of an earlier incarnation that were in flight to the table have the log loaded again",
        ((_KNOWN + "overtaken", lambda _known, _rows: set()),),
        _TESTS + "state/test_record_index_lives.py",
    ),
    Protection(
        "A cluster's answer from before another query noticed a change is asked for again",
        ((_CHECK + "_refuse_overtaken", lambda *_asked: None),),
        _TESTS + "ingest/test_incarnation_races.py",
    ),
    Protection(
        "A cluster's answer from before another query noticed a change is asked for again 2",
        ((_CHECK + "_refuse_overtaken", lambda *_asked: None),),
        _TESTS + "ingest/test_incarnation_check.py",
    ),
    Protection(
        "A driver that was paused sees which leaders another driver has recorded",
        ((_INGEST + "incarnation_log.IncarnationLog.is_behind", lambda _log, _logs: False),),
        _TESTS + "ingest/test_incarnation_check.py",
    ),
    Protection(
        "A truncated __consumer_offsets is read again from where it differs",
        ((_INGEST + "commit_log_check.CommitLogCheck.look", _nothing_again),),
        _TESTS + "ingest/test_commit_log_check.py",
    ),
    Protection(
        "Acknowledged writes of ours are uncertain under a new leader until they are read back",
        ((_INGEST + "commit_log_check.CommitLogCheck.look", _certain_of_writes),),
        _TESTS + "ingest/test_commit_log_check.py",
    ),
    Protection(
        "What only a coordinator has counts",
        ((_INGEST + "polled_commits.CoordinatorCheck.poll", lambda _check: []),),
        _TESTS + "ingest/test_coordinator_check.py",
    ),
    Protection(
        "A coordinator's offset counts only where the log does not explain it",
        ((_INGEST + "polled_commits.CoordinatorCheck._not_in_the_log", lambda _check, found, _read_to: list(found)),),
        _TESTS + "ingest/test_coordinator_check.py",
    ),
    Protection(
        "What a lost source has said of its log stays said",
        ((_STATE + "last_translations.SourceMemory.reasons", _no_reason),),
        _TESTS + "sync/test_reconciler_what_sources_said.py",
    ),
    Protection(
        "What a lost source has said of its log stays said 2",
        ((_STATE + "last_translations.SourceMemory.reasons", _no_reason),),
        _TESTS + "sync/test_reconciler_reasons_kept.py",
    ),
    Protection(
        "A commit beyond the end withholds no more once the index has read the log so far",
        ((_STATE + "last_translations._valid_states", lambda pair, key, _log: pair["state"][key]),),
        _TESTS + "status/test_offset_translation_lost_source.py",
    ),
    Protection(
        "A given offset above all that is known of a lost source is withheld",
        (("offset_sync.status.kept_offsets.OffsetTranslation._beyond_all_known", lambda _self, _source, _place, given: _none(given)),),
        _TESTS + "status/test_offset_translation.py",
    ),
    Protection(
        "A given offset that may be of an earlier incarnation is withheld unless its time proves it valid",
        ((_STATE + "translator.of_former_incarnations", _none),),
        _TESTS + "status/test_offset_translation.py",
    ),
)
ENTRIES = {each.name: (each.patches, [each.noticed_by]) for each in PROTECTIONS}
