"""The section security: one place for each secret, from which the options of both clients are made."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from offset_sync.config import Config, parse_config
from offset_sync.config.client_options import java_security, librdkafka_security
from offset_sync.config.sections import Security
from offset_sync.model.errors import ConfigError

CANARY = "c4n4ry"
LOGIN = {"protocol": "SASL_SSL", "username": "u", "password": CANARY, "ca": "/ca.pem"}
PEM = "-----BEGIN {}-----\nMIIB\n-----END {}-----\n"
CERTIFICATE, KEY = PEM.replace("{}", "CERTIFICATE"), PEM.replace("{}", "PRIVATE KEY")


def config(security: object, **cluster: object) -> Config:
    kafka = {"bootstrap.servers": "a:1", **(cluster.pop("kafka", None) or {})}  # type: ignore[dict-item]
    dc1 = {"kafka": kafka, "security": security, **cluster}
    clusters = {"dc1": dc1, "dc2": {"kafka": {"bootstrap.servers": "b:2"}}}
    return parse_config({"clusters": clusters, "topics": {"include": ["a"]}}, {})


def problems(security: object, **cluster: object) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        config(security, **cluster)
    return caught.value.problems


def both(security: dict[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """Return what the section makes for the JVM, without Spark's prefix, and for librdkafka."""
    made = config(security)
    spark = {name.removeprefix("kafka."): value for name, value in made.spark_options("dc1").items()}
    admin = made.admin_options("dc1")
    assert spark.pop("bootstrap.servers") == admin.pop("bootstrap.servers") == "a:1"
    return spark, admin


def test_a_password_stands_once_and_both_clients_get_it() -> None:
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
    made = config({"protocol": "SSL", **{name: str(path) for name, path in files.items()}})
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
            config({"protocol": "SSL", **written}).spark_options("dc1")


def test_without_the_section_nothing_is_made() -> None:
    assert both({}) == both({"protocol": "PLAINTEXT"}) == ({}, {})


@pytest.mark.parametrize("stack", ["kafka", "spark", "admin"])
@pytest.mark.parametrize("name", ["security.protocol", "sasl.jaas.config", "sasl.password", "ssl.ca.location"])
def test_what_is_given_in_both_ways_is_refused(stack: str, name: str) -> None:
    (line,) = problems(LOGIN, **{stack: {name: "SSL"}})
    assert line.startswith(f"clusters.dc1.{stack}.{name}: is made from the cluster's section security too; remove it")


def test_an_option_that_the_section_does_not_make_may_stand_beside_it() -> None:
    made = config(LOGIN, kafka={"ssl.endpoint.identification.algorithm": "", "ssl.cipher.suites": "x"})
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
        ({"protcol": "SSL"}, "protcol"),
    ],
)
def test_a_section_that_cannot_work_is_refused_with_one_line(security: dict[str, str], path: str) -> None:
    (line,) = problems(security)
    assert line.startswith(f"clusters.dc1.security.{path}: ")
    assert "; " in line or "did you mean" in line
    assert CANARY not in line


KERBEROS = "Kerberos (GSSAPI) is refused: the Python client's librdkafka is built without it"


def test_kerberos_is_refused_with_the_reason_and_what_to_do_instead() -> None:
    (line,) = problems({**LOGIN, "mechanism": "GSSAPI"})
    assert line.startswith(f"clusters.dc1.security.mechanism: {KERBEROS}")
    assert "SCRAM-SHA-512 user or a certificate" in line
    sasl = {"security.protocol": "SASL_SSL"}
    (line,) = problems({}, kafka={**sasl, "sasl.mechanism": "GSSAPI"})
    assert line.startswith(f"clusters.dc1.admin: {KERBEROS}")
    (line,) = problems({}, kafka=sasl)
    assert line.startswith("clusters.dc1.admin: missing sasl.mechanism, and without it clients take Kerberos")
    login = {"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "u", "sasl.password": "p"}
    config({}, kafka=sasl, spark={"sasl.mechanism": "GSSAPI"}, admin=login)  # Java's client can


def test_secrets_of_the_section_are_never_shown() -> None:
    made = config({**LOGIN, "certificate": "/me.pem", "key": f"{KEY}{CANARY}", "key_password": CANARY})
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
    for made in (java_security(section, "dc1"), librdkafka_security(section)):
        assert CANARY in "".join(made.values())
        assert CANARY not in repr(made)
