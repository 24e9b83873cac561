"""Options of the two client stacks: the JVM's (inside Spark) and librdkafka's (AdminClient).

Checked against kafka-clients 3.9.2 and librdkafka 2.16: ``_JAVA_ONLY`` holds the names that librdkafka refuses, and
those that mean something else to it. All others go to both clients, so that librdkafka refuses a misspelt name, and it
is not silently ignored.

Logins are made from the section ``security`` of a cluster, where each secret is written once, and refused in the maps.
Java reads a certificate and its key from one PEM file, or both as text. So a key in its own file is read whenever a
Java client is configured, and passed on as text; with the key in the file of the certificate only the path is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from offset_sync.config.secret import with_secrets
from offset_sync.config.sections import Cluster, Security
from offset_sync.model.errors import ConfigError
from offset_sync.model.msk_login import MskLogin

_OWNED = re.compile(
    r"group\..*|isolation\.level|auto\.offset\.reset|auto\.commit\..*|enable\.(auto\.(commit|offset\.store)|partition\.eof)"
    r"|(key|value)\.(de)?serializer|interceptor\.classes|partition\.assignment\.strategy|transactional\.id"
    r"|exclude\.internal\.topics"
)
_JAVA_ONLY = re.compile(
    r".*\.class(es)?|sasl\.login\..*|sasl\.kerberos\.(ticket\..*|kinit\.cmd)"
    r"|sasl\.oauthbearer\.(jwks|expected|clock|header)\..*|sasl\.oauthbearer\.(scope|sub)\.claim\.name"
    r"|ssl\.(protocol|enabled\.protocols|provider|cipher\.suites)"
    r"|ssl\.(key|trust)manager\.algorithm|ssl\.secure\.random\.implementation|security\.providers"
    r"|metrics?\.(reporters|num|recording|sample).*|auto\.include\.jmx\.reporter|bootstrap\.controllers"
    r"|(receive|send)\.buffer\.bytes|default\.api\.timeout\.ms|metadata\.max\.idle\.ms"
    r"|socket\.connection\.setup\.timeout\.max\.ms|max\.(block\.ms|request\.size|poll\..*|partition\.fetch\.bytes)"
    r"|buffer\.memory|compression\..*\.level|partitioner\..*|fetch\..*|check\.crcs|(session|heartbeat)\..*|internal\..*"
)
_BROKERS = re.compile(r"\s*\S+:[0-9]{1,5}\s*(,\s*\S+:[0-9]{1,5}\s*)*")
_LOGIN = re.compile(
    r"security\.protocol|sasl\.(mechanisms?|jaas\.config|username|password|(login|client)\..*class)"
    r"|sasl\.oauthbearer\.(method|config|scope|client\.(id|secret)|token\.endpoint\.url)"
    r"|sasl\.kerberos\.(principal|keytab|service\.name)|ssl\.(truststore|ca|key|keystore|certificate)\..*"
)
_TOKENS = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
"""Gets tokens of OIDC's client credentials."""
MSK_HANDLER = "software.amazon.msk.auth.iam.IAMClientCallbackHandler"
"""Of the jar aws-msk-iam-auth, which finds the region by the brokers' names; librdkafka gets the same login as a token
(``kafka/msk_tokens.py``)."""


class _Login(NamedTuple):
    """What a mechanism needs of the section, and what both clients get: texts with ``{key}`` for a key of the section.

    Empty ones are left out. *jaas* are options of Java's login *module*.
    """

    needed: tuple[str, ...]
    module: str
    jaas: Mapping[str, str]
    librdkafka: Mapping[str, str]
    java: Mapping[str, str] = {}
    optional: tuple[str, ...] = ()


def _by_password(module: str) -> _Login:
    return _Login(
        ("username", "password"),
        f"org.apache.kafka.common.security.{module}",
        jaas={"username": "{username}", "password": "{password}"},
        librdkafka={"sasl.username": "{username}", "sasl.password": "{password}"},
    )


