"""The part of docs/benchmarks.md about the live comparison with MirrorMaker 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_HEADINGS = {
    "default": "MirrorMaker 2, default intervals: checkpoints and sync every 60 s, `offset.lag.max` 100",
    "fastest": "MirrorMaker 2, the fastest sensible ones: everything every second, `offset.lag.max` 0",
    "names-jar": "Default names, stamped by the jar: `names: mm2, place_header: Place`",
    "names-contents": "Default names, no headers at all: `names: mm2, identity: fingerprint`",
}
_OURS = ("exact", "fingerprint")
MIRRORMAKER_TEXT = """
## Live against MirrorMaker 2: what each group would read again

The real MirrorMaker 2 copies two topics from dc1 to dc2 and syncs its groups. Beside it our jobs,
with default settings, sync groups that commit the same offsets at the same moments, once a second,
on the same records. *tail* reads at the end of the log, *middle* half as fast, *lagging* committed
once early on and never moved. `timestamp` is on a topic whose copies carry no headers.

The columns are instants, in seconds from the end of the load. All groups are asked at once, half a
second after they have committed. A cell is how many records per partition the group would read
again if it were moved then, and in brackets for how many seconds something that it had committed
was not known at the target. Both are counted in the logs themselves
(`benchmarks/mirrormaker_judge.py`); records lost are shown where there are any.

Brokers, MirrorMaker, producers and our jobs share the machine and leave nothing of it idle: the use
of each is below. This is one run. Between repetitions the figures under load differ several-fold,
ours with the speed of the machine, those of MirrorMaker 2 with the point of its intervals at which
the load ends.

![Records that each group would read again, by instant](benchmarks-mirrormaker.svg)
"""

NAMES_TEXT = """
## Live with MirrorMaker's default names, with and without headers

The same with MirrorMaker's default names: a copy of dc1's `orders` is called `dc1.orders` at dc2,
and there the groups are set (`benchmarks/mirrormaker_names.py`). Two setups, each with brokers of
its own, a MirrorMaker 2 with the fastest sensible intervals, and our jobs: with the jar of
`connect/`, and with nothing but the records, where *fingerprint* is `exact` by contents. They are
ways B and C of [the steps](mirrors-steps.md). Every record has a value of its own, so contents tell
all of them apart; what records that look alike cost is in the accuracy tables above.
"""


def mirrormaker_tables(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return one table per run, as Markdown, and below it what was lost."""
    parts = []
    for run in dict.fromkeys(row["run"] for row in rows):
        mine = [row for row in rows if row["run"] == run]
        instants = list(dict.fromkeys(row["instant"] for row in mine))
        head = ["group", "way", *(f"{instant:+d} s" if instant else "end of load" for instant in instants)]
        found = {(row["group"], row["way"], row["instant"]): row for row in mine}
        lines = [
            [group, _name(way), *(_cell(found[group, way, each]) for each in instants)]
            for group, way in dict.fromkeys((row["group"], row["way"]) for row in mine)
        ]
        parts += [f"### {_HEADINGS.get(run, run)}\n", _table(head, lines), _lost(mine)]
    return "\n".join(parts)


def _name(way: str) -> str:
    return f"**{way}**" if way in _OURS else way


def _lost(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return what each way has lost at all instants together."""
    ways = dict.fromkeys(row["way"] for row in rows)
    lost = (f"{_name(way)} {sum(row['lost'] for row in rows if row['way'] == way):,}" for way in ways)
    return f"Records lost, at all instants, by all groups: {', '.join(lost)}.\n"


def _cell(row: Mapping[str, Any]) -> str:
    """Return repeats and age; a group without a position at the target would read everything again."""
    lost = f", {row['lost']:,} lost" if row["lost"] else ""
    none = ", no position" if row["answered"] < 1 else ""
    return f"{row['read_again']:,} ({row['stale_s']:,.1f}{none}{lost})"


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = ["---", "---", *["---:"] * (len(head) - 2)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *lines)) + "\n"
