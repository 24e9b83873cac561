"""The options below ``extensions.contents``: which originals a copy may be of, and what the mirror does with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Literal

from pydantic import ValidationError

from offset_sync.config import Config, Override, Topics
from offset_sync.config.duration import Duration, PositiveDuration, to_ms
from offset_sync.config.problems import KeyPath, Problem, Section, explain
from offset_sync.config.rules import end_problem
from offset_sync.config.sections import Cluster, Count, Pairs
from offset_sync.model.values import ClusterPartition
from offset_sync_contents.alignment.mirror import Settings

NAME = "contents"
_PATH: KeyPath = ("extensions", NAME)
_FLOWS: KeyPath = (*_PATH, "flows")


class Contents(Section):
    """Properties of the mirror, by which copies without headers are recognised.

    *flows* are its pairs of source and target, where the names of copies do not tell them, and *exclusive* that only
    the mirror writes to copies there. *order* says whether it may reorder records for good, *keeps* what a copy has of
    its original beside key and value. It goes back at most *resend_window* and *resend_records* offsets. A copy that no
    unique one follows is given up after *hold*. Where times are not kept a copy is at most *slack* offsets from its
    place in the original order.
    """

    flows: Pairs = ()
    exclusive: bool = False
    order: Literal["kept", "any"] = "kept"
    keeps: tuple[Literal["timestamps", "headers"], ...] = ("timestamps", "headers")
    resend_window: PositiveDuration = timedelta(hours=1)
    resend_records: Count = 1_000_000
    hold: Duration = timedelta(days=1)
    slack: Count = 1_000

    @property
    def source_of_all(self) -> str | None:
        """The cluster at which all *flows* begin; None where there are none."""
        targets = {target for _, target in self.flows}
        return next((source for source, _ in self.flows if source not in targets), None)

    def to_settings(self) -> Settings:
        """Return them for the alignment."""
        return Settings(
            keeps_timestamps="timestamps" in self.keeps,
            keeps_order=self.order == "kept",
            slack=self.slack,
            hold_ms=to_ms(self.hold),
            resend_records=self.resend_records,
            resend_ms=to_ms(self.resend_window),
        )


def contents_of(config: Config) -> Contents:
    """Return the options in *config*; raises pydantic's ValidationError."""
    return Contents.model_validate(config.extensions[NAME])


def origin_of(config: Config, stream: str) -> str | None:
    """Return the one cluster where *stream* is produced; None where none is configured."""
    return config.names.home(stream) or contents_of(config).source_of_all


def origin_of_log(config: Config, log: ClusterPartition) -> str | None:
    """Return the cluster of the originals of *log*; None if it is no longer read, though the tables still have it.

    A cluster that was removed from the file sends no more copies, and to wait for one would keep all originals.
    """
    is_read = log.cluster in config.clusters and config.is_topic_included(log.topic)
    return origin_of(config, log.topic) if is_read else None


def problems(config: Config) -> Iterator[Problem]:
    """Yield what is wrong with the options, and what of *config* contradicts them."""
    try:
        contents = contents_of(config)
    except ValidationError as error:
        yield from (Problem((*_PATH, *each.path), each.text) for each in explain(error))
        return
    mirror = config.mirror
    if mirror.place_header:
        yield Problem(("mirror", "place_header"), "is not read with extensions.contents; remove one of the two")
    for path, section in _sections(config.topics):
        if section.strategy not in ("exact", "off"):  # others use headers, or only times
            text = "does not use contents, as extensions.contents does; write exact or off"
            yield Problem((*path, "strategy"), f"{section.strategy} {text}")
    if mirror.names == "mm2":
        if contents.flows:
            yield Problem(_FLOWS, "follows from the names of copies with mirror.names: mm2; remove it")
    elif contents.flows:
        yield from _flow_problems(contents.flows, config.clusters)
        if not contents.exclusive:
            text = (
                "is required where copies have the names of their originals: contents do not tell a copy from a "
                "record that is produced there; write true if only the mirror writes to copies"
            )
            yield Problem((*_PATH, "exclusive"), text)
    else:
        text = (
            "is needed with the same names, as contents do not tell where a record was produced; write "
            "[[source, target], …], all of them from one cluster"
        )
        yield Problem(_FLOWS, text)


def _sections(topics: Topics) -> Iterator[tuple[KeyPath, Topics | Override]]:
    """Yield the sections that have a strategy, with their paths."""
    yield ("topics",), topics
    yield from ((("topics", "overrides", number), each) for number, each in enumerate(topics.overrides))


def _flow_problems(flows: Sequence[tuple[str, str]], clusters: Mapping[str, Cluster]) -> Iterator[Problem]:
    into: dict[str, str] = {}
    for number, (source, target) in enumerate(flows):
        text = end_problem((source, target), clusters)
        if not text and target in into:
            text = f"is a second flow into {target}, beside that from {into[target]}; leave one"
        if text:
            yield Problem((*_FLOWS, number), text)
        into.setdefault(target, source)
    if len({*clusters} - into.keys()) != 1 or not {source for source, _ in flows} - into.keys():
        yield Problem(_FLOWS, "does not lead from one cluster to all others; contents tell copies of one origin only")