_LOGINS = {
    "PLAIN": _by_password("plain.PlainLoginModule"),
    "SCRAM-SHA-256": _by_password("scram.ScramLoginModule"),
    "SCRAM-SHA-512": _by_password("scram.ScramLoginModule"),
    "OAUTHBEARER": _Login(
        ("username", "password", "token_endpoint"),
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
        jaas={"clientId": "{username}", "clientSecret": "{password}", "scope": "{scope}"},
        librdkafka={
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.client.id": "{username}",
            "sasl.oauthbearer.client.secret": "{password}",
            "sasl.oauthbearer.token.endpoint.url": "{token_endpoint}",
            "sasl.oauthbearer.scope": "{scope}",
        },
        java={
            "sasl.login.callback.handler.class": _TOKENS,
            "sasl.oauthbearer.token.endpoint.url": "{token_endpoint}",
        },
        optional=("scope",),
    ),
    "AWS_MSK_IAM": _Login(
        ("region",),
        "software.amazon.msk.auth.iam.IAMLoginModule",
        jaas={"awsProfileName": "{profile}"},
        librdkafka={"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.config": "{msk_login}"},
        java={"sasl.client.callback.handler.class": MSK_HANDLER},
        optional=("profile",),
    ),
    "GSSAPI": _Login(
        ("principal", "keytab"),
        "com.sun.security.auth.module.Krb5LoginModule",
        jaas={"useKeyTab": "true", "storeKey": "true", "keyTab": "{keytab}", "principal": "{principal}"},
        librdkafka={
            "sasl.kerberos.principal": "{principal}",
            "sasl.kerberos.keytab": "{keytab}",
            "sasl.kerberos.service.name": "{service_name}",
            # The Kerberos library reads the keytab, see kafka/clients.py, so librdkafka starts no kinit. At its usual
            # level it prints each refused login, beside the error that we report.
            "sasl.kerberos.min.time.before.relogin": "0",
            "log_level": "0",
        },
        java={"sasl.kerberos.service.name": "{service_name}"},
        optional=("service_name",),
    ),
}
_TLS_ONLY = ("ca", "certificate", "key", "key_password")


