"""What a consumer is given: a record, or what the client says in the place of one."""

from __future__ import annotations

from dataclasses import dataclass

from offset_sync.model.values import TopicPartition


@dataclass(frozen=True)
class Message:
    """A message of confluent-kafka; *failure* is the name of an error, *kind* whose its time is."""

    place: TopicPartition
    at: int
    octets: bytes = b"v"
    failure: str = ""
    kind: int = 1

    def topic(self) -> str:
        """Return the topic."""
        return self.place.topic

    def partition(self) -> int:
        """Return the number of the partition."""
        return self.place.partition

    def offset(self) -> int:
        """Return the offset."""
        return self.at

    def error(self) -> Message | None:
        """Return the error, which has a name."""
        return self if self.failure else None

    def name(self) -> str:
        """Return the name of the error."""
        return self.failure

    def timestamp(self) -> tuple[int, int]:
        """Return whose time it is, and the time."""
        return self.kind, 5

    def key(self) -> None:
        """Return no key."""

    def value(self) -> bytes:
        """Return the value."""
        return self.octets

    def headers(self) -> None:
        """Return no headers."""
