"""Calls into delta-rs, none of which may run when the interpreter ends: a daemon thread in one ends it by SIGSEGV.

A daemon thread that begins a call after that waits for ever, on purpose.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")
_PATIENCE_SECONDS = 60.0
"""How long the end waits for a request; then the process ends all the same."""


class NativeCalls:
    """The threads that are in a call; calls may be nested."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin with no thread in a call."""
        self._changed = threading.Condition()
        self._depth: Counter[int] = Counter()
        self._is_over = False

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count this thread as one in a call."""
        me = threading.get_ident()
        with self._changed:
            self._changed.wait_for(lambda: self._depth[me] or me == _MAIN or not self._is_over)
            self._depth[me] += 1
        try:
            yield
        finally:
            with self._changed:
                self._depth[me] -= 1
                self._changed.notify_all()

    def end(self) -> None:
        """Block new calls, and return when the last one is over."""
        with self._changed:
            self._is_over = True
            self._changed.wait_for(lambda: not self._depth.total(), _PATIENCE_SECONDS)


_MAIN = threading.main_thread().ident
NATIVE_CALLS = NativeCalls()
atexit.register(NATIVE_CALLS.end)
os.register_at_fork(after_in_child=NATIVE_CALLS.reset)  # the threads of the parent are not here


def native(function: Callable[_Given, _Found]) -> Callable[_Given, _Found]:
    """Count each run of *function* as a call."""

    @wraps(function)
    def counted(*args: _Given.args, **kwargs: _Given.kwargs) -> _Found:
        with NATIVE_CALLS.counted():
            return function(*args, **kwargs)

    return counted
