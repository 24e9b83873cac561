"""One set of client options for two client stacks."""

from __future__ import annotations

import pytest

from offset_sync.config import Config, parse_config
from offset_sync.model.errors import ConfigError


def config(
    kafka: dict[str, object] | None = None,
    spark: dict[str, object] | None = None,
    admin: dict[str, object] | None = None,
) -> Config:
    dc1 = {"kafka": {"bootstrap.servers": "a:1", **(kafka or {})}, "spark": spark or {}, "admin": admin or {}}
    clusters = {"dc1": dc1, "dc2": {"kafka": {"bootstrap.servers": "b:2"}}}
    return parse_config({"clusters": clusters, "topics": {"include": ["a"]}}, {})


def problem(**maps: dict[str, object]) -> str:
    with pytest.raises(ConfigError) as caught:
        config(**maps)
    (line,) = caught.value.problems
    return line


def test_spark_gets_the_common_options_and_its_own_with_the_prefix() -> None:
    options = config({"client.id": "sync"}, {"ssl.truststore.location": "/t.jks"}, {"debug": "all"}).spark_options(
        "dc1"
    )
    assert options == {
        "kafka.bootstrap.servers": "a:1",
        "kafka.client.id": "sync",
        "kafka.ssl.truststore.location": "/t.jks",
    }


def test_the_admin_client_gets_the_common_options_and_its_own() -> None:
    options = config({"client.id": "sync"}, {"ssl.truststore.location": "/t.jks"}, {"client.id": "x"}).admin_options(
        "dc1"
    )
    assert options == {"bootstrap.servers": "a:1", "client.id": "x"}


@pytest.mark.parametrize(
    "name",
    [
        *["sasl.jaas.config", "ssl.truststore.location", "ssl.truststore.password", "ssl.keystore.location"],
        *["ssl.keystore.type", "sasl.client.callback.handler.class", "metric.reporters", "default.api.timeout.ms"],
        *["receive.buffer.bytes", "fetch.max.wait.ms", "ssl.enabled.protocols", "sasl.login.class", "max.poll.records"],
    ],
)
def test_options_that_only_java_knows_are_kept_from_librdkafka(name: str) -> None:
    both = config({name: "x"})
    assert name not in both.admin_options("dc1")
    assert both.spark_options("dc1")[f"kafka.{name}"] == "x"


def test_an_option_that_nobody_knows_goes_to_both_so_that_librdkafka_refuses_it_by_name() -> None:
    both = config({"clinet.id": "x"})
    assert (both.admin_options("dc1")["clinet.id"], both.spark_options("dc1")["kafka.clinet.id"]) == ("x", "x")


def test_pem_files_are_given_to_librdkafka_under_its_own_names() -> None:
    pem = {"ssl.truststore.type": "PEM", "ssl.truststore.location": "/ca", "ssl.keystore.type": "pem"}
    options = config({**pem, "ssl.keystore.location": "/me", "ssl.key.password": "x"}).admin_options("dc1")
    assert options == {
        "bootstrap.servers": "a:1",
        "ssl.ca.location": "/ca",
        "ssl.certificate.location": "/me",
        "ssl.key.location": "/me",
        "ssl.key.password": "x",
    }


def test_pkcs12_is_read_by_both_and_a_store_of_unknown_type_is_not_guessed_at() -> None:
    store = {"ssl.keystore.location": "/me", "ssl.keystore.password": "x"}
    assert config({**store, "ssl.keystore.type": "PKCS12"}).admin_options("dc1") == {
        "bootstrap.servers": "a:1",
        **store,
    }
    assert config({**store, "ssl.truststore.location": "/ca"}).admin_options("dc1") == {"bootstrap.servers": "a:1"}


def test_the_hostname_check_is_switched_off_for_both_or_for_none() -> None:
    off = config({"ssl.endpoint.identification.algorithm": ""})
    assert off.admin_options("dc1")["ssl.endpoint.identification.algorithm"] == "none"
    assert off.spark_options("dc1")["kafka.ssl.endpoint.identification.algorithm"] == ""


@pytest.mark.parametrize(
    "name",
    [
        *["group.id", "group.instance.id", "auto.offset.reset", "key.deserializer", "value.deserializer"],
        *["isolation.level", "enable.auto.commit", "auto.commit.interval.ms", "interceptor.classes"],
        *["partition.assignment.strategy", "enable.auto.offset.store", "transactional.id", "exclude.internal.topics"],
    ],
)
@pytest.mark.parametrize("stack", ["kafka", "spark", "admin"])
def test_options_that_are_ours_are_refused(stack: str, name: str) -> None:
    assert problem(**{stack: {name: "x"}}).startswith(f"clusters.dc1.{stack}.{name}: is set by Offset Sync itself")


@pytest.mark.parametrize(
    "name", ["startingOffsets", "subscribe", "failOnDataLoss", "maxOffsetsPerTrigger", "minPartitions"]
)
def test_options_of_sparks_source_are_refused_instead_of_ignored(name: str) -> None:
    assert "Spark's source" in problem(spark={name: "x"})


def test_sparks_prefix_is_refused_instead_of_doubled() -> None:
    assert problem(spark={"kafka.ssl.protocol": "x"}).endswith("write ssl.protocol")


@pytest.mark.parametrize("stack", ["spark", "admin"])
def test_the_two_clients_cannot_be_sent_to_different_brokers(stack: str) -> None:
    assert "move it to kafka" in problem(**{stack: {"bootstrap.servers": "c:3"}})


@pytest.mark.parametrize(
    "servers", ["", "a", "a:", ":1", "a:x", "a:0", "a:65536", "a:1,", "a:1 b:2", 9092, "a:1\n,b:²"]
)
def test_brokers_that_are_not_host_and_port_are_refused(servers: object) -> None:
    assert problem(kafka={"bootstrap.servers": servers}).startswith(
        "clusters.dc1.kafka.bootstrap.servers: holds a broker"
    )


@pytest.mark.parametrize("servers", ["a:1,b:2", "a:1, b:2", "[::1]:9092", "PLAINTEXT://a.b-c:9092"])
def test_brokers_may_be_written_as_both_clients_read_them(servers: str) -> None:
    assert config({"bootstrap.servers": servers}).admin_options("dc1")["bootstrap.servers"] == servers


@pytest.mark.parametrize("value", [[1], {"a": 1}, None])
def test_an_option_with_a_value_that_is_no_scalar_is_refused(value: object) -> None:
    assert problem(kafka={"client.id": value}).startswith("clusters.dc1.kafka.client.id: ")


def test_a_login_by_password_needs_what_the_python_client_reads() -> None:
    jvm = {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": "x"}
    assert problem(kafka=jvm).startswith("clusters.dc1.admin: missing sasl.username and sasl.password; ")
    config(jvm, admin={"sasl.username": "u", "sasl.password": "p"})
    config({**jvm, "security.protocol": "SSL"})
