"""What MirrorMaker 2, our jobs and the judge have to agree about: topics, the names of copies, and what tells them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mirrormaker_groups import MM2, OURS
from mirrormaker_properties import SOURCE

from tools.mirror_steps import configuration_tree

STAMPED, PLAIN = "orders", "legacy"
OVER_A_MINUTE = (-50, -40, -30, -20, -10, 0)
"""When it is asked, in seconds from the end of the load: over a whole interval of MirrorMaker's defaults."""


@dataclass(frozen=True)
class Setup:
    """Topics by kind with their partitions, and which kind carries headers; *ways* name whose answers are shown where.

    *mirror* is that section of our configuration, *prefix* that of the name of a copy.
    """

    partitions: Mapping[str, int]
    stamped: str | None
    ways: Mapping[str, tuple[str, str]]
    configuration: Mapping[str, Any] = field(default_factory=dict)
    prefix: str = ""


_MM2 = {"MirrorMaker 2": (MM2, STAMPED)}
SAME_NAMES = Setup({STAMPED: 4, PLAIN: 1}, STAMPED, _MM2 | {"exact": (OURS, STAMPED), "timestamp": (OURS, PLAIN)})
NAMED, NAMED_PLAIN = (
    Setup({STAMPED: 4}, stamped, _MM2 | {ours: (OURS, STAMPED)}, configuration_tree(way), f"{SOURCE}.")
    for stamped, ours, way in ((STAMPED, "exact", "B"), (None, "fingerprint", "C"))
)
"""Default names, with the jar's headers and with contents only: ways B and C of docs/mirrors-steps.md."""


@dataclass(frozen=True)
class Run:
    """Intervals of MirrorMaker 2; how long the load runs, and how long after it is asked once more."""

    name: str
    setup: Setup
    mirror_maker: Mapping[str, str]
    load_seconds: int
    after_seconds: int
    before: tuple[int, ...] = OVER_A_MINUTE

    def topic(self, kind: str) -> str:
        """Return the name, where it is produced, of one of the run's topics, which no other run touches."""
        return f"{kind}-{self.name}"

    @property
    def stamped(self) -> str | None:
        """The topic whose copies carry headers, by the name of its copy: a transform sees that one."""
        return f"{self.setup.prefix}{self.topic(self.setup.stamped)}" if self.setup.stamped else None

    @property
    def partitions(self) -> dict[str, int]:
        """How many partitions each of the run's topics has."""
        return {self.topic(kind): count for kind, count in self.setup.partitions.items()}
