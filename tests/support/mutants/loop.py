"""A pytest plugin that runs mutants in place of tests: a fork for each, with the tests that call the changed function.

The parent collects the tests and runs none, so that no thread, file or connection of one is there when it forks.
"""

from __future__ import annotations

import gc
import json
import math
import os
import resource
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import pytest
from hypothesis import Phase, is_hypothesis_test, settings

from mutants.changes import Mutant, install, note_calls

_LEAST_SECONDS, _TIMES = 3, 10
"""What a test may take of a processor: so many times what it takes without a mutant."""
_MOST_BYTES = 16 << 30
_SURVIVED, _KILLED = 0, 1


class _Test(NamedTuple):
    item: pytest.Item
    seconds: float
    functions: frozenset[tuple[str, str]]


class Loop:
    """Judges *mutants*; *survivors* are those that no test has failed with."""

    def __init__(self, mutants: Sequence[Mutant], workers: int) -> None:
        self._mutants, self._workers = mutants, workers
        self.survivors: list[Mutant] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Judge all mutants; a test that fails without one ends the run."""
        functions = {(each.module, each.function) for each in self._mutants}
        tests = _recorded(session.items, functions)
        self._tests: dict[tuple[str, str], list[_Test]] = {
            each: sorted((test for test in tests if each in test.functions), key=partial(_distance, each[0]))
            for each in functions
        }
        gc.freeze()
        running: dict[int, tuple[Mutant, int]] = {}
        for mutant in self._mutants:
            if len(running) == self._workers:
                self._take_result(running)
            read, write = os.pipe()
            if (pid := os.fork()) == 0:
                os.close(read)
                _run_forked(partial(self._judge, mutant, write))
            os.close(write)
            running[pid] = (mutant, read)
        while running:
            self._take_result(running)
        return True

    def _take_result(self, running: dict[int, tuple[Mutant, int]]) -> None:
        pid, status = os.wait()
        mutant, read = running.pop(pid)
        with os.fdopen(read) as answer:
            killer = answer.read()
        if os.waitstatus_to_exitcode(status) == _SURVIVED:
            self.survivors.append(mutant)
            print(f"survived: {mutant.module} {mutant.function}: {mutant.change}", file=sys.stderr, flush=True)
        elif killer:
            tests = self._tests[mutant.module, mutant.function]
            tests.insert(0, tests.pop(next(n for n, each in enumerate(tests) if each.item.nodeid == killer)))

    def _judge(self, mutant: Mutant, write: int) -> int:
        """Run the tests of a mutant until one fails, and write its name.

        A loop without an end, or an array beyond all bounds, fails too.
        """
        install(mutant)
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES))
        for test in self._tests[mutant.module, mutant.function]:
            seconds = time.process_time() + _LEAST_SECONDS + _TIMES * test.seconds
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), resource.RLIM_INFINITY))
            if _fails(test.item):
                os.write(write, test.item.nodeid.encode())
                return _KILLED
        return _SURVIVED


def _recorded(items: Sequence[pytest.Item], functions: set[tuple[str, str]]) -> list[_Test]:
    """Return what each test calls of *functions*, and its seconds of a processor, from a run of all of them."""
    read, write = os.pipe()
    if (pid := os.fork()) == 0:
        os.close(read)
        _run_forked(partial(_record, items, functions, write))
    os.close(write)
    tests = []
    with os.fdopen(read) as answer:
        for item, line in zip(items, answer, strict=False):
            failed, seconds, called = json.loads(line)
            if failed:
                pytest.exit(f"{item.nodeid} fails without a mutant", returncode=1)
            tests.append(_Test(item, seconds, frozenset(tuple(each) for each in called)))
    os.waitpid(pid, 0)
    if len(tests) < len(items):
        pytest.exit("the tests did not end", returncode=1)
    return tests


def _record(items: Sequence[pytest.Item], functions: set[tuple[str, str]], write: int) -> int:
    called: set[tuple[str, str]] = set()
    note_calls(functions, called.add)
    for item in items:
        called.clear()
        began = time.process_time()
        failed = _fails(item)
        os.write(write, json.dumps([failed, time.process_time() - began, sorted(called)]).encode() + b"\n")
    return _SURVIVED


def _distance(module: str, test: _Test) -> tuple[bool, float]:
    """Tests that are named after the *module* come first, then the cheapest."""
    return module.rpartition(".")[2] not in test.item.nodeid, test.seconds


def _fails(item: pytest.Item) -> bool:
    test: Any = getattr(item, "obj", None)
    if is_hypothesis_test(test):
        test = getattr(test, "__func__", test)
        own = test.__dict__.setdefault("_own_settings", test._hypothesis_internal_use_settings)
        test._hypothesis_internal_use_settings = settings(own, phases=(Phase.explicit, Phase.generate))
    return not _passes(item)


def _passes(item: pytest.Item) -> bool:
    """Run a test as pytest does, but for its report: that of a failure costs more than the test."""
    run: Any = item
    if not run._request:
        run._initrequest()
    try:
        item.ihook.pytest_runtest_setup(item=item)
        item.ihook.pytest_runtest_call(item=item)
        item.ihook.pytest_runtest_teardown(item=item, nextitem=None)
    except pytest.skip.Exception:
        return True
    except BaseException:
        return False
    finally:
        run._request = False
    return True


def _run_forked(judge: Callable[[], int]) -> None:
    code = _KILLED
    try:
        code = judge()
    finally:
        os._exit(code)
