"""How long a person waits for the commands that answer at once, with both clusters answering and both jobs running.

Two real brokers, groups that have committed every partition at dc1, and tables as the jobs have made them. Each command
is started as a person would, by spark-submit.sh: *first* is when its first line of output is there, *whole* when it has
ended, in seconds; *mib* what it held at most, children (a JVM) among them. Then each job is started again
(``startup_jobs``): *first* is when a group's new commit is at dc2, and when there is a new row of the index.

    PYTHONPATH=tests/support .venv/bin/python benchmarks/startup.py [--groups 1000] [--partitions 8] [--runs 20000]
        [--times 3] [--tables s3]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from subprocess import PIPE
from typing import Any

from latency import Scenario, wait_for_index, wait_for_sync
from latency_logs import write_crossed_logs
from latency_tables import tables_on
from results import save
from startup_jobs import measure_jobs

from offset_sync_demo.kafka.brokers import running_clusters
from offset_sync_demo.story.jobs import SMALL, RunningJob, write_config

SUBMIT = Path(__file__).resolve().parents[1] / "spark-submit.sh"
_AWAY = ["--from", "dc1", "--to", "dc2"]
COMMANDS = {
    "report_status --once": ["report_status", "--once"],
    "cutover plan": ["cutover", "plan", *_AWAY, "--groups", "group-.*"],
    "cutover verify": ["cutover", "verify", *_AWAY, "--groups", "group-.*"],
    "cutover apply --disaster of 100 groups": [
        *("cutover", "apply", "--disaster", *_AWAY),
        *("--groups", "group-[0-9]{1,2}"),
    ],
}
_PATIENCE_S = 300.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=1_000)
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--runs", type=int, default=20_000, help="of the index, per cluster")
    parser.add_argument("--times", type=int, default=3, help="the best of so many counts")
    parser.add_argument(
        "--tables", choices=("disk", "s3", "s3_whole", "hdfs"), default="disk", help="see latency_tables"
    )
    given = parser.parse_args()
    scenario = Scenario(given.groups, given.partitions, 1, given.runs)
    with (
        tempfile.TemporaryDirectory(prefix="offset-sync-startup-") as folder,
        running_clusters(["dc1", "dc2"], Path(folder) / "brokers") as clusters,
        tables_on(given.tables, Path(folder)) as place,
    ):
        directory, config = Path(folder), Path(folder) / "startup.yaml"
        first = write_crossed_logs(clusters, scenario.partitions, scenario.runs, 0)
        write_config(config, clusters, directory, place.sections)
        java = (*SMALL, *place.options)
        jobs = [RunningJob(name, config, directory, java) for name in ("index_records", "sync_offsets")]
        try:
            wait_for_index(place, scenario.runs, jobs[0])
            wait_for_sync(clusters, scenario, first, jobs[1])
            time.sleep(20.0)  # until the jobs have read what they have just written
            rows = [measure(name, [*words, "--conf", str(config)], given.times) for name, words in COMMANDS.items()]
            for job in jobs:
                job.check()
        finally:
            for job in jobs:
                job.stop()
        rows += measure_jobs(clusters, config, place, scenario, first, given.times)
    save("startup", vars(given), rows)


def measure(name: str, words: Sequence[str], times: int) -> dict[str, Any]:
    """Return the best of so many *times* of a command."""
    found = [run(words) for _ in range(times)]
    best = min(found, key=lambda each: float(each["whole_s"]))
    return {"command": name, **best}


def run(words: Sequence[str], patience_s: float = _PATIENCE_S) -> dict[str, Any]:
    """Run a command; return when its first output came, when it ended, what it held, and its exit code.

    One that takes longer than *patience_s* is killed.
    """
    # Python keeps what it has compiled unless it is told not to, as a machine that runs tests may be.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    began = time.monotonic()
    with subprocess.Popen([SUBMIT, *words], stdout=PIPE, stderr=PIPE, env=environment) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        said: list[bytes] = []
        reader = threading.Thread(target=lambda err: said.append(err.read()), args=(process.stderr,))
        reader.start()
        most = _Peak(process.pid)
        ends = threading.Timer(patience_s, process.kill)
        ends.start()
        is_there = bool(process.stdout.read(1))
        first = time.monotonic() - began
        process.stdout.read()
        code = process.wait()
        ends.cancel()
        reader.join()
        whole = time.monotonic() - began
    if code not in (0, 1):
        raise SystemExit(f"{' '.join(words)} ended with {code}:\n{said[0].decode()[-2000:]}")
    return {
        "first_s": round(first if is_there else whole, 2),
        "whole_s": round(whole, 2),
        "mib": most.stop(),
        "exit": code,
    }


class _Peak:
    """What a process and those that it has started hold at most, looked at ten times a second."""

    def __init__(self, pid: int) -> None:
        self._pid, self._most, self._is_over = pid, 0, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def stop(self) -> int:
        """Return the most that was seen, in MiB."""
        self._is_over.set()
        self._thread.join()
        return self._most >> 20

    def _watch(self) -> None:
        while not self._is_over.wait(0.1):
            self._most = max(self._most, sum(map(_resident, _family(self._pid))))


def _family(pid: int) -> list[int]:
    """Return a process and all below it."""
    found = [pid]
    for each in found:
        try:
            for task in os.listdir(f"/proc/{each}/task"):
                found += map(int, Path(f"/proc/{each}/task/{task}/children").read_text().split())
        except OSError:
            continue
    return found


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


if __name__ == "__main__":
    main()
