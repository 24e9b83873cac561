"""What the configuration file may say: values as people write them, and the section ``mirror``."""

from __future__ import annotations

import pickle
from datetime import timedelta
from typing import Any

import pytest

from builders.configurations import clusters, parsed
from offset_sync.config.rules import cautions


def test_a_configuration_survives_the_way_to_an_executor() -> None:
    config = parsed({"T": "orders"}, topics={"include": ["${T}"]})
    copy = pickle.loads(pickle.dumps(config))
    assert copy == config
    assert repr(copy) == repr(config)


@pytest.mark.parametrize(
    ("section", "key", "values"),
    [
        ("sync", "hole_grace", {"500ms": timedelta(seconds=0.5), "12h": timedelta(hours=12), 7: timedelta(seconds=7)}),
        ("sync", "index_memory", {"512MiB": 512 << 20, 1 << 24: 1 << 24, "100 MB": 10**8}),
        ("metrics", "sync_offsets_port", {"9470": 9470, "off": None, False: None}),
    ],
)
def test_values_are_read_as_people_write_them(section: str, key: str, values: dict[object, object]) -> None:
    found: list[Any] = [getattr(parsed(**{section: {key: each}}), section) for each in values]
    assert [getattr(each, key) for each in found] == [*values.values()]


def test_copies_that_may_pass_two_hops_want_their_place() -> None:
    def said(**mirror: str) -> list[str]:
        return [str(each) for each in cautions(parsed(clusters=clusters("dc1", "dc2", "dc3"), mirror=mirror))]

    (found,) = said(names="mm2")
    assert found.startswith("mirror.place_header: is empty, and with mirror.names mm2 and 3 clusters a copy may come")
    assert said(names="mm2", place_header="Place") == said() == []
