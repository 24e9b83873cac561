"""Where the time of one micro-batch of ``sync_offsets`` goes, step by step, in steady state.

The same load as ``latency.py``'s ``base``. The job is started by the command of ``spark-submit.sh``, with this file in
the place of the script: each step is timed by the clock and by its thread's processor time, and Spark says how long its
own steps took.

    .venv/bin/python benchmarks/batch_profile.py [--trigger 1s] [--warm-up 20] [--seconds 30]
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from latency import SCENARIOS, measure
from results import save

from offset_sync.jobs.runner import job_arguments, run_job
from offset_sync_demo.kafka.brokers import running_clusters
from offset_sync_demo.story.jobs import REPOSITORY, RunningJob

STEPS_FILE = "OFFSET_SYNC_STEPS"
"""Where the job writes what it has timed."""

# Step, module, class, method; in the order of a micro-batch. Indented steps are parts of the one above.
STEPS = (
    ("micro-batch", "jobs.sync_batch", "SyncBatch", "__call__"),
    ("  decode", "ingest.commit_ingester", "CommitIngester", "decode"),
    ("    read", "ingest.commit_source", "CommitRecords", "read"),
    ("    ask about lives", "ingest.commit_log_check", "CommitLogCheck", "look"),
    ("  record", "jobs.sync_batch", "SyncBatch", "_record"),
    ("  reconcile", "sync.reconciler", "Reconciler", "reconcile_batch"),
    ("    follow the index", "state.record_index", "RecordIndex", "refresh"),
    ("    ask about logs", "state.checked_metadata", "CheckedMetadata", "fetch"),
    ("    translate and plan", "sync.reconciliation", "ReconcilePass", "_plan"),
    ("    write", "sync.reconciliation", "ReconcilePass", "_write"),
    ("      read the target", "sync.offset_writer", "_Batch", "_read"),
    ("      commit", "sync.offset_writer", "_Batch", "_write"),
    ("    apply", "sync.reconciliation", "ReconcilePass", "_apply"),
    ("  offset_commits, beside", "ingest.commit_ingester", "CommitIngester", "write"),
)
SPARKS_OWN = ("latestOffset", "getBatch", "queryPlanning", "walCommit", "commitOffsets", "triggerExecution")
OF_THE_SOURCE = ("dc1", "dc1 to dc2", "history dc1_0")
"""The threads of the cluster whose groups commit: its query, its direction, and what is written beside."""
Timed = tuple[float, Mapping[str, int]]
"""When a micro-batch of Spark's began, by the monotonic clock, and the milliseconds of its steps."""
Spans = dict[str, list[tuple[float, float, float]]]
"""Begin, seconds and seconds of the thread's processor time, by step."""


