"""A client's own rights as a cluster reports them, which needs no right to see ACLs.

A cluster without an authorizer, and one where we are super user, reports every right.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from confluent_kafka.admin import ConfigResource, ResourceType  # type: ignore[attr-defined]

from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.requests import LONGEST_S
from offset_sync.kafka.topic_requests import DEADLINE_S, answer_of, operations_of
from offset_sync.model.errors import ClusterError

Operations = frozenset[str]


class OwnRights(ClusterAdmin):
    """One cluster, named by its alias; *options* are librdkafka's."""

    def brokers(self, deadline: float = DEADLINE_S) -> list[int]:
        """Return the ids of the cluster's brokers; raises ClusterError where none answers."""
        return sorted(self.metadata(deadline).brokers)

    def of_topics(self, topics: Iterable[str]) -> dict[str, Operations | ClusterError]:
        """Return the operations allowed on each topic, or the error if it may not be described; omit absent ones."""
        found = self.described(topics, time.monotonic() + DEADLINE_S, with_rights=True)
        return {name: each if isinstance(each, ClusterError) else each.operations for name, each in found.items()}

    def of_groups(self, groups: Sequence[str], deadline: float = DEADLINE_S) -> dict[str, Operations | str]:
        """Return the operations allowed on each group, whether it exists or not, or the name of an error.

        *deadline*, in seconds, is for all together.
        """
        if not groups:
            return {}
        asked: Mapping[str, Future[Any]] = self._client.describe_consumer_groups(
            list(groups), include_authorized_operations=True, request_timeout=LONGEST_S
        )
        found: dict[str, Operations | str] = {}
        ends_at = time.monotonic() + deadline
        for group, future in asked.items():
            described, error = answer_of(future, ends_at - time.monotonic())
            found[group] = error or operations_of(described)
        return found

    def settings(self, of: int | str) -> dict[str, str] | str:
        """Return the settings of a broker, by its id, or of a topic, or the name of an error.

        Requires DescribeConfigs on the cluster or on the topic.
        """
        kind = ResourceType.BROKER if isinstance(of, int) else ResourceType.TOPIC
        asked = [ConfigResource(kind, str(of))]
        (future,) = self._client.describe_configs(asked, request_timeout=LONGEST_S).values()
        entries, error = answer_of(future, DEADLINE_S)
        return error or {name: str(each.value) for name, each in entries.items() if each.value is not None}
