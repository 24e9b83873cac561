"""What moves and rehearsals share: the groups, by patterns, and what is said meanwhile."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Sequence

from offset_sync.model.errors import ConfigError
from offset_sync.model.text import escaped


def chosen_groups(known: Collection[str], patterns: Sequence[str], *, option: str = "--groups") -> list[str]:
    """Return the known groups that match; raises ConfigError where a pattern of *option* is invalid or matches none."""
    chosen: set[str] = set()
    problems = []
    for pattern in patterns:
        try:
            found = {group_id for group_id in known if re.fullmatch(pattern, group_id)}
        except re.error as error:
            problems.append(f"{option} {pattern!a} is not a regular expression: {error}")
            continue
        if not found:
            problems.append(f"{option} {pattern!a} matches none of the {len(known)} groups in the tables")
        chosen |= found
    if problems:
        raise ConfigError(problems)
    return sorted(chosen)


def say(line: str) -> None:
    """Print a line on standard error; names in it cannot move the cursor."""
    print(escaped(line), file=sys.stderr, flush=True)
