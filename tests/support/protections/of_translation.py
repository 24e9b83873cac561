"""The rules by which a commit is translated exactly: what is unread stays above the answer, and little else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from offset_sync.model.values import State
from offset_sync.translate import exact, partition, partition_log, pieces, read_window
from offset_sync.translate.index.origin_positions import NO_LIMIT, disjoint_ranges
from offset_sync.translate.replication_gap import NEVER_YOUNG
from protections import invariant_patches as without
from protections.entry import as_if, false_for, given, gives, kept_by, kept_together, nothing, protections, yes


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


def _beyond_the_end(asked: Any, ids: Any, source: Any, *rest: Any, real: Any = partition.translate_partition) -> Any:
    found = real(asked, ids, source, *rest)
    if not (found.state == State.COMMIT_BEYOND_END).any():
        return found
    return real(asked, ids, replace(source, metadata=source.metadata._replace(log_end=NO_LIMIT)), *rest)


def _except(reason: State, real: Any) -> Any:
    return lambda *asked: None if (found := real(*asked)) is reason else found


def _may_never_move(answers: Any, *rest: Any, real: Any = partition._translations) -> Any:
    return replace(real(answers, *rest), may_move=np.zeros(len(answers.offset), np.bool_))


PROTECTIONS = protections(
    "A record that the mirror sent again counts at its first offset",
    kept_by(
        "origin_positions.first_occurrences",
        _last_occurrences,
        "exact_cases answers[records sent again to the source count at their first offset]",
    ),
    "Of records in another order only those below all unread ones are read for sure",
    kept_by("pieces.ReadHeights._not_above", given(3), "read_heights heights_are_the_records_below"),
    "A record that comes late voids the answers computed before",
    kept_by("log_index.LogIndex.reorder_count", gives(0), "translator a_record_that_comes_late[1]"),
    "A hole is read only once the group has passed a later record of its origin",
    kept_by(
        "pieces._mirrored",
        _holes_need_nothing,
        "exact_cases answers[what the mirror skipped is read once the group has passed more]",
    ),
    "A hole is passed at the lowest of all later records of its origin",
    kept_by(
        "origin_positions._lowest_from_there_on",
        lambda position, seen_ms: (position, seen_ms),
        "exact_cases answers[a hole is passed at the lowest of all later records]",
    ),
    "A hole younger than hole_grace is unread",
    kept_by("pieces._mirrored", as_if(pieces._mirrored, 3, NEVER_YOUNG), "exact_cases a_young_hole_is_unread"),
    "An answer above a young hole is computed again",
    kept_by("partition._translations", _may_never_move, "partition a_young_hole_may_still"),
    "A record that is not at the source yet is unread",
    kept_by(
        "pieces._mirrored",
        _absent_need_nothing,
        "exact_cases answers[a record that never came to the source stops the answer]",
    ),
    "A record of unknown identity at the source may be the one that fills a hole",
    kept_by(
        "pieces._mirrored",
        as_if(pieces._mirrored, 2, -1),
        "exact_cases answers[an unreadable record of the source may be one that was sent late]",
    ),
    "A record that was produced at the source needs no index of the source",
    kept_by("pieces._native", pieces._malformed, "exact_cases a_record_of_the_source"),
    "Above the frontier of the target's index nothing is read",
    kept_by("exact.ReadWindow", _ToTheLogEnd, "exact_cases what_is_read_to_the"),
    "A run ends at an offset without a record, as a transaction marker leaves it",
    kept_by("runs.Runs.joined", _joined_across_gaps, "log_index a_log_and_its_views"),
    "Our own reader reads only records of committed transactions",
    kept_by("log_reader._OPTIONS", {}, "log_reader only_committed_records_are_read"),
    "Spark reads only records of committed transactions",
    kept_by("kafka_source._ALWAYS", {"kafka.isolation.level": "read_uncommitted"}, "commit_ingester spark_reads_only"),
    "A commit beyond the index of its source is reported as behind, and computed again",
    kept_by(
        "partition._states", lambda of: np.where(of.at_frontier, State.AT_FRONTIER, State.EXACT), "partition a_commit"
    ),
    "A commit beyond the index of its source may repeat all that the index does not know",
    kept_by("exact.possible_duplicates", lambda window: np.zeros_like(window.committed), "exact_cases a_commit_beyond"),
    "A commit beyond the end of its log is withheld",
    kept_by("translator.translate_partition", _beyond_the_end, "reconciler_withheld a_commit_beyond_the_end"),
    "A negative committed offset is no position",
    kept_by(
        "committed_offsets.CommitRecords.is_position", property(lambda of: ~of.is_tombstone), "own_writes a_negative"
    ),
    "An answer below the target's log start becomes the log start",
    kept_by("partition_log.PartitionLog.log_start", property(lambda _log: 0), "exact_cases an_unread_record_that"),
    "Unread records that retention has deleted are counted as lost",
    kept_by("exact._lost", lambda window: np.zeros_like(window.committed), "exact_cases retention_beyond_the_index"),
    "A target that has records and no index is withheld",
    kept_together(
        {
            "partition.reason_to_withhold": _except(State.NOT_INDEXED, partition_log.reason_to_withhold),
            "partition.needs_of_unindexed": gives(0),
        },
        "partition a_target_needs_an_index",
    ),
    "A topic of another id than the indexed one is withheld",
    kept_by(
        "partition_log.reason_of",
        _except(State.TOPIC_RECREATED, partition_log.reason_of),
        "reasons_to_withhold a_reason_on_either_side[changed2-TOPIC_RECREATED]",
    ),
    "A source whose log ends below its index is withheld",
    kept_by(
        "partition_log.reason_of",
        lambda metadata, _real=partition_log.reason_of: _real(metadata._replace(frontier=0)),
        "reasons_to_withhold a_reason_on_either_side[changed4-LOG_TRUNCATED]",
    ),
    "A commit that names another incarnation of its topic is withheld",
    kept_by("partition._names_another_topic", false_for(0), "partition only_commits_of_another_incarnation"),
    "A partition that only one of two clusters has is withheld",
    kept_by(
        "partition.reason_to_withhold",
        _except(State.PARTITIONS_DIFFER, partition_log.reason_to_withhold),
        "reconciler_withheld a_partition_that_only_the",
    ),
    "Two different records at one offset withhold the log",
    kept_by("log_index.LogIndex._confirms", yes, "reasons_to_withhold two_records_at_one_offset"),
    "Below an index that began late a third cluster may have produced records",
    kept_by(
        "partition.needs_of_unindexed",
        lambda *asked: exact.needs_of_unindexed(*asked[:2], asked[2]._replace(origins=frozenset())),
        "partition a_third_cluster_may_have",
    ),
    "A strategy that wants a later offset than t(c) is refused",
    kept_by("partition.translate_no_later", without.later_too, "strategies an_answer_is_its_definition"),
    "A strategy is refused for origins that it cannot distinguish",
    kept_by("partition.reason_to_refuse", nothing, "strategies an_answer_is_its_definition"),
    "A topic is idle only once both logs are quiet and indexed to their ends",
    kept_by("strategies._is_idle", yes, "strategies an_answer_is_its_definition"),
)
