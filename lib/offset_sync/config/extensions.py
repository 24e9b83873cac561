"""Extensions: packages that tell which record a copy is of in another way than by headers, found by entry points.

``extensions.NAME`` in the file switches one on, and has its options, which it alone reads. Its parts are entry points
called NAME, one of each group:

- ``offset_sync.checks``: a module with ``problems(config)``, ``judge(config, seen, alias)`` for ``check``,
  ``difference(config, one, other)`` of two records, None where they are the same, and ``CHECKPOINTS``, what the names
  of its queries' checkpoints end with.
- ``offset_sync.index_queries``: takes a configuration, ``TopicAccess`` and ``IndexParts``, and returns the queries that
  ``index_records`` runs in the place of its own.
- ``offset_sync.maintenance``: a module with ``TABLES`` of its own, and ``retire(config, tables, maintainer, now)``,
  which removes rows from them.

They write rows of ``record_runs``. Of a copy whose original is not certain the origin is empty: unread by all groups.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any, Literal

Part = Literal["checks", "index_queries", "maintenance"]


def load_part(name: str, part: Part) -> Any:
    """Return this *part* of the extension *name*; raises LookupError where none of this name is installed."""
    for each in entry_points(group=f"offset_sync.{part}", name=name):
        return each.load()
    raise LookupError(name)
