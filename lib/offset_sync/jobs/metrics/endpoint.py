"""The HTTP endpoint that Prometheus scrapes, and gauges. Its errors are logged and never stop a job.

Labels are bounded: aliases of clusters, words of ``model.values``, the worst groups and topics. docs/metrics.md names
every metric.
"""

from __future__ import annotations

import heapq
import logging
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Literal

from prometheus_client import CollectorRegistry, ProcessCollector, make_wsgi_app, start_http_server
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from offset_sync.config import Metrics

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

logger = logging.getLogger(__name__)
Wrap = Callable[["WSGIApplication"], "WSGIApplication"]
Told = Callable[[], Iterable[Metric]]
"""Returns metrics as of now."""
Part = Literal["sync_offsets", "report_status"]
WORST = 20
"""So many groups of a pair, and topics of a cluster, are named."""
LONGEST_LABEL = 200
"""Characters of a group or topic that a label shows; Kafka allows 32,767."""
_BREAKING = ("Cc", "Cs")  # control characters and halves of surrogate pairs


class Endpoint:
    """A running endpoint at *port*."""

    def __init__(self, address: str, port: int, told: Sequence[Told], wrap: Wrap | None = None) -> None:
        """Open it; raises OSError if the address or port is unavailable. *wrap* may serve more than metrics."""
        registry = registry_of(told)
        self._server, self._thread = start_http_server(port, address, registry)
        self.port: int = self._server.server_port
        if wrap is not None:
            self._server.set_app(wrap(make_wsgi_app(registry)))

    def close(self) -> None:
        """Stop serving and release the port."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def open_endpoint(part: Part, config: Metrics, told: Sequence[Told], wrap: Wrap | None = None) -> Endpoint | None:
    """Open the endpoint of *part* as configured; None if it is off, or cannot be opened, which is logged."""
    option = f"{part}_port"
    port = getattr(config, option)
    if port is None:
        return None
    try:
        endpoint = Endpoint(str(config.address), port, told, wrap)
    except (OSError, OverflowError, UnicodeError) as problem:
        logger.error(
            "metrics.%s: %s:%s cannot be opened (%s), so this job goes on without metrics; free the port or choose "
            "another (0: any free one), check metrics.address, and start again",
            option,
            config.address,
            port,
            problem,
        )
        return None
    logger.info("metrics: http://%s:%d/metrics", config.address, endpoint.port)
    return endpoint


def registry_of(told: Sequence[Told]) -> CollectorRegistry:
    """Return a registry of what is *told* and process metrics; one that fails does not affect the others."""
    registry = CollectorRegistry()
    for each in told:
        registry.register(_Careful(each))
    ProcessCollector(registry=registry)
    return registry


class _Careful(Collector):
    """Has no metrics if *told* fails: an exception would void the whole scrape."""

    def __init__(self, told: Told) -> None:
        self._told = told

    def collect(self) -> Iterator[Metric]:
        try:
            found = list(self._told())
        except Exception:
            logger.exception("metrics: some failed at a scrape, and are missing")
            return
        yield from found


def gauge(name: str, documentation: str, *labels: str, value: float | None = None) -> GaugeMetricFamily:
    """Return one of our gauges, without labels with its *value*, else without samples."""
    return GaugeMetricFamily(f"offset_sync_{name}", documentation, value, labels or None)


def add_worst(family: GaugeMetricFamily, values: Mapping[tuple[str, ...], float]) -> None:
    """Add at most WORST samples, the largest *values* above 0; keys are labels, the last one a user's name.

    If names become the same label the larger value is shown: a second sample would void the scrape.
    """
    shown: dict[tuple[str, ...], float] = {}
    for labels, value in heapq.nlargest(WORST, values.items(), key=itemgetter(1)):
        shown.setdefault((*labels[:-1], to_label(labels[-1])), value)
    for labels, value in shown.items():
        if value > 0:
            family.add_metric(labels, value)


def to_label(name: str) -> str:
    """Return *name* as a label's value: not too long, and without characters that would break the text format.

    Quotes, backslashes and line ends are escaped by the client library. Two names may become one.
    """
    shown = name if len(name) <= LONGEST_LABEL else name[: LONGEST_LABEL - 1] + "…"
    return "".join("\ufffd" if unicodedata.category(each) in _BREAKING and each != "\n" else each for each in shown)
