"""What goes on beside a test, again and again, until it ends."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def going_on(*actions: Callable[[int], None]) -> Iterator[list[Exception]]:
    """Repeat *actions*, each in a thread of its own; what they raise is collected."""
    stop, errors = threading.Event(), list[Exception]()

    def repeat(action: Callable[[int], None]) -> None:
        number = 0
        while not stop.is_set():
            try:
                action(number)
            except Exception as problem:
                errors.append(problem)
                return
            number += 1

    threads = [threading.Thread(target=repeat, args=(action,)) for action in actions]
    for thread in threads:
        thread.start()
    try:
        yield errors
    finally:
        stop.set()
        for thread in threads:
            thread.join()
