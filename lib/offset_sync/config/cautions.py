"""What a configuration allows and had better not: it works, and something cannot be verified."""

from __future__ import annotations

from collections.abc import Iterator

from offset_sync.config.configuration import Config
from offset_sync.config.name_rules import mirror_aliases
from offset_sync.config.problem import Problem
from offset_sync.config.rule_names import RuleNames, is_copied_on, to_renaming

_BY_HEADERS = {"exact", "header"}


def cautions(config: Config) -> Iterator[Problem]:
    """Yield what a person should know of *config*, each with its remedy; nothing of it refuses a start."""
    mirror, topics = config.mirror, config.topics
    strategies = {topics.strategy, *(each.strategy for each in topics.overrides)}
    if mirror.place_header or config.is_by_contents or not _BY_HEADERS & strategies or not _copies_on(config):
        return
    text = (
        f"is empty, and with these mirror.names and {len(config.clusters)} clusters a copy may come by way of another "
        "cluster: whether its offset is that at its origin cannot be verified then; have the mirror stamp the place "
        "(docs/mirrors.md), and name that header here"
    )
    yield Problem(("mirror", "place_header"), text)


def _copies_on(config: Config) -> bool:
    """Whether the names allow that a copy is copied on to a third cluster. Errs to yes."""
    if len(config.clusters) < 3 or config.mirror.names == "same":
        return False
    if config.mirror.names == "mm2":
        return True
    aliases = mirror_aliases({alias: dict(each) for alias, each in config.clusters.items()})
    return is_copied_on(RuleNames(tuple(to_renaming(each, aliases) for each in config.mirror.names), tuple(aliases)))
