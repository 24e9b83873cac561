"""A TCP proxy between clients and one broker, for what networks do: silence, resets, names that lead elsewhere.

What is held goes on its way later, as TCP would send it again.
"""

from __future__ import annotations

import contextlib
import socket
import threading

_CHUNK = 1 << 16


class Proxy:
    """Listens on *port* and passes on what comes to and from *target_port*, until it is closed."""

    def __init__(self, port: int, target_port: int) -> None:
        self.port, self.target_port = port, target_port
        self._changed = threading.Condition()
        self._is_held = self._is_closed = False
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._accept, name=f"proxy {port}", daemon=True).start()

    def hold(self) -> None:
        """Let no request through; connections stay open."""
        self._is_held = True

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
        """Let everything through again."""
        with self._changed:
            self._is_held = False
            self._changed.notify_all()

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
                for source, sink, is_request in ((client, broker, True), (broker, client, False)):
                    threading.Thread(target=self._pass_on, args=(source, sink, is_request), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket, is_request: bool) -> None:
        with contextlib.suppress(OSError):  # one side has gone
            while data := source.recv(_CHUNK):
                with self._changed:
                    self._changed.wait_for(lambda: not (is_request and self._is_held) or self._is_closed)
                sink.sendall(data)
        for each in (source, sink):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
