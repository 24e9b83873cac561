"""Move consumer groups from one cluster to another: check, refuse or wait, translate, commit, read back, verify.

Every step is idempotent, and may be repeated at any time by any operator. Nothing is committed for a group while there
is a reason not to move it; without one, everything is. A group is at home at the target by the last step, one append
for all groups of which every other step is done. Where the command ends before, in whatever way, its commits count as
those of ``sync_offsets``, which goes on from the source. Errs to not moving: a group that stays costs nothing, one
moved wrongly loses records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from offset_sync.config import Config
from offset_sync.cutover.crossed import CrossedPartition
from offset_sync.cutover.journal import CutoverWriter, TableJournal
from offset_sync.cutover.judge import Judge, by_group
from offset_sync.cutover.live_clusters import LiveClusters
from offset_sync.cutover.plan import CutoverStep, GroupPlan, Mode, Problem, Result, Step
from offset_sync.kafka.requests import SYSTEM_CLOCK, Clock
from offset_sync.model.errors import ClusterError
from offset_sync.model.reasons import Reason, Said
from offset_sync.model.values import ClusterPartition, GroupPartition, Outcome
from offset_sync.state.lease import Fence
from offset_sync.status.held_offsets import from_ranges
from offset_sync.status.live_state import LiveState
from offset_sync.status.waiting import waiting
from offset_sync.sync.read_lists import REPLACED

_PAUSE_S = 1.0
_TRIES = 4


class CutoverProcedure:
    """Moves groups as *judge* allows; every step goes to *journal*."""

    def __init__(
        self, judge: Judge, clusters: LiveClusters, journal: TableJournal, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self._judge, self._clusters, self._journal, self._clock = judge, clusters, journal, clock
        self._source, self._target = judge.direction

    def plan(self, groups: Sequence[str], mode: Mode, *, judges_lists: bool = True) -> list[GroupPlan]:
        """Return the plan for each group; writes nothing.

        Read lists are checked after the last commits are captured, as these may have passed the list.
        """
        return [self._judge.judge(each, mode, judges_lists=judges_lists) for each in self._clusters.facts(groups)]

    def apply(self, groups: Sequence[str], mode: Mode, timeout_s: float) -> tuple[list[GroupPlan], list[Problem]]:
        """Move all groups that can be moved; return the last plan of each, and why others were not moved."""
        with waiting(f"the plan, by the tables and {self._source}, {self._target}"):
            plans = self._checked(groups, mode, judges_lists=False)
        last, problems = {each.group_id: each for each in plans}, list[Problem]()
        left = [each.group_id for each in plans if not each.blocking]
        if left and mode is Mode.PLANNED and not (problems := self._wait(left, timeout_s)):
            # A group started during the wait has read further, so check again.
            last |= {each.group_id: each for each in self._checked(left, mode, judges_lists=True)}
        problems += [problem for each in last.values() for problem in each.blocking]
        for step in (self._commit_and_read_back, self._verified, self._commit_starts, self._make_home):
            failed = by_group(problems)
            plans = [plan for plan in last.values() if plan.group_id not in failed]
            problems += step(plans, timeout_s) if plans else []
        return [*last.values()], problems

    def verify(self, groups: Sequence[str]) -> list[Problem]:
        """Return why partitions, or groups, are not ready at the target; none: all may be started."""
        found, steps = list[Problem](), list[CutoverStep]()
        statuses, lists = self._clusters.partition_statuses(groups), self._lists(groups)
        for group_id in groups:
            partitions = statuses.get(group_id, [])
            if not partitions:
                found += (problems := self._arrival_problems(group_id))
                steps.append(CutoverStep.told((group_id, None, None), Step.VERIFY, _joined(problems)))
            for each in partitions:
                found += (problems := self._judge.readiness(each, lists.get(each.key)))
                numbers = each.source_offset, each.target_offset, each.duplicates, each.lost
                steps.append(CutoverStep.told(each.key, Step.VERIFY, _joined(problems), *numbers))
        self._journal.record(steps)
        return found

    def _lists(self, groups: Sequence[str]) -> Mapping[GroupPartition, CrossedPartition]:
        """Return the partitions of groups that move with read lists, as of now; none for other moves."""
        if not self._judge.options.has_read_lists:
            return {}
        return {each.key: each for each in self._clusters.crossed(groups)}

    def _arrival_problems(self, group_id: str) -> list[Problem]:
        """Return the problems of a group without a position at the source: it has continued at the target."""
        ends = self._clusters.listed_ends(group_id) if self._judge.options.has_read_lists else {}
        if not ends:
            return [Problem(group_id, Reason.NOTHING_TO_VERIFY(self._source))]
        skips = ((key, Reason.STILL_SKIPS(end, self._target)) for key, end in ends.items() if end is not None)
        return [self._problem(key, why) for key, why in skips]

    def _problem(self, key: GroupPartition, why: Said) -> Problem:
        return Problem(key.group_id, why, self._judge.name(key))

    def _verified(self, plans: Sequence[GroupPlan], _timeout_s: float) -> list[Problem]:
        """Verify what was committed; again after a failure, as sync_offsets may have touched idle partitions."""
        if plans[0].mode is Mode.DISASTER:
            return []
        groups = [plan.group_id for plan in plans]
        if found := self.verify(groups):
            self._clock.pause(_PAUSE_S)
            found = self.verify(groups)
        return found

    def _checked(self, groups: Sequence[str], mode: Mode, *, judges_lists: bool) -> list[GroupPlan]:
        """Return the plan for each group, and record them."""
        plans = self.plan(groups, mode, judges_lists=judges_lists)
        self._journal.record(
            [
                CutoverStep(
                    *(plan.group_id, None, None, Step.CHECK),
                    Result.REFUSED if plan.blocking else Result.DONE,
                    _joined(plan.blocking),
                    duplicates=plan.duplicates,
                    lost=plan.lost,
                    skipped=plan.skipped,
                )
                for plan in plans
            ]
        )
        return plans

    def _wait(self, groups: Sequence[str], timeout_s: float) -> list[Problem]:
        """Wait until the tables have what both clusters hold; return why not.

        The ends of the logs at the beginning are enough: the groups do not read, so all that they have read is below.
        """
        began, ends = self._clock.now(), dict[ClusterPartition, int]()
        left = self._unread(groups, ends)
        with waiting(left, timeout_s) as wait:
            while left and self._clock.now() - began < timeout_s:
                self._clock.pause(_PAUSE_S)
                wait.what = left = self._unread(groups, ends)
        reason = Reason.NOT_READ(timeout_s, left) if left else None
        self._journal.record([CutoverStep.told((group_id, None, None), Step.WAIT, reason) for group_id in groups])
        return [Problem(group_id, reason) for group_id in groups] if reason else []

    def _unread(self, groups: Sequence[str], ends: dict[ClusterPartition, int]) -> str:
        """Return what the jobs have not read, or else what groups have read and the mirror has not copied; or ""."""
        unread = self._clusters.unread(groups, ends)
        if not any(unread.values()):
            unread = {
                f"records of {self._judge.name(key)} that {key.group_id} has read and that are not at "
                f"{self._target}": each.missing
                for key, each in self._lists(groups).items()
            }
        return ", ".join(f"{what}: {count:,}" for what, count in unread.items() if count)

    def _commit_and_read_back(self, plans: Sequence[GroupPlan], timeout_s: float) -> list[Problem]:
        """Commit; and again where sync_offsets knew one more record, and committed or listed further just after."""
        groups = [plan.group_id for plan in plans]
        for attempt in range(_TRIES):
            if attempt and plans[0].mode is Mode.PLANNED:
                self._wait(groups, timeout_s)
            with waiting(f"the commits of {len(groups)} groups at {self._target}"):
                committed = self._clusters.translate_and_commit(groups)
            self._journal.record(committed)
            problems, is_overtaken = self._read_back(committed)
            if not is_overtaken:
                break
        partitions = [each.key for plan in plans for each in plan.partitions]
        problems += self._not_among(committed, partitions, Reason.HAS_MOVED_ON())  # its group has committed since
        return problems + [problem for each in self._lists(groups).values() for problem in self._judge.of_list(each)]

    def _not_among(self, committed: Sequence[CutoverStep], keys: Sequence[GroupPartition], why: Said) -> list[Problem]:
        done = {each[:3] for each in committed}
        return [self._problem(key, why) for key in keys if key not in done]

    def _make_home(self, plans: Sequence[GroupPlan], _timeout_s: float) -> list[Problem]:
        """Make the target the home of every stream; nothing that can fail comes after it."""
        homes = dict.fromkeys((plan.group_id, each.key.topic) for plan in plans for each in plan.partitions)
        self._journal.record([CutoverStep.told((*home, None), Step.HOME, None) for home in homes])
        return []

    def _commit_starts(self, plans: Sequence[GroupPlan], _timeout_s: float) -> list[Problem]:
        """Commit the target's log start for partitions that groups have never committed."""
        missing = [
            GroupPartition(plan.group_id, stream, number)
            for plan in plans
            for stream, text in plan.uncommitted.items()
            for number in from_ranges(text)
        ]
        committed = self._clusters.commit_starts(missing) if missing else []
        self._journal.record(committed)
        problems, _ = self._read_back([each for each in committed if each.outcome is not Outcome.NOT_FORWARD])
        return problems + self._not_among(committed, missing, Reason.START_UNKNOWN(self._target))

    def _read_back(self, committed: Sequence[CutoverStep]) -> tuple[list[Problem], bool]:
        """Compare the target's offsets with the wanted ones; return also whether any is newer."""
        problems, steps, is_overtaken = list[Problem](), list[CutoverStep](), False
        answers = self._clusters.held_at(self._target, sorted({each.group_id for each in committed}))
        for each in committed:
            key, answer = GroupPartition(*each[:3]), answers[each.group_id]  # type: ignore[arg-type]
            held = None if isinstance(answer, ClusterError) else answer.get(key.topic_partition)
            position = None if held is None else held.offset
            is_there = position is not None and position == each.target_offset and each.is_done
            is_overtaken |= each.outcome is Outcome.NOT_FORWARD or each.detail == REPLACED
            is_overtaken |= each.is_done and position is not None and position > (each.target_offset or 0)
            why = None
            if not is_there:
                found = answer if isinstance(answer, ClusterError) else f"{self._target} holds {position}"
                why = Reason.READ_BACK(each.detail, found, each.target_offset)
                problems.append(self._problem(key, why))
            steps.append(CutoverStep.told(key, Step.READ_BACK, why, each.source_offset, position))
        self._journal.record(steps)
        return problems, is_overtaken


def _joined(problems: Sequence[Problem]) -> str | None:
    """Return what the journal says of a group's problems."""
    return "; ".join(": ".join(filter(None, (each.partition, each.reason))) for each in problems) or None


def open_cutover(
    config: Config, live: LiveState, judge: Judge, journal: TableJournal, fence: Fence, *, decides: bool
) -> tuple[CutoverProcedure, LiveClusters]:
    """Return the procedure, which writes while *fence* is open, and its clusters; for *decides* see these."""
    live.ask_of_untold()
    writer = CutoverWriter(config, judge.direction.target, fence, journal)
    clusters = LiveClusters(config, live, judge.direction, writer, decides=decides)
    return CutoverProcedure(judge, clusters, journal), clusters