def option_problems(cluster: Cluster) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield (path below the cluster, "what is wrong; remedy") for its client options and its section ``security``."""
    for stack in ("kafka", "spark", "admin"):
        for name in getattr(cluster, stack):
            if name.startswith("kafka."):
                yield (stack, name), f"has Spark's prefix; write {name.removeprefix('kafka.')}"
            elif _OWNED.fullmatch(name):
                yield (stack, name), "is set by Offset Sync itself, another value could lose records; remove it"
            elif name == "bootstrap.servers" and stack != "kafka":
                yield (stack, name), "has to be the same for both clients; move it to kafka"
            elif _LOGIN.fullmatch(name):
                yield (stack, name), "belongs to the login, which is made from section security; write it there"
    if "bootstrap.servers" not in cluster.kafka:
        yield ("kafka",), "missing bootstrap.servers; add the cluster's brokers as host:port"
    elif not _BROKERS.fullmatch(cluster.kafka["bootstrap.servers"]):
        text = "holds a broker that is not host:port; write host:port, separated by commas"
        yield ("kafka", "bootstrap.servers"), text
    yield from ((("security", name), text) for name, text in _security_problems(cluster.security))


def _security_problems(security: Security) -> Iterator[tuple[str, str]]:
    """Yield (option, "what is wrong; remedy") for options of the section that contradict each other."""
    protocol = security.protocol
    given = {name for name, value in security if value}
    login, is_tls = _login_of(security), protocol.endswith("SSL")
    for name in Security.model_fields:
        mechanisms = [m for m, each in _LOGINS.items() if name in each.needed + each.optional]
        if login is not None and name in login.needed and name not in given:
            yield name, f"is missing; {protocol} with mechanism {security.mechanism} needs it"
        elif mechanisms and name in given and (login is None or security.mechanism not in mechanisms):
            yield name, f"is for SASL with mechanism {' or '.join(mechanisms)}; set that, or remove it"
    for name in _TLS_ONLY:
        if name in given and not is_tls:
            yield name, "is for SSL and SASL_SSL; set protocol, or remove it"
    if is_tls and given & {"key", "key_password"} and "certificate" not in given:
        yield "certificate", "is missing; a key is of use only with its certificate"
    elif is_tls and _is_pem(security.certificate) and "key" not in given:
        yield "key", "is missing; the certificate is given as text, so write its key as text too"


def to_java(cluster: Cluster, alias: str) -> dict[str, str]:
    """Return the options of *cluster* for a Java client.

    Raises ConfigError for a key file that cannot be read. It is read each time, so a renewed key is used.
    """
    security = cluster.security
    options = _protocol(security)
    if login := _login_of(security):
        jaas = [f"{name}={_quoted(value)}" for name, value in _filled(login.jaas, security).items()]
        options["sasl.jaas.config"] = f"{' '.join([login.module, 'required', *jaas])};"
        options |= _filled(login.java, security)
    if security.ca:
        place = "certificates" if _is_pem(security.ca) else "location"
        options |= {"ssl.truststore.type": "PEM", f"ssl.truststore.{place}": security.ca}
    if security.certificate:
        options |= {"ssl.keystore.type": "PEM", **_java_keystore(security, f"clusters.{alias}.security")}
    return {**cluster.kafka, **cluster.spark, **with_secrets(options)}


def to_librdkafka(cluster: Cluster) -> dict[str, str]:
    """Return the options of *cluster* as librdkafka understands them; those in ``admin`` win."""
    security = cluster.security
    options = _protocol(security)
    if login := _login_of(security):
        options |= _filled(login.librdkafka, security)
    parts = {"ca": security.ca, "certificate": security.certificate, "key": security.key or security.certificate}
    for name, value in parts.items():
        if value:
            options[f"ssl.{name}.{'pem' if _is_pem(value) else 'location'}"] = value
    return {**_translated(cluster.kafka), **with_secrets(options), **cluster.admin}


def _login_of(security: Security) -> _Login | None:
    return _LOGINS[security.mechanism] if security.protocol.startswith("SASL_") else None


def _filled(texts: Mapping[str, str], security: Security) -> dict[str, str]:
    """Return *texts* with the values of the section, without those that are empty."""
    msk_login = MskLogin(security.region, security.profile).to_option()
    values = {**dict(security), "service_name": security.service_name or "kafka", "msk_login": msk_login}
    return {name: value for name, text in texts.items() if (value := text.format_map(values))}


def _translated(options: dict[str, str]) -> dict[str, str]:
    """Return Java's *options* under the names of librdkafka, without those that only Java knows."""
    kept = {name: value for name, value in options.items() if not _JAVA_ONLY.fullmatch(name)}
    if kept.get("ssl.endpoint.identification.algorithm") == "":
        kept["ssl.endpoint.identification.algorithm"] = "none"  # Java switches the check off with an empty text
    return kept


def _protocol(security: Security) -> dict[str, str]:
    """Return the options with the same name for both clients; none without the section."""
    options: dict[str, str] = {"security.protocol": security.protocol} if security.protocol != "PLAINTEXT" else {}
    options |= {"sasl.mechanism": security.mechanism} if _login_of(security) else {}
    return options | ({"ssl.key.password": security.key_password} if security.key_password else {})


def _quoted(text: str) -> str:
    """Return *text* quoted for Java's StreamTokenizer, which reads JAAS."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


def _java_keystore(security: Security, place: str) -> dict[str, str]:
    if not security.key or security.key == security.certificate:
        return {"ssl.keystore.location": security.certificate}
    chain, key = _pem_text(security.certificate, f"{place}.certificate"), _pem_text(security.key, f"{place}.key")
    return {"ssl.keystore.certificate.chain": chain, "ssl.keystore.key": key}


def _pem_text(value: str, place: str) -> str:
    if _is_pem(value):
        return value
    try:
        return Path(value).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no PEM text"
        text = f"{place}: file {value} cannot be read ({reason}); correct the path or its rights"
        raise ConfigError([text]) from None


def _is_pem(value: str) -> bool:
    return "-----BEGIN " in value
