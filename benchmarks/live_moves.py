"""Groups move to and fro by their read lists while producers write at both clusters: nothing repeated, nothing lost.

Two real brokers, the real MirrorMaker 2 both ways, both jobs as in production, and Java consumers with the interceptor,
two of each group, by the classic and the consumer protocol. Each move stops them, runs ``cutover apply --planned
--skip-read`` and ``verify``, and starts them at the other cluster. At the end all that was produced is compared with
what each group got, by the records' values. With ``--rough`` everything that ``make chaos`` does to jobs, brokers and
MirrorMaker happens meanwhile, consumers are stopped, killed and replaced, and a move that is refused is tried again:
then nothing may be lost. Ends with 1 on anything else; 20 times take 10 minutes.

    make moves ARGS='--times 20 [--rough] [--seed N]'
"""

from __future__ import annotations

import argparse
import itertools
import random
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from broker.crafted_logs import create_topics
from broker.installation import Installation, install, until
from chaos.drivers import Drivers
from chaos.faults import Stage
from chaos.schedule import JOBS, Kind, kinds, schedule
from chaos.traffic import say
from consumer.consumer_host import ConsumerHost, consumer_host
from consumer.moving import MovingGroups, move
from consumer.skip_read_jar import client_jars, jar_or_skip
from offset_sync.jobs.process_end import end_process
from offset_sync.model.errors import OffsetSyncError
from offset_sync_demo.kafka.brokers import running_clusters
from offset_sync_demo.load.producer import TopicLoad
from offset_sync_demo.load.stamping_mirror import StampingMirror
from offset_sync_demo.load.workload import Producers

ALIASES = ("dc1", "dc2")
TOPIC, PARTITIONS, RATE = "moving", 4, 200.0
GROUPS = {"mover-classic": "classic", "mover-consumer": "consumer"}
PATTERN = "mover-.*"
GAP_S = (4.0, 14.0)
LATE = {f"{alias}.producer.linger.ms": "1000" for alias in ALIASES}
"""Of MirrorMaker: copies come a second late, so that much crosses."""
MEMBERS = "consumers"
LONG_S = 24 * 3600.0
"""Longer than any run: faults go on until the moves are over."""


class Members(MovingGroups):
    """Groups whose members are replaced, or killed.

    Those that are killed commit in batches: with the consumer protocol kafka-clients auto-commit what they have not
    returned yet.
    """

    def replace_members(self) -> None:
        """Let the longest running member of each group leave, and another join."""
        with self._lock:
            for group, names in self._running.items():
                self.host.stop(names.pop(0))
                self._start_member(group)

    def kill(self, start_host: Callable[[], ConsumerHost]) -> None:
        """End all consumers by SIGKILL, and start as many in a process of their own."""
        with self._lock:
            self.host.kill()
            self.host = start_host()
            for group, names in self._running.items():
                killed = len(names)
                names.clear()
                for _ in range(killed):
                    self._start_member(group)


@dataclass
class Site:
    """Everything that runs; *stage* is what faults are done to."""

    installation: Installation
    groups: Members
    producers: Producers
    stage: Stage
    start_host: Callable[[], ConsumerHost]
    seconds: list[float] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


@contextmanager
def running(directory: Path, *, is_rough: bool) -> Iterator[Site]:
    """Start everything; all of it is ended afterwards."""
    with ExitStack() as exits:
        say("starting brokers, MirrorMaker 2, jobs and consumers")
        clusters = exits.enter_context(running_clusters(ALIASES, directory / "brokers", offsets_partitions=4))
        for cluster in clusters.values():
            create_topics(cluster, {TOPIC: PARTITIONS})
        mirror = StampingMirror(clusters, {alias: [TOPIC] for alias in ALIASES}, directory / "mirror", LATE)
        mirror.start()
        exits.callback(mirror.kill)
        producers = Producers(clusters, [TopicLoad(TOPIC, PARTITIONS, RATE)], {})
        producers.start()
        exits.callback(producers.stop, 2.0)
        servers = {alias: cluster.bootstrap_servers for alias, cluster in clusters.items()}
        sync, mirrored = {"read_lists": {"groups": [PATTERN]}}, {"place_header": "Place"}
        installation = install(directory / "jobs", servers, [TOPIC], sync=sync, mirror=mirrored)
        drivers = {job: Drivers(installation, job, exits, say) for job in JOBS}
        number, jar = itertools.count(), jar_or_skip(directory / "dist")

        def start_host() -> ConsumerHost:
            folder = directory / f"consumers-{next(number)}"
            return exits.enter_context(consumer_host(folder, jar, [*client_jars().values()][-1]))

        commits = "batch" if is_rough else "auto"
        groups = Members(clusters, start_host(), TOPIC, PARTITIONS, GROUPS, commits=commits)
        groups.start("dc1")
        wanted = {(group, number) for group in GROUPS for number in range(PARTITIONS)}

        def synced() -> set[tuple[str, int]]:
            return {(row["group_id"], row["partition"]) for row in installation.translations(outcome="COMMITTED")}

        until(lambda: synced() >= wanted, 300)

        yield Site(installation, groups, producers, Stage(clusters, drivers, mirror, say), start_host)


