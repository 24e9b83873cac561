"""What the configuration file may say: defaults, values as people write them, and the section ``mirror``."""

from __future__ import annotations

import pickle
from datetime import timedelta

import pytest

from builders.configurations import clusters, parsed
from offset_sync.config.rules import cautions


def test_an_origin_defaults_to_the_alias_and_maps_back_to_it() -> None:
    known = clusters("dc1", "dc2")
    known["dc1"]["origin"] = "IDC1"
    assert parsed(clusters=known).origins() == {"IDC1": "dc1", "dc2": "dc2"}


def test_a_configuration_survives_the_way_to_an_executor() -> None:
    config = parsed({"T": "orders"}, topics={"include": ["${T}"]})
    copy = pickle.loads(pickle.dumps(config))
    assert copy == config
    assert repr(copy) == repr(config)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("1s", 1), ("500ms", 0.5), ("12h", 43200), ("0s", 0), (7, 7), ("7", 7)],
)
def test_a_duration_is_a_number_with_a_unit_or_whole_seconds(written: object, seconds: float) -> None:
    assert parsed(sync={"hole_grace": written}).sync.hole_grace == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("written", "size"),
    [("512MiB", 512 << 20), ("2GiB", 2 << 30), (1 << 24, 1 << 24), ("100 MB", 10**8)],
)
def test_a_size_is_read_in_binary_and_decimal_units_and_in_bytes(written: object, size: int) -> None:
    assert parsed(sync={"index_memory": written}).sync.index_memory == size


@pytest.mark.parametrize(("written", "port"), [("9470", 9470), (0, 0), ("off", None), (False, None)])
def test_a_port_is_a_number_or_off(written: object, port: object) -> None:
    metrics = parsed(metrics={"sync_offsets_port": written}).metrics
    assert (metrics.sync_offsets_port, metrics.report_status_port) == (port, None)


def test_redpanda_migrators_headers_are_set_and_the_clusters_are_to_be_asked() -> None:
    config = parsed(mirror={"preset": "redpanda-migrator"})
    mirror = config.mirror
    assert (mirror.origin_header, mirror.offset_header) == ("redpanda-migrator-provenance", "redpanda-migrator-offset")
    assert (config.to_ask(), config.origins()) == (["dc1", "dc2"], {})
    known = config.with_ids({"dc1": "id-1", "dc2": "id-2"})
    assert (known.to_ask(), known.origins()) == ([], {"id-1": "dc1", "id-2": "dc2"})


# What works and cannot be verified: copies that come by way of a third cluster, without their place


def said(**mirror: str) -> list[str]:
    return [str(each) for each in cautions(parsed(clusters=clusters("dc1", "dc2", "dc3"), mirror=mirror))]


def test_copies_that_may_pass_two_hops_want_their_place() -> None:
    (found,) = said(names="mm2")
    assert found.startswith("mirror.place_header: is empty, and with mirror.names mm2 and 3 clusters a copy may come")
    assert said(names="mm2", place_header="Place") == []
    assert said() == []
