"""What mirrors without headers do, how their copies are read, and what is said of them; all of it true."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from contents.unstamped_copies import ALPHABET, REPEATS, Workload
from offset_sync_contents.alignment.mirror import Settings


@dataclass(frozen=True)
class Reading:
    """How the logs are read: *batch* copies at a time on average, with up to *ahead* originals that have no copy yet.

    Of *restarts* of the micro-batches each follows a stop, half of them with an older state. Originals are known from
    number *first* on; time goes on by a millisecond per record. Where *is_paged* the index of the copies lets go of
    what it has, some of it at a time.
    """

    batch: int = 2_000
    ahead: int = 300
    restarts: float = 0.1
    first: int = 0
    is_paged: bool = False


@dataclass(frozen=True)
class Setting:
    """A workload, how it is read, and what is said of the mirror."""

    name: str
    workload: Workload
    reading: Reading
    settings: Settings


LOSSES: dict[str, dict[str, float]] = {
    "nothing lost": {},
    "dropped at random": {"drop": 0.001},
    "much dropped at random": {"drop": 0.1},
    "dropped by content": {"drop_contents": 0.05},
}
ORDERS: dict[str, dict[str, float]] = {
    "in order": {},
    "light reorder": {"reorder": 0.01},
    "heavy reorder": {"reorder": 0.3, "displaced": 40},
}
SHARES = {"same millisecond": (0.01, 0.5), "batches sent twice": (0.1,), "far apart": (0.1,), "five constants": (0.3,)}


def settings_of(records: int) -> Iterator[Setting]:
    """Yield what mirrors do, with all true that was said of the mirror."""
    base = Settings(hold_ms=3_000, resend_records=1_200, resend_ms=10**9, entry=30)
    for repeat, (loss, lost), (order, moved) in itertools.product(REPEATS, LOSSES.items(), ORDERS.items()):
        for share, first in itertools.product(SHARES[repeat], (0, records // 4)):
            workload = Workload(records, repeat, share, markers=0.002)
            workload = replace(workload, **lost, **moved)  # type: ignore[arg-type]
            is_timed = repeat not in ("far apart", "five constants")
            said = replace(base, keeps_timestamps=is_timed, keeps_order=order == "in order")
            name = f"{repeat} {share:.0%}, {loss}, {order}, originals from {first}"
            yield Setting(name, workload, Reading(first=first), said)


def late_starts(records: int) -> Iterator[Setting]:
    """Yield what is read from somewhere on, with equal contents before that and after it."""
    said = Settings(hold_ms=3_000, resend_records=150, resend_ms=10**9, entry=30)
    for repeat, share, (loss, lost) in itertools.product(REPEATS, (0.05, 0.4), LOSSES.items()):
        workload = replace(Workload(records, repeat, share, restart=400, resend=100), **lost)  # type: ignore[arg-type]
        settings = replace(said, keeps_timestamps=repeat != "five constants")
        yield Setting(f"{repeat} {share:.0%}, {loss}, late", workload, Reading(300, first=records // 4), settings)


def by_time(records: int) -> Iterator[Setting]:
    """Yield what is read with nothing said but how long ago the mirror may have been where it goes back to."""
    said = Settings(hold_ms=200, resend_records=10**9, resend_ms=2_000, entry=30)
    for repeat, first, paged in itertools.product(REPEATS, (0, records // 4), (False, True)):
        workload = Workload(records, repeat, 0.2, restart=400, resend=100, drop=0.001)
        settings = replace(said, keeps_timestamps=repeat not in ("far apart", "five constants"))
        yield Setting(f"{repeat} from {first}, by time", workload, Reading(300, first=first, is_paged=paged), settings)


def fuzz(seed: int) -> Setting:
    """Return small logs of few kinds of contents with many faults."""
    rng = np.random.default_rng(seed)
    records, reorder = int(rng.integers(20, 400)), float(rng.choice([0, 0, 0.1, 0.4]))
    workload = Workload(
        records,
        ALPHABET,
        float(rng.choice([0.02, 0.1, 0.5, 1.0, 3.0])),
        restart=int(rng.choice([30, 100, 1_000])),
        resend=int(rng.choice([5, 50])),
        drop=float(rng.choice([0, 0, 0.1])),
        drop_contents=float(rng.choice([0, 0, 0.1])),
        reorder=reorder,
        displaced=int(rng.choice([3, 10])),
        markers=float(rng.choice([0, 0, 0.1])),
        altered=float(rng.choice([0, 0, 0, 0.02])),
    )
    is_timed = bool(rng.random() < 0.6)
    # Without times no record may be further from its place than by slack: moved and dropped records.
    is_straight = workload.drop + workload.drop_contents + reorder + workload.markers == 0
    slack = int(rng.choice([5, 20])) if is_straight else 120
    said = Settings(is_timed, reorder == 0, slack, reorder_window=20, hold_ms=int(rng.choice([5, 50, 10_000])))
    said = replace(said, resend_records=int(rng.choice([80, 1_000])), resend_ms=10**9)
    reading = Reading(int(rng.choice([1, 5, 30, 500])), int(rng.choice([0, 5, 50])), float(rng.choice([0, 0.3])))
    reading = replace(reading, is_paged=bool(rng.random() < 0.3))
    return Setting("fuzz", workload, reading, said)
