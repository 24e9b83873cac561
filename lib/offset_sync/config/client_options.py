"""Options of the two client stacks: the JVM's (inside Spark) and librdkafka's (AdminClient).

Checked against kafka-clients 3.9.2 and librdkafka 2.16: ``_JAVA_ONLY`` holds the names that librdkafka refuses, and
those that mean something else to it. Any other name goes to both clients, so librdkafka refuses a misspelt one by its
name and it is not silently ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_OWNED = re.compile(
    r"group\..*|isolation\.level|auto\.offset\.reset|auto\.commit\..*|enable\.(auto\.(commit|offset\.store)|partition\.eof)"
    r"|(key|value)\.(de)?serializer|interceptor\.classes|partition\.assignment\.strategy|transactional\.id"
    r"|exclude\.internal\.topics"
)
_SPARK_SOURCE = re.compile(
    r"assign|subscribe(Pattern)?|topic|(starting|ending)(Offsets|Timestamp|OffsetsByTimestamp|OffsetsByTimestampStrategy)"
    r"|failOnDataLoss|groupIdPrefix|includeHeaders|(min|max)(OffsetsPerTrigger|Partitions|RecordsPerPartition)"
    r"|maxTriggerDelay|(fetchOffset|kafkaConsumer)\..*",
    re.IGNORECASE,
)
_JAVA_ONLY = re.compile(
    r"sasl\.jaas\.config|.*\.class(es)?|sasl\.login\..*|sasl\.kerberos\.(ticket\..*|kinit\.cmd)"
    r"|sasl\.oauthbearer\.(jwks|expected|clock|header)\..*|sasl\.oauthbearer\.(scope|sub)\.claim\.name"
    r"|ssl\.(truststore|keystore)\..*|ssl\.(protocol|enabled\.protocols|provider|cipher\.suites)"
    r"|ssl\.(key|trust)manager\.algorithm|ssl\.secure\.random\.implementation|security\.providers"
    r"|metrics?\.(reporters|num|recording|sample).*|auto\.include\.jmx\.reporter|bootstrap\.controllers"
    r"|(receive|send)\.buffer\.bytes|default\.api\.timeout\.ms|metadata\.max\.idle\.ms"
    r"|socket\.connection\.setup\.timeout\.max\.ms|max\.(block\.ms|request\.size|poll\..*|partition\.fetch\.bytes)"
    r"|buffer\.memory|compression\..*\.level|partitioner\..*|fetch\..*|check\.crcs|(session|heartbeat)\..*|internal\..*"
)

GSSAPI_REFUSED = (
    "Kerberos (GSSAPI) is refused: the Python client's librdkafka is built without it (No provider for SASL mechanism "
    "GSSAPI); give this program a SCRAM-SHA-512 user or a certificate, by the cluster's section security"
)


def option_problems(options: Mapping[str, object], stack: str) -> Iterator[tuple[str, str]]:
    """Yield (option, "what is wrong; remedy") for names not allowed in the map *stack*: kafka, spark or admin."""
    for name in options:
        if name.startswith("kafka."):
            yield name, f"has Spark's prefix; write {name.removeprefix('kafka.')}"
        elif _OWNED.fullmatch(name):
            yield name, "is set by Offset Sync itself, another value could lose records; remove it"
        elif _SPARK_SOURCE.fullmatch(name):
            yield name, "is an option of Spark's source, which the jobs set; remove it"
        elif name == "bootstrap.servers" and stack != "kafka":
            yield name, "has to be the same for both clients; move it to kafka"


def bootstrap_problem(servers: str) -> str | None:
    """Return what is wrong with a list of brokers, without quoting it."""
    for server in servers.split(","):
        host, _, port = server.strip().rpartition(":")
        if not re.fullmatch(r"\S+", host) or not re.fullmatch(r"[0-9]{1,5}", port) or not 0 < int(port) < 65536:
            return "holds a broker that is not host:port; write host:port, separated by commas"
    return None


def login_problem(options: Mapping[str, object]) -> str | None:
    """Return what librdkafka lacks to log in by password, which would otherwise show only when it first connects."""
    is_sasl = str(options.get("security.protocol", "")).upper().startswith("SASL")
    mechanism = str(options.get("sasl.mechanism", options.get("sasl.mechanisms", ""))).upper()
    missing = [name for name in ("sasl.username", "sasl.password") if name not in options]
    if not is_sasl or not missing or not mechanism.startswith(("PLAIN", "SCRAM-")):
        return None
    return f"missing {' and '.join(missing)}; add them, the Python client cannot read sasl.jaas.config"


def kerberos_problem(options: Mapping[str, object]) -> str | None:
    """Return why librdkafka, given these *options*, could not log in: it would take Kerberos, which it cannot do."""
    if not str(options.get("security.protocol", "")).upper().startswith("SASL"):
        return None
    mechanism = options.get("sasl.mechanism", options.get("sasl.mechanisms"))
    if mechanism is None:
        return f"missing sasl.mechanism, and without it clients take Kerberos; {GSSAPI_REFUSED}"
    return GSSAPI_REFUSED if str(mechanism).upper() == "GSSAPI" else None


def to_librdkafka(options: Mapping[str, str]) -> dict[str, str]:
    """Return the common *options* as librdkafka understands them.

    Options of key and trust stores are translated where both clients can read the same file: PEM and PKCS#12 with the
    type given. Other Java-only options are dropped; what librdkafka needs in their stead belongs in ``admin``.
    """
    kept = {name: value for name, value in options.items() if not _JAVA_ONLY.fullmatch(name)}
    if kept.get("ssl.endpoint.identification.algorithm") == "":
        kept["ssl.endpoint.identification.algorithm"] = "none"  # Java switches the check off with an empty text
    return {**kept, **_translated_stores(options)}


def _translated_stores(options: Mapping[str, str]) -> dict[str, str]:
    names: dict[str, str] = {}
    if options.get("ssl.truststore.type", "").upper() == "PEM":
        names |= {"ssl.ca.location": "ssl.truststore.location", "ssl.ca.pem": "ssl.truststore.certificates"}
    keystore_type = options.get("ssl.keystore.type", "").upper()
    if keystore_type == "PEM":
        names |= {"ssl.certificate.location": "ssl.keystore.location", "ssl.key.location": "ssl.keystore.location"}
        names |= {"ssl.certificate.pem": "ssl.keystore.certificate.chain", "ssl.key.pem": "ssl.keystore.key"}
    if keystore_type == "PKCS12":
        names |= {name: name for name in ("ssl.keystore.location", "ssl.keystore.password")}
    return {name: options[java] for name, java in names.items() if java in options}
