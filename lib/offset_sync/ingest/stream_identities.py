"""What records of one partition are, by their headers and by what their stream allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from offset_sync.config import Config
from offset_sync.config.stream_names import Names
from offset_sync.decode.mirror_headers import (
    OFFSET_HEADER,
    ORIGIN_HEADER,
    Encoding,
    Identities,
    Places,
    all_native,
    decode_identities,
    decode_stamps,
    of_one_origin,
    places_of,
)
from offset_sync.model.values import TopicPartition

Headers = Mapping[str, pa.Array]
"""Raw values of headers, shape (records,), by the columns of :mod:`offset_sync.decode.mirror_headers`."""


@dataclass(frozen=True)
class StreamIdentities:
    """Says what records at the cluster *alias* are.

    *origins* are aliases by what the origin header says. *is_closed*: of a copy only a known one of another cluster
    counts, see :class:`offset_sync.config.mirror.Preset`.
    """

    alias: str
    origins: Mapping[str, str]
    encoding: Encoding
    names: Names
    is_closed: bool = False

    def of(self, headers: Headers, where: TopicPartition, timestamp_ms: NDArray[np.int64]) -> Identities:
        """Return the identities that count, of records of the stream *where* with the times *timestamp_ms*.

        Errs to malformed, which is unread by everyone.
        """
        home = self.names.home(where.topic)
        if home == self.alias:
            return all_native(decode_identities(headers[ORIGIN_HEADER], headers[OFFSET_HEADER], self.encoding))
        others = {name for name, alias in self.origins.items() if alias != self.alias} if self.is_closed else None
        found = decode_stamps(headers, self.encoding, self._at_origin(where), timestamp_ms, others)
        if home is None:
            return found
        is_home = np.array([*(self.origins.get(each, each) == home for each in found.origins), False], np.bool_)
        return of_one_origin(found, is_home[found.origin_code])

    def places(self, headers: Headers, where: TopicPartition, timestamp_ms: NDArray[np.int64]) -> Places | None:
        """Return what records of the stream *where* say of their places; None where the mirror stamps none."""
        return places_of(headers, self._at_origin(where), timestamp_ms)

    def _at_origin(self, where: TopicPartition) -> TopicPartition:
        """Return what the mirror has to call *where*: it names the topic as its origin does."""
        return TopicPartition(self.names.origin_topic(where.topic) or where.topic, where.partition)


def identities_at(config: Config, alias: str) -> StreamIdentities:
    """Return who says what records at the cluster *alias* are."""
    mirror = config.mirror
    return StreamIdentities(alias, config.origins(), mirror.offset_encoding, config.names, mirror.known.is_closed)
