"""The door to a cluster whose topics have other names inside: who asks names streams, Kafka hears and says topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from offset_sync.model.values import TopicPartition

Found = TypeVar("Found")


class TopicNames(Protocol):
    """What topics are called where, see :class:`offset_sync.config.stream_names.Names`."""

    @property
    def is_same(self) -> bool:
        """Whether every topic has the same name everywhere."""

    def inside(self, cluster: str, topic: str) -> str:
        """Return the stream that *cluster* calls *topic*."""

    def called(self, cluster: str, stream: str) -> str | None:
        """Return what *cluster* calls *stream*; None where it has no name for it."""


@dataclass(frozen=True)
class Door:
    """Names at the cluster *alias*; without *names* every topic has the same name everywhere.

    A stream that has no name there is not asked for: its own might be another one's.
    """

    alias: str
    names: TopicNames | None = None

    @property
    def is_same(self) -> bool:
        """Whether streams are called there as they are."""
        return self.names is None or self.names.is_same

    def name(self, stream: str) -> str | None:
        """Return what the cluster calls *stream*; None where it has no name for it."""
        return stream if self.names is None else self.names.called(self.alias, stream)

    def stream(self, topic: str) -> str:
        """Return the stream that the cluster calls *topic*."""
        return topic if self.names is None else self.names.inside(self.alias, topic)

    def topics(self, streams: Iterable[str]) -> list[str]:
        """Return the names of *streams*."""
        return [name for name in map(self.name, streams) if name is not None]

    def streams(self, topics: Mapping[str, Found]) -> dict[str, Found]:
        """Return what is known of topics, by streams."""
        return {self.stream(topic): each for topic, each in topics.items()}

    def out(self, places: Mapping[TopicPartition, Found]) -> dict[TopicPartition, Found]:
        """Return what is said of partitions of streams, by their names."""
        if self.is_same:
            return dict(places)
        names = {stream: self.name(stream) for stream in {place.topic for place in places}}
        return {
            TopicPartition(name, number): each
            for (stream, number), each in places.items()
            if (name := names[stream]) is not None
        }

    def into(self, places: Mapping[TopicPartition, Found]) -> dict[TopicPartition, Found]:
        """Return what is known of partitions, by streams."""
        if self.is_same:
            return dict(places)
        return {TopicPartition(self.stream(topic), number): each for (topic, number), each in places.items()}
