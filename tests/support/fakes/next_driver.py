"""Another driver among clusters in memory: it knows the tables, and nothing that was in memory only."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fakes.reconciler_site import Site
from offset_sync.state.last_known import COMMITS_SCHEMA
from offset_sync.state.last_known import to_rows as to_commit_rows
from offset_sync.state.moves import Moves
from offset_sync.state.replay import fill_commits
from offset_sync.state.restore import ANSWERS_SCHEMA, fill_answers, fold_answers
from offset_sync.sync.translation_history import to_rows
from offset_sync.tables.catalog import OFFSET_TRANSLATIONS

NO_COMMITS = COMMITS_SCHEMA.empty_table()


def begin_again_by_the_tables(site: Site) -> None:
    """Let another driver take over, which knows what this one has read and answered, and reads on from there."""
    for each in site.offsets.clusters.values():
        each.forget_acknowledged()
    commits, position = to_commit_rows(site.offsets), site.position
    begin_again_by_the_history(site, commits)
    site.position = position


def begin_again_by_the_history(site: Site, commits: pa.Table = NO_COMMITS) -> None:
    """Let another driver take over, which knows what this one has answered; *commits* are what it has read."""
    keys, told = site.offsets.keys, site.reconciliations
    site.history += [to_rows(each, np.flatnonzero(each.is_news), keys, site.config) for each in told]
    told.clear()
    site.restart()
    fill_commits(site.state, commits, site.clusters)
    site.moves = Moves(site.tables)
    site.moves.follow(site.state)
    rows = pa.concat_tables([OFFSET_TRANSLATIONS.arrow_schema.empty_table(), *site.history])
    site.noted.inherit()
    fill_answers(site.state, fold_answers(ANSWERS_SCHEMA.empty_table(), rows))
