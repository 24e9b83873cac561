"""One set of client options for two client stacks, and the section security, which gives each secret one place."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from builders.client_options import (
    CANARY,
    CERTIFICATE,
    KEY,
    LOGIN,
    MSK,
    PEM,
    both,
    option_problem,
    security_problems,
    with_options,
    with_security,
)
from offset_sync.config.client_options import to_java, to_librdkafka
from offset_sync.config.sections import Cluster, Security
from offset_sync.model.errors import ConfigError


def test_spark_gets_the_common_options_and_its_own_with_the_prefix() -> None:
    options = with_options(
        {"client.id": "sync"}, {"ssl.truststore.location": "/t.jks"}, {"debug": "all"}
    ).spark_options("dc1")
    assert options == {
        "kafka.bootstrap.servers": "a:1",
        "kafka.client.id": "sync",
        "kafka.ssl.truststore.location": "/t.jks",
    }


def test_the_admin_client_gets_the_common_options_and_its_own() -> None:
    options = with_options(
        {"client.id": "sync"}, {"ssl.truststore.location": "/t.jks"}, {"client.id": "x"}
    ).admin_options("dc1")
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
    both = with_options({name: "x"})
    assert name not in both.admin_options("dc1")
    assert both.spark_options("dc1")[f"kafka.{name}"] == "x"


def test_an_unknown_option_goes_to_both_so_that_librdkafka_refuses_it_by_name() -> None:
    both = with_options({"clinet.id": "x"})
    assert (both.admin_options("dc1")["clinet.id"], both.spark_options("dc1")["kafka.clinet.id"]) == ("x", "x")


def test_pem_files_are_given_to_librdkafka_under_its_own_names() -> None:
    pem = {"ssl.truststore.type": "PEM", "ssl.truststore.location": "/ca", "ssl.keystore.type": "pem"}
    options = with_options({**pem, "ssl.keystore.location": "/me", "ssl.key.password": "x"}).admin_options("dc1")
    assert options == {
        "bootstrap.servers": "a:1",
        "ssl.ca.location": "/ca",
        "ssl.certificate.location": "/me",
        "ssl.key.location": "/me",
        "ssl.key.password": "x",
    }


def test_pkcs12_is_read_by_both_and_a_store_of_unknown_type_is_not_guessed_at() -> None:
    store = {"ssl.keystore.location": "/me", "ssl.keystore.password": "x"}
    assert with_options({**store, "ssl.keystore.type": "PKCS12"}).admin_options("dc1") == {
        "bootstrap.servers": "a:1",
        **store,
    }
    assert with_options({**store, "ssl.truststore.location": "/ca"}).admin_options("dc1") == {
        "bootstrap.servers": "a:1"
    }


def test_the_hostname_check_is_switched_off_for_both_or_for_none() -> None:
    off = with_options({"ssl.endpoint.identification.algorithm": ""})
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
    assert option_problem(**{stack: {name: "x"}}).startswith(
        f"clusters.dc1.{stack}.{name}: is set by Offset Sync itself"
    )


@pytest.mark.parametrize(
    "name", ["startingOffsets", "subscribe", "failOnDataLoss", "maxOffsetsPerTrigger", "minPartitions"]
)
def test_options_of_sparks_source_are_refused_instead_of_ignored(name: str) -> None:
    assert "Spark's source" in option_problem(spark={name: "x"})


def test_sparks_prefix_is_refused_instead_of_doubled() -> None:
    assert option_problem(spark={"kafka.ssl.protocol": "x"}).endswith("write ssl.protocol")


@pytest.mark.parametrize("stack", ["spark", "admin"])
def test_the_two_clients_cannot_be_sent_to_different_brokers(stack: str) -> None:
    assert "move it to kafka" in option_problem(**{stack: {"bootstrap.servers": "c:3"}})


@pytest.mark.parametrize(
    "servers", ["", "a", "a:", ":1", "a:x", "a:0", "a:65536", "a:1,", "a:1 b:2", 9092, "a:1\n,b:²"]
)
def test_brokers_that_are_not_host_and_port_are_refused(servers: object) -> None:
    assert option_problem(kafka={"bootstrap.servers": servers}).startswith(
        "clusters.dc1.kafka.bootstrap.servers: holds a broker"
    )


@pytest.mark.parametrize("servers", ["a:1,b:2", "a:1, b:2", "[::1]:9092", "PLAINTEXT://a.b-c:9092"])
def test_brokers_may_be_written_as_both_clients_read_them(servers: str) -> None:
    assert with_options({"bootstrap.servers": servers}).admin_options("dc1")["bootstrap.servers"] == servers


@pytest.mark.parametrize("value", [[1], {"a": 1}, None])
def test_an_option_with_a_value_that_is_no_scalar_is_refused(value: object) -> None:
    assert option_problem(kafka={"client.id": value}).startswith("clusters.dc1.kafka.client.id: ")


def test_a_login_by_password_needs_what_the_python_client_reads() -> None:
    jvm = {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": "x"}
    assert option_problem(kafka=jvm).startswith("clusters.dc1.admin: missing sasl.username and sasl.password; ")
    with_options(jvm, admin={"sasl.username": "u", "sasl.password": "p"})
    with_options({**jvm, "security.protocol": "SSL"})


# The section security


def test_a_password_is_given_once_and_both_clients_get_it() -> None:
    spark, admin = both(LOGIN)
    shared = {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512"}
    assert admin == {**shared, "sasl.username": "u", "sasl.password": CANARY, "ssl.ca.location": "/ca.pem"}
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    assert spark == {
        **shared,
        "sasl.jaas.config": f'{module} required username="u" password="{CANARY}";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": "/ca.pem",
    }


def test_a_password_with_the_signs_of_jaas_stays_the_same() -> None:
    spark, admin = both({**LOGIN, "mechanism": "PLAIN", "password": 'a"b\\c\nd'})
    assert spark["sasl.jaas.config"].endswith(r'PlainLoginModule required username="u" password="a\"b\\c\nd";')
    assert admin["sasl.password"] == 'a"b\\c\nd'


def test_a_certificate_with_its_key_in_one_file_is_given_by_its_path() -> None:
    spark, admin = both({"protocol": "SSL", "ca": "/ca.pem", "certificate": "/me.pem", "key_password": "k"})
    assert spark == {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": "/ca.pem",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": "/me.pem",
        "ssl.key.password": "k",
    }
    assert admin == {
        "security.protocol": "SSL",
        "ssl.ca.location": "/ca.pem",
        "ssl.certificate.location": "/me.pem",
        "ssl.key.location": "/me.pem",
        "ssl.key.password": "k",
    }


def test_certificates_as_text_are_given_as_text() -> None:
    spark, admin = both({"protocol": "SSL", "ca": CERTIFICATE, "certificate": CERTIFICATE, "key": KEY})
    assert spark["ssl.truststore.certificates"] == spark["ssl.keystore.certificate.chain"] == CERTIFICATE
    assert spark["ssl.keystore.key"] == admin["ssl.key.pem"] == KEY
    assert admin["ssl.ca.pem"] == admin["ssl.certificate.pem"] == CERTIFICATE


def test_a_key_in_a_file_of_its_own_is_read_whenever_a_client_is_configured(tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in ("certificate", "key")}
    files["certificate"].write_text(CERTIFICATE)
    files["key"].write_text(KEY)
    made = with_security({"protocol": "SSL", **{name: str(path) for name, path in files.items()}})
    assert made.spark_options("dc1")["kafka.ssl.keystore.key"] == KEY
    assert made.admin_options("dc1")["ssl.key.location"] == str(files["key"])
    files["key"].write_text(KEY.replace("MIIB", "MIIC"))
    assert "MIIC" in made.spark_options("dc1")["kafka.ssl.keystore.key"]
    files["key"].unlink()
    with pytest.raises(ConfigError, match=r"^clusters\.dc1\.security\.key: file .* cannot be read \(No such file"):
        made.spark_options("dc1")


def test_a_key_that_only_one_of_the_clients_reads_is_refused(tmp_path: Path) -> None:
    place, key = tmp_path / "me.pem", PEM.replace("{}", "RSA PRIVATE KEY")
    place.write_text(CERTIFICATE + key)
    for written, name in (
        ({"certificate": str(place)}, "certificate"),
        ({"certificate": CERTIFICATE, "key": key}, "key"),
    ):
        with pytest.raises(
            ConfigError, match=rf"^clusters\.dc1\.security\.{name}: its key is not PKCS#8.*openssl pkcs8"
        ):
            with_security({"protocol": "SSL", **written}).spark_options("dc1")


def test_without_the_section_nothing_is_made() -> None:
    assert both({}) == both({"protocol": "PLAINTEXT"}) == ({}, {})


@pytest.mark.parametrize("stack", ["kafka", "spark", "admin"])
@pytest.mark.parametrize(
    "name", ["security.protocol", "sasl.jaas.config", "sasl.password", "sasl.kerberos.keytab", "ssl.ca.location"]
)
def test_what_is_given_in_both_ways_is_refused(stack: str, name: str) -> None:
    (line,) = security_problems(LOGIN, **{stack: {name: "SSL"}})
    assert line.startswith(f"clusters.dc1.{stack}.{name}: is made from the cluster's section security too; remove it")


def test_an_option_that_the_section_does_not_make_may_be_given_beside_it() -> None:
    made = with_security(LOGIN, kafka={"ssl.endpoint.identification.algorithm": "", "ssl.cipher.suites": "x"})
    assert made.admin_options("dc1")["ssl.endpoint.identification.algorithm"] == "none"
    assert made.spark_options("dc1")["kafka.ssl.cipher.suites"] == "x"


@pytest.mark.parametrize(
    ("security", "path"),
    [
        ({"protocol": "SASL_SSL", "username": "u"}, "password"),
        ({"protocol": "SASL_PLAINTEXT", "password": "p"}, "username"),
        ({"username": "u"}, "username"),
        ({"protocol": "SSL", "password": CANARY}, "password"),
        ({"ca": "/ca"}, "ca"),
        ({**LOGIN, "protocol": "SASL_PLAINTEXT"}, "ca"),
        ({"protocol": "SSL", "key": CANARY}, "certificate"),
        ({"protocol": "SSL", "certificate": CERTIFICATE}, "key"),
        ({"protocol": "TLS"}, "protocol"),
        ({**LOGIN, "mechanism": "OAUTHBEARER"}, "token_endpoint"),
        ({**LOGIN, "token_endpoint": "https://idp/token"}, "token_endpoint"),
        ({**LOGIN, "scope": "kafka"}, "scope"),
        ({**MSK, "region": ""}, "region"),
        ({**MSK, "username": "u"}, "username"),
        ({**MSK, "password": CANARY}, "password"),
        ({**LOGIN, "region": "eu-west-1"}, "region"),
        ({"protocol": "SSL", "profile": "prod"}, "profile"),
        ({**LOGIN, "principal": "sync@R"}, "principal"),
        ({"keytab": "/sync.keytab"}, "keytab"),
        ({"protocol": "SASL_SSL", "mechanism": "GSSAPI", "keytab": "/sync.keytab"}, "principal"),
        ({"protocol": "SASL_SSL", "mechanism": "GSSAPI", "principal": "sync@R"}, "keytab"),
        (
            {"protocol": "SASL_SSL", "mechanism": "GSSAPI", "principal": "sync@R", "keytab": "k", "username": "u"},
            "username",
        ),
        ({"protcol": "SSL"}, "protcol"),
    ],
)
def test_a_section_that_cannot_work_is_refused_with_one_line(security: dict[str, str], path: str) -> None:
    (line,) = security_problems(security)
    assert line.startswith(f"clusters.dc1.security.{path}: ")
    assert "; " in line or "did you mean" in line
    assert CANARY not in line


def test_secrets_of_the_section_are_never_shown() -> None:
    made = with_security({**LOGIN, "certificate": "/me.pem", "key": f"{KEY}{CANARY}", "key_password": CANARY})
    dc1, copied = made.clusters["dc1"], pickle.loads(pickle.dumps(made.admin_options("dc1")))
    options = (made.admin_options("dc1"), copied)
    assert CANARY not in f"{made!r} {made} {dc1!r} {dc1} {dc1.security!r} {options} {made.redacted()}"
    shown = made.redacted()["clusters"]["dc1"]["security"]
    assert (shown["password"], shown["key"], shown["ca"]) == ("***", "***", "/ca.pem")


def test_what_is_made_of_a_password_is_a_secret_too() -> None:
    """The whole login of Java's clients, a key given as text and the user's name go by other names than before."""
    section = Security(
        protocol="SASL_SSL", username=f"user-{CANARY}", password=CANARY, certificate=CERTIFICATE, key=f"{KEY}{CANARY}"
    )
    as_tokens = {"mechanism": "OAUTHBEARER", "token_endpoint": "https://idp/token", "username": "client"}
    tokens = section.model_copy(update=as_tokens)
    for each in (section, tokens):
        made_of_both = to_java(Cluster(security=each), "dc1"), to_librdkafka(Cluster(security=each))
        assert all(CANARY in "".join(made.values()) and CANARY not in repr(made) for made in made_of_both)
    for made in (to_java(Cluster(security=section), "dc1"), to_librdkafka(Cluster(security=section))):
        assert CANARY in "".join(made.values())
        assert CANARY not in repr(made)
