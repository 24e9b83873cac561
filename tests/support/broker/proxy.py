"""A TCP proxy between clients and one broker, for what networks do: silence, one-way loss, resets, lost answers.

What is held goes on its way later, as TCP would send it again; what is swallowed is gone.
"""

from __future__ import annotations

import contextlib
import socket
import threading

TO_BROKER, TO_CLIENT = "to broker", "to client"
_CHUNK = 1 << 16


class Proxy:
    """Listens on *port* and passes on what comes to and from *target_port*, until it is closed."""

    def __init__(self, port: int, target_port: int) -> None:
        self.port, self.target_port = port, target_port
        self._changed = threading.Condition()
        self._held: set[str] = set()
        self._swallows, self._swallows_from = False, -1
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._is_closed = False
        self._listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._accept, name=f"proxy {port}", daemon=True).start()

    def hold(self, way: str) -> None:
        """Let nothing through on this *way*; connections stay open."""
        with self._changed:
            self._held.add(way)

    def swallow_answers(self, from_api_key: int) -> None:
        """Lose every answer from the next request on that has this API key, which itself is passed on."""
        self._swallows_from = from_api_key

    @property
    def has_swallowed(self) -> bool:
        """True once such a request has come."""
        return self._swallows

    def lead_to(self, target_port: int) -> int:
        """Reset all connections and lead the next ones to *target_port*; return where they led before."""
        before, self.target_port = self.target_port, target_port
        self.reset()
        return before

    def reset(self) -> None:
        """Reset all connections."""
        with self._changed:
            pairs, self._pairs = self._pairs, []
        for each in (each for pair in pairs for each in pair):
            with contextlib.suppress(OSError):
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # so that closing resets
                each.shutdown(socket.SHUT_RD)  # wakes the reading thread
            each.close()

    def heal(self) -> None:
        """Be a good network again; streams from which something was swallowed are reset."""
        with self._changed:
            was_broken, self._swallows, self._swallows_from = self._swallows, False, -1
            self._held.clear()
            self._changed.notify_all()
        if was_broken:
            self.reset()

    def close(self) -> None:
        """End."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self._listener.close()
        self.reset()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                try:
                    broker = socket.create_connection(("127.0.0.1", self.target_port))
                except OSError:
                    client.close()
                    continue
                with self._changed:
                    self._pairs.append((client, broker))
                for source, sink, way in ((client, broker, TO_BROKER), (broker, client, TO_CLIENT)):
                    threading.Thread(target=self._pass_on, args=(source, sink, way), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket, way: str) -> None:
        with contextlib.suppress(OSError):  # one side has gone
            while data := source.recv(_CHUNK):
                with self._changed:
                    self._changed.wait_for(lambda: way not in self._held or self._is_closed)
                    # A request begins with its length and its API key; clients send each by itself.
                    if way == TO_BROKER and int.from_bytes(data[4:6]) == self._swallows_from:
                        self._swallows = True
                    is_lost = way == TO_CLIENT and self._swallows
                if not is_lost:
                    sink.sendall(data)
        for each in (source, sink):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
