"""Views and questions over the Delta tables, each defined once, in SQL that Spark and DuckDB both run as it is."""

from __future__ import annotations

from offset_sync.tables.views.definitions import (
    QUESTIONS,
    VIEWS,
    Version,
    View,
    failover_cost,
    lagging_groups,
    version_at,
)

__all__ = ["QUESTIONS", "VIEWS", "Version", "View", "failover_cost", "lagging_groups", "version_at"]
