"""Real Kafka, MirrorMaker 2 and Spark for what takes too long to be run every time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from broker.installation import prepare_environment, shared_session


@pytest.fixture(scope="session")
def spark_environment() -> Iterator[None]:
    """What a job needs to run in this process."""
    prepare_environment()
    with shared_session():
        yield
