"""The endpoint as Prometheus meets it: scraped over HTTP, and never in the way of the job."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterable
from urllib.error import URLError

import pytest
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from offset_sync.config import Metrics
from offset_sync.jobs.metrics.endpoint import add_worst, open_endpoint
from tools.prometheus_scrape import fetch

HOSTILE = 'a"} 1\nfake{x="\\" 🐘 \x00\x1b[31m\r\ud800end'
SHOWN = 'a"} 1\nfake{x="\\" 🐘 \ufffd\ufffd[31m\ufffd\ufffdend'
HERE = "127.0.0.1"


class Groups:
    """Says that groups of these names have duplicates."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def collect(self) -> Iterable[Metric]:
        labels = ["source", "target", "group_id"]
        family = GaugeMetricFamily("offset_sync_group_duplicates", "of the worst", labels=labels)
        add_worst(family, {("dc1", "dc2", name): len(name) for name in self.names})
        return [family]


def test_a_scrape_brings_what_the_collectors_say_now() -> None:
    groups = Groups("billing")
    endpoint = open_endpoint("sync_offsets", Metrics(address=HERE, sync_offsets_port=0), [groups.collect])
    assert endpoint is not None
    try:
        scraped = fetch(endpoint.port)
        assert scraped.values("group_duplicates", "group_id", source="dc1", target="dc2") == {"billing": 7}
        assert "process_resident_memory_bytes" in scraped.text
        groups.names = (HOSTILE, "x" * 300)
        scraped = fetch(endpoint.port)
        assert scraped.values("group_duplicates", "group_id").keys() == {SHOWN, "x" * 199 + "…"}
        assert not any(line.startswith("fake") for line in scraped.text.splitlines())
    finally:
        endpoint.close()
    with pytest.raises(URLError):
        fetch(endpoint.port)


@pytest.mark.parametrize("address", [HERE, "203.0.113.7"])
def test_what_cannot_be_opened_is_an_error_in_the_log_with_the_remedy_and_nothing_more(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.socket() as taken, caplog.at_level(logging.ERROR):
        taken.bind((HERE, 0))
        taken.listen()
        port = taken.getsockname()[1]
        config = Metrics.model_construct(address=address, sync_offsets_port=port)
        assert open_endpoint("sync_offsets", config, []) is None
    (message,) = [record.getMessage() for record in caplog.records]
    assert message.startswith(f"metrics.sync_offsets_port: {address}:{port} cannot be opened (")
    assert "free the port or choose another" in message
    assert "metrics.address" in message
