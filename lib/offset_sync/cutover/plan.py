"""The parts of a move of consumer groups: the facts before, the plan, and the steps done."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

from offset_sync.cutover.crossed import CrossedPartition
from offset_sync.model.errors import ClusterError
from offset_sync.model.reasons import Said
from offset_sync.model.values import GroupPartition, Outcome, State, Status
from offset_sync.status.assessment import Verdict, verdict, wanted_of


class Direction(NamedTuple):
    """The clusters that groups are moved between."""

    source: str
    target: str


class Mode(Enum):
    """Why groups are moved (column ``mode`` of cutovers)."""

    PLANNED = "planned"  # both clusters answer; nothing is lost or repeated
    DISASTER = "disaster"  # the source is lost, and is not asked


@dataclass(frozen=True)
class Options:
    """The operator's decisions.

    Reasons by a *confirmed* word block nothing. *has_read_lists*: the groups' consumers skip the records on their read
    lists.
    """

    confirmed: Collection[str] = ()
    has_read_lists: bool = False


NO_OPTIONS = Options()


class Step(Enum):
    """Column ``step`` of cutovers, in the order of a planned move."""

    CHECK = "check"
    WAIT = "wait"
    COMMIT = "commit"
    READ_BACK = "read_back"
    VERIFY = "verify"
    HOME = "home"  # from now on the group reads the stream at the target
    REHEARSE = "rehearse"  # nothing is moved


class Result(Enum):
    """Column ``result`` of cutovers."""

    BEGUN = "begun"  # the commit is about to be sent
    DONE = "done"
    REFUSED = "refused"
    FAILED = "failed"


class Problem(NamedTuple):
    """Why a group, or one *partition* of it, is not moved or not ready; *remedy*: what to do, if *reason* leaves it."""

    group_id: str
    reason: Said
    partition: str | None = None
    remedy: Said | None = None

    def __str__(self) -> str:
        where = " ".join(filter(None, (self.group_id, self.partition)))
        return f"{where}: {'; '.join(filter(None, (self.reason, self.remedy)))}"


class Activity(Enum):
    """Whether a group has members at a cluster."""

    ACTIVE = "active"
    INACTIVE = "inactive"
    UNKNOWN = "unknown"  # the cluster does not list a group that has offsets there


Members: TypeAlias = "Activity | ClusterError"
"""Whether a group has members at a cluster, or why that, or what it has committed there, is not known."""


def activity(members: Members) -> Activity:
    """Return whether a group has members, UNKNOWN where its cluster does not answer."""
    return Activity.UNKNOWN if isinstance(members, ClusterError) else members


class CutoverStep(NamedTuple):
    """One row of the table cutovers, without the columns for user and time; a commit also has its *outcome*.

    About a whole topic without *partition*, about a whole group without *stream* too.
    """

    group_id: str
    stream: str | None
    partition: int | None
    step: Step
    result: Result
    detail: str | None = None
    source_offset: int | None = None  # None: the group has never committed there
    target_offset: int | None = None
    duplicates: int | None = None
    lost: int | None = None
    skipped: int | None = None  # on the read list written with it
    outcome: Outcome | None = None

    @classmethod
    def told(
        cls, key: tuple[str, str | None, int | None], step: Step, problem: str | None, *numbers: int | None
    ) -> CutoverStep:
        """Return a *step* that a *problem* ends, None: that is done; *numbers* are as in the row, from offsets on."""
        result = Result.FAILED if problem else Result.DONE
        return cls(*key, step, result, problem, *numbers)  # type: ignore[arg-type]

    @classmethod
    def of_commit(cls, key: GroupPartition, outcome: Outcome, error: str | None, **counts: int | None) -> CutoverStep:
        """Return the commit of a partition's translation; done where the target has acknowledged the offset."""
        result = Result.DONE if outcome in (Outcome.COMMITTED, Outcome.UNCHANGED) else Result.FAILED
        return cls(*key, Step.COMMIT, result, error or outcome.name, outcome=outcome, **counts)  # type: ignore[arg-type]

    @classmethod
    def of(cls, row: dict[str, Any]) -> CutoverStep:
        """Return the commit that a row of offset_translations tells of."""
        key = GroupPartition(row["group_id"], row["stream"], row["partition"])
        numbers = {name: row[name] for name in ("source_offset", "duplicates", "lost", "skipped")}
        return cls.of_commit(key, Outcome[row["outcome"]], row["error"], target_offset=wanted_of(row), **numbers)

    @property
    def is_done(self) -> bool:
        """Whether it has succeeded."""
        return self.result is Result.DONE


