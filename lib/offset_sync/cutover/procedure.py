"""Move consumer groups from one cluster to another: look, refuse or wait, translate, commit, read back, verify.

Every step may be repeated at any time, by anybody: what is there already is left as it is. Nothing is committed for a
group with a reason not to move it, and for a group whose reasons are all gone everything is. Errs to not moving: a
group that stays costs nothing, one moved wrongly loses records.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from offset_sync.cutover.plan import Committed, CutoverClusters, CutoverStep, GroupPlan, Mode, PartitionStatus
from offset_sync.kafka.retry import SYSTEM_CLOCK, Clock
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import Outcome, TopicPartition

_PAUSE_S = 1.0
_PATIENCE_S = 30.0
"""So long the jobs may take to read what was committed."""
_HELD = (Outcome.COMMITTED.name, Outcome.UNCHANGED.name)


class CutoverProcedure:
    """Moves groups from *source* to *target*; *record* writes a step down, *say* tells who watches."""

    def __init__(
        self,
        source: str,
        target: str,
        site: CutoverClusters,
        record: Callable[[Sequence[CutoverStep]], None],
        say: Callable[[str], None],
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._source, self._target, self._site = source, target, site
        self._record, self._say, self._clock = record, say, clock

    def plan(self, groups: Sequence[str], mode: Mode) -> list[GroupPlan]:
        """Return what would happen to each group; writes nothing."""
        here, there = self._site.members(self._source), self._site.members(self._target)
        standing, elsewhere = self._site.standing(groups), self._site.owned_elsewhere(groups)
        plans = []
        for group_id in groups:
            plan = GroupPlan(group_id, _is_in(group_id, here), _is_in(group_id, there), standing.get(group_id, []))
            plan.blocking += self._blocking(plan, mode, elsewhere.get(group_id, []), here, there)
            plans.append(plan)
        return plans

    def apply(self, groups: Sequence[str], mode: Mode, timeout_s: float) -> list[str]:
        """Move what can be moved; return one line per group or partition that was not, and what to do about it."""
        refused = self._check(self.plan(groups, mode), mode)
        moving = [group_id for group_id in groups if group_id not in refused]
        if moving and mode == "planned":
            late = self._wait(moving, timeout_s)
            refused |= late
            moving = [group_id for group_id in moving if group_id not in late]
            # Whoever has started meanwhile has made the wait worthless.
            refused |= self._check(self.plan(moving, mode), mode)
            moving = [group_id for group_id in moving if group_id not in refused]
        failures = [f"{group_id}: {reason}" for group_id, reason in refused.items()]
        if not moving:
            return failures
        failures += self._commit_and_read_back(moving)
        if mode == "disaster":
            self._tell_lost(moving)
            return failures
        return failures + self.verify(moving, min(timeout_s, _PATIENCE_S))

    def verify(self, groups: Sequence[str], patience_s: float = 0.0) -> list[str]:
        """Return one line per partition that is not in sync, with what to do; no line: all may be started.

        What was just committed is read back by sync_offsets a moment later, so with *patience_s* it is looked at again.
        """
        ends_at = self._clock.now() + patience_s
        while True:
            failures, steps = self._compare(groups)
            if not failures or self._clock.now() >= ends_at:
                self._record(steps)
                return failures
            self._clock.pause(_PAUSE_S)

    def _compare(self, groups: Sequence[str]) -> tuple[list[str], list[CutoverStep]]:
        failures, steps = list[str](), list[CutoverStep]()
        standing = self._site.standing(groups)
        for group_id in groups:
            rows = standing.get(group_id, [])
            if not rows:
                failures.append(f"{group_id}: nothing to verify: its newest commits are not at {self._source}")
                steps.append(CutoverStep(group_id, "verify", "failed", "nothing to verify"))
            for row in rows:
                is_good = row.status == "InSync"
                detail = None if is_good else f"{row.status}: {row.reason}"
                steps.append(_step_of(row, "verify", "done" if is_good else "failed", detail))
                if not is_good:
                    failures.append(f"{group_id} {_name(row.place)}: {row.status}: {row.reason}; {self._remedy(row)}")
        return failures, steps

    def _blocking(
        self, plan: GroupPlan, mode: Mode, elsewhere: list[str], here: object, there: object
    ) -> list[str]:  # fmt: skip
        reasons = []
        if isinstance(there, ClusterError):
            reasons.append(f"{there}; a target that does not answer can take no group")
        if plan.is_active_at_target:
            reasons.append(f"it has members at {self._target}; stop them there first")
        if mode == "planned" and isinstance(here, ClusterError):
            reasons.append(f"{here}; if {self._source} is lost, use --disaster")
        if mode == "planned" and plan.is_active_at_source:
            reasons.append(f"it has members at {self._source}; stop them there first")
        if not plan.standing:
            where = f"; its newest commits are at {', '.join(elsewhere)}" if elsewhere else ""
            reasons.append(f"no commit of it at {self._source} is to be moved{where}")
        elif elsewhere:
            reasons.append(f"some of its newest commits are at {', '.join(elsewhere)}; stop it there and move it first")
        withheld = [row for row in plan.standing if row.status == "Withheld"]
        if withheld:
            reasons.append(f"{_name(withheld[0].place)} is withheld: {withheld[0].reason} ({len(withheld)} partitions)")
        return reasons

    def _check(self, plans: Sequence[GroupPlan], mode: Mode) -> dict[str, str]:
        refused = {plan.group_id: "; ".join(plan.blocking) for plan in plans if plan.blocking}
        self._record(
            [
                CutoverStep(
                    plan.group_id, "check", "refused" if plan.blocking else "done", refused.get(plan.group_id),
                    duplicates=plan.duplicates, lost=plan.lost,
                )
                for plan in plans
            ]
        )  # fmt: skip
        return refused

    def _wait(self, groups: Sequence[str], timeout_s: float) -> dict[str, str]:
        """Wait until commits and both logs are read to the ends that they have now; return the reasons if they are not.

        That is enough: the groups read nowhere, so all that they have read lies below.
        """
        began, said = self._clock.now(), ""
        self._site.mark_ends()
        while unread := {what: count for what, count in self._site.unread(groups).items() if count}:
            waited = self._clock.now() - began
            left = ", ".join(f"{count:,} {what}" for what, count in unread.items())
            if waited >= timeout_s:
                reason = f"not read within {timeout_s:.0f} s: {left}; are index_records and sync_offsets running?"
                self._record([CutoverStep(group_id, "wait", "failed", reason) for group_id in groups])
                return dict.fromkeys(groups, reason)
            if left != said:
                self._say(f"waiting ({waited:.0f} of at most {timeout_s:.0f} s): {left}")
                said = left
            self._clock.pause(_PAUSE_S)
        self._record([CutoverStep(group_id, "wait", "done") for group_id in groups])
        return {}

    def _commit_and_read_back(self, groups: Sequence[str]) -> list[str]:
        """Commit, and once more where sync_offsets, which knew a record more, was a moment later."""
        failures, is_overtaken = self._read_back(self._commit(groups))
        return self._read_back(self._commit(groups))[0] if is_overtaken else failures

    def _commit(self, groups: Sequence[str]) -> list[Committed]:
        self._say(f"translating and committing {len(groups)} groups at {self._target}")
        committed = self._site.settle(groups)
        self._record(
            [
                CutoverStep(
                    each.group_id, "commit", "done" if each.outcome in _HELD else "failed", each.error or each.outcome,
                    each.place, each.source_offset, each.target_offset, each.duplicates, each.lost,
                )
                for each in committed
            ]
        )  # fmt: skip
        return committed

    def _read_back(self, committed: Sequence[Committed]) -> tuple[list[str], bool]:
        """Compare what the target says with what was to be committed; say too whether it holds something newer."""
        failures, steps, is_overtaken = list[str](), list[CutoverStep](), False
        held = self._site.read_back(sorted({each.group_id for each in committed}))
        for each in committed:
            answer = held[each.group_id]
            stands = None if isinstance(answer, ClusterError) else answer.get(each.place)
            is_there = stands is not None and stands == each.target_offset and each.outcome in _HELD
            is_overtaken |= each.outcome in _HELD and stands is not None and stands > (each.target_offset or 0)
            found = str(answer) if isinstance(answer, ClusterError) else f"{self._target} holds {stands}"
            detail = None if is_there else f"{each.error or each.outcome}; {found}, wanted {each.target_offset}"
            if detail is not None:
                failures.append(f"{each.group_id} {_name(each.place)}: {detail}; mend that and repeat the command")
            steps.append(
                CutoverStep(each.group_id, "read_back", "done" if is_there else "failed", detail, each.place,
                     each.source_offset, stands)
            )  # fmt: skip
        self._record(steps)
        return failures, is_overtaken

    def _tell_lost(self, groups: Sequence[str]) -> None:
        lost = self._site.never_mirrored(groups)
        for group_id in groups:
            ranges = lost.get(group_id, [])
            for each in ranges:
                self._say(f"{group_id}: never mirrored, so not at {self._target}: {each}")
            self._record(
                [CutoverStep(group_id, "verify", "done", "; ".join(ranges) or "nothing unread is known to be lost")]
            )

    def _remedy(self, row: PartitionStatus) -> str:
        """Return what a person can do about a partition that is not in sync."""
        if row.status == "Mirroring" and (row.duplicates or 0) > 0:
            return f"send all producers to {self._target}, let the group read at {self._source} until nothing crosses"
        return {
            "Mirroring": "wait until the mirror has brought everything, then verify again",
            "Behind": "repeat apply",
            "Stalled": "start what has stopped, then verify again",
            "TargetActive": f"stop the group's members at {self._target}",
        }.get(row.status, "see docs/operations.md")


def _is_in(group_id: str, members: Collection[str] | ClusterError) -> bool | None:
    return None if isinstance(members, ClusterError) else group_id in members


def _name(place: TopicPartition) -> str:
    return f"{place.topic}-{place.partition}"


def _step_of(row: PartitionStatus, step: str, result: str, detail: str | None) -> CutoverStep:
    return CutoverStep(
        row.group_id, step, result, detail, row.place, row.source_offset, row.target_offset, row.duplicates, row.lost
    )
