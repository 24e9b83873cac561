"""One run against MirrorMaker 2: brokers, MirrorMaker, our jobs, the load, and where the groups stood meanwhile."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from mirrormaker_groups import MM2, OURS, TwinGroups
from mirrormaker_judge import Answers, JudgedPartition, rows_of
from mirrormaker_process import SOURCE, TARGET, MirrorMaker2, properties, running_mirror_maker
from processes import Meter, Use, child_pid

from offset_sync.model.errors import OffsetSyncError
from offset_sync_demo.kafka.brokers import EmbeddedCluster, running_clusters
from offset_sync_demo.kafka.clients import Partition, admin_of, list_partitions, read_partition
from offset_sync_demo.kafka.connect_transform import compile_transform
from offset_sync_demo.kafka.log_dump import dump_ids
from offset_sync_demo.kafka.topics import create_topic, delete_topic
from offset_sync_demo.load.producer import TopicLoad
from offset_sync_demo.load.workload import Producers
from offset_sync_demo.story.jobs import RunningJob

STAMPED, PLAIN = "orders", "legacy"
PARTITIONS = {STAMPED: 4, PLAIN: 1}
WAYS = {"MirrorMaker 2": (MM2, STAMPED), "exact": (OURS, STAMPED), "timestamp": (OURS, PLAIN)}
"""Whose answers are shown: the twin that is synced that way, and the topic."""
JOBS = ("index_records", "sync_offsets")
BEFORE = (-50, -40, -30, -20, -10, 0)
"""When it is asked, in seconds from the end of the load: over a whole interval of MirrorMaker's defaults."""
_TRICKLE = 0.02
_START_SECONDS = 240.0


@dataclass(frozen=True)
class Run:
    """Intervals of MirrorMaker 2; how long the load runs, and how long after it is asked once more."""

    name: str
    mirror_maker: Mapping[str, str]
    load_seconds: int
    after_seconds: int

    def topic(self, kind: str) -> str:
        """Return the name of one of the run's topics, which no other run touches."""
        return f"{kind}-{self.name}"

    @property
    def partitions(self) -> dict[str, int]:
        """How many partitions each of the run's topics has."""
        return {self.topic(kind): count for kind, count in PARTITIONS.items()}


@dataclass(frozen=True)
class Found:
    """What a run has found, and what each process has used."""

    rows: list[dict[str, Any]]
    use: dict[str, Use]


@dataclass(frozen=True)
class Stage:
    """What is there in all runs: two brokers and our jobs; *rate* is what each partition gets a second."""

    clusters: Mapping[str, EmbeddedCluster]
    jobs: Sequence[RunningJob]
    directory: Path
    classes: Path
    rate: float


@contextmanager
def standing_stage(runs: Sequence[Run], directory: Path, rate: float) -> Iterator[Stage]:
    """Start brokers with the topics of all runs, and our jobs, which warm up over the first run as any would."""
    classes = compile_transform(directory / "transform")
    with running_clusters([SOURCE, TARGET], directory / "brokers", offsets_partitions=2) as clusters:
        for run in runs:
            for topic, partitions in run.partitions.items():
                create_topic(clusters.values(), topic, partitions)
        with running_jobs(clusters, directory) as jobs:
            yield Stage(clusters, jobs, directory, classes, rate)


def measure(run: Run, stage: Stage) -> Found:
    """Start MirrorMaker 2 anew, run the load, and judge the answers."""
    clusters = stage.clusters
    groups = TwinGroups(run.name, clusters, list_partitions(clusters[SOURCE], run.partitions))
    # MirrorMaker looks for new groups every 10 minutes by default: those that it should sync are there first.
    groups.commit(lagging_moves=True)
    say(run, "starting MirrorMaker 2")
    wanted = "|".join(groups.ids(MM2))
    text = properties(clusters, list(run.partitions), run.topic(STAMPED), wanted, run.mirror_maker)
    with running_mirror_maker(stage.directory / f"mm2-{run.name}", text, stage.classes) as mirror_maker:
        pids = {f"broker {each.alias}": each.process.pid for each in clusters.values() if each.process}
        pids |= {"MirrorMaker 2": mirror_maker.pid} | {name: child_pid(name) for name in JOBS}
        answers, use = ask_under_load(run, stage, groups, mirror_maker, Meter(pids))
    say(run, "reading both logs")
    forget_mirror_maker(clusters)
    check_stamps(run, clusters[TARGET])
    logs = {
        place: JudgedPartition(dump_ids(clusters[SOURCE], place), dump_ids(clusters[TARGET], place))
        for place in groups.partitions
    }
    ways = {way: (groups.ids(twin), run.topic(kind)) for way, (twin, kind) in WAYS.items()}
    return Found([{"run": run.name} | row for row in rows_of(ways, groups.commits, answers, logs)], use)


