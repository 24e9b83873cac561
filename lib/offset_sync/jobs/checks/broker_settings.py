"""Settings of brokers on which the promise leans. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta

from offset_sync.config import Config
from offset_sync.config.duration import format_duration
from offset_sync.model.finding import Finding, Level

RETENTION, UNCLEAN = "offsets.retention.minutes", "unclean.leader.election.enable"
TIMESTAMPS, COPIES = "log.message.timestamp.type", "offsets.topic.replication.factor"
_CHECK = "broker settings"


def judge_settings(config: Config, alias: str, settings: Mapping[str, str] | str, brokers: int) -> Iterator[Finding]:
    """Yield what is not as it should be; *settings* is an error's name where they may not be read."""
    place = f"clusters.{alias}"
    if isinstance(settings, str):
        text = f"{settings}: it would take DescribeConfigs on the cluster, which no job needs; have {RETENTION} be more"
        twice = format_duration(2 * config.sync.refresh_interval)
        yield Finding(Level.SKIP, place, _CHECK, f"{text} than {twice}, and {UNCLEAN} false")
        return
    wrong = list(_wrong(config, settings, brokers))
    yield from (Finding(level, place, _CHECK, text) for level, text in wrong)
    if not wrong:
        names = ", ".join(f"{name}={settings[name]}" for name in (RETENTION, UNCLEAN) if name in settings)
        yield Finding(Level.OK, place, _CHECK, names)


def _wrong(config: Config, settings: Mapping[str, str], brokers: int) -> Iterator[tuple[Level, str]]:
    refresh, minutes = config.sync.refresh_interval, settings.get(RETENTION, "")
    if minutes.isdigit() and timedelta(minutes=int(minutes)) < 2 * refresh:
        level = Level.FAIL if timedelta(minutes=int(minutes)) <= refresh else Level.WARN
        says = f"{RETENTION}={minutes}: offsets of idle groups may expire before they are written again"
        yield level, f"{says}; set it to more than twice sync.refresh_interval ({format_duration(refresh)})"
    if settings.get(UNCLEAN) == "true":
        yield Level.WARN, f"{UNCLEAN}=true: a log may be cut, and its offsets are withheld then; set it to false"
    if "timestamp" in config.topics.strategies and settings.get(TIMESTAMPS) == "LogAppendTime":
        says = f"{TIMESTAMPS}=LogAppendTime: a copy has another time than its origin, by which strategy timestamp goes"
        yield Level.WARN, f"{says}; set CreateTime, or choose another strategy"
    if settings.get(COPIES) == "1" and brokers > 1:
        yield Level.WARN, f"{COPIES}=1: with one broker all its groups' offsets are lost; set it to 3"
