"""Live against MirrorMaker 2 with its default names: a copy of dc1's ``orders`` is called ``dc1.orders`` at dc2.

As mirrormaker.py, with the groups of mirrormaker_groups.py and its judge, but for the names, and in two setups of which
each has brokers, MirrorMaker and jobs of its own: ``names-jar``, where the transform of connect/ stamps the copies, and
``names-contents``, where nothing does and copies are told by contents. MirrorMaker 2 has the fastest sensible
intervals, the best that it can do. Takes 4 minutes.

    PYTHONPATH=tests/support .venv/bin/python benchmarks/mirrormaker_names.py [--rate 200] [--load-seconds 45]
        [--only names-jar|names-contents]
"""

from __future__ import annotations

import argparse
import signal
import sys
from typing import Any

from mirrormaker_judge import broken_promises
from mirrormaker_properties import FASTEST
from mirrormaker_run import measure_all
from mirrormaker_setup import NAMED, NAMED_PLAIN, Run
from results import save

_BEFORE = (-30, -20, -10, 0)
_SETUPS = {"names-jar": NAMED, "names-contents": NAMED_PLAIN}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=200.0, help="records a second into each partition of each topic")
    parser.add_argument("--load-seconds", type=int, default=45, help="of each run")
    parser.add_argument("--only", choices=list(_SETUPS), help="one run, to try it out: nothing is saved")
    options = parser.parse_args()
    # So that everything that was started is stopped: Python would otherwise end at once.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    settings: dict[str, Any] = {}
    rows: list[dict[str, Any]] = []
    for name, setup in _SETUPS.items():
        if options.only in (None, name):
            its_settings, its_rows = measure_all(
                [Run(name, setup, FASTEST, options.load_seconds, 25, _BEFORE)], options.rate
            )
            settings, rows = settings | its_settings, rows + its_rows
    if options.only is None:
        save("mirrormaker_names", settings, rows)
    else:  # for trying out
        print(settings, *rows, sep="\n")
    if broken := broken_promises(rows):
        raise SystemExit("\n".join(broken))


if __name__ == "__main__":
    main()
