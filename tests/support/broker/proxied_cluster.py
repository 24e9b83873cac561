"""A cluster of one or more brokers, which clients reach through a proxy each, and brokers each other without."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from broker.proxy import Proxy
from offset_sync_demo.kafka.broker_files import free_ports, write_broker_files
from offset_sync_demo.kafka.brokers import EmbeddedCluster, format_storage, new_id


@dataclass
class ProxiedCluster:
    """The test's set-up reaches *brokers* past the *proxies*; the first one is the controller."""

    alias: str
    brokers: list[EmbeddedCluster]
    proxies: list[Proxy]

    @property
    def direct(self) -> EmbeddedCluster:
        """The cluster past the proxies."""
        return self.brokers[0]

    @property
    def bootstrap_servers(self) -> str:
        """The addresses of the proxies."""
        return ",".join(f"127.0.0.1:{proxy.port}" for proxy in self.proxies)

    def hold(self, *ways: str) -> None:
        """Let nothing through to or from any broker."""
        for proxy in self.proxies:
            proxy.hold(*ways)

    def heal(self) -> None:
        """Let all through, and brokers go on that were paused."""
        for broker, proxy in zip(self.brokers, self.proxies, strict=True):
            broker.resume()
            proxy.heal()


@contextmanager
def proxied_clusters(brokers: dict[str, int], directory: Path) -> Iterator[dict[str, ProxiedCluster]]:
    """Start clusters with so many *brokers* each, all at the same time; kill them at the end."""
    clusters = {alias: _prepared(alias, count, directory.absolute()) for alias, count in brokers.items()}
    try:
        everybody = [broker for each in clusters.values() for broker in each.brokers]
        for broker in everybody:
            broker.launch()
        for broker in everybody:
            broker.wait_until_ready()
        yield clusters
    finally:
        for each in clusters.values():
            for broker in each.brokers:
                broker.kill()
            for proxy in each.proxies:
                proxy.close()


def _prepared(alias: str, count: int, directory: Path) -> ProxiedCluster:
    ports = free_ports(3 * count + 1)
    controller, ports = ports[0], ports[1:]
    made, cluster_id = ProxiedCluster(alias, [], []), new_id()
    for node in range(1, count + 1):
        direct, through, proxied = ports[3 * (node - 1) : 3 * node]
        broker = EmbeddedCluster(alias, directory / f"{alias}-{node}", direct)
        listeners = f"PLAINTEXT://127.0.0.1:{direct},CLIENT://127.0.0.1:{through}"
        settings = {
            "node.id": str(node),
            "process.roles": "broker,controller" if node == 1 else "broker",
            "listeners": listeners + (f",CONTROLLER://127.0.0.1:{controller}" if node == 1 else ""),
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{direct},CLIENT://127.0.0.1:{proxied}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "offsets.topic.num.partitions": "6",
            "broker.session.timeout.ms": "60000",  # who is paused goes on leading what it leads
        }
        write_broker_files(broker.directory, direct, controller, settings)
        made.brokers.append(broker)
        format_storage(broker, cluster_id, node)
        made.proxies.append(Proxy(proxied, through))
    return made
