"""One small JVM for the tests of the transform, without brokers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from connect.mirror_cases import MirrorCases, mirror_cases
from offset_sync_demo.kafka.broker_files import BrokerPartsMissing, find_jars


@pytest.fixture(scope="session")
def mirror(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MirrorCases]:
    """MirrorMaker's classes and the transform, as Janino compiles it."""
    try:
        find_jars()
    except BrokerPartsMissing as missing:
        pytest.skip(str(missing))
    with mirror_cases(tmp_path_factory.mktemp("mirror")) as cases:
        yield cases
