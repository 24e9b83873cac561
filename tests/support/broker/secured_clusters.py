"""Two clusters as in production: dc1 by SASL_SSL with SCRAM-SHA-512, dc2 by mutual TLS, both with StandardAuthorizer.

Beside it each has a plain listener at which the test itself is super user.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka.admin import ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

from broker.certificates import Authority, make_authority
from offset_sync_demo.kafka.broker_files import free_ports, write_broker_files
from offset_sync_demo.kafka.brokers import EmbeddedCluster, format_storage, kill_clusters, new_id
from offset_sync_demo.kafka.clients import admin_of

USER = "offset-sync"
# With the signs that Java's way of writing logins gives a meaning to.
PASSWORD = 'c4n4ry-password"with\\signs'
KEY_PASSWORD = "c4n4ry-of-the-key"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required;"


@dataclass(frozen=True)
class SecuredClusters:
    """The brokers, the addresses of their secured listeners, and what signs their certificates."""

    brokers: dict[str, EmbeddedCluster]
    addresses: dict[str, str]
    authority: Authority
    certificate: Path

    def security(self) -> dict[str, dict[str, Any]]:
        """Return the section ``security`` for each cluster; it holds the passwords."""
        ca = str(self.authority.ca)
        login = {"protocol": "SASL_SSL", "username": USER, "password": PASSWORD, "ca": ca}
        mutual = {"protocol": "SSL", "ca": ca, "certificate": str(self.certificate), "key_password": KEY_PASSWORD}
        return {"dc1": login, "dc2": mutual}

    def sections(self) -> dict[str, Any]:
        """Return ``clusters`` of a configuration."""
        security = self.security()
        return {
            alias: {"kafka": {"bootstrap.servers": address}, "security": security[alias]}
            for alias, address in self.addresses.items()
        }


@contextmanager
def running(brokers: Mapping[str, EmbeddedCluster]) -> Iterator[None]:
    """Start brokers whose files are written, all at the same time; kill them at the end."""
    try:
        for each in brokers.values():
            format_storage(each, new_id())
            each.launch()
        for each in brokers.values():
            each.wait_until_ready()
        yield
    finally:
        kill_clusters(brokers)


@contextmanager
def secured_clusters(folder: Path) -> Iterator[SecuredClusters]:
    """Start both; they know the user."""
    authority = make_authority(folder / "certificates")
    server, client = authority.signed("127.0.0.1"), authority.signed(USER, KEY_PASSWORD)
    found: dict[str, EmbeddedCluster] = {}
    addresses: dict[str, str] = {}
    for alias, listener in (("dc1", "GUARDED"), ("dc2", "MUTUAL")):
        found[alias], addresses[alias] = _prepared(alias, folder / alias, listener, (authority.ca, server))
    with running(found):
        _add_user(found["dc1"])
        yield SecuredClusters(found, addresses, authority, client)


def with_listener(
    alias: str, folder: Path, listener: str, protocol: str, settings: dict[str, str], host: str = "127.0.0.1"
) -> tuple[EmbeddedCluster, str]:
    """Write the files of a broker with a plain listener and one of this name, at *host*.

    Return it and the address of the latter.
    """
    port, secured, controller = free_ports(3)
    addresses = f"PLAINTEXT://127.0.0.1:{port},{listener}://{host}:{secured}"
    listeners = {
        "offsets.topic.num.partitions": "2",
        "listeners": f"{addresses},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": addresses,
        "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,{listener}:{protocol},CONTROLLER:PLAINTEXT",
    }
    write_broker_files(folder, port, controller, listeners | settings)
    return EmbeddedCluster(alias, folder, port), f"{host}:{secured}"


def _prepared(alias: str, folder: Path, listener: str, stores: tuple[Path, Path]) -> tuple[EmbeddedCluster, str]:
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(stores[0]),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(stores[1]),
        "ssl.principal.mapping.rules": "RULE:^CN=(.*)$/$1/",
        "listener.name.mutual.ssl.client.auth": "required",
        "listener.name.guarded.sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.guarded.scram-sha-512.sasl.jaas.config": _SCRAM,
    }
    return with_listener(alias, folder, listener, {"GUARDED": "SASL_SSL", "MUTUAL": "SSL"}[listener], settings)


def _add_user(cluster: EmbeddedCluster) -> None:
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    admin = admin_of(cluster)
    change = UserScramCredentialUpsertion(USER, info, PASSWORD.encode())
    for future in admin.alter_user_scram_credentials([change]).values():
        future.result(120)
