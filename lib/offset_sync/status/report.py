"""A finished report: what the terminal, the page, JSON and the metrics are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import pyarrow as pa


@dataclass(frozen=True)
class Report:
    """Rows of sync_status, the rows of sync_drift in the windows that are shown, and when it was made (aware).

    *notes* are lines about what has no row.
    """

    status: pa.Table
    drift: pa.Table
    reported_at: datetime
    notes: Sequence[str] = ()


class ReportOutput(Protocol):
    """Where reports go."""

    def show(self, report: Report) -> None:
        """Show one report."""