def play(site: Site, times: int, seed: int, *, is_rough: bool) -> None:
    """Move all groups *times* there and back."""
    rng, is_over = random.Random(seed), threading.Event()
    faults = schedule(seed, LONG_S, [*kinds(ALIASES), *of_members(site)], GAP_S) if is_rough else []
    chaos = threading.Thread(target=site.stage.play, args=(faults, is_over), daemon=True)
    chaos.start()
    for number in range(2 * times):
        target = ALIASES[1 - ALIASES.index(site.groups.home)]
        time.sleep(rng.uniform(1, 4))
        move_at_last(site, target, tries=40 if is_rough else 1)
        say(f"move {number + 1} to {target}: {site.seconds[-1]:.1f} s")
        site.groups.wait_until_read(300)
    is_over.set()
    chaos.join()


def of_members(site: Site) -> list[Kind]:
    """Return what may happen to consumers, and let the stage know how."""
    site.stage.actions |= {
        "SIGSTOP of all consumers": lambda _, fault: site.groups.host.pause(fault.seconds),
        "SIGKILL of all consumers": lambda *_: site.groups.kill(site.start_host),
        "another member of each group": lambda *_: site.groups.replace_members(),
    }
    return [
        Kind("SIGSTOP of all consumers", (MEMBERS,), 2, (2.0, 15.0), 15),
        Kind("SIGKILL of all consumers", (MEMBERS,), 2, (0.0, 0.0), 60),
        Kind("another member of each group", (MEMBERS,), 4, (0.0, 0.0), 5),
    ]


def move_at_last(site: Site, target: str, tries: int) -> None:
    """Move the groups; where that is refused start them again and try once more, *tries* times in all."""
    for left in reversed(range(tries)):
        try:
            site.seconds.append(move(site.installation, site.groups, target, PATTERN))
            return
        except (AssertionError, OffsetSyncError) as refused:
            if not left:
                raise
            site.refused.append(str(refused))
            say(f"refused: {refused}")
            site.groups.start(site.groups.home)
            time.sleep(5)


def come_to_rest(site: Site, *, is_rough: bool) -> list[str]:
    """Let everything be mirrored and read; return what was wrong."""
    site.producers.stop()
    site.stage.mirror.drain(300)
    site.groups.wait_until_read(180)
    site.groups.stop()
    wrong = []
    for group, found in site.groups.judge(site.producers, site.installation).items():
        lost, repeated, again = len(found.lost), len(found.repeated), len(found.again)
        print(f"{group}: {found.delivered:,} records delivered, {repeated:,} repeated, {lost:,} lost", end="; ")
        print(f"{again:,} twice at one cluster, {len(found.uncommitted):,} that it had not committed")
        wrong += [f"{group}: lost {each}" for each in found.lost]
        wrong += [] if is_rough else [f"{group}: repeated {each}" for each in found.repeated]
    skipped = sum(row["skipped"] or 0 for row in site.installation.rows("cutovers", step="commit"))
    times = f"median {statistics.median(site.seconds):.1f}, longest {max(site.seconds):.1f} s"
    print(f"{len(site.seconds)} moves, {times} from the members' end; {skipped:,} records on lists", flush=True)
    print(f"refused: {len(site.refused)}; faults: {dict(sorted(site.stage.done.items()))}")
    return wrong + site.stage.violations()


def main() -> int:
    """Run it as the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=20, help="there and back (default: 20)")
    parser.add_argument("--rough", action="store_true", help="kill, stop and double what runs meanwhile")
    parser.add_argument("--seed", type=int, help="of the moments (default: a random one)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave logs and tables here")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    seed = random.randrange(1_000_000) if options.seed is None else options.seed
    with ExitStack() as exits:
        folder = options.keep or Path(exits.enter_context(tempfile.TemporaryDirectory(prefix="offset-sync-moves-")))
        folder.mkdir(parents=True, exist_ok=True)
        site = exits.enter_context(running(folder, is_rough=options.rough))
        say(f"seed {seed}: {options.times} times there and back")
        play(site, options.times, seed, is_rough=options.rough)
        wrong = come_to_rest(site, is_rough=options.rough)
    print(f"wrong: {len(wrong)}", *wrong, sep="\n", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    end_process(main())
