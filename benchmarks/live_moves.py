"""Groups move to and fro by their read lists while producers write at both clusters: nothing repeated, nothing lost.

Two real brokers, the real MirrorMaker 2 both ways, both jobs as in production, and Java consumers with the interceptor,
two of each group, by the classic and the consumer protocol. Each move stops them, runs ``cutover apply --planned
--skip-read`` and ``verify``, and starts them at the other cluster. At the end all that was produced is compared with
what each group got, by the records' values. With ``--rough`` jobs and MirrorMaker are killed at random meanwhile, and a
move that is refused is tried again: then nothing may be lost. Ends with 1 on anything else; 20 times take 10 minutes.

    make moves ARGS='--times 20 [--rough] [--seed N]'
"""

from __future__ import annotations

import argparse
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
from functools import partial
from pathlib import Path

from broker.crafted_logs import create_topics
from broker.installation import Installation, install, until
from chaos.drivers import Drivers
from chaos.traffic import say
from consumer.consumer_host import consumer_host
from consumer.moving import MovingGroups, move
from consumer.skip_read_jar import client_jars, jar_or_skip
from offset_sync_demo.kafka.brokers import running_clusters
from offset_sync_demo.load.producer import TopicLoad
from offset_sync_demo.load.stamping_mirror import StampingMirror
from offset_sync_demo.load.workload import Producers

ALIASES = ("dc1", "dc2")
TOPIC, PARTITIONS, RATE = "moving", 4, 200.0
GROUPS = {"mover-classic": "classic", "mover-consumer": "consumer"}
PATTERN = "mover-.*"
LATE = {f"{alias}.producer.linger.ms": "1000" for alias in ALIASES}
"""Of MirrorMaker: copies come a second late, so that much crosses."""
JOBS = ("index_records", "sync_offsets")


@dataclass
class Site:
    """Everything that runs; *kills* are the faults that there may be."""

    installation: Installation
    groups: MovingGroups
    producers: Producers
    mirror: StampingMirror
    kills: dict[str, Callable[[], None]]
    seconds: list[float] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


@contextmanager
def running(directory: Path) -> Iterator[Site]:
    """Start everything; all of it is ended afterwards."""
    with ExitStack() as exits:
        say("starting brokers, MirrorMaker 2, jobs and consumers")
        clusters = exits.enter_context(running_clusters(ALIASES, directory / "brokers", offsets_partitions=4))
        for cluster in clusters.values():
            create_topics(cluster, {TOPIC: PARTITIONS})
        mirror = StampingMirror(clusters, {alias: [TOPIC] for alias in ALIASES}, directory / "mirror")
        mirror.start(LATE)
        exits.callback(mirror.kill)
        producers = Producers(clusters, [TopicLoad(TOPIC, PARTITIONS, RATE)], {})
        producers.start()
        exits.callback(producers.stop, 2.0)
        servers = {alias: cluster.bootstrap_servers for alias, cluster in clusters.items()}
        sync, mirrored = {"read_lists": {"groups": [PATTERN]}}, {"place_header": "Place"}
        installation = install(directory / "jobs", servers, [TOPIC], sync=sync, mirror=mirrored)
        drivers = {job: Drivers(installation, job, exits, say) for job in JOBS}
        host = exits.enter_context(
            consumer_host(directory / "consumers", jar_or_skip(directory / "dist"), [*client_jars().values()][-1])
        )
        groups = MovingGroups(clusters, host, TOPIC, PARTITIONS, GROUPS)
        groups.start("dc1")
        wanted = {(group, number) for group in GROUPS for number in range(PARTITIONS)}

        def synced() -> set[tuple[str, int]]:
            return {(row["group_id"], row["partition"]) for row in installation.translations(outcome="COMMITTED")}

        until(lambda: synced() >= wanted, 300)

        def start_mirror_anew() -> None:
            mirror.kill()
            mirror.start(LATE)

        def start_job_anew(driver: Drivers) -> None:
            driver.kill()
            driver.restart()

        kills = {f"kill {job}": partial(start_job_anew, each) for job, each in drivers.items()}
        yield Site(installation, groups, producers, mirror, kills | {"kill MirrorMaker 2": start_mirror_anew})


def play(site: Site, times: int, rng: random.Random, *, is_rough: bool) -> None:
    """Move all groups *times* there and back."""
    for number in range(2 * times):
        target = ALIASES[1 - ALIASES.index(site.groups.home)]
        fault = None
        if is_rough:
            name = rng.choice([*site.kills])
            say(f"soon: {name}")
            fault = threading.Timer(rng.uniform(0, 6), site.kills[name])
            fault.start()
        time.sleep(rng.uniform(1, 4))
        move_at_last(site, target, tries=20 if is_rough else 1)
        say(f"move {number + 1} to {target}: {site.seconds[-1]:.1f} s")
        site.groups.wait_until_read(180)
        if fault is not None:
            fault.join()


def move_at_last(site: Site, target: str, tries: int) -> None:
    """Move the groups; where that is refused start them again and try once more, *tries* times in all."""
    for left in reversed(range(tries)):
        try:
            site.seconds.append(move(site.installation, site.groups, target, PATTERN))
            return
        except AssertionError as refused:
            if not left:
                raise
            site.refused.append(str(refused))
            say(f"refused: {refused}")
            site.groups.start(site.groups.home)
            site.groups.wait_until_read(180)
            time.sleep(2)


def come_to_rest(site: Site, *, is_rough: bool) -> list[str]:
    """Let everything be mirrored and read; return what was wrong."""
    site.producers.stop()
    site.mirror.drain(300)
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
    print(f"refused: {len(site.refused)}")
    return wrong


def main() -> int:
    """Run it as the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=20, help="there and back (default: 20)")
    parser.add_argument("--rough", action="store_true", help="kill jobs and MirrorMaker at random meanwhile")
    parser.add_argument("--seed", type=int, help="of the moments (default: a random one)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave logs and tables here")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    seed = random.randrange(1_000_000) if options.seed is None else options.seed
    with ExitStack() as exits:
        folder = options.keep or Path(exits.enter_context(tempfile.TemporaryDirectory(prefix="offset-sync-moves-")))
        folder.mkdir(parents=True, exist_ok=True)
        site = exits.enter_context(running(folder))
        say(f"seed {seed}: {options.times} times there and back")
        play(site, options.times, random.Random(seed), is_rough=options.rough)
        wrong = come_to_rest(site, is_rough=options.rough)
    print(f"wrong: {len(wrong)}", *wrong, sep="\n", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
