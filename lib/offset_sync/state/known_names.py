"""The names of streams at the clusters, learned before any other request or read."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from types import MappingProxyType

from offset_sync.config import Config
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.requests import ManyGroups, side_by_side
from offset_sync.model.errors import ClusterError, ConfigError

logger = logging.getLogger(__name__)
_DEADLINE_S = 10.0


def open_clusters(config: Config, at_once: Mapping[str, ManyGroups] = MappingProxyType({})) -> dict[str, ClusterAdmin]:
    """Return a client for each cluster, by its alias, once the names are known, see :func:`learn_names`.

    Offsets of many groups are read by those of *at_once*.
    """
    admins = {
        alias: ClusterAdmin(alias, config.admin_options(alias), config.names, at_once=at_once.get(alias))
        for alias in config.clusters
    }
    learn_names(config, admins)
    return admins


def learn_names(config: Config, admins: Mapping[str, ClusterAdmin]) -> None:
    """Tell ``config.names`` which topics exist; asks no cluster where all names are the same.

    Raises ConfigError, naming both, where two topics of a cluster are one stream.
    For a cluster that does not answer the names are later read from the tables.
    """
    if config.names.is_same:
        return
    known = dict[str, list[str]]()
    for alias, found in side_by_side(lambda alias: _matching(config, admins[alias]), admins).items():
        if isinstance(found, ClusterError):
            logger.info("%s: its topics keep the names under which they were indexed", found)
        else:
            known[alias] = found
    if problems := config.names.problems(known):
        raise ConfigError(problems)


def strays(config: Config, admin: ClusterAdmin) -> list[str]:
    """Return the topics at a cluster that match Spark's pattern though they are no included streams."""
    if config.names.is_same:
        return []
    found = _matching(config, admin)
    return [topic for topic in found if not config.is_topic_included(config.names.inside(admin.alias, topic))]


def _matching(config: Config, admin: ClusterAdmin) -> list[str]:
    is_wanted = re.compile(config.topic_pattern(cluster=admin.alias))
    return [topic for topic in admin.topic_names(_DEADLINE_S) if is_wanted.fullmatch(topic)]
