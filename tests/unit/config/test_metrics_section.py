"""The section ``metrics``: a port or off, and nothing that only looks like one."""

from __future__ import annotations

import pytest

from offset_sync.config import Config, parse_config
from offset_sync.model.errors import ConfigError


def parsed(environment: dict[str, str] | None = None, **metrics: object) -> Config:
    clusters = {alias: {"kafka": {"bootstrap.servers": f"{alias}:9092"}} for alias in ("dc1", "dc2")}
    tree = {"clusters": clusters, "topics": {"include": ["orders"]}, "metrics": metrics}
    return parse_config(tree, environment or {})


def test_no_port_is_opened_unless_it_is_asked_for() -> None:
    metrics = parsed().metrics
    assert (metrics.sync_offsets_port, metrics.report_status_port) == ("off", "off")


@pytest.mark.parametrize(("written", "port"), [(9470, 9470), ("9470", 9470), (0, 0), ("off", "off"), (False, "off")])
def test_a_port_is_a_number_or_off(written: object, port: object) -> None:
    metrics = parsed(sync_offsets_port=written).metrics
    assert (metrics.sync_offsets_port, type(metrics.sync_offsets_port)) == (port, type(port))
    assert metrics.report_status_port == "off"


def test_a_port_may_come_from_the_environment() -> None:
    assert parsed({"PORT": "9471"}, report_status_port="${PORT}").metrics.report_status_port == 9471


@pytest.mark.parametrize("written", [True, -1, 65_536, 1.5, "http", "", "-1", "999999", "９", [9470]])
def test_what_is_no_port_is_refused_with_the_remedy(written: object) -> None:
    with pytest.raises(ConfigError) as caught:
        parsed(sync_offsets_port=written)
    assert caught.value.problems == [
        "metrics.sync_offsets_port: is no port; write off, 0 for any free port, or 1 to 65535"
    ]
