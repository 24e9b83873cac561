"""Another driver among clusters in memory: it knows what stands in the tables, and nothing that was only remembered."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fakes.reconciler_site import Site
from offset_sync.state.restore_answers import ANSWERS_SCHEMA, fill_answers, fold_answers, recent_writes
from offset_sync.sync.translation_history import to_rows


def begin_anew_by_the_history(site: Site) -> None:
    """Let another driver take over, which knows what this one has answered."""
    keys, told = site.offsets.keys, site.reconciliations
    site.history += [to_rows(each, np.flatnonzero(each.is_news), keys, lambda _topic: "exact") for each in told]
    told.clear()
    site.restart()
    rows = pa.concat_tables(site.history)
    fill_answers(site.state, fold_answers(ANSWERS_SCHEMA.empty_table(), rows), recent_writes([rows]))