@dataclass(frozen=True)
class PartitionStatus:
    """One partition of a group between the two clusters; the fields are columns of sync_status."""

    key: GroupPartition
    status: Status
    reason: str | None
    state: State
    source_offset: int
    wanted_offset: int | None
    target_offset: int | None
    duplicates: int | None
    lost: int | None
    not_mirrored: int
    duplicates_at_most: int | None = 0
    elsewhere: str | None = None
    uncommitted: str | None = None
    contest: str | None = None  # why two clusters may be the home; moving the group decides between them

    @classmethod
    def of(cls, row: Mapping[str, Any], key: GroupPartition, contest: str | None) -> PartitionStatus:
        """Return a row of a report, with what this command has decided to be a *contest*."""
        found = {each.name: row.get(each.name) for each in fields(cls)}
        state, status = State[row["state"]], Status.of(row["status"])
        contest = contest or (row["reason"] if state is State.COMMITTED_AT_BOTH else None)
        return cls(**found | {"key": key, "status": status, "state": state, "contest": contest})


@dataclass
class GroupPlan:
    """What was found of one group, and once it is judged, the plan for it; with any *blocking* problem it is not moved.

    *reader_ms* is how long ago a client without members committed, *internal* a topic between parts of a Kafka Streams
    application; see :class:`LiveClusters`. *crossed* are partitions of a group that gets read lists, and *has_lists*
    says whether it moves by them. *notes* are for information.
    """

    group_id: str
    here: Members
    there: Members
    partitions: Sequence[PartitionStatus] = ()
    crossed: Sequence[CrossedPartition] = ()
    reader_ms: int | None = None
    internal: str | None = None
    mode: Mode = Mode.PLANNED
    has_lists: bool = False
    blocking: Sequence[Problem] = ()
    notes: list[Said] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        """The least verdict of its partitions, by the rule of every report; BLOCKED with any blocking reason."""
        if self.blocking or not self.partitions:
            return Verdict.BLOCKED
        return min(
            verdict(
                {
                    **vars(each),
                    "status": each.status.word,
                    "state": (State.COMMITTED_AT_BOTH if each.contest else each.state).name,
                    "is_target_active": False,
                }
            )
            for each in self._after_skipping()
        )

    def _after_skipping(self) -> Iterator[PartitionStatus]:
        """Yield its partitions as they are for consumers that use read lists; contested and withheld ones get none."""
        crossed = {each.key: each for each in self.crossed if self.has_lists}
        for each in self.partitions:
            found = None if each.contest or each.status is Status.WITHHELD else crossed.get(each.key)
            yield each if found is None else self._after_list(each, found)

    def _after_list(self, partition: PartitionStatus, crossed: CrossedPartition) -> PartitionStatus:
        """Return a partition as it will be for consumers that use its list.

        Before a planned move the mirror still copies what is missing at the target. After a disaster these records come
        later, and are read again then: errs to more repeats.
        """
        is_planned = self.mode is Mode.PLANNED
        repeats, coming = crossed.repeated, partition.not_mirrored if is_planned else 0
        repeats += 0 if is_planned else crossed.missing
        is_free = partition.status in (Status.MIRRORING, Status.BEHIND)
        return replace(
            partition,
            status=Status.IN_SYNC if is_free else partition.status,
            duplicates=repeats,
            duplicates_at_most=repeats,
            lost=max((partition.lost or partition.not_mirrored) - coming, 0),
            not_mirrored=partition.not_mirrored - coming,
        )

    @property
    def uncommitted(self) -> dict[str, str]:
        """Partitions that it has never committed, by stream, as ranges (``1, 4-7``)."""
        return {each.key.topic: each.uncommitted for each in self.partitions if each.uncommitted}

    @property
    def duplicates(self) -> int:
        """Records it would read again at the translated offsets, where known."""
        return sum(each.duplicates or 0 for each in self._after_skipping())

    @property
    def skipped(self) -> int | None:
        """Records on its read lists, None if it moves without them."""
        return sum(each.skipped for each in self.crossed) if self.has_lists else None

    @property
    def lost(self) -> int:
        """Unread records that it would never see if the source never came back."""
        return sum(each.lost or each.not_mirrored for each in self.partitions)
