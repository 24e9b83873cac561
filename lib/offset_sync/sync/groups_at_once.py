"""Committed offsets of many groups, by one request per coordinator (KIP-709): twenty times as fast as group by group.

librdkafka asks for one group per request, so the driver uses Kafka's Java client, which is on Spark's class path.
Names and answers pass to and from the JVM as JSON, in two calls for all groups. This is only an optimisation: groups
without an answer are read by librdkafka, which reports every error.

For a partition with an error, such as a pending transactional commit, the Java client returns the same as for one
without an offset (``ListConsumerGroupOffsetsHandler`` only logs it). Taken as "no offset", a commit would be
overwritten unseen. So everything is read twice, the second time without ``requireStable``, which gives no such errors:
a group that has more partitions in the second answer is left out.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from offset_sync.kafka.librdkafka import refuse_other
from offset_sync.kafka.requests import PartitionAnswer
from offset_sync.spark.jvm import JavaError, is_connection_lost, java

logger = logging.getLogger(__name__)
WORTH_IT = 16
"""The least number of groups: fewer are read as fast one by one."""
PATIENCE_S, _LEFT_OUT_S = 1.0, 60.0
_PAUSE_S, _LONGEST_PAUSE_S = 10.0, 600.0
_SPEC = "org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec"
_OPTIONS = {"client.id": "offset-sync", "reconnect.backoff.max.ms": "1000"}


class GroupsAtOnce:
    """Reads at one cluster; *options* is called for each new client, so that it picks up a renewed certificate.

    A cluster with another id than *cluster_id*, if that is known, gives no answers.

    Groups without an answer are left out for a minute. If no group is answered, reads pause for ten seconds, doubling
    with each failure in a row, and resume with a new client. Threads may share it.
    """

    def __init__(
        self,
        alias: str,
        options: Callable[[], Mapping[str, str]],
        now: Callable[[], float] = time.monotonic,
        cluster_id: str = "",
    ) -> None:
        self._alias, self._options, self._cluster_id, self._now = alias, options, cluster_id, now
        self._lock = threading.Lock()
        self._client: Any = None
        self._json: _Json
        self._paused_until, self._failures = float("-inf"), 0
        self._left_out: dict[str, float] = {}  # until when a group is left out

    def read(self, groups: Sequence[str], seconds: float) -> dict[str, list[PartitionAnswer]]:
        """Return all that each of *groups* has committed; groups without an answer are missing.

        Never raises, and waits for *seconds*, one at most. Reads are stable: a group with a pending transactional
        commit is missing.
        """
        with self._lock:
            now = self._now()
            self._left_out = {group: until for group, until in self._left_out.items() if until > now}
            asked = [group for group in groups if group not in self._left_out]
            if len(asked) < WORTH_IT or now < self._paused_until:
                return {}
        found, reason = dict[str, list[PartitionAnswer]](), ""
        try:
            found = self._read(asked, min(seconds, PATIENCE_S))
        except JavaError as problem:
            reason = str(problem.java_exception.toString()).partition("\n")[0]
        except Exception as problem:  # any: librdkafka reads next; a JVM that is gone is reported elsewhere
            reason = "" if is_connection_lost(problem) else f"{type(problem).__name__}: {problem}"
        if reason:
            logger.warning("clusters.%s: reading committed offsets group by group for a while: %s", self._alias, reason)
        self._note(asked, found)
        return found

    def _note(self, asked: Sequence[str], found: Collection[str]) -> None:
        with self._lock:
            self._failures = 0 if found else self._failures + 1
            if not found:
                self._paused_until = self._now() + min(_PAUSE_S * 2 ** (self._failures - 1), _LONGEST_PAUSE_S)
            until = self._now() + _LEFT_OUT_S
            self._left_out |= {group: until for group in asked if found and group not in found}
        if not found:
            self.close()

    def close(self) -> None:
        """Close the client and its thread in the JVM; the next call creates another."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            try:
                client.close(java("java.time.Duration").ZERO)
            except Exception as problem:  # the JVM is gone, and the client with it
                logger.debug("clusters.%s: %s", self._alias, problem)

    def _read(self, groups: Sequence[str], seconds: float) -> dict[str, list[PartitionAnswer]]:
        client, json_of = self._connected()
        wanted, ends_at = json_of.wishes(groups), self._now() + seconds
        asked = []
        for is_stable in (True, False):
            options = java("org.apache.kafka.clients.admin.ListConsumerGroupOffsetsOptions")()
            options = options.timeoutMs(round(seconds * 1000)).requireStable(is_stable)
            asked.append(client.listConsumerGroupOffsets(wanted, options))
        cluster = client.describeCluster().clusterId()
        stable, unstable = (_answers(each, groups, max(ends_at - self._now(), 0.0)) for each in asked)
        left_ms = round(max(ends_at - self._now(), 0.0) * 1000)
        found_id = cluster.get(left_ms, java("java.util.concurrent.TimeUnit").MILLISECONDS)
        refuse_other(self._alias, self._cluster_id, str(found_id))
        found = read_answers(json_of.text(stable))
        return found if stable.equals(unstable) else those_without_errors(found, read_answers(json_of.text(unstable)))

    def _connected(self) -> tuple[Any, _Json]:
        with self._lock:
            if self._client is None:
                properties = java("java.util.Properties")()
                for name, value in {**_OPTIONS, **self._options()}.items():
                    properties.setProperty(name, value)
                self._client = java("org.apache.kafka.clients.admin.Admin").create(properties)
                self._json = _Json()
            return self._client, self._json


