"""What the terminal shows of MirrorMaker's offsets: a line for each group that it has checkpoints of, worst first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from rich.console import Console
from rich.text import Text

from offset_sync.model.text import visible
from offset_sync.status.render.columns import Column, Row, count_column, name_column, pair_name, print_table, say
from offset_sync.status.rollup import GROUP

COLUMNS = (*GROUP, "mirror_maker_offset", "mirror_maker_behind", "mirror_maker_lost", "mirror_maker_doubt")
CAPTION = """\
behind   records the group would read again at MirrorMaker's offset, and not at ours
lost     unread records that it would never see there
         +: and more, nobody can tell
stands   whose offset stands at the target: MirrorMaker's, ours, another one"""


@dataclass
class MirrorMakerRow:
    """One group between two clusters; counts of partitions, and sums of records over those with a checkpoint."""

    source_cluster: str
    target_cluster: str
    group_id: str
    partitions: int = 0
    checkpoints: int = 0
    behind: int = 0
    lost: int = 0
    unknown: int = 0
    """Checkpoints of which nobody can tell what they cost."""
    its: int = 0
    ours: int = 0
    others: int = 0
    doubts: list[str] = field(default_factory=list)

    @property
    def stands(self) -> str:
        """Whose offsets stand at the target; where both are the same, it is ours."""
        named = ((self.its, "its"), (self.ours, "ours"), (self.others, "other"))
        return ", ".join(f"{count:,} {name}" for count, name in named if count) or "nothing"


def mirror_maker_rows(status: pa.Table) -> list[MirrorMakerRow]:
    """Return the groups in rows of sync_status that MirrorMaker has said something of, or whose commit may be its own.

    Most lost first, then furthest behind, then by name.
    """
    rows: dict[tuple[str, ...], MirrorMakerRow] = {}
    if all(status[name].null_count == status.num_rows for name in ("mirror_maker_offset", "mirror_maker_doubt")):
        return []
    for each in status.select([*COLUMNS, "wanted_offset", "target_offset"]).to_pylist():
        name = tuple(each[column] for column in GROUP)
        _count(rows.setdefault(name, MirrorMakerRow(*name)), each)
    found = [row for row in rows.values() if row.checkpoints or row.doubts]
    return sorted(found, key=lambda row: (-row.lost, -row.behind, row.group_id, row.source_cluster, row.target_cluster))


def _count(row: MirrorMakerRow, each: dict[str, object]) -> None:
    row.partitions += 1
    if each["mirror_maker_doubt"] is not None:
        row.doubts.append(str(each["mirror_maker_doubt"]))
    its, ours, stands = each["mirror_maker_offset"], each["wanted_offset"], each["target_offset"]
    if its is None:
        return
    row.checkpoints += 1
    behind, lost = each["mirror_maker_behind"], each["mirror_maker_lost"]
    if isinstance(behind, int) and isinstance(lost, int):
        row.behind, row.lost = row.behind + behind, row.lost + lost
    else:
        row.unknown += 1
    if stands is None:
        return
    row.ours += stands == ours
    row.its += stands == its != ours
    row.others += stands not in (ours, its)


def doubts(rows: Sequence[MirrorMakerRow]) -> list[str]:
    """Return a line for each reason why commits may be MirrorMaker's, with the first of its groups."""
    groups: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for row in rows:
        for reason in row.doubts:
            counts = groups[row.source_cluster, reason]
            counts[row.group_id] = counts.get(row.group_id, 0) + 1
    return [
        f"{visible(source)}: {sum(counts.values()):,} commits, as of group {visible(next(iter(counts)))}: {reason}"
        for (source, reason), counts in groups.items()
    ]


def print_mirror_maker(console: Console, status: pa.Table, most: int) -> None:
    """Print what MirrorMaker has said of at most *most* groups, beside ours; nothing where it has said nothing."""
    rows = mirror_maker_rows(status)
    if not rows:
        return
    cells = [vars(row) | {"stands": row.stands} for row in rows[:most]]
    print_table(console, "MirrorMaker's offsets beside ours, worst first", _COLUMNS, cells)
    if len(rows) > most:
        say(console, Text(f"… and {len(rows) - most:,} more groups", "dim"))
    for line in doubts(rows):
        say(console, Text(f"? {line}", "yellow"))
    say(console, Text(f"\n{CAPTION}", "dim"))


def _lost(row: Row) -> Text:
    return Text(f"{row['lost']:,}" + ("+" if row["unknown"] else ""), "bold red" if row["lost"] else "")


_COLUMNS = (
    name_column("group", "group_id"),
    Column("from → to", pair_name, ratio=2),
    Column("said of", lambda row: Text(f"{row['checkpoints']:,} of {row['partitions']:,}"), is_number=True),
    count_column("behind", "behind"),
    Column("lost", _lost, is_number=True),
    Column("stands", lambda row: Text(row["stands"]), ratio=2),
)
