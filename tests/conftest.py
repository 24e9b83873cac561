"""For all tests: random order, stories that are told in order all the same, hypothesis in no hurry, locks, and tables.

Files, and the tests of each, come in random order; pytest prints the seed, and ``--randomly-seed=…`` with it repeats
the order. So no test may lean on one before it. The exception are files whose tests live through something
together: they say ``pytest.mark.in_order``.
"""

from __future__ import annotations

import gc
import itertools
import shutil
import signal
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from offset_sync.tables.store import TableStore
from tools.lock_order import LockOrder
from tools.thorough import examples

_LOCKS = LockOrder()
_LOCKS.watch()
# How long an example takes says how busy the machine is, not whether the code is right. Pytest's timeout ends a hang.
settings.register_profile(
    "unhurried", max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("unhurried")

_collected = itertools.count()
_AS_WRITTEN = pytest.StashKey[int]()


def pytest_itemcollected(item: pytest.Item) -> None:
    item.stash[_AS_WRITTEN] = next(_collected)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put stories in order, and what may take longest first: a worker that got it last would end alone."""
    _tell_in_order(items)
    items.sort(key=_seconds_at_most, reverse=True)


def _seconds_at_most(item: pytest.Item) -> float:
    limit = item.get_closest_marker("timeout")
    return limit.args[0] if limit else 0


def pytest_collection_finish() -> None:
    """Look for no garbage among modules and tests, which stay."""
    gc.collect()
    gc.freeze()


def _tell_in_order(items: list[pytest.Item]) -> None:
    """Give the places that a story's tests have now to the same tests in the order in which they are written."""
    places: dict[object, list[int]] = defaultdict(list)
    for place, item in enumerate(items):
        if item.get_closest_marker("in_order"):
            places[item.path].append(place)
    for of_file in places.values():
        told = sorted((items[place] for place in of_file), key=lambda item: item.stash[_AS_WRITTEN])
        for place, item in zip(of_file, told):
            items[place] = item


@pytest.fixture(autouse=True)
def locks_are_taken_in_order(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test in which a lock is taken against the order of docs/design/threads.md.

    A simulation has several processes in one thread, and what one of them holds is nothing to the others.
    """
    yield
    wrong = _LOCKS.take_wrong()
    assert "simulation" in request.path.parts or not wrong


@pytest.fixture
def signals() -> Iterator[None]:
    """Put the signal handlers back that a job has set."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every table, empty."""
    root = tmp_path_factory.mktemp("template")
    TableStore(str(root)).create()
    return root


@pytest.fixture
def tables(template: Path, tmp_path: Path) -> TableStore:
    """Empty tables of this test only; copied, which costs next to nothing."""
    return TableStore(str(shutil.copytree(template, tmp_path / "tables")))
