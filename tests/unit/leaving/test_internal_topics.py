"""Topics of Kafka Streams applications that move: what would be lost, and which stores would be restored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import pytest

from fakes.moves import FakeClusters, Move
from offset_sync.cutover.internal_topics import Cluster, InternalTopics, StreamsApplications
from offset_sync.cutover.plan import Mode
from offset_sync.kafka.requests import Committed, LogEnds, Reach, TopicInfo
from offset_sync.kafka.tail_reader import TailRecord, Tails
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import OffsetRange, RecordContent, TopicPartition

WORK, STORE = TopicPartition("app-by-key-repartition", 0), TopicPartition("app-counts-changelog", 0)


def record(offset: int, value: bytes = b"v", time_ms: int = 5) -> TailRecord:
    return TailRecord(RecordContent(offset, time_ms, b"k", value))


@dataclass
class Side:
    """A cluster; *logs* are offsets with a record, None for a transaction marker, *start* that of every log."""

    alias: str
    logs: dict[TopicPartition, list[TailRecord | None]] = field(default_factory=dict)
    committed: dict[TopicPartition, int] | ClusterError = field(default_factory=dict)
    start: int = 0
    is_open: bool = False  # a transaction
    silent: set[TopicPartition] = field(default_factory=set)

    def topics(self) -> dict[str, TopicInfo]:
        return {each.topic: TopicInfo("id", 1) for each in self.logs}

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, LogEnds]:
        return {each: LogEnds(self.start, len(self.logs[each])) for each in partitions if each in self.logs}

    def reaches(self, is_wanted: Callable[[str], bool]) -> dict[TopicPartition, Reach]:
        wanted = {each: len(log) for each, log in self.logs.items() if is_wanted(each.topic)}
        return {each: Reach(end - self.is_open, end) for each, end in wanted.items()}

    def committed_offsets(self, groups: list[str]) -> dict[str, Mapping[TopicPartition, Committed] | ClusterError]:
        if isinstance(self.committed, ClusterError):
            return dict.fromkeys(groups, self.committed)
        found = {each: Committed(offset, "") for each, offset in self.committed.items()}
        return dict.fromkeys(groups, found)

    def read(self, ranges: Mapping[TopicPartition, OffsetRange]) -> Tails:
        if self.silent & ranges.keys():
            raise ClusterError(self.alias, "no record")
        slices = {each: self.logs[each][wanted.start : wanted.end] for each, wanted in ranges.items()}
        return Tails({each: [one for one in found if one is not None] for each, found in slices.items()})


@dataclass
class World:
    here: Side = field(default_factory=lambda: Side("X"))
    there: Side = field(default_factory=lambda: Side("Y"))
    moving: set[str] = field(default_factory=set)

    def look(
        self,
        *groups: str,
        known: Iterable[str] = (),
        more: Iterable[tuple[str, str]] = (),
        asks_source: bool = True,
    ) -> dict[str, InternalTopics]:
        sides = (Cluster(each, each) for each in (self.here, self.there))
        work = [("app", WORK.topic)] if WORK in self.here.logs or not asks_source else []
        committed = [*((group, "orders") for group in known), *work, *more]
        return StreamsApplications(*sides, self.moving.__contains__).look(
            groups or ("app",), committed, asks_source=asks_source
        )


@pytest.fixture
def world() -> World:
    return World()


def test_records_that_are_not_processed_would_be_lost(world: World) -> None:
    world.here.logs[WORK], world.here.committed = [record(n) for n in range(5)], {WORK: 3}
    assert world.look()["app"].unprocessed == [
        f"{WORK.topic} does not move: 2 records not processed would be lost; let the application process them at X, "
        "or mirror and include the topic"
    ]


def test_a_topic_without_a_commit_is_not_processed_from_its_start_on(world: World) -> None:
    world.here.logs[WORK], world.here.start = [record(n) for n in range(5)], 1
    assert "4 records" in world.look()["app"].unprocessed[0]


@pytest.mark.parametrize("behind", [[], [None], [None, None]])
def test_what_is_processed_to_its_end_blocks_nothing_whatever_markers_follow(
    world: World, behind: list[TailRecord | None]
) -> None:
    world.here.logs[WORK], world.here.committed = [record(0), record(1), *behind], {WORK: 2}
    found = world.look()["app"]
    assert (found.unprocessed, found.notes) == ([], [f"{WORK.topic} does not move: it is processed to its end"])


def test_an_open_transaction_counts_as_records(world: World) -> None:
    world.here.logs[WORK], world.here.committed, world.here.is_open = [record(0), None], {WORK: 1}, True
    assert "1 record " in world.look()["app"].unprocessed[0]


def test_markers_that_cannot_be_read_count_as_records(world: World) -> None:
    world.here.logs[WORK], world.here.committed, world.here.silent = [record(0), None], {WORK: 1}, {WORK}
    assert "1 record " in world.look()["app"].unprocessed[0]
    world.here.silent, world.here.logs[WORK] = set(), [record(0), *[None] * 1001]
    assert "1,001 records" in world.look()["app"].unprocessed[0], "too many to be read"


def test_an_unknown_commit_or_end_blocks(world: World) -> None:
    world.here.logs[WORK], world.here.committed = [record(0)], ClusterError("X", "no answer")
    assert "an unknown number of records" in world.look()["app"].unprocessed[0]


def test_a_topic_that_moves_is_left_to_the_plan_of_its_partitions(world: World) -> None:
    world.here.logs[WORK], world.moving = [record(0)], {WORK.topic}
    assert world.look() == {}


def test_a_repartition_topic_belongs_to_the_groups_that_have_committed_it(world: World) -> None:
    place = TopicPartition("app-2-x-repartition", 0)
    world.here.logs[place] = [record(0)]
    assert world.look("app", more=[("app-2", place.topic)]) == {}
    assert place.topic in str(world.look("app", known=["app-2"], more=[("app", place.topic)])["app"].unprocessed)
    assert [*world.look("app-2", more=[("app-2", place.topic)])] == ["app-2"]


def test_one_that_no_group_has_committed_blocks_every_group_that_may_own_it(world: World) -> None:
    place = TopicPartition("app-2-x-repartition", 0)
    world.here.logs[place] = [record(0)]
    for group in ("app", "app-2"):
        assert place.topic in str(world.look(group, known=["app", "app-2"])[group].unprocessed)


def test_a_changelog_belongs_to_the_longest_id_that_is_an_applications(world: World) -> None:
    place = TopicPartition("app-2-x-changelog", 0)
    world.here.logs[place] = [record(0)]
    assert world.look("app", known=["app-2"]) == {}
    assert place.topic in str(world.look("app", known=["app-2"], more=[("app", "app-y-repartition")])["app"])
    assert world.look("app-2", known=["app"], more=[("app", "app-y-repartition")]) == {}
    assert [*world.look("app-2", more=[("app-2", "app-2-y-repartition")])] == ["app-2"]


def test_a_repartition_topic_that_we_may_not_describe_blocks(world: World) -> None:
    hidden = [("app", WORK.topic)]
    (line,) = world.look(more=hidden)["app"].unprocessed
    assert line.startswith(f"{WORK.topic} does not move: what is not processed would be lost, and it cannot be desc")
    world.moving = {WORK.topic}
    assert world.look() == {}


@pytest.mark.parametrize(
    "end",
    [
        "-subscription-registration-topic",
        "-subscription-response-topic",
        "-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000006-topic",
        "-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000014-topic",
    ],
)
def test_topics_of_joins_by_foreign_keys_are_repartition_topics(world: World, end: str) -> None:
    world.here.logs[TopicPartition(f"app-join{end}", 0)] = [record(0)]
    assert len(world.look()["app"].unprocessed) == 1


def test_other_topics_of_that_prefix_are_none_of_streams(world: World) -> None:
    world.here.logs[TopicPartition("app-orders", 0)] = [record(0)]
    assert world.look() == {}


def test_records_left_at_the_target_are_told(world: World) -> None:
    world.here.logs[WORK], world.here.committed = [record(0)], {WORK: 1}
    world.there.logs[WORK] = [record(0), record(1)]
    assert world.look()["app"].notes[1:] == [f"{WORK.topic}: 2 records at Y will be processed there"]


def test_a_store_is_restored_if_its_changelog_ends_with_the_same_record(world: World) -> None:
    world.here.logs[STORE] = [record(0), record(1, b"new"), None]
    world.there.logs[STORE] = [record(0), record(1), record(2, b"new")]
    found = world.look()["app"]
    assert found.not_restorable == []
    assert "is mirrored: delete state.dir before the start at Y" in found.notes[0]


@pytest.mark.parametrize("newest", [record(1, b"other"), record(1, b"new", 6), None])
def test_a_store_is_not_restored_from_a_changelog_that_ends_otherwise(world: World, newest: TailRecord | None) -> None:
    world.here.logs[STORE] = [record(0), record(1, b"new")]
    world.there.logs[STORE] = [record(0), newest]
    assert "does not end with the newest record of X" in world.look()["app"].not_restorable[0]


def test_times_of_brokers_are_not_compared(world: World) -> None:
    world.here.logs[STORE], world.there.logs[STORE] = [record(0)], [replace_time(record(0))]
    assert world.look()["app"].not_restorable == []


def replace_time(copy: TailRecord) -> TailRecord:
    return TailRecord(replace(copy.content, timestamp_ms=99), is_appended=True)


def test_a_changelog_that_cannot_be_read_or_is_shorter_is_not_the_same(world: World) -> None:
    world.here.logs[STORE], world.there.logs[STORE] = [record(0)], []
    assert len(world.look()["app"].not_restorable) == 1
    world.there.logs[STORE], world.there.silent = [record(0)], {STORE}
    assert len(world.look()["app"].not_restorable) == 1


def test_an_empty_changelog_has_to_be_empty_at_both(world: World) -> None:
    world.here.logs[STORE], world.there.logs[STORE] = [], []
    assert world.look()["app"].not_restorable == []
    world.there.logs[STORE] = [record(0)]
    assert len(world.look()["app"].not_restorable) == 1


def test_topics_that_only_the_target_has_are_none_that_move(world: World) -> None:
    world.there.logs[STORE], world.there.logs[WORK] = [record(0)], [record(0)]
    assert world.look() == {}


def test_a_store_without_a_changelog_at_the_target_begins_empty(world: World) -> None:
    world.here.logs[STORE] = [record(0)]
    assert f"{STORE.topic} is not at Y: its store begins empty there" in world.look()["app"].notes[0]


def test_without_the_source_what_may_be_lost_is_named_from_the_tables(world: World) -> None:
    world.there.logs[STORE] = [record(0)]
    found = world.look(asks_source=False)["app"]
    assert found.unprocessed == []
    assert len(found.notes) == 2
    assert f"{WORK.topic} does not move: what was not processed at X is lost" in found.notes
    assert any("may be ahead of the offsets at Y, or behind" in note for note in found.notes)


LOST = InternalTopics(unprocessed=["r: 2 records would be lost"], notes=["c is mirrored"])


def test_unprocessed_records_block_a_move() -> None:
    move = Move(FakeClusters(internal={"g": LOST}))
    (plan,) = move.cutover.plan(["g"], Mode.PLANNED)
    assert (plan.blocking, plan.notes) == (LOST.unprocessed, LOST.notes)
    assert move.apply() == ["g: r: 2 records would be lost"]
    assert move.clusters.committed == []
    assert move.cutover.verify(["g"]) == ["g: r: 2 records would be lost"]


def test_a_store_that_would_not_be_restored_is_noted_and_not_verified() -> None:
    move = Move(FakeClusters(internal={"g": InternalTopics(not_restorable=["c differs"])}))
    (plan,) = move.cutover.plan(["g"], Mode.PLANNED)
    assert (plan.blocking, plan.notes) == ([], ["c differs"])
    assert move.apply() == ["g: c differs"]
    assert move.clusters.committed == [["g"]]
    assert ("verify", "failed") in move.written()
    assert move.said[-1:] != ["g: c differs"], "said once, as a failure"


def test_topics_that_cannot_be_looked_up_are_not_taken_for_processed(monkeypatch: pytest.MonkeyPatch) -> None:
    move = Move(FakeClusters())

    def silent(groups: object) -> dict[str, InternalTopics]:
        raise ClusterError("X", "no answer")

    monkeypatch.setattr(move.clusters, "internal_topics", silent)
    assert "topics of Kafka Streams are unknown" in move.apply()[0]
