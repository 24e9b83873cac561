"""Parts of a query that query no cluster and repeat nothing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any
from unittest.mock import MagicMock

from offset_sync.ingest.commit_batch import Looked
from offset_sync.ingest.unreadable_logs import UnreadableLogs


class UncheckedLogs:
    """Believes everything."""

    def look(self, batch_id: int) -> Looked:
        """Return that nothing has to be read again."""
        return Looked(datetime.now(timezone.utc))

    def before_reading(self, batch_id: int) -> None:
        """Nothing has to be known before."""

    def was_read_again(self, looked: Looked) -> None:
        """Nothing ever is."""


class OnlySpark:
    """Reads nothing again, and can read every log."""

    unreadable = UnreadableLogs(MagicMock(), MagicMock())

    def map(self, by_spark: Callable[[], Any], *_what: object) -> Any:
        """Return what *by_spark* returns."""
        return by_spark()


ONLY_SPARK: Any = OnlySpark()
UNCHECKED: Any = UncheckedLogs()
