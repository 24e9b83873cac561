"""A site in memory with the metrics of its driver."""

from __future__ import annotations

from fakes.reconciler_site import Site
from offset_sync.jobs.sync_metrics import SyncMetrics
from offset_sync.sync.reconciled import Reconciliation
from tools.prometheus_scrape import Scrape, read

XY = {"source": "X", "target": "Y"}


class Watched:
    """What *site* reconciles is counted, and can be scraped."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.restart()

    def restart(self) -> None:
        """Count from nothing, as a new driver does."""
        self.recorded = list[Reconciliation]()
        self.metrics = SyncMetrics(self.site.config, self.site.state, self.recorded)

    def reconcile(self) -> None:
        """Read everything, reconcile, and count it."""
        self.site.reconcile()
        self.note()

    def note(self) -> None:
        """Count what was reconciled."""
        for reconciliation in self.site.reconciliations:
            self.metrics.append(reconciliation)
        self.site.reconciliations.clear()

    def scrape(self) -> Scrape:
        """Return what Prometheus would be told now."""
        return read(self.metrics.collectors())
