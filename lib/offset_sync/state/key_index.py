"""Keys by partition: which keys belong to which topic-partition, and which are to be synced at all."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import TopicPartition
from offset_sync.state.committed_offsets import CommittedOffsets
from offset_sync.translate.index.columns import GrowingArray

logger = logging.getLogger(__name__)
KeyRows = NDArray[np.intp]


class KeyIndex:
    """Keeps up with the keys of *committed*; *is_group_included* and *is_topic_included* are asked once per name."""

    def __init__(
        self,
        committed: CommittedOffsets,
        is_group_included: Callable[[str], bool],
        is_topic_included: Callable[[str], bool],
    ) -> None:
        self._committed = committed
        self._is_included = cache(_telling_of_no_id(is_group_included)), cache(is_topic_included)
        self._codes: dict[TopicPartition, int] = {}
        self._partitions: list[TopicPartition] = []
        self._code = GrowingArray()
        self._included = GrowingArray()
        self._members: list[GrowingArray] = []
        self._streams: dict[tuple[str, str], int] = {}
        self._stream = GrowingArray()

    def fit(self) -> None:
        """Take in the keys that are new."""
        first = len(self._code)
        if first == len(self._committed.keys):
            return
        is_group_included, is_topic_included = self._is_included
        codes, included, streams = [], [], []
        for number, (group_id, topic, partition) in enumerate(self._committed.keys[first:], first):
            code = self._code_of(TopicPartition(topic, partition))
            self._members[code].append(np.array([number], np.int64))
            codes.append(code)
            streams.append(self.stream(group_id, topic))
            included.append(is_group_included(group_id) and is_topic_included(topic))
        self._code.append(np.array(codes, np.int64))
        self._stream.append(np.array(streams, np.int64))
        self._included.append(np.array(included, np.int64))

    def _code_of(self, partition: TopicPartition) -> int:
        code = self._codes.get(partition)
        if code is None:
            code = self._codes[partition] = len(self._partitions)
            self._partitions.append(partition)
            self._members.append(GrowingArray())
        return code

    def is_included(self, key: KeyRows) -> NDArray[np.bool_]:
        """Return which keys are to be synced."""
        self.fit()
        return self._included.values[key].astype(np.bool_)

    @property
    def streams(self) -> Mapping[tuple[str, str], int]:
        """The number of each group and topic, counted from 0."""
        self.fit()
        return self._streams

    def stream(self, group_id: str, topic: str) -> int:
        """Return the number of a group and topic, a new one where no key of it is known yet."""
        return self._streams.setdefault((group_id, topic), len(self._streams))

    def streams_of(self, key: KeyRows) -> NDArray[np.intp]:
        """Return the number of each key's group and topic."""
        self.fit()
        return self._stream.values[key]

    def partitions_of(self, key: KeyRows) -> list[TopicPartition]:
        """Return the distinct partitions of *key*."""
        return [self._partitions[code] for code in np.unique(self._code.values[key])]

    def by_partition(self, key: KeyRows) -> KeyRows:
        """Return *key* sorted by partition."""
        return key[np.argsort(self._code.values[key], kind="stable")]

    def slices(self, key: KeyRows) -> Iterator[tuple[TopicPartition, slice]]:
        """Return each partition with its rows in *key*, which is sorted by partition."""
        code = self._code.values[key]
        borders = ((code[1:] != code[:-1]).nonzero()[0] + 1).tolist()
        for first, end in pairwise([0, *borders, len(code)] if len(code) else []):
            yield self._partitions[int(code[first])], slice(first, end)

    def keys_in(self, partition: TopicPartition) -> KeyRows:
        """Return all keys of a partition; none of one that no group has committed."""
        code = self._codes.get(partition)
        return self._members[code].values if code is not None else np.empty(0, np.int64)


def _telling_of_no_id(is_group_included: Callable[[str], bool]) -> Callable[[str], bool]:
    def answer(group_id: str) -> bool:
        if not group_id:
            logger.warning(
                "offsets committed with an empty group id are left out: no client can look up a coordinator for it"
            )
        return is_group_included(group_id)

    return answer
