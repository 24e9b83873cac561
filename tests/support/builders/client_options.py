"""Configurations with client options and the section ``security``, and what is said of them."""

from __future__ import annotations

from typing import Any

from builders.configurations import parsed, problems
from offset_sync.config import Config

Options = dict[str, Any]
CANARY = "c4n4ry"
LOGIN = {"protocol": "SASL_SSL", "username": "u", "password": CANARY, "ca": "/ca.pem"}
MSK = {"protocol": "SASL_SSL", "mechanism": "AWS_MSK_IAM", "region": "eu-west-1"}
KERBEROS = {"protocol": "SASL_SSL", "mechanism": "GSSAPI", "principal": "sync@R", "keytab": "/sync.keytab"}
PEM = "-----BEGIN {}-----\nMIIB\n-----END {}-----\n"
CERTIFICATE, KEY = PEM.replace("{}", "CERTIFICATE"), PEM.replace("{}", "PRIVATE KEY")


def dc1(kafka: Options | None = None, other: Options | None = None, **cluster: Any) -> Options:
    """Two clusters, of which the first one has these options; *other* is the section security of the second."""
    second = {"kafka": {"bootstrap.servers": "b:1"}, "security": other or {}}
    return {"dc1": {"kafka": {"bootstrap.servers": "a:1", **(kafka or {})}, **cluster}, "dc2": second}


def with_options(kafka: Options | None = None, spark: Options | None = None, admin: Options | None = None) -> Config:
    return parsed(clusters=dc1(kafka, spark=spark or {}, admin=admin or {}))


def option_problem(**maps: Options) -> str:
    (line,) = problems(clusters=dc1(**maps))
    return line


def with_security(security: object, **cluster: Any) -> Config:
    return parsed(clusters=dc1(security=security, **cluster))


def security_problems(security: object, **cluster: Any) -> list[str]:
    return problems(clusters=dc1(security=security, **cluster))


def both(security: dict[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """Return what the section makes for the JVM, without Spark's prefix, and for librdkafka."""
    made = with_security(security)
    spark = {name.removeprefix("kafka."): value for name, value in made.spark_options("dc1").items()}
    admin = made.admin_options("dc1")
    assert spark.pop("bootstrap.servers") == admin.pop("bootstrap.servers") == "a:1"
    return spark, admin
