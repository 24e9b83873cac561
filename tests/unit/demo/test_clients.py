from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from confluent_kafka import KafkaError, KafkaException

from offset_sync_demo.kafka import clients
from offset_sync_demo.kafka.clients import stable_ends


@dataclass
class Site:
    """A cluster that says *errors*, one after the other, before it tells where a log ends; and its client."""

    errors: list[int]
    alias: str = "dc1"
    bootstrap_servers: str = "nowhere:1"
    is_closed: bool = field(default=False, init=False)

    def get_watermark_offsets(self, _partition: object, _timeout: float) -> tuple[int, int]:
        if self.errors:
            raise KafkaException(KafkaError(self.errors.pop(0)))
        return 0, 7

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The site is its own client."""
    monkeypatch.setattr(clients, "open_partition_reader", lambda site, _name: site)


@pytest.mark.parametrize(
    ("error", "timeout"),
    [(KafkaError.NOT_LEADER_FOR_PARTITION, 0.3), (KafkaError.TOPIC_AUTHORIZATION_FAILED, 10.0)],
    ids=["no leader in time", "no matter of time"],
)
def test_what_does_not_pass_is_raised(error: int, timeout: float) -> None:
    site = Site([error] * 1000)
    with pytest.raises(KafkaException) as raised:
        stable_ends(site, [("orders", 0)], timeout)
    assert raised.value.args[0].code() == error
    assert site.is_closed
    assert len(site.errors) > 900  # it was not asked without a pause
