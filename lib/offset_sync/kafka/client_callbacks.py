"""What librdkafka calls, in its own threads or while it is polled, for a client that is bound with ctypes."""

from __future__ import annotations

import _thread
import ctypes
import errno
import os
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import CFUNCTYPE, c_char_p, c_int, c_int32, c_void_p
from typing import Any

OnConnect = CFUNCTYPE(c_int, c_int, c_void_p, c_int, c_char_p, c_void_p)
OnThrottle = CFUNCTYPE(None, c_void_p, c_char_p, c_int32, c_int, c_void_p)
_NO_CONSUMER_CLOSE = 0x8
OPENING_S = 3.0
"""By then a client has tried to connect to each broker."""


class Callbacks:
    """The callbacks of one client; they do not refer to this object, which is to be in no circle of references."""

    def __init__(self) -> None:
        delay, writing, opened_at = c_int(0), c_int(0), time.monotonic()
        self._delay, self._writing = delay, writing
        connect = ctypes.CDLL(None, use_errno=True).connect

        def note(_client: int, _name: bytes, _broker: int, delay_ms: int, _opaque: int) -> None:
            delay.value = delay_ms

        def decide(socket: int, address: int, size: int, _broker: bytes, _opaque: int) -> int:
            if writing.value and time.monotonic() > opened_at + OPENING_S:
                return errno.ECONNREFUSED
            failure = ctypes.get_errno() if connect(socket, c_void_p(address), size) else 0
            return 0 if failure == errno.EINPROGRESS else failure

        self.on_throttle, self.on_connect = OnThrottle(note), OnConnect(decide)

    @property
    def delay_ms(self) -> int:
        """For how many milliseconds a broker's quota delayed the last answer, 0 for not."""
        return self._delay.value

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Let the client connect to no broker meanwhile, unless it was opened just before.

        librdkafka sends a request that waits for a broker when it is connected again, and by then the address may lead
        to another cluster.
        """
        self._writing.value += 1
        try:
            yield
        finally:
            self._writing.value -= 1


def destroy_later(owner: object, bound: Any, pointer: int, callbacks: Callbacks) -> None:
    """Have librdkafka, *bound*, close a client when its *owner* is gone, but not at the end of the process."""
    weakref.finalize(owner, _destroy, bound, pointer, os.getpid(), callbacks).atexit = False


def _destroy(bound: Any, pointer: int, process: int, callbacks: Callbacks) -> None:
    """Have librdkafka close a client, without waiting; its *callbacks* live until then.

    Closing may never end after a broker was away and came back (librdkafka issue 4674), and the thread that drops a
    client holds a lock. ``threading.Thread`` takes locks when started, and a finalizer may run at any point.
    """
    if os.getpid() == process:  # a forked child has no threads of the client: destroying would wait for ever
        _thread.start_new_thread(_close, (bound, pointer, callbacks))


def _close(bound: Any, pointer: int, _callbacks: Callbacks) -> None:
    bound.destroy_flags(pointer, _NO_CONSUMER_CLOSE)
