"""Which topics may not be read: one of them would stop the query of its whole cluster."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from offset_sync.config import Config
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.requests import SYSTEM_CLOCK, Clock
from offset_sync.model.errors import ClusterError

logger = logging.getLogger(__name__)
EVERY_S = 60.0
"""So often it is asked whether a right was granted meanwhile."""
_DEADLINE_S = 5.0


class TopicAccess:
    """What *admins* say of the rights to the included topics; each error is logged when it is new.

    Every method waits for the clusters, so none belongs into a loop that serves more than one. Threads may share it.
    """

    def __init__(self, config: Config, admins: Mapping[str, ClusterAdmin], clock: Clock = SYSTEM_CLOCK) -> None:
        self._config, self._admins, self._clock = config, admins, clock
        self._refused: dict[str, dict[str, ClusterError]] = {}
        self._ask_again_at = clock.now() + EVERY_S

    def readable(self, alias: str) -> tuple[bool, set[str]]:
        """Return whether any included topic can be read now, and the names of those that may not be.

        Raises ClusterError where the cluster does not answer.
        """
        admin = self._admins[alias]
        included = {topic for topic in admin.topics() if self._config.is_topic_included(topic)}
        refused: dict[str, ClusterError] = dict(admin.unreadable(included))
        # A list of topics leaves out what may not be described; what is named in full is asked for all the same.
        named = admin.describe(self._config.named_topics())
        self._note(alias, refused | {name: each for name, each in named.items() if isinstance(each, ClusterError)})
        return bool(included - refused.keys()), set(refused)

    def refusals(self) -> list[str]:
        """Return one line for each topic that was refused when its cluster was last asked."""
        return sorted(str(error) for refused in list(self._refused.values()) for error in refused.values())

    def granted(self) -> list[str]:
        """Return the clusters at which a topic that may not be read now may be read, or is gone; asks now and then."""
        if self._clock.now() < self._ask_again_at:
            return []
        self._ask_again_at = self._clock.now() + EVERY_S
        known = list(self._refused.items())  # a query that is being started may add to it
        return [alias for alias, refused in known if refused and self._is_changed(alias, set(refused))]

    def _is_changed(self, alias: str, refused: set[str]) -> bool:
        admin = self._admins[alias]
        try:
            described = admin.describe(refused, _DEADLINE_S)
            unreadable = admin.unreadable(refused, _DEADLINE_S)
        except ClusterError:
            return False  # its query says so
        still = {name for name, each in described.items() if isinstance(each, ClusterError)} | unreadable.keys()
        return still != refused

    def _note(self, alias: str, refused: dict[str, ClusterError]) -> None:
        for topic in refused.keys() - self._refused.get(alias, {}).keys():
            logger.error("%s", refused[topic])
        self._refused[alias] = refused