def read_answers(text: str) -> dict[str, list[PartitionAnswer]]:
    """Return the answers that Java has written as JSON; null is a partition without an offset.

    >>> read_answers('{"g": {"pay-in-3": {"offset": 7, "metadata": "", "leaderEpoch": null}, "pay-in-4": null}}')
    {'g': [PartitionAnswer(topic='pay-in', partition=3, offset=7, metadata='', error=None, leader_epoch=None)]}
    """
    return {
        group: [
            PartitionAnswer(topic, int(partition), each["offset"], each["metadata"], None, each["leaderEpoch"])
            for (topic, _, partition), each in ((place.rpartition("-"), each) for place, each in found.items())
            if each is not None
        ]
        for group, found in json.loads(text).items()
    }


def those_without_errors(
    stable: Mapping[str, list[PartitionAnswer]], unstable: Mapping[str, list[PartitionAnswer]]
) -> dict[str, list[PartitionAnswer]]:
    """Return the groups for which *unstable*, read after *stable*, has no additional partition."""

    def places(answers: list[PartitionAnswer]) -> set[tuple[str, int]]:
        return {(each.topic, each.partition) for each in answers}

    return {
        group: found
        for group, found in stable.items()
        if group in unstable and places(unstable[group]) <= places(found)
    }


def _answers(result: Any, groups: Sequence[str], seconds: float) -> Any:
    """Return the answers received so far, as a Java map."""
    try:
        return result.all().get(round(seconds * 1000), java("java.util.concurrent.TimeUnit").MILLISECONDS)
    except JavaError:
        found = java("java.util.HashMap")()
        for group in groups:
            answer = result.partitionsToOffsetAndMetadata(group)
            if answer.isDone() and not answer.isCompletedExceptionally():
                found.put(group, answer.get())
        return found


class _Json:
    """Jackson, from Spark's class path; reflects on each class once."""

    def __init__(self) -> None:
        mapper = java("com.fasterxml.jackson.databind.ObjectMapper")()
        fields = java("com.fasterxml.jackson.annotation.PropertyAccessor").FIELD  # of classes that have no getters
        visible = java("com.fasterxml.jackson.annotation.JsonAutoDetect$Visibility").ANY
        self._mapper = mapper.setVisibility(fields, visible)
        of_map, of_name, of_wish = (_java_class(name) for name in ("java.util.HashMap", "java.lang.String", _SPEC))
        self._wishes = mapper.getTypeFactory().constructMapType(of_map, of_name, of_wish)

    def wishes(self, groups: Iterable[str]) -> Any:
        """Return a Java map from each group to a request for all its committed offsets."""
        return self._mapper.readValue(json.dumps({group: {} for group in groups}), self._wishes)

    def text(self, found: Any) -> str:
        """Return a Java map as JSON."""
        return str(self._mapper.writeValueAsString(found))


def _java_class(name: str) -> Any:
    return java("java.lang.Class").forName(name, True, java("java.lang.Thread").currentThread().getContextClassLoader())
