"""Both jobs killed at random failpoints and started again, a hundred times on one installation, while groups commit.

Two real brokers, producers and groups at both, a mirror both ways in this process (the demo's). Each start of a job is
told where to die, see lib/offset_sync/state/failpoints.py. All the time it is watched that nothing is ahead
(tests/support/chaos/oracle.py), after each restart that record_runs and offset_commits hold everything once, and at
the end that every target offset is exact and every record indexed. Ends with 1 on anything else; 20 minutes.

    make restarts ARGS='--times 100 --seed 7'
"""

from __future__ import annotations

import argparse
import itertools
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from broker.installation import Installation, install
from chaos.drivers import Drivers
from chaos.lane import Lane
from chaos.once import not_covered, twice
from chaos.quiet import mirrored, wait_until_exact
from chaos.traffic import ALIASES, COPIED, PARTITIONS, SYNCING, Traffic, say
from offset_sync.jobs.process_end import end_process
from offset_sync.state import failpoints
from offset_sync_demo.kafka.brokers import running_clusters
from offset_sync_demo.load.mirror import Mirror

_INDEX_RECORDS = (failpoints.BEFORE_RUNS, failpoints.IN_RUNS, failpoints.AFTER_RUNS)
_SYNC_OFFSETS = (
    failpoints.AFTER_TRANSLATING,
    failpoints.BEFORE_COMMIT,
    failpoints.AFTER_COMMIT,
    failpoints.BEFORE_HISTORY,
    failpoints.IN_HISTORY,
    failpoints.IN_COMMITS,
    failpoints.AFTER_HISTORY,
)
POINTS = {"index_records": _INDEX_RECORDS, "sync_offsets": _SYNC_OFFSETS}
"""The points of each job that are passed repeatedly while it runs."""
EXACT_WITHIN_S = 30.0


@contextmanager
def running(directory: Path, seed: int) -> Iterator[tuple[Traffic, Installation]]:
    """Start everything but the jobs; all of it is ended afterwards."""
    with ExitStack() as exits:
        say("starting brokers")
        clusters = exits.enter_context(running_clusters(ALIASES, directory / "brokers", offsets_partitions=2))
        traffic = Traffic.between(clusters, seed)
        exits.callback(traffic.producers.stop, 2.0)
        for source, target in itertools.permutations(ALIASES):
            mirror = Mirror(clusters[source], clusters[target], COPIED[source])
            mirror.start()
            exits.callback(mirror.kill)
        servers = {alias: cluster.bootstrap_servers for alias, cluster in clusters.items()}
        sync = {"trigger_interval": "500ms", "reconcile_interval": "2s"}
        index = {"trigger_interval": "500ms"}
        yield traffic, install(directory / "jobs", servers, list(PARTITIONS), sync=sync, index=index)


def restart_all(installation: Installation, lanes: Sequence[Lane], times: int) -> list[str]:
    """Restart the jobs side by side, *times* in all; return what was wrong."""
    wrong: list[str] = []

    def work(lane: Lane, count: int) -> None:
        for _ in range(count):
            lane.restart()
            if lines := twice(installation):
                say("\n".join(["TWICE", *lines]))
                wrong.extend(lines)

    shares = [times // 2, times - times // 2]
    with ThreadPoolExecutor(len(lanes)) as pool:
        for each in [pool.submit(work, lane, count) for lane, count in zip(lanes, shares, strict=True)]:
            each.result()
    return wrong + [line for lane in lanes for line in lane.wrong]


def come_to_rest(traffic: Traffic, installation: Installation) -> list[str]:
    """Let both jobs run on until all is quiet; return what is not exact or not indexed once half a minute later."""
    with ExitStack() as exits:
        drivers = {job: Drivers(installation, job, exits, say) for job in POINTS}
        traffic.stop_writing()
        if not mirrored(traffic.observer, ALIASES, traffic.places, 60.0):
            return ["the mirror has not copied everything"]
        for job, words in (("index_records", "this is driver "), ("sync_offsets", SYNCING)):
            if not drivers[job].wait_until_says(words):
                return [f"{job} has not come up:\n{drivers[job].current.output()[-3000:]}"]
        say("quiet: all is copied, all is running")
        lines = wait_until_exact(traffic, EXACT_WITHIN_S, say)
        lines += twice(installation)
        return lines + not_covered(installation, traffic.observer.contents, ALIASES, traffic.places)


def main() -> int:
    """Run it as the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=100, help="restarts of both jobs together (default: 100)")
    parser.add_argument("--seed", type=int, help="of the points (default: a random one)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave logs and tables here")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    seed = random.randrange(1_000_000) if options.seed is None else options.seed
    with ExitStack() as exits:
        folder = options.keep or Path(exits.enter_context(tempfile.TemporaryDirectory(prefix="offset-sync-restarts-")))
        folder.mkdir(parents=True, exist_ok=True)
        with running(folder, seed) as (traffic, installation):
            traffic.start()
            say(f"seed {seed}: {options.times} restarts")
            began = time.monotonic()
            lanes = [Lane(installation, job, points, seed, say) for job, points in POINTS.items()]
            wrong = restart_all(installation, lanes, options.times)
            say(f"{options.times} restarts in {time.monotonic() - began:.0f} s")
            wrong += come_to_rest(traffic, installation) + traffic.unjudged()
            return report(traffic, lanes, wrong)


def report(traffic: Traffic, lanes: Sequence[Lane], lines: Sequence[str]) -> int:
    """Print what was seen; return the exit code."""
    print(f"\n{traffic.told()}")
    for lane in lanes:
        print(*(f"{count} × {point}" for point, count in sorted(lane.died.items())), sep=", ")
    wrong = [*traffic.observer.violations, *lines]
    print(f"wrong: {len(wrong)}", *wrong, sep="\n", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    end_process(main())
