"""One run against MirrorMaker 2: brokers, MirrorMaker, our jobs, the load, and the groups' offsets during it."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from mirrormaker_groups import MM2, OURS, TwinGroups
from mirrormaker_judge import Answers, JudgedPartition, broken_promises, rows_of
from mirrormaker_properties import SAME_NAMED, SOURCE, TARGET, properties
from mirrormaker_setup import PLAIN, Run, Setup
from processes import Meter, Use, child_pid
from results import save

from offset_sync.model.errors import OffsetSyncError
from offset_sync_demo.kafka.brokers import EmbeddedCluster, running_clusters
from offset_sync_demo.kafka.clients import Partition, admin_of, list_partitions, read_partition
from offset_sync_demo.kafka.connect_transform import compile_transform
from offset_sync_demo.kafka.log_dump import dump_ids
from offset_sync_demo.kafka.mirror_maker import MirrorMaker2, running_mirror_maker
from offset_sync_demo.kafka.topics import create_topic, delete_topic
from offset_sync_demo.load.producer import TopicLoad
from offset_sync_demo.load.workload import Producers
from offset_sync_demo.story.jobs import RunningJob

JOBS = ("index_records", "sync_offsets")
_PATIENT = {"broker.session.timeout.ms": "60000"}
"""A single broker has no successor: if it waits for a processor, it should not lose its leadership too."""
_TRICKLE = 0.02
_START_SECONDS = 240.0


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


def measure_all(runs: Sequence[Run], rate: float) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Measure runs of one setup, one after the other beside the same jobs; return the settings, and all rows."""
    with (
        tempfile.TemporaryDirectory(prefix="offset-sync-mm2-") as name,
        standing_stage(runs, Path(name), rate) as stage,
    ):
        found = {run.name: measure(run, stage) for run in runs}
    partitions = ", ".join(f"{topic} {count}" for topic, count in runs[0].setup.partitions.items())
    settings: dict[str, Any] = {"partitions": partitions, "records/s per partition": rate}
    for run in runs:
        used = (f"{name} {use.peak_mib} MiB {use.cores} cores" for name, use in found[run.name].use.items())
        settings |= {f"{run.name}: load s": run.load_seconds, f"{run.name}: use": ", ".join(used)}
    return settings, [row for each in found.values() for row in each.rows]


def options_of(parser: argparse.ArgumentParser, runs: Sequence[str]) -> argparse.Namespace:
    """Return what was asked for, with what every script of these takes; SIGTERM stops all that was started."""
    parser.add_argument("--rate", type=float, default=200.0, help="records a second into each partition of each topic")
    parser.add_argument("--only", choices=list(runs), help="one run, to try it out: nothing is saved")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # Python would end at once
    return parser.parse_args()


def conclude(name: str, settings: dict[str, Any], rows: list[dict[str, Any]], *, is_whole: bool) -> None:
    """Save what is *whole*, else print it; raises SystemExit where a promise is broken."""
    if is_whole:
        save(name, settings, rows)
    else:
        print(settings, *rows, sep="\n")
    if broken := broken_promises(rows):
        raise SystemExit("\n".join(broken))


@contextmanager
def standing_stage(runs: Sequence[Run], directory: Path, rate: float) -> Iterator[Stage]:
    """Start brokers with the topics of all runs, of one setup, and our jobs, which warm up over the first of them."""
    classes, setup = compile_transform(directory / "transform"), runs[0].setup
    with running_clusters([SOURCE, TARGET], directory / "brokers", offsets_partitions=2, extra=_PATIENT) as clusters:
        for run in runs:
            for topic, partitions in run.partitions.items():
                create_topic([clusters[SOURCE]], topic, partitions)
                create_topic([clusters[TARGET]], f"{setup.prefix}{topic}", partitions)
        with running_jobs(clusters, directory, setup) as jobs:
            yield Stage(clusters, jobs, directory, classes, rate)


def measure(run: Run, stage: Stage) -> Found:
    """Start MirrorMaker 2 again, run the load, and judge the answers."""
    clusters, prefix = stage.clusters, run.setup.prefix
    groups = TwinGroups(run.name, clusters, list_partitions(clusters[SOURCE], run.partitions), prefix)
    # MirrorMaker looks for new groups every 10 minutes by default: those that it should sync are there first.
    groups.commit(lagging_moves=True)
    say(run, "starting MirrorMaker 2")
    wanted = "|".join(groups.ids(MM2))
    told = {**run.mirror_maker, **({} if prefix else SAME_NAMED)}
    text = properties(clusters, list(run.partitions), run.stamped, wanted, told)
    with running_mirror_maker(stage.directory / f"mm2-{run.name}", text, stage.classes) as mirror_maker:
        pids = {f"broker {each.alias}": each.process.pid for each in clusters.values() if each.process}
        pids |= {"MirrorMaker 2": mirror_maker.pid} | {name: child_pid(name) for name in JOBS}
        answers, use = ask_under_load(run, stage, groups, mirror_maker, Meter(pids))
    say(run, "reading both logs")
    forget_mirror_maker(clusters)
    check_stamps(run, clusters[TARGET])
    logs = {
        place: JudgedPartition(dump_ids(clusters[SOURCE], place), dump_ids(clusters[TARGET], groups.copy_of(place)))
        for place in groups.partitions
    }
    ways = {way: (groups.ids(twin), run.topic(kind)) for way, (twin, kind) in run.setup.ways.items()}
    return Found([{"run": run.name} | row for row in rows_of(ways, groups.commits, answers, logs)], use)


@contextmanager
def running_jobs(clusters: Mapping[str, EmbeddedCluster], directory: Path, setup: Setup) -> Iterator[list[RunningJob]]:
    """Start both jobs, from dc1 to dc2 and for our groups only, else with the defaults; they are stopped at the end."""
    config = {
        "clusters": {alias: {"kafka": {"bootstrap.servers": c.bootstrap_servers}} for alias, c in clusters.items()},
        "directions": [[SOURCE, TARGET]],
        "topics": {
            "include": [f"{kind}-.*" for kind in setup.partitions],
            "overrides": [{"topics": [f"{PLAIN}-.*"], "strategy": "timestamp"}] if PLAIN in setup.partitions else [],
        },
        **{name: setup.configuration.get(name, {}) for name in ("mirror", "extensions")},
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
    """Produce and commit for the time of the run; return the groups' offsets, and use under load."""
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
            if (instant := second + 1 - run.load_seconds) in run.before:
                answers.append(groups.ask(instant))
            for process in processes:
                process.check()
        producers.set_share({})
        use = meter.read()
        producers.wait_until_quiet(SOURCE)
        groups.commit(lagging_moves=False)
        say(run, f"asked once more in {run.after_seconds} s")
        time.sleep(run.after_seconds)
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
    for kind in run.setup.partitions:
        first: Partition = (f"{run.setup.prefix}{run.topic(kind)}", 0)
        names = {name for name, _ in next(iter(read_partition(target, first))).headers() or []}
        is_right = {"IDC", "Offset"} <= names if kind == run.setup.stamped else not names
        if not is_right:
            raise OffsetSyncError(
                f"{first[0]}: the copies have the headers {sorted(names)}, so this would compare nothing"
            )


def sleep_until(at_s: float) -> None:
    """Return at that time of ``time.monotonic``."""
    time.sleep(max(0.0, at_s - time.monotonic()))


def say(run: Run, what: str) -> None:
    """Show what comes next."""
    print(f"{time.strftime('%H:%M:%S')}  {run.name}: {what}", flush=True)
