"""Offsets that are kept elsewhere, given to be translated among clusters in memory."""

from __future__ import annotations

import numpy as np

from builders.logs import log
from fakes.reconciler_site import Site, config_of
from offset_sync.model.values import ABSENT, State, TopicPartition
from offset_sync.offsets.kept_offsets import KeptAnswers, KeptOffsets, OffsetTranslation


def kept(*places: tuple[TopicPartition, int], taken_at_ms: int = ABSENT) -> KeptOffsets:
    """Return these offsets, all of one time."""
    partition, offset = ([place.partition for place, _ in places], [offset for _, offset in places])
    topics = [place.topic for place, _ in places]
    return KeptOffsets(topics, np.array(partition, np.int64), np.array(offset, np.int64), taken_at_ms)


def translated(site: Site, offsets: KeptOffsets, *, is_source_lost: bool = False) -> KeptAnswers:
    """Return the answers from X to Y."""
    translation = OffsetTranslation(site.config, site.state, site)
    return translation.translate(("X", "Y"), offsets, is_source_lost=is_source_lost)


def said(found: KeptAnswers) -> list[tuple[str, int]]:
    """Return state and target offset of each answer."""
    return [(State(c).name, o) for c, o in zip(found.state.tolist(), found.target_offset.tolist(), strict=True)]


def why(found: KeptAnswers, row: int = 0) -> str:
    """Return why a row has no answer."""
    return str(found.reason[row])


def site_of(here: str = "X0:10", there: str = "X0:10", **sections: object) -> Site:
    """Return a site of X and Y with these logs."""
    site = Site(config_of(["X", "Y"], **sections))
    site.put(log("X", here))
    site.put(log("Y", there))
    return site


def silent(site: Site, alias: str = "X") -> Site:
    """Let a cluster be silent."""
    site.clusters[alias].is_down = True
    return site
