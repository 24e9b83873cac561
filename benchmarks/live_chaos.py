"""Everything that can go wrong on one machine, at random, while groups commit: is anything ever ahead?

Two real brokers, the real MirrorMaker 2 both ways, producers at both, groups at both that commit, lag and are rewound,
and both jobs as processes. Faults by a seed, see tests/support/chaos/schedule.py; what counts as ahead is said in
tests/support/chaos/oracle.py. In the end all is healed and no records are written any more: half a minute later every
target holds the exact offset. Ends with 1 on anything else.

    make chaos ARGS='--minutes 10 --seed 7'
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from broker.installation import install
from chaos.drivers import Drivers
from chaos.faults import Stage
from chaos.quiet import mirrored, wait_until_exact
from chaos.schedule import JOBS, kinds, schedule
from chaos.traffic import ALIASES, COPIED, PARTITIONS, SYNCING, Traffic, say
from offset_sync.jobs.process_end import end_process
from offset_sync_demo.kafka.brokers import running_clusters
from offset_sync_demo.load.stamping_mirror import StampingMirror

GAP_S = (4.0, 14.0)
EXACT_WITHIN_S = 30.0


@contextmanager
def running(directory: Path, seed: int) -> Iterator[tuple[Traffic, Stage]]:
    """Start everything; all of it is ended afterwards."""
    with ExitStack() as exits:
        say("starting brokers")
        clusters = exits.enter_context(running_clusters(ALIASES, directory / "brokers", offsets_partitions=2))
        traffic = Traffic.between(clusters, seed)
        exits.callback(traffic.producers.stop, 2.0)
        say("starting MirrorMaker 2 and the jobs")
        mirror = StampingMirror(clusters, COPIED, directory / "mirror")
        mirror.start()
        exits.callback(mirror.stop)
        servers = {alias: cluster.bootstrap_servers for alias, cluster in clusters.items()}
        sections = {
            "mirror": {"place_header": "Place"},
            "sync": {"trigger_interval": "1s", "reconcile_interval": "5s", "home_silence": "5m"},
            "index": {"trigger_interval": "1s"},
        }
        installation = install(directory / "jobs", servers, list(PARTITIONS), **sections)
        yield traffic, Stage(clusters, {job: Drivers(installation, job, exits, say) for job in JOBS}, mirror, say)


def chaos(traffic: Traffic, stage: Stage, seed: int, seconds: float) -> None:
    """Let everything go wrong for so long."""
    traffic.start()
    sync = stage.drivers["sync_offsets"]
    if not sync.wait_until_says(SYNCING):
        raise SystemExit(f"sync_offsets does not begin to sync:\n{sync.current.output()[-3000:]}")
    faults = schedule(seed, seconds, kinds(ALIASES), GAP_S)
    say(f"seed {seed}: {len(faults)} faults in {seconds:.0f} s")
    stage.play(faults)


def come_to_rest(traffic: Traffic, stage: Stage) -> list[str]:
    """Stop groups and producers, heal everything, and return what is not exact half a minute later."""
    say("healed; groups and producers stop")
    traffic.stop_writing()
    if not mirrored(traffic.observer, ALIASES, traffic.places, 90.0):
        say(f"MirrorMaker 2 does not go on by itself and is started again:\n{stage.mirror.log_tail()}")
        stage.mirror.kill()
        stage.mirror.start()
        if not mirrored(traffic.observer, ALIASES, traffic.places, 120.0):
            return [f"MirrorMaker 2 has not copied everything:\n{stage.mirror.log_tail()}"]
    for job, words in (("index_records", "this is driver "), ("sync_offsets", SYNCING)):
        if not stage.drivers[job].wait_until_says(words):
            return [f"{job} has not come up:\n{stage.drivers[job].current.output()[-3000:]}"]
    say("quiet: all is copied, all is running")
    return wait_until_exact(traffic, EXACT_WITHIN_S, say)


def report(traffic: Traffic, stage: Stage, lines: Sequence[str]) -> int:
    """Print what was seen; return the exit code."""
    print(f"\n{traffic.told()}")
    print("faults: " + ", ".join(f"{count} × {kind}" for kind, count in sorted(stage.done.items())))
    print("drivers: " + ", ".join(f"{each.started} × {job}" for job, each in stage.drivers.items()))
    by_itself = [line for drivers in stage.drivers.values() for line in drivers.ended_by_itself]
    print(f"ended by themselves: {len(by_itself)}", *by_itself, sep="\n")
    wrong = [*traffic.observer.violations, *stage.violations(), *traffic.standstills]
    print(f"violations: {len(wrong)}", *wrong, sep="\n")
    print(f"not exact {EXACT_WITHIN_S:.0f} s after quiet: {len(lines)}", *lines, sep="\n", flush=True)
    return 1 if wrong or lines else 0


def main() -> int:
    """Run it as the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long things go wrong (default: 10)")
    parser.add_argument("--seed", type=int, help="of the faults (default: a random one)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave logs and tables here")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    seed = random.randrange(1_000_000) if options.seed is None else options.seed
    with ExitStack() as exits:
        folder = options.keep or Path(exits.enter_context(tempfile.TemporaryDirectory(prefix="offset-sync-chaos-")))
        folder.mkdir(parents=True, exist_ok=True)
        with running(folder, seed) as (traffic, stage):
            chaos(traffic, stage, seed, options.minutes * 60)
            lines = come_to_rest(traffic, stage) + traffic.unjudged()
            return report(traffic, stage, lines)


if __name__ == "__main__":
    end_process(main())
