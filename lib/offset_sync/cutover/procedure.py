"""Move consumer groups from one cluster to another: check, refuse or wait, translate, commit, read back, verify.

Every step is idempotent, and may be repeated at any time by any operator. Nothing is committed for a group while there
is a reason not to move it; without one, everything is. A group is at home at the target by the last step, one append
for all groups of which every other step is done. Where the command ends before, in whatever way, its commits count as
those of ``sync_offsets``, which goes on from the source. Errs to not moving: a group that stays costs nothing, one
moved wrongly loses records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from offset_sync.config.stream_names import SAME_NAMES, Names
from offset_sync.cutover.crossed import CrossedPartition
from offset_sync.cutover.journal import TableJournal
from offset_sync.cutover.live_clusters import LiveClusters
from offset_sync.cutover.plan import (
    NO_OPTIONS,
    Activity,
    CutoverStep,
    Direction,
    GroupPlan,
    Mode,
    Options,
    Result,
    Step,
)
from offset_sync.cutover.verification import Verification
from offset_sync.kafka.requests import SYSTEM_CLOCK, Clock
from offset_sync.model.errors import ClusterError
from offset_sync.model.reasons import Reason
from offset_sync.model.text import to_duration
from offset_sync.model.values import GroupPartition, Outcome, Status
from offset_sync.status.group_homes import from_ranges
from offset_sync.sync.read_lists import REPLACED
from offset_sync.terminal.waiting import waiting

Failures = list[tuple[str, str]]
"""Groups, each with a line on the failure and its remedy."""
_PAUSE_S = 1.0
_TRIES = 4


class CutoverProcedure:
    """Moves groups in *direction*; every step goes to *journal*."""

    def __init__(
        self,
        direction: Direction,
        clusters: LiveClusters,
        journal: TableJournal,
        clock: Clock = SYSTEM_CLOCK,
        names: Names = SAME_NAMES,
        options: Options = NO_OPTIONS,
    ) -> None:
        self._source, self._target = direction
        self._clusters, self._journal, self._clock, self._names = clusters, journal, clock, names
        self._options = options
        self._verification = Verification(direction, clusters, journal, names, options)
        self._name = self._verification.name

    def plan(self, groups: Sequence[str], mode: Mode, *, judges_lists: bool = True) -> list[GroupPlan]:
        """Return the plan for each group; writes nothing.

        Read lists are checked after the last commits are captured, as these may have passed the list.
        """
        here, there = (self._clusters.activities(alias, groups) for alias in (self._source, self._target))
        statuses, elsewhere = self._clusters.partition_statuses(groups), self._clusters.owned_elsewhere(groups)
        readers = self._clusters.readers(groups) if mode is Mode.PLANNED else {}
        streams, plans = self._clusters.committed_streams(groups), []
        held, internal = self._clusters.held_back(groups), self._clusters.internal_topics(groups)
        crossed = self._clusters.crossed(groups, asks_source=mode is Mode.PLANNED)
        for group_id in groups:
            activities = _activity(group_id, here), _activity(group_id, there)
            of_group = statuses.get(group_id, [])
            plan = GroupPlan(group_id, *activities, of_group, streams=streams.get(group_id, {}), mode=mode)
            plans.append(plan)
            plan.blocking += self._target_reasons(plan, there)
            if mode is Mode.PLANNED:
                plan.blocking += self._source_reasons(plan, here, readers.get(group_id))
                plan.blocking += self._internal_reasons(internal.get(group_id))
            plan.blocking += self._commit_reasons(plan, elsewhere.get(group_id, []))
            plan.blocking += [held[group_id]] if group_id in held else []
            found = crossed.get(group_id, [])
            if mode is Mode.DISASTER:
                plan.crossed = _of_plan(plan, found)
            else:
                plan.crossed = found if self._options.has_read_lists else None
                plan.blocking += self._list_reasons(plan, found) if judges_lists else []
            plan.notes += self._notes(plan)
        return plans

    def apply(self, groups: Sequence[str], mode: Mode, timeout_s: float) -> list[str]:
        """Move all groups that can be moved; return one line with a remedy per group or partition that was not."""
        with waiting(f"the plan, by the tables and {', '.join((self._source, self._target))}"):
            plans, refused = self._check(self.plan(groups, mode, judges_lists=False))
        if plans and mode is Mode.PLANNED:
            not_ready = self._wait([plan.group_id for plan in plans], timeout_s)
            refused |= not_ready
            # A group started during the wait has read further, so check again.
            left = [plan.group_id for plan in plans if plan.group_id not in not_ready]
            plans, started = self._check(self.plan(left, mode) if left else [])
            refused |= started
        failures = [(group_id, f"{group_id}: {reason}") for group_id, reason in refused.items()]
        for step in (self._commit_and_read_back, self._verified, self._commit_starts, self._make_home):
            failed = dict(failures)
            plans = [plan for plan in plans if plan.group_id not in failed]
            failures += step(plans, timeout_s) if plans else []
        return [line for _, line in failures]

    def verify(self, groups: Sequence[str]) -> list[str]:
        """Return one line with a remedy per partition that is not ready; no line: all groups may be started."""
        return [line for _, line in self._verification.verify(groups)]

    def _verified(self, plans: Sequence[GroupPlan], _timeout_s: float) -> Failures:
        """Verify what was committed; again after a failure, as sync_offsets may have touched idle partitions."""
        if plans[0].mode is Mode.DISASTER:
            return self._tell_lost(plans)
        groups = [plan.group_id for plan in plans]
        found = self._verification.verify(groups)
        if found:
            self._clock.pause(_PAUSE_S)
            found = self._verification.verify(groups)
        return found

    def _list_reasons(self, plan: GroupPlan, crossed: Sequence[CrossedPartition]) -> list[str]:
        """Return why a group cannot move with its read lists, or without before it is past those it came with."""
        options, found = self._options, list[str]()
        by_lists = options.has_read_lists
        if by_lists and not crossed:
            return [Reason.GETS_NO_LISTS()]
        if by_lists and any(each.contest for each in plan.partitions):
            return [Reason.AT_TWO_CLUSTERS()]
        needs_proof, is_at_cost = by_lists and not options.is_unproven, options.is_at_cost or not by_lists
        for each in crossed:
            reason = each.reason_to_stay(self._source, needs_proof=needs_proof, is_at_cost=is_at_cost)
            found += [f"{self._name(each.key.topic_partition)}: {reason}"] if reason is not None else []
        return found

    def _target_reasons(self, plan: GroupPlan, there: Mapping[str, Activity] | ClusterError) -> list[str]:
        if isinstance(there, ClusterError):
            return [Reason.TARGET_SILENT(there)]
        return [Reason.HAS_MEMBERS(self._target)] if plan.at_target is Activity.ACTIVE else []

    def _source_reasons(
        self, plan: GroupPlan, here: Mapping[str, Activity] | ClusterError, reader_ms: int | None
    ) -> list[str]:
        if isinstance(here, ClusterError):
            return [Reason.SOURCE_LOST(here, self._source)]
        if plan.at_source is Activity.ACTIVE:
            return [Reason.HAS_MEMBERS(self._source)]
        if self._options.are_readers_confirmed:
            return []
        if plan.at_source is Activity.UNKNOWN:
            return [Reason.NOT_LISTED(self._source)]
        return [] if reader_ms is None else [Reason.READS_ALONE(to_duration(reader_ms), self._source)]

    def _internal_reasons(self, topic: str | None) -> list[str]:
        """Return why an application of Kafka Streams with an internal *topic* has to be confirmed."""
        if topic is None or self._options.is_internal_confirmed:
            return []
        return [Reason.HAS_INTERNAL(topic, self._source)]

    def _notes(self, plan: GroupPlan) -> list[str]:
        """Return notes for a move, which do not block it."""
        contests = dict.fromkeys(each.contest for each in plan.partitions if each.contest)
        notes = [Reason.APPLY_DECIDES(each) for each in contests]
        uncommitted = Reason.LEFT_OUT if self._options.are_uncommitted_left else Reason.FROM_START
        for stream, ranges in plan.uncommitted.items():
            notes.append(uncommitted(self._names.outside(self._source, stream), ranges, self._target))
        left = [each for each in plan.partitions if each.status not in (Status.IN_SYNC, Status.WITHHELD)]
        if left and not plan.blocking:
            first = min(left, key=lambda each: each.status)
            name = self._name(first.topic_partition)
            notes.append(Reason.NOT_IN_SYNC(name, first.status.word, first.reason, len(left)))
        if plan.missing and plan.mode is Mode.PLANNED:
            notes.append(Reason.APPLY_WAITS(self._target, plan.missing))
        return [*notes, *self._subscriptions(plan), *(self._later_repeats(plan) if plan.mode is Mode.DISASTER else ())]

    def _subscriptions(self, plan: GroupPlan) -> list[str]:
        """Return the topic names under which a group continues, and those it has never committed itself.

        Topics without offsets to move are included: otherwise it would miss their future records.
        """
        streams = plan.streams if plan.partitions and not self._names.is_same else {}
        topics = {self._names.topic(self._target, stream): is_known for stream, is_known in streams.items()}
        there = sorted(topic for topic in topics if topic is not None)
        told = {Reason.SUBSCRIBES: there, Reason.MAKE_SURE: [topic for topic in there if not topics[topic]]}
        return [reason(self._target, ", ".join(named)) for reason, named in told.items() if named]

    def _later_repeats(self, plan: GroupPlan) -> list[str]:
        """Return what a group repeats after a disaster beyond its lists and its known repeats."""
        later, found = [each.later for each in plan.crossed or ()], list[str]()
        if count := sum(each or 0 for each in later):
            found.append(Reason.LATER_REPEATS(self._target, self._source, count))
        if unknown := later.count(None):
            found.append(Reason.UNKNOWN_REPEATS(unknown))
        return found

    def _lists_not_there(self, plan: GroupPlan, found: Sequence[CrossedPartition]) -> list[str]:
        """Return which lists counted by the plan are not at the target."""
        planned = {each.key for each in plan.crossed or ()}
        return [
            Reason.LIST_NOT_THERE(self._name(each.key.topic_partition), self._target, each.skipped)
            for each in found
            if each.key in planned and each.skipped and not each.is_held
        ]

    def _commit_reasons(self, plan: GroupPlan, elsewhere: Sequence[str]) -> list[str]:
        # A partition whose home is the target needs no move: the group has not read it elsewhere since.
        third, reasons = ", ".join(alias for alias in elsewhere if alias != self._target), list[str]()
        if not plan.partitions:
            reasons.append(Reason.NOTHING_TO_MOVE(self._source, ", ".join(elsewhere) or "no cluster"))
        elif third:
            reasons.append(Reason.MOVE_FROM_THERE(third))
        withheld = [each for each in plan.partitions if each.status is Status.WITHHELD and not each.contest]
        if withheld:
            name, word = self._name(withheld[0].topic_partition), withheld[0].state.name
            reasons.append(Reason.IS_WITHHELD(name, word, Reason[word](), len(withheld)))
        return reasons

    def _check(self, plans: Sequence[GroupPlan]) -> tuple[list[GroupPlan], dict[str, str]]:
        """Record the plans; return those to carry out, and why other groups are refused."""
        refused = {plan.group_id: "; ".join(plan.blocking) for plan in plans if plan.blocking}
        steps = [
            CutoverStep(
                plan.group_id,
                Step.CHECK,
                Result.REFUSED if plan.blocking else Result.DONE,
                refused.get(plan.group_id),
                duplicates=plan.duplicates,
                lost=plan.lost,
                skipped=plan.skipped,
            )
            for plan in plans
        ]
        self._journal.record(steps)
        return [plan for plan in plans if not plan.blocking], refused

    def _wait(self, groups: Sequence[str], timeout_s: float) -> dict[str, str]:
        """Wait until commits and both logs are read to their present ends; return the reasons if they are not.

        That is enough: the groups do not read, so all records that they have read are below.
        """
        began = self._clock.now()
        self._clusters.forget_ends()
        if left := _to_text(self._unread(groups)):
            self._journal.say(f"waiting, for at most {timeout_s:.0f} s: {left}")
            with waiting(left, timeout_s) as wait:
                while left and self._clock.now() - began < timeout_s:
                    self._clock.pause(_PAUSE_S)
                    wait.what = left = _to_text(self._unread(groups))
            if left:
                reason = Reason.NOT_READ(timeout_s, left)
                self._journal.record([CutoverStep(group_id, Step.WAIT, Result.FAILED, reason) for group_id in groups])
                return dict.fromkeys(groups, reason)
        self._journal.record([CutoverStep(group_id, Step.WAIT, Result.DONE) for group_id in groups])
        return {}

    def _unread(self, groups: Sequence[str]) -> Mapping[str, int]:
        """Count the jobs' backlog, or else the records that groups have read and the mirror has not copied yet."""
        unread = self._clusters.unread(groups)
        if any(unread.values()):
            return unread
        return {
            f"records of {self._name(key.topic_partition)} that {key.group_id} has read and that are not at "
            f"{self._target} ({each.pending})": each.missing
            for key, each in self._verification.lists(groups).items()
        }

    def _commit_and_read_back(self, plans: Sequence[GroupPlan], timeout_s: float) -> Failures:
        """Commit; and again where sync_offsets knew one more record, and committed or listed further just after."""
        groups = [plan.group_id for plan in plans]
        for attempt in range(_TRIES):
            if attempt and plans[0].mode is Mode.PLANNED:
                self._wait(groups, timeout_s)
            self._journal.say(f"translating and committing {len(groups)} groups at {self._target}")
            committed = self._clusters.translate_and_commit(groups)
            self._journal.record(committed)
            failures, is_overtaken = self._read_back(committed)
            if not is_overtaken:
                break
        found = {(each.group_id, each.topic_partition) for each in committed}
        for each in (each for plan in plans for each in plan.partitions):
            if (each.group_id, each.topic_partition) not in found:  # not translated: its group has committed since
                line = f"{each.group_id} {self._name(each.topic_partition)}: {Reason.HAS_MOVED_ON()}"
                failures.append((each.group_id, line))
        for key, listed in self._verification.lists(groups).items():
            if (problem := listed.problem(self._target, is_at_cost=self._options.is_at_cost)) is not None:
                line = f"{key.group_id} {self._name(key.topic_partition)}: {problem}; {Reason.IF_BEHIND()}"
                failures.append((key.group_id, line))
        return failures

    def _make_home(self, plans: Sequence[GroupPlan], _timeout_s: float) -> Failures:
        """Make the target the home of every stream; nothing that can fail comes after it."""
        homes = dict.fromkeys((plan.group_id, each.topic_partition.topic) for plan in plans for each in plan.partitions)
        self._journal.record(
            [CutoverStep(group_id, Step.HOME, Result.DONE, stream=stream) for group_id, stream in homes]
        )
        return []

    def _commit_starts(self, plans: Sequence[GroupPlan], _timeout_s: float) -> Failures:
        """Commit the target's log start for partitions that groups have never committed."""
        if self._options.are_uncommitted_left:
            return []
        missing = [
            GroupPartition(plan.group_id, stream, number)
            for plan in plans
            for stream, text in plan.uncommitted.items()
            for number in from_ranges(text)
        ]
        committed = self._clusters.commit_starts(missing) if missing else []
        self._journal.record(committed)
        found = {(each.group_id, each.topic_partition) for each in committed}
        failures, _ = self._read_back([each for each in committed if each.outcome is not Outcome.NOT_FORWARD])
        for key in missing:
            if (key.group_id, key.topic_partition) not in found:
                why = Reason.START_UNKNOWN(self._target)
                failures.append((key.group_id, f"{key.group_id} {self._name(key.topic_partition)}: {why}"))
        return failures

    def _read_back(self, committed: Sequence[CutoverStep]) -> tuple[Failures, bool]:
        """Compare the target's offsets with the wanted ones; return also whether any is newer."""
        failures, steps, is_overtaken = Failures(), list[CutoverStep](), False
        answers = self._clusters.committed_at_target(sorted({each.group_id for each in committed}))
        for each in committed:
            answer, place = answers[each.group_id], each.topic_partition
            assert place is not None
            held = None if isinstance(answer, ClusterError) else answer.get(place)
            position = None if held is None else held.offset
            is_there = position is not None and position == each.target_offset and each.is_done
            is_overtaken |= each.outcome is Outcome.NOT_FORWARD or each.detail == REPLACED
            is_overtaken |= each.is_done and position is not None and position > (each.target_offset or 0)
            detail = None
            if not is_there:
                found = str(answer) if isinstance(answer, ClusterError) else f"{self._target} holds {position}"
                detail = f"{each.detail}; {found}, wanted {each.target_offset}"
                line = f"{each.group_id} {self._name(place)}: {detail}; correct that and repeat the command"
                failures.append((each.group_id, line))
            result = Result.DONE if is_there else Result.FAILED
            steps.append(
                CutoverStep(each.group_id, Step.READ_BACK, result, detail, place, each.source_offset, position)
            )
        self._journal.record(steps)
        return failures, is_overtaken

    def _tell_lost(self, plans: Sequence[GroupPlan]) -> Failures:
        """Report the cost of a disaster beyond the records that groups read again at once."""
        groups = [plan.group_id for plan in plans]
        lost, crossed = self._clusters.never_mirrored(groups), self._clusters.crossed(groups, asks_source=False)
        steps = list[CutoverStep]()
        for plan in plans:
            ranges, repeats = lost.get(plan.group_id, []), self._later_repeats(plan)
            repeats += self._lists_not_there(plan, crossed.get(plan.group_id, []))
            for each in (*(Reason.NEVER_MIRRORED(self._target, each) for each in ranges), *repeats):
                self._journal.say(f"{plan.group_id}: {each}")
            detail = "; ".join([*(ranges or [Reason.NONE_LOST()]), *repeats])
            steps.append(CutoverStep(plan.group_id, Step.VERIFY, Result.DONE, detail))
        self._journal.record(steps)
        return []


def _of_plan(plan: GroupPlan, crossed: Sequence[CrossedPartition]) -> Sequence[CrossedPartition] | None:
    """Return those of *crossed* that are moved; a partition committed at two clusters gets no list."""
    moved = {each.topic_partition for each in plan.partitions if not each.contest}
    return [each for each in crossed if each.key.topic_partition in moved] or None


def _activity(group_id: str, found: Mapping[str, Activity] | ClusterError) -> Activity:
    return Activity.UNKNOWN if isinstance(found, ClusterError) else found[group_id]


def _to_text(unread: Mapping[str, int]) -> str:
    return ", ".join(f"{what}: {count:,}" for what, count in unread.items() if count)
