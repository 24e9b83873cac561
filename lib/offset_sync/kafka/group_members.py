"""The consumer groups of a cluster that have members, by one request to each of its brokers.

librdkafka (2.16) does not list groups whose protocol type is not "consumer": those of Kafka Streams with
``group.protocol=streams`` (KIP-1071), share groups (KIP-932) and Connect's workers, though the broker's answer has
their types and states. None of its requests returns these.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import TimeoutError as FutureTimeout
from functools import cached_property
from typing import Any

from confluent_kafka import ConsumerGroupState, KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from offset_sync.kafka.librdkafka import cluster_id_of, refuse_other
from offset_sync.kafka.requests import LONGEST_S, UNREACHABLE
from offset_sync.kafka.topic_requests import kept_for, open_client
from offset_sync.model.errors import ClusterError
from offset_sync.model.text import escaped
from offset_sync.model.values import CLUSTER_ID

DEADLINE_S = 10.0
_WITHOUT_MEMBERS = (ConsumerGroupState.EMPTY, ConsumerGroupState.DEAD)


class GroupStates:
    """One cluster; *options* are librdkafka's. Threads may share it."""

    def __init__(self, alias: str, options: Mapping[str, str]) -> None:
        self._alias = alias
        self._options = options

    def active(self, deadline: float = DEADLINE_S) -> frozenset[str] | ClusterError:
        """Return the groups with members; a state unknown to this client counts as having some.

        Returns a ClusterError if any broker does not answer within *deadline* seconds, as its groups would look empty.
        """
        listed = self.listed(deadline)
        if isinstance(listed, ClusterError):
            return listed
        return frozenset(group_id for group_id, is_active in listed.items() if is_active)

    def listed(self, deadline: float = DEADLINE_S) -> Mapping[str, bool] | ClusterError:
        """Return the classic and consumer groups that we may describe, each with whether it is active.

        Of any other group, of another type or not described to us, it is unknown whether it has members.
        """
        try:
            future = self._client.list_consumer_groups(request_timeout=LONGEST_S)
            listed: Any = future.result(deadline)
            refuse_other(self._alias, self._options.get(CLUSTER_ID, ""), cluster_id_of(self._client))
        except ClusterError as problem:
            self.__dict__.pop("_client", None)  # the next one starts from bootstrap.servers
            return problem
        except (KafkaException, FutureTimeout, ValueError, TypeError) as error:
            return self._unknown(_reason(error, deadline))
        if listed.errors:
            return self._unknown(_reason(listed.errors[0], deadline))
        return {each.group_id: each.state not in _WITHOUT_MEMBERS for each in listed.valid}

    def _unknown(self, why: str) -> ClusterError:
        return ClusterError(
            self._alias,
            f"{why}, so members of its groups are unknown; check that all its brokers run, and "
            f"clusters.{self._alias}.kafka",
        )

    @cached_property
    def _client(self) -> AdminClient:
        kept_for(self).append(client := open_client(self._alias, self._options))
        return client


def _reason(error: Exception, deadline: float) -> str:
    """Return why a request failed, on one line."""
    cause = error.args[0] if error.args else None
    told = cause if isinstance(cause, KafkaError) else None
    if isinstance(error, FutureTimeout) or (told is not None and told.name() in UNREACHABLE):
        return f"did not answer within {deadline:g} s"
    if told is not None:
        return escaped(told.str())
    return escaped(str(error)) or type(error).__name__
