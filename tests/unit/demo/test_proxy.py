"""The proxy of the tests: what it lets through, when, and what it loses."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from broker.proxy import TO_BROKER, TO_CLIENT, Proxy
from offset_sync_demo.kafka.broker_files import free_ports

COMMIT = 8


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    """A proxy before a server that echoes everything."""
    echo = socket.create_server(("127.0.0.1", 0))

    def serve(connection: socket.socket) -> None:
        with contextlib.suppress(ConnectionResetError):
            while data := connection.recv(1 << 16):
                connection.sendall(data)

    def accept() -> None:
        while True:
            threading.Thread(target=serve, args=(echo.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    made = Proxy(free_ports(1)[0], echo.getsockname()[1])
    yield made
    made.close()


@pytest.fixture
def client(proxy: Proxy) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", proxy.port), timeout=10)
    made.settimeout(0.3)
    return made


def request(api_key: int) -> bytes:
    return (4).to_bytes(4) + api_key.to_bytes(2) + b"\0\1"


def has_ended(client: socket.socket) -> bool:
    try:
        return client.recv(99) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("ways", [(TO_BROKER,), (TO_CLIENT,)])
def test_what_is_held_comes_when_the_network_is_well_again(
    proxy: Proxy, client: socket.socket, ways: tuple[str, ...]
) -> None:
    proxy.hold(*ways)
    client.sendall(request(1))
    with pytest.raises(TimeoutError):
        client.recv(99)
    proxy.heal()
    client.settimeout(10)
    assert client.recv(99) == request(1)


def test_what_is_delayed_takes_as_long_on_each_way(proxy: Proxy, client: socket.socket) -> None:
    proxy.delay(0.1)
    client.settimeout(10)
    began = time.monotonic()
    client.sendall(request(1))
    assert client.recv(99) == request(1)
    assert time.monotonic() - began >= 0.2


def test_a_reset_ends_connections_and_new_ones_are_taken(proxy: Proxy, client: socket.socket) -> None:
    client.sendall(request(1))
    client.recv(99)
    proxy.reset()
    client.settimeout(10)
    assert has_ended(client)
    again = socket.create_connection(("127.0.0.1", proxy.port), timeout=10)
    again.sendall(request(2))
    assert again.recv(99) == request(2)


def test_answers_are_lost_from_a_request_on_that_itself_is_passed_on(proxy: Proxy, client: socket.socket) -> None:
    proxy.swallow_answers(COMMIT)
    client.sendall(request(1))
    assert client.recv(99) == request(1)
    assert not proxy.has_swallowed
    client.sendall(request(COMMIT))
    with pytest.raises(TimeoutError):
        client.recv(99)
    assert proxy.has_swallowed
    proxy.heal()
    client.settimeout(10)
    assert has_ended(client), "a part of the stream is missing"
