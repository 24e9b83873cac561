"""The rules by which a commit is translated exactly: what is unread stays above the answer, and little else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from offset_sync.model.values import State
from offset_sync.translate import exact, partition, partition_log, pieces, read_window, strategies
from offset_sync.translate.index.origin_positions import NO_LIMIT, disjoint_ranges
from offset_sync.translate.replication_gap import NEVER_YOUNG
from protections.entry import Protection, kept_by, nothing, yes

_TRANSLATE, _INDEX = "offset_sync.translate.", "offset_sync.translate.index."
_TRANSLATOR = "offset_sync.state.translator."
_CASES, _PARTITION = (f"tests/unit/translate/test_{name}.py::test_" for name in ("exact_cases", "partition"))
_BY_DEFINITION = (
    "tests/unit/translate/test_strategies.py::"
    "test_an_answer_is_its_definition_and_not_above_the_exact_one_where_headers_tell_records_apart"
)
_WITHHELD = "tests/unit/sync/test_reconciler_withheld.py::test_"
_REASONS = "tests/unit/translate/test_reasons_to_withhold.py::test_"


def _last_occurrences(start: Any, end: Any, position: Any, seen_ms: Any) -> Any:
    low, high, won = disjoint_ranges(start, end, np.argsort(-position, kind="stable"))
    return low, high, position[won] + (low - start[won]), seen_ms[won]


def _holes_need_nothing(*asked: Any, real: Any = pieces._mirrored) -> Any:
    found = real(*asked)
    is_hole = ~found.is_linear & ~found.is_unknown
    return replace(found, needs=np.where(is_hole, -1, found.needs))


def _absent_need_nothing(*asked: Any, real: Any = pieces._mirrored) -> Any:
    found = real(*asked)
    return replace(found, needs=np.where(found.needs >= NO_LIMIT, -1, found.needs))


def _holes_are_old(runs: Any, positions: Any, last_unknown: int, _since: int, real: Any = pieces._mirrored) -> Any:
    return real(runs, positions, last_unknown, NEVER_YOUNG)


def _unknown_fill_no_hole(runs: Any, positions: Any, _last: int, since_ms: int, real: Any = pieces._mirrored) -> Any:
    return real(runs, positions, -1, since_ms)


def _joined_across_gaps(runs: Any) -> Any:
    if len(runs) < 2:
        return runs
    follows = runs.origin_start[1:] == runs.origin_start[:-1] + runs.length[:-1]
    first = np.concatenate(([True], ~(follows & (runs.origin[1:] == runs.origin[:-1])))).nonzero()[0]
    return replace(runs.take(first), length=np.add.reduceat(runs.length, first))


class _ToTheLogEnd(read_window.ReadWindow):
    def __init__(self, committed: Any, source: Any, target: Any, *rest: Any) -> None:
        super().__init__(committed, source, target, *rest)
        end = max(target.metadata.log_end, target.index.frontier)
        self.stop = np.where(self.at_frontier, end, self.stop)


def _never_behind(answers: Any) -> Any:
    return np.where(answers.at_frontier, int(State.AT_FRONTIER), int(State.EXACT))


def _beyond_the_end(
    committed: Any, ids: Any, source: Any, *rest: Any, real: Any = partition.translate_partition
) -> Any:
    found = real(committed, ids, source, *rest)
    if not (found.state == State.COMMIT_BEYOND_END).any():
        return found
    return real(committed, ids, replace(source, metadata=source.metadata._replace(log_end=NO_LIMIT)), *rest)


def _none_lost(window: read_window.ReadWindow) -> Any:
    return np.zeros(len(window.committed), np.int64)


def _except(reason: State, real: Any) -> Any:
    return lambda *asked: None if (found := real(*asked)) is reason else found


def _without_frontier(metadata: Any, real: Any = partition_log.reason_of) -> Any:
    return real(metadata._replace(frontier=0))


def _of_two_clusters(source: Any, target: Any, bounds: Any, real: Any = exact.needs_of_unindexed) -> Any:
    return real(source, target, bounds._replace(origins=frozenset()))


def _later_too(committed: Any, chosen: Any, *rest: Any, real: Any = partition.translate_no_later) -> Any:
    found = real(committed, chosen, *rest)
    offset = np.where(chosen >= 0, chosen, found.offset)
    return found._replace(offset=offset, clamped_offset=offset, is_too_late=np.zeros(len(chosen), np.bool_))


def _always_placed(*asked: Any, real: Any = strategies.answer_by_timestamp, is_checked: bool) -> Any:
    return real(*asked, is_checked=True)


def _may_never_move(answers: Any, *rest: Any, real: Any = partition._translations) -> Any:
    return replace(real(answers, *rest), may_move=np.zeros(len(answers.offset), np.bool_))


PROTECTIONS: tuple[Protection, ...] = (
    kept_by(
        "A record that the mirror sent again counts at its first offset",
        "translate.index.origin_positions.first_occurrences",
        _last_occurrences,
        _CASES + "answers[records sent again to the source count at their first offset]",
    ),
    kept_by(
        "Of records in another order only those below all unread ones are read for sure",
        "translate.read_heights.ReadHeights._not_above",
        lambda _heights, _origin, _committed, high, _low: high,
        "translate/test_read_heights.py::test_heights_are_the_records_below_a_commit_and_the_others",
    ),
    kept_by(
        "A record that comes late voids the answers computed before",
        "translate.index.log_index.LogIndex.reorder_count",
        lambda _log: 0,
        "state/test_translator.py::test_a_record_that_comes_late_meanwhile_makes_answers_void[1]",
    ),
    kept_by(
        "A hole is read only once the group has passed a later record of its origin",
        "translate.pieces._mirrored",
        _holes_need_nothing,
        _CASES + "answers[a record that the mirror skipped is read once the group has passed later ones]",
    ),
    kept_by(
        "A hole is passed at the lowest of all later records of its origin",
        "translate.index.origin_positions._lowest_from_there_on",
        lambda position, seen_ms: (position, seen_ms),
        _CASES + "answers[a hole is passed at the lowest of all later records]",
    ),
    kept_by(
        "A hole younger than hole_grace is unread",
        "translate.pieces._mirrored",
        _holes_are_old,
        _CASES + "a_young_hole_is_unread_because_the_record_may_only_be_pending",
    ),
    kept_by(
        "An answer above a young hole is computed again",
        "translate.partition._translations",
        _may_never_move,
        _PARTITION + "a_young_hole_may_still_move_every_answer_of_the_window",
    ),
    kept_by(
        "A record that is not at the source yet is unread",
        "translate.pieces._mirrored",
        _absent_need_nothing,
        _CASES + "answers[a record that never came to the source stops the answer]",
    ),
    kept_by(
        "A record of unknown identity at the source may be the one that fills a hole",
        "translate.pieces._mirrored",
        _unknown_fill_no_hole,
        _CASES + "answers[an unreadable record of the source may be one that was sent late]",
    ),
    kept_by(
        "A record that was produced at the source needs no index of the source",
        "translate.pieces._native",
        pieces._malformed,
        _CASES + "a_record_of_the_source_itself_is_read_by_its_offset_even_where_the_source_has_no_index",
    ),
    kept_by(
        "Above the frontier of the target's index nothing is read",
        "translate.exact.ReadWindow",
        _ToTheLogEnd,
        _CASES + "what_is_read_to_the_end_of_the_index_is_answered_with_the_frontier_not_the_log_end",
    ),
    kept_by(
        "A run ends at an offset without a record, as a transaction marker leaves it",
        "translate.index.runs.Runs.joined",
        _joined_across_gaps,
        "translate/index/test_log_index.py::"
        "test_a_log_and_its_views_know_what_they_were_given_and_the_first_of_what_came_twice",
    ),
    kept_by(
        "Our own reader reads only records of committed transactions",
        "kafka.log_reader._OPTIONS",
        {},
        "kafka/test_log_reader.py::test_only_committed_records_are_read",
    ),
    kept_by(
        "Spark reads only records of committed transactions",
        "ingest.kafka_source._ALWAYS",
        {"kafka.isolation.level": "read_uncommitted"},
        "ingest/test_commit_ingester.py::test_spark_reads_only_committed_records",
    ),
    kept_by(
        "A commit beyond the index of its source is reported as behind, and computed again",
        "translate.partition._states",
        _never_behind,
        _PARTITION + "a_commit_beyond_the_index_of_its_source_may_have_read_what_is_not_known_to_be_read",
    ),
    kept_by(
        "A commit beyond the index of its source may repeat all that the index does not know",
        "translate.exact.possible_duplicates",
        lambda window: np.zeros_like(window.committed),
        _CASES + "a_commit_beyond_the_index_of_the_source_is_answered_small_and_said_to_be_behind",
    ),
    kept_by(
        "A commit beyond the end of its log is withheld",
        "state.translator.translate_partition",
        _beyond_the_end,
        "sync/test_reconciler_withheld.py::test_a_commit_beyond_the_end_of_its_log_is_withheld_alone",
    ),
    kept_by(
        "A negative committed offset is no position",
        "state.committed_offsets.CommitRecords.is_position",
        property(lambda each: ~each.is_tombstone),
        "state/test_own_writes.py::test_a_negative_offset_is_recorded_and_is_no_position",
    ),
    kept_by(
        "An answer below the target's log start becomes the log start",
        "translate.partition_log.PartitionLog.log_start",
        property(lambda _log: 0),
        _CASES + "an_unread_record_that_retention_took_is_a_loss_and_the_log_start_is_committed",
    ),
    kept_by(
        "Unread records that retention has deleted are counted as lost",
        "translate.exact._lost",
        _none_lost,
        _CASES + "retention_beyond_the_index_commits_the_log_start",
    ),
    Protection(
        "A target that has records and no index is withheld",
        (
            (_TRANSLATE + "partition.reason_to_withhold", _except(State.NOT_INDEXED, partition_log.reason_to_withhold)),
            (_TRANSLATE + "partition.needs_of_unindexed", lambda *_logs: 0),
        ),
        _PARTITION + "a_target_needs_an_index_unless_it_is_empty",
    ),
    kept_by(
        "A topic of another id than the indexed one is withheld",
        "translate.partition_log.reason_of",
        _except(State.TOPIC_RECREATED, partition_log.reason_of),
        "translate/test_reasons_to_withhold.py::test_a_reason_on_either_side_withholds[changed2-TOPIC_RECREATED]",
    ),
    kept_by(
        "A source whose log ends below its index is withheld",
        "translate.partition_log.reason_of",
        _without_frontier,
        "translate/test_reasons_to_withhold.py::test_a_reason_on_either_side_withholds[changed4-LOG_TRUNCATED]",
    ),
    kept_by(
        "A commit that names another incarnation of its topic is withheld",
        "translate.partition._names_another_topic",
        lambda ids, _source: np.zeros(len(ids), np.bool_),
        _PARTITION + "only_commits_of_another_incarnation_are_withheld_and_all_where_the_log_is",
    ),
    kept_by(
        "A partition that only one of two clusters has is withheld",
        "translate.partition.reason_to_withhold",
        _except(State.PARTITIONS_DIFFER, partition_log.reason_to_withhold),
        "sync/test_reconciler_withheld.py::test_a_partition_that_only_the_source_has_is_withheld_by_itself",
    ),
    kept_by(
        "Two different records at one offset withhold the log",
        "translate.index.log_index.LogIndex._confirms",
        yes,
        _REASONS + "two_records_at_one_offset_on_either_side_withhold_the_log",
    ),
    kept_by(
        "Below an index that began late a third cluster may have produced records",
        "translate.partition.needs_of_unindexed",
        _of_two_clusters,
        _PARTITION + "a_third_cluster_may_have_produced_what_a_late_index_does_not_hold",
    ),
    kept_by(
        "A strategy that wants a later offset than t(c) is refused",
        "translate.partition.translate_no_later",
        _later_too,
        _BY_DEFINITION,
    ),
    kept_by(
        "A strategy is refused for origins that it cannot distinguish",
        "translate.partition.reason_to_refuse",
        nothing,
        _BY_DEFINITION,
    ),
    kept_by(
        "timestamp counts the last records of one time off only where headers check its answer",
        "translate.strategies.answer_by_timestamp",
        _always_placed,
        _BY_DEFINITION,
    ),
    kept_by(
        "A topic is idle only once both logs are quiet and indexed to their ends",
        "translate.strategies._is_idle",
        yes,
        _BY_DEFINITION,
    ),
)
