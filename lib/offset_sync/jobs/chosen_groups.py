"""The groups that a command moves or rehearses, by patterns."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from offset_sync.model.errors import ConfigError


def chosen_groups(known: Collection[str], patterns: Sequence[str], shared: Collection[str] = ()) -> list[str]:
    """Return the known groups that match; raises ConfigError for a pattern that matches none or is invalid.

    Share groups cannot be moved: they are chosen, to be refused, only if a pattern matches nothing else.
    """
    chosen: set[str] = set()
    problems = []
    for pattern in patterns:
        try:
            found, refused = (
                {group_id for group_id in groups if re.fullmatch(pattern, group_id)} for groups in (known, shared)
            )
        except re.error as error:
            problems.append(f"--groups {pattern!a} is not a regular expression: {error}")
            continue
        if not found and not refused:
            problems.append(f"--groups {pattern!a} matches none of the {len(known)} groups in the tables")
        chosen |= found or refused
    if problems:
        raise ConfigError(problems)
    return sorted(chosen)
