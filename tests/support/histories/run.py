"""Many histories: ``make test-tables``."""

from __future__ import annotations

import argparse
import logging
import shutil
import sys
import time
from collections.abc import Sequence

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from histories.machine import DONE, histories
from histories.world import template


def try_histories(examples: int, steps: int, seed: int | None = None, *, is_shrunk: bool = True) -> None:
    """Try so many histories of so many steps, the same ones each time where there is no *seed*."""
    empty = template()
    machine = histories(empty)
    if seed is not None:
        machine._hypothesis_internal_use_seed = seed
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        derandomize=seed is None,
        database=None,
        deadline=None,
        phases=[Phase.generate, *([Phase.shrink] if is_shrunk else [])],
        suppress_health_check=[*HealthCheck],
    )
    try:
        run_state_machine_as_test(machine, settings=chosen)  # type: ignore[no-untyped-call]
    finally:
        shutil.rmtree(empty)


def main(words: Sequence[str] = tuple(sys.argv[1:])) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=500)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    chosen = parser.parse_args(words)
    print(f"--seed {chosen.seed}", flush=True)
    logging.disable(logging.WARNING)  # each interruption is told by what it hits
    try_histories(chosen.examples, chosen.steps, chosen.seed)
    print(f"{DONE.pop('end')} histories, {DONE.total()} steps, nothing wrong: {dict(DONE)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
