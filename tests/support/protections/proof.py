"""Proves protections: the test or seed of each passes, and fails once the protection is taken out.

All runs are forks of a process that has imported everything, so neither sees what another has left behind, and a run
costs little more than its test. Hypothesis draws the same examples every time.
"""

from __future__ import annotations

import gc
import importlib
import io
import os
import pkgutil
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from functools import cache, partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest
from hypothesis import Phase, settings
from hypothesis.errors import HypothesisException

import offset_sync
from protections.entry import REPO, Protection, Seed
from simulation.histories import first_failure

_Report = pytest.TestReport
TEST_ENDS_WITHIN_S = 240
_LONGEST_LINE = 160
_FORK = get_context("fork")
_DOES_NOT_FIT = (TypeError, AttributeError, NameError, ImportError, HypothesisException)
"""What a test raises if a patch is no replacement for what it patches: that shows nothing."""
_OPTIONS = ("-q", "--randomly-seed=1", f"--timeout={TEST_ENDS_WITHIN_S}", "--tb=native")
_OPTIONS += ("-p", "no:xdist", "-p", "no:cacheprovider")


class Ended(NamedTuple):
    """Whether a run has *failed*, None where it shows nothing; and the first line of what it said."""

    failed: bool | None
    said: str = ""


def passes(protection: Protection, folder: Path) -> None:
    """Fail unless what notices *protection* passes with it in place."""
    failed, said = _ended(protection, (), folder)
    if failed is not False:
        how = "fails with the protection in place: " if failed else ""
        pytest.fail(f"{_told(protection)} {how}{said}", pytrace=False)


def noticed(protection: Protection, folder: Path) -> str:
    """Return what is said once *protection* is taken out; fail unless it is noticed."""
    if gone := [name for name, _ in protection.patches if not is_there(name)]:
        pytest.fail(f"there is no {', no '.join(gone)} to patch", pytrace=False)
    failed, said = _ended(protection, protection.patches, folder)
    if not failed:
        how = "does not notice" if failed is False else f"without the protection, {said}"
        pytest.fail(f"{_told(protection)} {how}", pytrace=False)
    return said


def _ended(protection: Protection, patches: Sequence[tuple[str, Any]], folder: Path) -> Ended:
    prepare()
    return in_a_fork(partial(run, protection.noticed_by, patches, folder))


def _told(protection: Protection) -> str:
    noticed_by = protection.noticed_by
    return f"seed {noticed_by.seed}" if isinstance(noticed_by, Seed) else noticed_by


@cache
def prepare() -> None:
    """Import all of the package, and have hypothesis draw by the name of each test."""
    for module in pkgutil.walk_packages(offset_sync.__path__, "offset_sync."):
        importlib.import_module(module.name)
    phases = (Phase.explicit, Phase.generate)
    options = {"derandomize": True, "database": None, "phases": phases, "report_multiple_bugs": False}
    settings.register_profile("protections", settings(), **options)
    settings.load_profile("protections")
    gc.freeze()  # a fork that looks for garbage copies no page of what is there already


def is_there(name: str) -> bool:
    """Return whether a dotted *name* is an attribute."""
    try:
        pkgutil.resolve_name(name)
    except (AttributeError, ImportError):
        return False
    return True


def in_a_fork(work: Callable[[], Ended]) -> Ended:
    """Return how *work* ended in a process of its own."""
    answer, told = _FORK.Pipe(duplex=False)
    process = _FORK.Process(target=_tell, args=(told, work))
    process.start()
    told.close()
    try:
        ended: Ended = answer.recv()
    except EOFError:
        process.join()
        return Ended(None, f"ends its process with {process.exitcode}")
    finally:
        process.kill()
        process.join()
    return ended


def _tell(told: Connection, work: Callable[[], Ended]) -> None:
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        told.send(work())


def run(noticed_by: str | Seed, patches: Sequence[tuple[str, Any]], folder: Path) -> Ended:
    """Return how the test or seed ends with *patches*; tests write below *folder*."""
    if isinstance(noticed_by, Seed):
        return _simulated(noticed_by, patches)
    watch = _Watch(patches)
    os.chdir(REPO)
    exit_code = pytest.main([noticed_by, *_OPTIONS, f"--basetemp={folder}"], plugins=[watch])
    return watch.ended(exit_code)


def _simulated(seed: Seed, patches: Sequence[tuple[str, Any]]) -> Ended:
    with patched(patches):
        try:
            failure = first_failure(seed)
        except Exception as error:
            return Ended(None, f"raises {_line(error)}")
    return Ended(True, failure.splitlines()[0]) if failure else Ended(False)


@contextmanager
def patched(patches: Sequence[tuple[str, Any]]) -> Iterator[None]:
    """Replace what *patches* name."""
    with ExitStack() as stack:
        for name, instead in patches:
            stack.enter_context(patch(name, instead))
        yield


class _Watch:
    """A plugin of pytest that runs each test with *patches*, and keeps how it ended."""

    def __init__(self, patches: Sequence[tuple[str, Any]]) -> None:
        self._patches = patches
        self._errors: list[BaseException] = []
        self._not_collected: list[str] = []
        self._outcomes: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        with patched(self._patches):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Generator[None, _Report, _Report]:
        report = yield
        if call.when == "call" or not report.passed:
            self._outcomes.add(report.outcome)
        if report.failed and call.excinfo:
            self._errors.append(call.excinfo.value)
        return report

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._not_collected.append(str(report.longrepr).splitlines()[-1])

    def ended(self, exit_code: int) -> Ended:
        """Return how the tests ended, all together."""
        if self._not_collected:
            return Ended(None, f"cannot be collected: {self._not_collected[0]}")
        if not self._outcomes:
            return Ended(None, "does not exist" if exit_code in (4, 5) else f"ends pytest with {exit_code}")
        if "skipped" in self._outcomes:
            return Ended(None, "is skipped")
        if "failed" not in self._outcomes:
            return Ended(False)
        return _of_error(self._errors[0])


def _of_error(error: BaseException) -> Ended:
    said = _line(error)
    if isinstance(error, _DOES_NOT_FIT):
        return Ended(None, f"raises {said}")
    if said.startswith("Failed: Timeout"):
        return Ended(None, f"does not end within {TEST_ENDS_WITHIN_S} s")
    return Ended(True, said)


def _line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST_LINE]
