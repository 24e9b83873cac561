"""The endpoint as Prometheus meets it: scraped over HTTP, and never in the way of the job."""

from __future__ import annotations

import logging
import socket
from collections.abc import Sequence
from urllib.error import URLError

import pytest
from prometheus_client.metrics_core import Metric

from offset_sync.config import Metrics
from offset_sync.jobs.endpoint import Gauges, gauge, served, worst
from tools.prometheus_scrape import fetch

HOSTILE = 'a"} 1\nfake{x="\\" 🐘 \x00\x1b[31m\r\ud800end'
SHOWN = 'a"} 1\\u000afake{x="\\" 🐘 \\u0000\\u001b[31m\\u000d\\ud800end'
HERE = "127.0.0.1"


def repeating(names: Sequence[str]) -> list[Metric]:
    found = worst({("dc1", "dc2", name): len(name) for name in names})
    return [gauge("group_duplicates", "of the worst", ("source", "target", "group_id"), found)]


def test_a_scrape_brings_what_the_gauges_say_now() -> None:
    names = ["billing"]
    told = [Gauges(lambda: repeating(names)), Gauges(lambda: [gauge("broken", "fails", (), {(): names.index("")})])]
    with served("sync_offsets", Metrics(address=HERE, sync_offsets_port=0), told) as port:
        assert port is not None
        scraped = fetch(port)
        assert scraped.values("group_duplicates", "group_id", source="dc1", target="dc2") == {"billing": 7}
        assert "process_resident_memory_bytes" in scraped.text
        names[:] = [HOSTILE, "x" * 300]
        scraped = fetch(port)
        assert scraped.values("group_duplicates", "group_id").keys() == {SHOWN, "x" * 200}
        assert not any(line.startswith("fake") for line in scraped.text.splitlines())
    with pytest.raises(URLError):
        fetch(port)


@pytest.mark.parametrize("address", [HERE, "203.0.113.7"])
def test_what_cannot_be_opened_is_an_error_in_the_log_with_the_remedy_and_nothing_more(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.socket() as taken, caplog.at_level(logging.ERROR):
        taken.bind((HERE, 0))
        taken.listen()
        used = taken.getsockname()[1]
        config = Metrics.model_construct(address=address, sync_offsets_port=used)
        with served("sync_offsets", config, []) as port:
            assert port is None
    (message,) = [record.getMessage() for record in caplog.records]
    assert message.startswith(f"metrics.sync_offsets_port: {address}:{used} cannot be opened (")
    assert "free the port or choose another" in message
    assert "metrics.address" in message
