"""Live against MirrorMaker 2: how much would each group read again if it were moved now, and how stale is that?

Two real brokers. The real MirrorMaker 2 copies two topics, produced at dc1 only, to dc2 under the same names, and syncs
the groups NAME-mm2. Our jobs run beside it on the same records and sync the groups NAME-ours, which commit the same
offsets in the same batches, once a second: ``tail`` the end of the log, ``middle`` half of it, ``lagging`` once and
never again. Both are asked at the same instants, half a second after a batch, and judged by what stands in both logs
in the end (mirrormaker_judge.py). Two runs: MirrorMaker 2 with its default intervals and with the fastest sensible
ones, started anew with topics and groups of their own; our jobs have their defaults and run through. MirrorMaker stamps
no headers. On ``orders`` the transform of connect/ does, so strategy exact has what it needs; on ``legacy`` none, which
is what strategy timestamp is for. Takes 8 minutes.

    .venv/bin/python benchmarks/mirrormaker.py [--rate 200] [--load-seconds 120] [--fast-load-seconds 75]
        [--only default|fastest]
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from mirrormaker_judge import broken_promises
from mirrormaker_process import DEFAULTS, FASTEST
from mirrormaker_run import PARTITIONS, Run, measure, standing_stage
from results import save


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=200.0, help="records a second into each partition of each topic")
    parser.add_argument("--load-seconds", type=int, default=120, help="of the run with default intervals")
    parser.add_argument("--fast-load-seconds", type=int, default=75, help="of the run with the fastest intervals")
    parser.add_argument("--only", choices=["default", "fastest"], help="one run, to try it out: nothing is saved")
    options = parser.parse_args()
    # So that everything that was started is stopped: Python would otherwise end at once.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    runs = [
        Run("default", DEFAULTS, options.load_seconds, 60),
        Run("fastest", FASTEST, options.fast_load_seconds, 40),
    ]
    runs = [run for run in runs if options.only in (None, run.name)]
    with (
        tempfile.TemporaryDirectory(prefix="offset-sync-mm2-") as name,
        standing_stage(runs, Path(name), options.rate) as stage,
    ):
        found = {run.name: measure(run, stage) for run in runs}
    settings: dict[str, Any] = {"partitions": ", ".join(f"{t} {n}" for t, n in PARTITIONS.items())}
    settings["records/s per partition"] = options.rate
    for run in runs:
        used = (f"{name} {use.peak_mib} MiB {use.cores} cores" for name, use in found[run.name].use.items())
        settings |= {f"{run.name}: load s": run.load_seconds, f"{run.name}: use": ", ".join(used)}
    rows = [row for each in found.values() for row in each.rows]
    if options.only is None:
        save("mirrormaker", settings, rows)
    else:  # for trying out
        print(settings, *rows, sep="\n")
    if broken := broken_promises(rows):
        raise SystemExit("\n".join(broken))


if __name__ == "__main__":
    main()
