"""Keys by partition, as the committed grows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.hypothesis_strategies import law
from offset_sync.model.values import TopicPartition
from offset_sync.state.committed_offsets import CommittedOffsets
from offset_sync.state.key_index import KeyIndex

Key = tuple[str, str, int]
keys = st.tuples(st.sampled_from("abc"), st.sampled_from(["orders", "pay", "off"]), st.integers(0, 2))


def places_of(committed: CommittedOffsets, asked: list[str] | None = None) -> KeyIndex:
    def is_topic_included(topic: str) -> bool:
        if asked is not None:
            asked.append(topic)
        return topic != "off"

    return KeyIndex(committed, lambda group_id: group_id != "c", is_topic_included)


@law(200)
@given(st.lists(st.lists(keys, max_size=6), max_size=4))
def test_keys_are_found_by_partition_however_the_book_grew(batches: list[list[Key]]) -> None:
    committed = CommittedOffsets(["X"])
    places = places_of(committed)
    for batch in batches:
        committed.ids(batch)
        everything = np.arange(len(committed.keys))
        included = places.is_included(everything)
        assert included.tolist() == [group_id != "c" and topic != "off" for group_id, topic, _ in committed.keys]
        chosen = places.by_partition(everything[included])
        found = {}
        for place, rows in places.slices(chosen):
            assert place not in found
            found[place] = {committed.keys[key] for key in chosen[rows].tolist()}
        wanted: dict[TopicPartition, set[Key]] = {}
        for group_id, topic, partition in committed.keys:
            if group_id != "c" and topic != "off":
                wanted.setdefault(TopicPartition(topic, partition), set()).add((group_id, topic, partition))
        assert found == wanted
        assert set(places.partitions_of(chosen)) == set(wanted)
        for place in wanted:
            every = {key for key in committed.keys if key[1:] == (place.topic, place.partition)}
            assert {committed.keys[key] for key in places.keys_in(place).tolist()} == every


def test_an_empty_group_id_is_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    committed = CommittedOffsets(["X"])
    places = KeyIndex(committed, lambda group_id: group_id != "", lambda topic: True)
    for partition in range(3):
        committed.ids([(group, "orders", partition) for group in ("", "a")])
        places.is_included(np.arange(len(committed.keys)))
    assert [line.split(":")[0] for line in caplog.messages] == ["offsets committed with an empty group id are left out"]
