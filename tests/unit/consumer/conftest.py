"""The jar of the interceptor, and a small JVM with it for each kind of kafka-clients that an installation has.

The same rules are tested in Python, without a JVM.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest

from consumer.python_cases import python_cases
from consumer.skip_read_cases import RANGES, START, SkipReadCases, skip_read_cases
from consumer.skip_read_jar import jar_or_skip
from offset_sync_demo.kafka.broker_files import find_jars

CLIENTS = {"with next offsets": "broker", "without": "spark"}
PYTHON = "in Python"


@pytest.fixture(scope="session")
def consumer_jar_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The jar, where there is a compiler."""
    return jar_or_skip(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="session")
def cases_by_client(
    consumer_jar_file: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], SkipReadCases]]:
    """One JVM for each folder of jars, started with the first test that asks for it."""
    with ExitStack() as started:

        @cache
        def of(folder: str) -> SkipReadCases:
            found = sorted((find_jars().parent / folder).glob("kafka-clients-[0-9]*.jar"))
            if not found:
                pytest.skip("no such kafka-clients; run 'make install'")
            scratch = tmp_path_factory.mktemp("skip-read")
            return started.enter_context(skip_read_cases(scratch, consumer_jar_file, found[0]))

        yield of


@pytest.fixture(params=[*CLIENTS, PYTHON])
def cases(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SkipReadCases]:
    """Polls without a broker: with kafka-clients from 4.0 on, and before, and with the Python package."""
    if request.param == PYTHON:
        with python_cases(tmp_path) as in_python:
            yield in_python
    else:
        yield request.getfixturevalue("cases_by_client")(CLIENTS[request.param])


@pytest.fixture
def listed(cases: SkipReadCases) -> SkipReadCases:
    """An interceptor whose group starts at 100 with a list that ends at 110."""
    cases.open()
    cases.give(START, RANGES, own=START)
    return cases