@contextmanager
def running_jobs(clusters: Mapping[str, EmbeddedCluster], directory: Path) -> Iterator[list[RunningJob]]:
    """Start both jobs, from dc1 to dc2 and for our groups only, else with the defaults; they are stopped at the end."""
    config = {
        "clusters": {alias: {"kafka": {"bootstrap.servers": c.bootstrap_servers}} for alias, c in clusters.items()},
        "directions": [[SOURCE, TARGET]],
        "topics": {
            "include": [f"{kind}-.*" for kind in PARTITIONS],
            "overrides": [{"topics": [f"{PLAIN}-.*"], "strategy": "timestamp"}],
        },
        "groups": {"include": [f".*-{OURS}"]},
        "tables": {"root": str(directory / "tables"), "checkpoints": str(directory / "checkpoints")},
    }
    path = directory / "ours.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    jobs: list[RunningJob] = []
    try:
        jobs += [RunningJob(name, path, directory) for name in JOBS]
        yield jobs
    finally:
        for job in jobs:
            job.terminate()
        for job in jobs:
            job.stop(30.0)


def ask_under_load(
    run: Run, stage: Stage, groups: TwinGroups, mirror_maker: MirrorMaker2, meter: Meter
) -> tuple[list[Answers], dict[str, Use]]:
    """Produce and commit for the time of the run; return where the groups stood, and use under load."""
    loads = [TopicLoad(topic, partitions, stage.rate * partitions) for topic, partitions in run.partitions.items()]
    producers = Producers(stage.clusters, loads, {load.topic: {SOURCE: _TRICKLE} for load in loads})
    producers.start()
    processes: list[MirrorMaker2 | RunningJob] = [mirror_maker, *stage.jobs]
    answers: list[Answers] = []
    try:
        wait_until_started(groups, processes)
        say(run, f"load for {run.load_seconds} s")
        producers.set_share({SOURCE: 1.0})
        meter.start()
        started = time.monotonic()
        for second in range(run.load_seconds):
            sleep_until(started + second + 0.5)
            groups.commit(lagging_moves=second == run.load_seconds // 10)
            sleep_until(started + second + 1)
            if (instant := second + 1 - run.load_seconds) in BEFORE:
                answers.append(groups.ask(instant))
            for process in processes:
                process.check()
        producers.set_share({})
        use = meter.read()
        producers.wait_until_quiet(SOURCE)
        groups.commit(lagging_moves=False)
        say(run, f"asked once more in {run.after_seconds} s")
        sleep_until(started + run.load_seconds + run.after_seconds)
        answers.append(groups.ask(run.after_seconds))
    finally:
        producers.stop(2.0)
    return answers, use


def wait_until_started(groups: TwinGroups, processes: Sequence[MirrorMaker2 | RunningJob]) -> None:
    """Return when MirrorMaker copies every partition and our jobs have answered for every group."""
    ends_at = time.monotonic() + _START_SECONDS
    while not (all(groups.ends(TARGET).values()) and groups.known_to_ours()):
        for process in processes:
            process.check()
        if time.monotonic() > ends_at:
            mirrored, answered = groups.ends(TARGET), groups.known_to_ours()
            tail = next(each.log_tail() for each in processes if isinstance(each, MirrorMaker2))
            raise OffsetSyncError(
                f"not started in {_START_SECONDS:g} s: mirrored {mirrored}, answered by our jobs: {answered}; "
                f"MirrorMaker's log ends:\n{tail}"
            )
        time.sleep(0.5)


def forget_mirror_maker(clusters: Mapping[str, EmbeddedCluster]) -> None:
    """Delete what MirrorMaker 2 keeps in topics of its own: the next run begins without it."""
    for cluster in clusters.values():
        for topic in admin_of(cluster).list_topics(timeout=10.0).topics:
            if topic.endswith(".internal"):
                delete_topic(cluster, topic)


def check_stamps(run: Run, target: EmbeddedCluster) -> None:
    """Raise OffsetSyncError unless the copies carry headers where they should, and only there."""
    for kind, is_wanted in ((STAMPED, True), (PLAIN, False)):
        first: Partition = (run.topic(kind), 0)
        names = {name for name, _ in next(iter(read_partition(target, first))).headers() or []}
        if ({"IDC", "Offset"} <= names) != is_wanted:
            raise OffsetSyncError(
                f"{first[0]}: the copies have the headers {sorted(names)}, so this would compare nothing"
            )


def sleep_until(at_s: float) -> None:
    """Return at that time of ``time.monotonic``."""
    time.sleep(max(0.0, at_s - time.monotonic()))


def say(run: Run, what: str) -> None:
    """Show what comes next."""
    print(f"{time.strftime('%H:%M:%S')}  {run.name}: {what}", flush=True)
