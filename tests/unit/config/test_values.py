"""Durations, sizes and ports: read as people write them, and nothing that only looks like one."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.configurations import parsed, problems
from offset_sync.config.duration import format_duration, format_size, parse_duration


def read_size(written: object) -> int:
    return parsed(sync={"index_memory": written}).sync.index_memory


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("1s", 1), ("500ms", 0.5), ("12h", 43200), ("10m", 600), ("0s", 0), ("2d", 172800), (7, 7), ("7", 7), (0, 0)],
)
def test_a_duration_is_a_number_with_a_unit_or_whole_seconds(written: object, seconds: float) -> None:
    assert parsed(sync={"hole_grace": written}).sync.hole_grace == timedelta(seconds=seconds)


@pytest.mark.parametrize("written", ["", "s", "-1s", -1, "1.5s", 1.5, "1 s", "1w", True, "1s ", "9" * 15, [], "٣s"])
def test_anything_else_is_no_duration(written: object) -> None:
    assert problems(sync={"hole_grace": written})[0].startswith("sync.hole_grace: ")


@given(st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=3650)))
def test_a_shown_duration_reads_back_as_itself(duration: timedelta) -> None:
    whole = timedelta(milliseconds=duration // timedelta(milliseconds=1))
    assert parse_duration(format_duration(whole)) == whole


@pytest.mark.parametrize("name", ["reconcile_interval", "refresh_interval", "commit_timeout"])
def test_no_duration_at_all_is_refused_where_it_makes_no_sense(name: str) -> None:
    assert problems(sync={name: "0s"})[0].startswith(f"sync.{name}: must be longer than 0s")


@pytest.mark.parametrize(
    ("written", "size"),
    [("512MiB", 512 << 20), ("2GiB", 2 << 30), ("16777216", 1 << 24), (1 << 24, 1 << 24), ("100 MB", 10**8)],
)
def test_a_size_is_read_in_binary_and_decimal_units_and_in_bytes(written: object, size: int) -> None:
    assert read_size(written) == size
    assert read_size(format_size(size)) == size


@pytest.mark.parametrize("wrong", ["much", "-1MiB", "1.5GiB", True, "512 bananas", ""])
def test_what_is_no_size_is_refused(wrong: object) -> None:
    line = f"sync.index_memory: {wrong!r} is no size; write it as 512MiB or 2GiB"
    assert problems(sync={"index_memory": wrong}) == [line]


@pytest.mark.parametrize(("written", "port"), [(9470, 9470), ("9470", 9470), (0, 0), ("off", "off"), (False, "off")])
def test_a_port_is_a_number_or_off(written: object, port: object) -> None:
    metrics = parsed(metrics={"sync_offsets_port": written}).metrics
    assert (metrics.sync_offsets_port, type(metrics.sync_offsets_port)) == (port, type(port))
    assert metrics.report_status_port == "off"


@pytest.mark.parametrize("written", [True, -1, 65_536, 1.5, "http", "", "-1", "999999", "９", [9470]])
def test_what_is_no_port_is_refused_with_the_remedy(written: object) -> None:
    line = "metrics.sync_offsets_port: is no port; write off, 0 for any free port, or 1 to 65535"
    assert problems(metrics={"sync_offsets_port": written}) == [line]
