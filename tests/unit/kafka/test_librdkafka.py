"""Another client than the one this was built with is refused."""

from __future__ import annotations

from collections.abc import Iterator

import confluent_kafka
import pytest

from offset_sync.kafka import librdkafka
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.librdkafka import CONFLUENT_KAFKA, LIBRDKAFKA, check_client, library
from offset_sync.model.errors import ClusterError, PlatformError

REMEDY = "run 'make install', which installs the wheel of confluent-kafka that this was built with"


@pytest.fixture(autouse=True)
def bound_again() -> Iterator[None]:
    library.cache_clear()
    yield
    library.cache_clear()


def refusal() -> str:
    with pytest.raises(PlatformError) as refused:
        check_client()
    text = str(refused.value)
    assert text.endswith(f"; {REMEDY}")
    assert "\n" not in text
    return text.removesuffix(f"; {REMEDY}")


def test_another_minor_version_of_either_is_refused_and_another_patch_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library(), "version_str", lambda: b"2.16.9")
    assert check_client() == [f"expected librdkafka {LIBRDKAFKA}, found 2.16.9"]
    monkeypatch.setattr(library(), "version_str", lambda: b"2.3.0")
    assert refusal() == f"expected librdkafka {LIBRDKAFKA}, found 2.3.0"
    monkeypatch.undo()
    monkeypatch.setattr(confluent_kafka, "__version__", "2.12.0")
    assert refusal() == f"expected confluent-kafka {CONFLUENT_KAFKA}, found 2.12.0"


def test_a_library_without_a_function_is_refused_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(librdkafka._SIGNATURES, "ListTeapots", (None, ()))
    text = refusal()
    assert text.startswith(f"expected librdkafka {LIBRDKAFKA}, found another: ")
    assert "rd_kafka_ListTeapots" in text
    with pytest.raises(ClusterError, match="rd_kafka_ListTeapots"):  # an executor's may differ from the driver's
        ClusterAdmin("dc1", {"bootstrap.servers": "127.0.0.1:1"}).committed_offsets(["g"])
