"""Whether the tables hold everything once, whatever was repeated: read without Spark."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise

from broker.installation import Installation, Row
from chaos.contents import Contents
from offset_sync_demo.kafka.clients import Partition

Place = tuple[str, str, int]


def run_stretches(rows: Sequence[Row]) -> dict[Place, list[tuple[int, int]]]:
    """Return what each log's runs cover, begin and end, in order."""
    found: dict[Place, list[tuple[int, int]]] = defaultdict(list)
    for row in rows:
        if row["length"] > 0:
            end = row["start_offset"] + row["length"]
            found[row["cluster"], row["topic"], row["partition"]].append((row["start_offset"], end))
    return {place: sorted(stretches) for place, stretches in found.items()}


def twice(installation: Installation) -> list[str]:
    """Return a line for each offset that runs cover twice, and each commit that the history holds twice."""
    lines = []
    for place, stretches in run_stretches(installation.rows("record_runs")).items():
        for (start, end), (next_start, _) in pairwise(stretches):
            if next_start < end:
                lines.append(f"record_runs: {place} from {start} to {end} and again from {next_start}")
    rows = installation.rows("offset_commits")
    seen = Counter((row["cluster"], row["log_partition"], row["log_offset"]) for row in rows)
    return lines + [f"offset_commits: {place} {count} times" for place, count in seen.items() if count > 1]


def not_covered(
    installation: Installation, contents: Contents, aliases: Sequence[str], places: Sequence[Partition]
) -> list[str]:
    """Return a line for each log whose runs do not cover exactly its records."""
    stretches = run_stretches(installation.rows("record_runs"))
    lines = []
    for alias in aliases:
        for place in places:
            covered = [offset for start, end in stretches.get((alias, *place), []) for offset in range(start, end)]
            if covered != contents.log(alias, place).offsets:
                stand = len(contents.log(alias, place).offsets)
                lines.append(f"record_runs: {alias} {place[0]}-{place[1]}: {len(covered)} covered, {stand} in the log")
    return lines