def main() -> None:
    """Run the scenario, and print a row for each step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trigger", default="1s", help="sync.trigger_interval")
    parser.add_argument("--warm-up", type=int, default=20)
    parser.add_argument("--seconds", type=int, default=30)
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="offset-sync-profile-") as folder,
        running_clusters(["dc1", "dc2"], Path(folder) / "brokers") as clusters,
    ):
        os.environ[STEPS_FILE] = f"{folder}/steps.json"
        scenario, start = SCENARIOS["base"], starter(given.trigger)
        found = measure(clusters, Path(folder), scenario, given.warm_up, given.seconds, start)
        timed = json.loads(Path(folder, "steps.json").read_text())
    print(found)
    rows = rows_of(timed["spans"], timed["progress"], given.seconds + 10)
    settings = {"trigger_interval": given.trigger, "seconds": given.seconds}
    save("batch_profile", settings | {key: found[key] for key in ("p50_s", "p99_s", "sync_offsets_cores")}, rows)


class ProfiledJob(RunningJob):
    """A job whose ``sync_offsets`` runs this file."""

    def command(self, words: Sequence[str]) -> Sequence[str]:
        """Return what spark-submit.sh would run."""
        shown = subprocess.run(
            [REPOSITORY / "spark-submit.sh", "--print-command", *words], capture_output=True, text=True, check=True
        )
        script = str(REPOSITORY / "jobs" / "sync_offsets.py")
        return [__file__ if word == script else word for word in shlex.split(shown.stdout)]


def starter(trigger: str) -> Callable[[str, Path, Path], RunningJob]:
    """Return what starts the jobs, ``sync_offsets`` with *trigger* for its interval."""

    def start(name: str, config: Path, directory: Path) -> RunningJob:
        settings = yaml.safe_load(config.read_text())
        settings["sync"]["trigger_interval"] = trigger
        config.write_text(yaml.safe_dump(settings))
        return ProfiledJob(name, config, directory)

    return start


def rows_of(spans: Mapping[str, Spans], progress: Mapping[str, list[Timed]], last_s: float) -> list[Any]:
    """Return a row per thread and step, of what began in the *last_s* seconds."""
    end = max(began for steps in spans.values() for timed in steps.values() for began, *_ in timed)
    rows = []
    for thread in (each for each in OF_THE_SOURCE if each in spans):
        for step, *_ in STEPS:
            counted = [(took, used) for began, took, used in spans[thread].get(step, []) if began > end - last_s]
            if counted:
                rows.append({"of": thread, "step": step, **_figures(counted)})
        recent = [took for began, took in progress.get(thread, []) if began > end - last_s]
        for name in SPARKS_OWN:
            durations = [(each[name] / 1000, float("nan")) for each in recent if name in each]
            if durations:
                rows.append({"of": thread, "step": f"Spark: {name}", **_figures(durations)})
    return rows


def _figures(timed: list[tuple[float, float]]) -> dict[str, Any]:
    took, used = (np.array(each) * 1000 for each in zip(*timed, strict=True))
    p50, p99 = np.percentile(took, [50, 99])
    found = {"times": len(took), "p50_ms": round(p50), "p99_ms": round(p99), "mean_ms": round(float(took.mean()))}
    return found | ({} if np.isnan(used).any() else {"cpu_ms": round(float(used.mean()), 1)})


class Profile:
    """Times the steps of the job in this process."""

    def __init__(self) -> None:
        self.spans: dict[str, dict[str, list[tuple[float, float, float]]]] = defaultdict(lambda: defaultdict(list))
        self.progress: dict[str, dict[int, Timed]] = defaultdict(dict)

    def wrap(self, step: str, module: str, owner: str, method: str) -> None:
        """Have *method* timed."""
        cls = getattr(__import__(f"offset_sync.{module}", fromlist=[owner]), owner)
        wrapped = getattr(cls, method)
        spans = self.spans
        local = _BATCH

        @functools.wraps(wrapped)
        def timed(this: Any, *arguments: Any, **named: Any) -> Any:
            if step == "micro-batch":
                local.of = this._alias
            began, used = time.monotonic(), time.thread_time()
            try:
                return wrapped(this, *arguments, **named)
            finally:
                name = getattr(local, "of", None) or threading.current_thread().name
                spans[name][step].append((began, time.monotonic() - began, time.thread_time() - used))

        setattr(cls, method, timed)

    def watch(self) -> None:
        """Note what Spark says of its micro-batches, until the process ends."""
        from pyspark.sql import SparkSession

        since_epoch = time.time() - time.monotonic()
        while True:
            time.sleep(2.0)
            session = SparkSession.getActiveSession() or SparkSession._instantiatedSession
            for query in session.streams.active if session else ():
                for each in query.recentProgress:
                    if "addBatch" in each.durationMs:  # else nothing was there
                        began = datetime.fromisoformat(each.timestamp.replace("Z", "+00:00")).timestamp() - since_epoch
                        self.progress[str(query.name).split()[-1]][each.batchId] = began, dict(each.durationMs)

    def save(self, path: str) -> None:
        """Write it all down."""
        progress = {name: list(found.values()) for name, found in self.progress.items()}
        Path(path).write_text(json.dumps({"spans": self.spans, "progress": progress}))


_BATCH = threading.local()


def profiled(path: str, run: Callable[[], int]) -> int:
    """Run the job and write down what its steps took."""
    profile = Profile()
    for step in STEPS:
        profile.wrap(*step)
    threading.Thread(target=profile.watch, daemon=True).start()
    try:
        return run()
    finally:
        profile.save(path)


def run_the_job() -> int:
    """Do as jobs/sync_offsets.py does."""
    from offset_sync.jobs.sync_offsets import sync_offsets

    parser = job_arguments("sync_offsets, profiled")
    for kind in ("--dry-run", "--no-writes"):
        parser.add_argument(kind, action="store_true")
    return run_job(sync_offsets, parser)


if __name__ == "__main__":
    if path := os.environ.get(STEPS_FILE):
        sys.exit(profiled(path, run_the_job))
    main()
