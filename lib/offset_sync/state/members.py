"""Which groups have members at each cluster, as its coordinators say: classic and consumer groups.

librdkafka (2.16) lists no group whose protocol type is not "consumer": streams groups (KIP-1071), share groups
(KIP-932), Connect's workers. Whether such a group has members is unknown; a broker refuses our commit while it has.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from offset_sync.model.errors import ClusterError

logger = logging.getLogger(__name__)
DEADLINE_S = 5.0


class ListedGroups(Protocol):
    """Requests to one cluster, see :class:`offset_sync.kafka.cluster_admin.ClusterAdmin`."""

    def groups(self, deadline: float) -> Mapping[str, bool]:
        """Return the classic and consumer groups, each with whether it has members; raises ClusterError."""


class Members:
    """The groups with members of every cluster, as of the last :meth:`refresh`; threads may share it."""

    def __init__(self, asked: Mapping[str, ListedGroups], deadline: float = DEADLINE_S) -> None:
        self._asked, self._deadline = asked, deadline
        self._lock = threading.Lock()
        self._active: dict[str, frozenset[str]] = {}
        self._silent: frozenset[str] = frozenset()

    def refresh(self) -> None:
        """Ask every cluster, side by side; the members of one that does not answer in time are unknown from then on."""
        with ThreadPoolExecutor(max(1, len(self._asked)), thread_name_prefix="members") as threads:
            asked = {alias: threads.submit(each.groups, self._deadline) for alias, each in self._asked.items()}
        active, errors = dict[str, frozenset[str]](), dict[str, ClusterError]()
        for alias, each in asked.items():
            try:
                active[alias] = frozenset(group_id for group_id, is_active in each.result().items() if is_active)
            except ClusterError as error:
                errors[alias] = error
        for alias in errors.keys() - self._silent:
            logger.warning("%s: its members are unknown", errors[alias])
        with self._lock:
            self._silent, self._active = frozenset(errors), active

    def of(self, alias: str) -> frozenset[str] | None:
        """Return the groups with members at *alias*; None: not known."""
        with self._lock:
            return self._active.get(alias)
