"""Which consumer groups of a cluster have members, by one request to each of its brokers."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import TimeoutError as FutureTimeout
from functools import cached_property
from typing import Any

from confluent_kafka import ConsumerGroupState, KafkaException
from confluent_kafka.admin import AdminClient

from offset_sync.kafka.librdkafka import KEEPS_BROKERS
from offset_sync.kafka.request_limits import LONGEST_S
from offset_sync.model.errors import ClusterError

DEADLINE_S = 10.0
_WITHOUT_MEMBERS = (ConsumerGroupState.EMPTY, ConsumerGroupState.DEAD)


class GroupStates:
    """One cluster; *options* are librdkafka's. Threads may share it."""

    def __init__(self, alias: str, options: Mapping[str, str]) -> None:
        self._alias = alias
        self._options = {"client.id": "offset-sync", "log_level": "2", **options}

    def active(self, deadline: float = DEADLINE_S) -> frozenset[str] | ClusterError:
        """Return the groups with members; a state that this client does not know counts as having some.

        Returns a ClusterError if any broker does not answer within *deadline* seconds, for its groups would look empty.
        """
        try:
            future = self._client.list_consumer_groups(request_timeout=LONGEST_S)
            listed: Any = future.result(deadline)
        except (KafkaException, FutureTimeout, ValueError, TypeError) as error:
            return self._unknown(str(error) or type(error).__name__)
        if listed.errors:
            return self._unknown(str(listed.errors[0]))
        return frozenset(each.group_id for each in listed.valid if each.state not in _WITHOUT_MEMBERS)

    def _unknown(self, why: str) -> ClusterError:
        return ClusterError(self._alias, f"which groups have members cannot be told: {why}")

    @cached_property
    def _client(self) -> AdminClient:
        options: dict[str, Any] = {**KEEPS_BROKERS, **self._options, "error_cb": lambda error: None}
        return AdminClient(options)
