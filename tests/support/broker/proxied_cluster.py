"""A broker that clients reach through a proxy, and the test's set-up without."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from broker.proxy import Proxy
from broker.secured_clusters import running
from offset_sync_demo.kafka.broker_files import free_ports, write_broker_files
from offset_sync_demo.kafka.brokers import EmbeddedCluster


@dataclass
class ProxiedCluster:
    """The broker past the *proxy*, and the proxy."""

    direct: EmbeddedCluster
    proxy: Proxy

    @property
    def bootstrap_servers(self) -> str:
        """The address of the proxy."""
        return f"127.0.0.1:{self.proxy.port}"


@contextmanager
def proxied_clusters(aliases: Sequence[str], directory: Path) -> Iterator[dict[str, ProxiedCluster]]:
    """Start the clusters, all at the same time; kill them at the end."""
    clusters = {alias: _prepared(alias, directory.absolute() / alias) for alias in aliases}
    with running({alias: each.direct for alias, each in clusters.items()}):
        yield clusters
    for each in clusters.values():
        each.proxy.close()


def _prepared(alias: str, directory: Path) -> ProxiedCluster:
    direct, through, proxied, controller = free_ports(4)
    addresses = f"PLAINTEXT://127.0.0.1:{direct},CLIENT://127.0.0.1"
    settings = {
        "listeners": f"{addresses}:{through},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"{addresses}:{proxied}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "offsets.topic.num.partitions": "6",
        "broker.session.timeout.ms": "60000",  # one that is paused goes on leading
    }
    write_broker_files(directory, direct, controller, settings)
    return ProxiedCluster(EmbeddedCluster(alias, directory, direct), Proxy(proxied, through))
