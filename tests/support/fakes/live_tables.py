"""What a command knows of groups once it has read the tables: here from a site in memory."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from fakes.reconciler_site import Site
from offset_sync.state.key_index import KeyRows


class LiveTables:
    """What the tables say of groups, by a site in memory."""

    def __init__(self, site: Site) -> None:
        self.state, self.clusters = site.state, site

    def keys_of(self, groups: Collection[str]) -> KeyRows:
        """Return the rows of all keys of *groups*."""
        return np.array([n for n, key in enumerate(self.state.offsets.keys) if key[0] in groups], np.intp)
