"""From the section ``security`` of a cluster to the options of both clients, so that each secret has one place.

Java reads a certificate and its key from one PEM file, or both as text. So a key in a file of its own is read whenever
a Java client is configured, and travels as text; with the key in the file of the certificate only the path does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from offset_sync.config.secret import with_secrets
from offset_sync.config.sections import Security
from offset_sync.model.errors import ConfigError

_MADE_HERE = re.compile(
    r"security\.protocol|sasl\.(mechanisms?|username|password|jaas\.config)"
    r"|ssl\.(truststore|keystore|ca|certificate|key)\..*"
)
_LOGIN_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
_SASL_ONLY = ("username", "password")
_TLS_ONLY = ("ca", "certificate", "key", "key_password")


def security_problems(security: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield (option, "what is wrong; remedy") for what does not go together in a section as it is written."""
    protocol = str(security.get("protocol", "PLAINTEXT"))
    given = {name for name, value in security.items() if value not in ("", None)}
    if protocol.startswith("SASL_"):
        for name in ("username", "password"):
            if name not in given:
                yield name, f"is missing; {protocol} needs it"
    else:
        wrong = [name for name in _SASL_ONLY if name in given]
        yield from ((name, "is for SASL_SSL and SASL_PLAINTEXT; set protocol, or remove it") for name in wrong)
    if not protocol.endswith("SSL"):
        wrong = [name for name in _TLS_ONLY if name in given]
        yield from ((name, "is for SSL and SASL_SSL; set protocol, or remove it") for name in wrong)
    elif given & {"key", "key_password"} and "certificate" not in given:
        yield "certificate", "is missing; a key is of use only with its certificate"
    elif _is_text(str(security.get("certificate", ""))) and "key" not in given:
        yield "key", "is missing; the certificate is given as text, so write its key as text too"


def said_twice(options: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield (option, "what is wrong; remedy") for options of a client that the section makes too."""
    for name in options:
        if _MADE_HERE.fullmatch(name):
            yield name, "is made from the cluster's section security too; remove it here, or that section"


def to_java_security(security: Security, alias: str) -> dict[str, str]:
    """Return the options of Java's clients for cluster *alias*.

    Raises ConfigError for a key file that cannot be read, or a key in a form that Java does not take.
    """
    if security.protocol == "PLAINTEXT":
        return {}
    options: dict[str, str] = {"security.protocol": security.protocol}
    if security.protocol.startswith("SASL_"):
        options |= {"sasl.mechanism": security.mechanism, "sasl.jaas.config": _jaas(security)}
    if security.ca:
        place = "certificates" if _is_text(security.ca) else "location"
        options |= {"ssl.truststore.type": "PEM", f"ssl.truststore.{place}": security.ca}
    if security.certificate:
        options |= {"ssl.keystore.type": "PEM", **_java_keystore(security, f"clusters.{alias}.security")}
    if security.key_password:
        options["ssl.key.password"] = security.key_password
    return with_secrets(options)


def to_librdkafka_security(security: Security) -> dict[str, str]:
    """Return the options of librdkafka."""
    if security.protocol == "PLAINTEXT":
        return {}
    options: dict[str, str] = {"security.protocol": security.protocol}
    if security.protocol.startswith("SASL_"):
        login = {"sasl.username": security.username, "sasl.password": security.password}
        options |= {"sasl.mechanism": security.mechanism, **login}
    parts = {"ca": security.ca, "certificate": security.certificate, "key": security.key or security.certificate}
    for name, value in parts.items():
        if value:
            options[f"ssl.{name}.{'pem' if _is_text(value) else 'location'}"] = value
    if security.key_password:
        options["ssl.key.password"] = security.key_password
    return with_secrets(options)


def _jaas(security: Security) -> str:
    login = f"username={_quoted(security.username)} password={_quoted(security.password)}"
    return f"{_LOGIN_MODULES[security.mechanism]} required {login};"


def _quoted(text: str) -> str:
    """Return *text* as Java's StreamTokenizer, which reads JAAS, reads it back."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


def _java_keystore(security: Security, place: str) -> dict[str, str]:
    if not security.key or security.key == security.certificate:
        with suppress(OSError, ValueError):  # where it cannot be read here the clients say so
            _refuse_for_java(Path(security.certificate).read_text(encoding="utf-8"), f"{place}.certificate")
        return {"ssl.keystore.location": security.certificate}
    key = _text(security.key, f"{place}.key")
    _refuse_for_java(key, f"{place}.key")
    chain = _text(security.certificate, f"{place}.certificate")
    return {"ssl.keystore.certificate.chain": chain, "ssl.keystore.key": key}


def _refuse_for_java(key: str, place: str) -> None:
    """Raise ConfigError for a key that librdkafka reads and Java does not, which says so in no words of use."""
    if re.search("BEGIN (RSA|EC|DSA) PRIVATE KEY", key):
        remedy = "openssl pkcs8 -topk8 -nocrypt -in OLD -out NEW"
        raise ConfigError([f"{place}: its key is not PKCS#8, which Java needs; convert it by {remedy}"])


def _text(value: str, place: str) -> str:
    if _is_text(value):
        return value
    try:
        return Path(value).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no PEM text"
        raise ConfigError(
            [f"{place}: file {value} cannot be read ({reason}); correct the path or its rights"]
        ) from None


def _is_text(value: str) -> bool:
    return "-----BEGIN " in value
