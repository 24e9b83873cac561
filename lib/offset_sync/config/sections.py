"""The sections of the configuration: names, types and defaults; conf/reference.yaml explains each."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ByteSize,
    Field,
    WithJsonSchema,
    WrapValidator,
)
from pydantic.json_schema import JsonSchemaValue

from offset_sync.config.duration import Duration, PositiveDuration, Size
from offset_sync.config.name_patterns import pattern_problem
from offset_sync.config.problems import Section, refused
from offset_sync.config.secret import Secret, keep_secret, with_secrets

Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "AWS_MSK_IAM", "GSSAPI"]


def _to_option(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return str(value)
    if value is not None and not isinstance(value, str):
        raise refused("must be text, a number, true or false; write one value")
    return value


def _checked_pattern(pattern: str) -> str:
    if problem := pattern_problem(pattern):
        raise refused(f"{pattern!r} {problem}")
    return pattern


def _not_bool(value: object) -> object:
    if isinstance(value, bool):
        raise refused("must be a whole number; write it in digits")
    return value


def _to_off(value: object) -> object:
    return "off" if value is False else value


def _off_to_none(value: object) -> object:
    return None if _to_off(value) == "off" else value


def _or_off(**limits: int) -> WithJsonSchema:
    number = {"type": ["integer", "string"], "pattern": "^[0-9]+$", **limits}
    return WithJsonSchema({"anyOf": [{"enum": ["off", False, None]}, number]})


def _all_as_none(value: object) -> object:
    """Return no pairs for ``all``, and refuse a list without any."""
    if value == "all":
        return ()
    if not isinstance(value, (list, tuple)) or not value:
        raise refused("not a list of directions; write all, or [[source, target], …]")
    return value


AnyText = Annotated[str, WrapValidator(keep_secret)]
Text = Annotated[str, Field(min_length=1), WrapValidator(keep_secret)]
_Written = Annotated[str, BeforeValidator(_to_option), WithJsonSchema({"type": ["string", "number", "boolean"]})]
Option = Annotated[_Written, WrapValidator(keep_secret)]
SecretOption = Annotated[_Written, AfterValidator(Secret)]
Options = Annotated[dict[str, Option], AfterValidator(with_secrets)]
Pattern = Annotated[str, WrapValidator(keep_secret), AfterValidator(_checked_pattern)]
_Number = Annotated[int, BeforeValidator(_not_bool)]
Count = Annotated[_Number, Field(gt=0, lt=2**63)]
# None for off, which templates write as false.
Limit = Annotated[Count | None, BeforeValidator(_off_to_none), _or_off(minimum=1)]
_Port = Annotated[_Number, Field(ge=0, lt=65_536)]
Port = Annotated[_Port | None, BeforeValidator(_off_to_none), _or_off(minimum=0, maximum=65_535)]
_Strategies = Literal["exact", "header", "timestamp", "off"]
Strategy = Annotated[_Strategies, BeforeValidator(_to_off), WithJsonSchema({"enum": [*get_args(_Strategies), False]})]
_PAIR: JsonSchemaValue = {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2}
Pairs = tuple[tuple[str, str], ...]
"""Pairs of a source and a target cluster."""
Directions = Annotated[
    Pairs,
    BeforeValidator(_all_as_none),
    WithJsonSchema({"anyOf": [{"const": "all"}, {"type": "array", "items": _PAIR, "minItems": 1}]}),
]
"""None for all."""
Extensions = dict[str, dict[str, Any]]


class Security(Section):
    """How both clients log in at a cluster and what they trust.

    With OAUTHBEARER *username* and *password* are the id and secret of an OIDC client, for which *token_endpoint*
    gives tokens of this *scope*. With AWS_MSK_IAM the login is by AWS' default credentials, or those of a *profile*,
    and *region* is the cluster's. With GSSAPI (Kerberos) *principal* logs in by the file *keytab*, and brokers have the
    principals of *service_name*, by default ``kafka``. *ca*, *certificate* and *key* are PEM: the path of a file, or
    the text itself. Without *key* it is in the file of the certificate. Empty text counts as absent.
    """

    protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    mechanism: Mechanism = "SCRAM-SHA-512"
    username: Option = ""
    password: SecretOption = Secret("")
    token_endpoint: Option = ""
    scope: Option = ""
    region: Option = ""
    profile: Option = ""
    principal: Option = ""
    keytab: Option = ""
    service_name: Option = ""
    ca: Option = ""
    certificate: Option = ""
    key: SecretOption = Secret("")
    key_password: SecretOption = Secret("")


class Cluster(Section):
    """One Kafka cluster; *origin* is its value of the mirror's origin header, by default the alias.

    It is empty until it is fetched from the cluster, where it is an id, see :meth:`Config.with_ids`.
    *mirror_alias* is its alias in the names of copies; empty: the alias. *commits* says where those of its groups come
    from: ``__consumer_offsets``, or requests to the coordinators.
    """

    origin: Text = ""
    mirror_alias: AnyText = ""
    commits: Literal["log", "admin"] = "log"
    security: Security = Security()
    kafka: Options = Field(default_factory=dict)
    spark: Options = Field(default_factory=dict)
    admin: Options = Field(default_factory=dict)


class Override(Section):
    """Another strategy for some topics; the first override that matches a topic wins."""

    topics: Annotated[tuple[Pattern, ...], Field(min_length=1)]
    strategy: Strategy


class Topics(Section):
    """Which topics, by anchored regular expressions, and how their offsets are translated."""

    include: Annotated[tuple[Pattern, ...], Field(min_length=1)]
    exclude: tuple[Pattern, ...] = ()
    strategy: Strategy = "exact"
    overrides: tuple[Override, ...] = ()

    @property
    def strategies(self) -> frozenset[str]:
        """All strategies that topics may have."""
        return frozenset({self.strategy, *(each.strategy for each in self.overrides)})


class Groups(Section):
    """Which consumer groups, by anchored regular expressions."""

    include: Annotated[tuple[Pattern, ...], Field(min_length=1)] = (".*",)
    exclude: tuple[Pattern, ...] = ("console-consumer-.*",)


class ReadLists(Section):
    """The groups that get read lists: of records read above an answer, for their consumers to skip."""

    groups: tuple[Pattern, ...] = ()


class Sync(Section):
    """How offsets are translated and written."""

    trigger_interval: Duration = timedelta(seconds=1)
    poll_interval: PositiveDuration = timedelta(seconds=5)
    reconcile_interval: PositiveDuration = timedelta(seconds=30)
    refresh_interval: PositiveDuration = timedelta(hours=12)
    hole_grace: Duration = timedelta(seconds=60)
    home_silence: Duration = timedelta(minutes=5)
    max_commits_per_second: Limit = None
    index_memory: Size = ByteSize(512 << 20)
    read_lists: ReadLists = ReadLists()


class Index(Section):
    """How the mirrored records are indexed."""

    trigger_interval: Duration = timedelta(seconds=1)
    starting: Literal["earliest", "latest"] = "earliest"
    max_offsets_per_trigger: Count = 2_000_000


class Maintenance(Section):
    """How the tables are kept small."""

    # At least the time from writing a file to entering it into the log: it could be deleted before.
    keep_versions: Annotated[Duration, Field(ge=timedelta(minutes=10))] = timedelta(hours=2)
    keep_runs: Duration = timedelta(days=1)


class Tables(Section):
    """Where the Delta tables and the checkpoints are, exactly as written, and the options of that storage."""

    root: Text = "./data/tables"
    checkpoints: Text = "./data/checkpoints"
    storage: Options = Field(default_factory=dict)


class Status(Section):
    """How often report_status makes a report, and from when on it reports a problem."""

    interval: PositiveDuration = timedelta(seconds=15)
    stalled_after: PositiveDuration = timedelta(seconds=60)
    page: Text = "./data/status.html"


class Metrics(Section):
    """Where each job serves its metrics."""

    address: Text = "0.0.0.0"
    sync_offsets_port: Port = None
    report_status_port: Port = None
