"""Live against MirrorMaker 2: how much would each group read again if it were moved now, and how stale is that?

Two real brokers. The real MirrorMaker 2 copies two topics, produced at dc1 only, to dc2 under the same names, and syncs
the groups NAME-mm2. Our jobs run beside it on the same records and sync the groups NAME-ours, which commit the same
offsets in the same batches, once a second: ``tail`` the end of the log, ``middle`` half of it, ``lagging`` once and
never again. Both are asked at the same instants, half a second after a batch, and judged by the contents of both logs
in the end (mirrormaker_judge.py). Two runs: MirrorMaker 2 with its default intervals and with the fastest sensible
ones, restarted with topics and groups of their own; our jobs have their defaults and run through. MirrorMaker stamps
no headers. On ``orders`` the transform of connect/ does, so strategy exact has what it needs; on ``legacy`` none, which
is what strategy timestamp is for. Takes 8 minutes. What copies with names of their own give, with and without headers,
is measured by mirrormaker_names.py.

    PYTHONPATH=tests/support .venv/bin/python benchmarks/mirrormaker.py [--rate 200] [--load-seconds 120]
        [--fast-load-seconds 75] [--only default|fastest]
"""

from __future__ import annotations

import argparse

from mirrormaker_properties import DEFAULTS, FASTEST
from mirrormaker_run import conclude, measure_all, options_of
from mirrormaker_setup import SAME_NAMES, Run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--load-seconds", type=int, default=120, help="of the run with default intervals")
    parser.add_argument("--fast-load-seconds", type=int, default=75, help="of the run with the fastest intervals")
    options = options_of(parser, ["default", "fastest"])
    runs = [
        Run("default", SAME_NAMES, DEFAULTS, options.load_seconds, 60),
        Run("fastest", SAME_NAMES, FASTEST, options.fast_load_seconds, 40),
    ]
    settings, rows = measure_all([run for run in runs if options.only in (None, run.name)], options.rate)
    conclude("mirrormaker", settings, rows, is_whole=options.only is None)


if __name__ == "__main__":
    main()
