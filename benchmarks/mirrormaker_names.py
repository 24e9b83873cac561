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
from typing import Any

from mirrormaker_properties import FASTEST
from mirrormaker_run import conclude, measure_all, options_of
from mirrormaker_setup import NAMED, NAMED_PLAIN, Run

_BEFORE = (-30, -20, -10, 0)
_SETUPS = {"names-jar": NAMED, "names-contents": NAMED_PLAIN}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--load-seconds", type=int, default=45, help="of each run")
    options = options_of(parser, list(_SETUPS))
    settings: dict[str, Any] = {}
    rows: list[dict[str, Any]] = []
    for name, setup in _SETUPS.items():
        if options.only in (None, name):
            its_settings, its_rows = measure_all(
                [Run(name, setup, FASTEST, options.load_seconds, 25, _BEFORE)], options.rate
            )
            settings, rows = settings | its_settings, rows + its_rows
    conclude("mirrormaker_names", settings, rows, is_whole=options.only is None)


if __name__ == "__main__":
    main()
