"""Producers and mirrors do not stop for a report: it holds for the moment at which the ends were asked for."""

from __future__ import annotations

from builders.logs import log
from fakes.reconciler_site import ORDERS
from fakes.status_site import moved
from offset_sync.model.reasons import Reason


def test_what_was_there_and_is_not_mirrored_is_waited_for() -> None:
    """After the ends are asked for, the index reads what has come since."""
    site = moved("X0:12", "X0:10", 4)

    def meanwhile() -> None:
        later = log("X", "X0:14")
        site.index.extend(later, ORDERS)
        site.records["X", ORDERS] = later

    site.meanwhile = meanwhile
    row = site.row()
    assert (row["status"], row["reason"]) == ("Mirroring", Reason.NOT_MIRRORED(2))
    assert (row["not_mirrored"], row["lost"], row["mirror_lag"]) == (2, 2, 2)
