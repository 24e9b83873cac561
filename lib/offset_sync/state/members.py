"""Which groups have members now, of every group protocol: coordinators are asked, and logs tell what they do not.

Of classic and consumer groups a cluster is asked (:class:`offset_sync.kafka.group_members.GroupStates`); streams and
share groups are known by its log (:class:`offset_sync.state.groups_by_log.GroupsByLog`).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from offset_sync.config import Config
from offset_sync.kafka.group_members import GroupStates
from offset_sync.model.errors import ClusterError
from offset_sync.state.commit_log_lives import CommitLogLives
from offset_sync.state.groups_by_log import GroupsByLog
from offset_sync.tables.store import TableStore

logger = logging.getLogger(__name__)
DEADLINE_S = 5.0


class ActiveGroups(Protocol):
    """Who asks the coordinators of one cluster."""

    def active(self, deadline: float) -> frozenset[str] | ClusterError:
        """Return the classic and consumer groups with members, or why that cannot be told."""


class Members:
    """The groups with members of every cluster, as of the last :meth:`refresh`; threads may share it."""

    def __init__(self, asked: Mapping[str, ActiveGroups], by_log: GroupsByLog, deadline: float = DEADLINE_S) -> None:
        self._asked, self._by_log, self._deadline = asked, by_log, deadline
        self._lock = threading.Lock()
        self._active: dict[str, frozenset[str]] = {}
        self._silent: frozenset[str] = frozenset()

    def refresh(self) -> None:
        """Ask every cluster, side by side; of one that does not answer in time nothing is known from then on.

        Streams and share groups are those of the table, which has what ``sync_offsets`` has read.
        """
        with ThreadPoolExecutor(max(1, len(self._asked)), thread_name_prefix="members") as threads:
            asked = {alias: threads.submit(each.active, self._deadline) for alias, each in self._asked.items()}
            found = {alias: each.result() for alias, each in asked.items()}
        self._by_log.refresh()
        errors = {alias: each for alias, each in found.items() if isinstance(each, ClusterError)}
        for alias in errors.keys() - self._silent:
            logger.warning("%s", errors[alias])
        with self._lock:
            self._silent = frozenset(errors)
            self._active = {alias: each for alias, each in found.items() if not isinstance(each, ClusterError)}

    def of(self, alias: str) -> frozenset[str] | None:
        """Return the groups with members at *alias*; None: not known."""
        with self._lock:
            active = self._active.get(alias)
        return None if active is None else active | self._by_log.with_members(alias)


def open_members(config: Config, tables: TableStore, lives: CommitLogLives) -> Members:
    """Return who asks the clusters of *config* for members; none is asked yet."""
    asked = {alias: GroupStates(alias, config.admin_options(alias)) for alias in config.clusters}
    return Members(asked, GroupsByLog(tables, lives, config.clusters))
