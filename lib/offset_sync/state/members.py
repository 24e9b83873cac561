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

from offset_sync.config import Config
from offset_sync.kafka.group_members import GroupStates
from offset_sync.model.errors import ClusterError

logger = logging.getLogger(__name__)
DEADLINE_S = 5.0


class ActiveGroups(Protocol):
    """Requests to the coordinators of one cluster."""

    def active(self, deadline: float) -> frozenset[str] | ClusterError:
        """Return the classic and consumer groups with members, or the error."""


class Members:
    """The groups with members of every cluster, as of the last :meth:`refresh`; threads may share it."""

    def __init__(self, asked: Mapping[str, ActiveGroups], deadline: float = DEADLINE_S) -> None:
        self._asked, self._deadline = asked, deadline
        self._lock = threading.Lock()
        self._active: dict[str, frozenset[str]] = {}
        self._silent: frozenset[str] = frozenset()

    def refresh(self) -> None:
        """Ask every cluster, side by side; the members of one that does not answer in time are unknown from then on."""
        with ThreadPoolExecutor(max(1, len(self._asked)), thread_name_prefix="members") as threads:
            asked = {alias: threads.submit(each.active, self._deadline) for alias, each in self._asked.items()}
            found = {alias: each.result() for alias, each in asked.items()}
        errors = {alias: each for alias, each in found.items() if isinstance(each, ClusterError)}
        for alias in errors.keys() - self._silent:
            logger.warning("%s", errors[alias])
        with self._lock:
            self._silent = frozenset(errors)
            self._active = {alias: each for alias, each in found.items() if not isinstance(each, ClusterError)}

    def of(self, alias: str) -> frozenset[str] | None:
        """Return the groups with members at *alias*; None: not known."""
        with self._lock:
            return self._active.get(alias)


def open_members(config: Config) -> Members:
    """Return the members of the clusters of *config*; none is asked yet."""
    return Members({alias: GroupStates(alias, config.admin_options(alias)) for alias in config.clusters})
