"""One set of client options for two client stacks, and the section security, which gives each secret one place.

What both clients get by each kind of login is in ``tests/golden/client_options.json``.
"""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from builders.configurations import parsed
from offset_sync.config import Config
from offset_sync.model.errors import ConfigError

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "client_options.json").read_text())
Options = dict[str, Any]
CANARY = "c4n4ry"
LOGIN = {"protocol": "SASL_SSL", "username": "u", "password": CANARY, "ca": "/ca.pem"}
BEARER = {**LOGIN, "mechanism": "OAUTHBEARER", "token_endpoint": "https://idp/token"}
MSK = {"protocol": "SASL_SSL", "mechanism": "AWS_MSK_IAM", "region": "eu-west-1"}
KERBEROS = {"protocol": "SASL_SSL", "mechanism": "GSSAPI", "principal": "sync@R", "keytab": "/sync.keytab"}
PEM = "-----BEGIN {}-----\nMIIB\n-----END {}-----\n"
CERTIFICATE, KEY = PEM.replace("{}", "CERTIFICATE"), PEM.replace("{}", "PRIVATE KEY")


def with_options(kafka: Options | None = None, **cluster: Any) -> Config:
    """Return a configuration of two clusters, of which dc1 has these options."""
    dc1 = {"kafka": {"bootstrap.servers": "a:1", **(kafka or {})}, **cluster}
    return parsed(clusters={"dc1": dc1, "dc2": {"kafka": {"bootstrap.servers": "b:1"}}})


JAVAS = ("sasl.login.retry.backoff.ms", "ssl.protocol", "metric.reporters", "receive.buffer.bytes", "fetch.max.wait.ms")
BESIDE = {"ssl.endpoint.identification.algorithm": "", "ssl.cipher.suites": "x"}
ONE_FILE = {"protocol": "SSL", "ca": "/ca.pem", "certificate": "/me.pem", "key_password": "k"}
AS_TEXT = {"protocol": "SSL", "ca": CERTIFICATE, "certificate": CERTIFICATE, "key": KEY}
GIVEN: dict[str, Options] = {
    "common options, and those of one client": {
        "kafka": {"client.id": "sync", "bootstrap.servers": "[::1]:9092, PLAINTEXT://a.b-c:1"},
        "spark": {"max.poll.records": "5"},
        "admin": {"debug": "all", "client.id": "x"},
    },
    "what only Java knows is kept from librdkafka": {"kafka": dict.fromkeys(JAVAS, "x")},
    "an unknown option goes to both, so that librdkafka refuses it": {"kafka": {"clinet.id": "x"}},
    "options beside the section": {"security": LOGIN, "kafka": BESIDE},
    "no security": {"security": {"protocol": "PLAINTEXT"}},
    "a password with the signs of JAAS": {"security": {**LOGIN, "mechanism": "PLAIN", "password": 'a"b\\c\nd'}},
    "a certificate with its key in one file": {"security": ONE_FILE},
    "certificates as text": {"security": AS_TEXT},
    "an OIDC client with a scope": {"security": {**BEARER, "scope": "kafka"}},
    "AWS IAM by a profile": {"security": {**MSK, "profile": 'pro"d'}},
    "a keytab for a service of another name": {"security": {**KERBEROS, "service_name": "broker"}},
}


@pytest.mark.parametrize("name", GIVEN)
def test_both_clients_get_what_they_got(name: str) -> None:
    made = with_options(**GIVEN[name])
    assert {"spark": made.spark_options("dc1"), "admin": made.admin_options("dc1")} == GOLDEN[name]


def test_a_key_in_a_file_of_its_own_is_read_whenever_a_client_is_configured(tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in ("certificate", "key")}
    files["certificate"].write_text(CERTIFICATE)
    files["key"].write_text(KEY)
    made = with_options(security={"protocol": "SSL", **{name: str(path) for name, path in files.items()}})
    assert made.spark_options("dc1")["kafka.ssl.keystore.key"] == KEY
    assert made.admin_options("dc1")["ssl.key.location"] == str(files["key"])
    files["key"].write_text(KEY.replace("MIIB", "MIIC"))
    assert "MIIC" in made.spark_options("dc1")["kafka.ssl.keystore.key"]
    files["key"].unlink()
    with pytest.raises(ConfigError, match=r"^clusters\.dc1\.security\.key: file .* cannot be read \(No such file"):
        made.spark_options("dc1")


@pytest.mark.parametrize("login", [LOGIN, {**BEARER, "username": "client"}], ids=["a password", "an OIDC client"])
def test_secrets_of_the_section_are_never_shown(login: dict[str, str]) -> None:
    """Nor is what is made of them: the login of Java's clients, and a key that is given as text."""
    made = with_options(security={**login, "certificate": CERTIFICATE, "key": f"{KEY}{CANARY}", "key_password": CANARY})
    dc1, of_python = made.clusters["dc1"], made.admin_options("dc1")
    options = (made.spark_options("dc1"), of_python, pickle.loads(pickle.dumps(of_python)))
    assert all(CANARY in "".join(each.values()) for each in options)
    assert CANARY not in f"{made!r} {made} {dc1!r} {dc1} {dc1.security!r} {options}"
    assert "ca='/ca.pem'" in repr(made)
