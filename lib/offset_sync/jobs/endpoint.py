"""What Prometheus and browsers get of a job over HTTP: gauges, and the newest report as a page and as JSON.

Errors are logged and never stop a job. Labels are bounded: aliases of clusters, words of ``model.values``, the worst
groups and topics. docs/metrics.md names every metric.

Unless ``metrics.address`` is set, pages are only served to requests from this machine: metrics are for a remote
scraper, the names of all groups are not. Errs to refusing: such a request must also name this machine in its Host
header, so that no other web site can read them by a name of its own that resolves to this machine (DNS rebinding).
"""

from __future__ import annotations

import heapq
import ipaddress
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry, ProcessCollector, make_wsgi_app, start_http_server
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from offset_sync.config import Metrics
from offset_sync.model.text import escaped
from offset_sync.status.assessment import STATUS_WORDS

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from offset_sync.status.report import Report

logger = logging.getLogger(__name__)
WORST = 20
"""So many groups of a pair, and topics of all clusters, are named."""
LONGEST_LABEL = 200
"""Characters of a group or topic that a label shows; Kafka allows 32,767."""
Labels = tuple[str, ...]
PAIR = ("source", "target")
_PAIR = itemgetter("source_cluster", "target_cluster")


def gauge(name: str, text: str, labels: Labels, values: Mapping[Labels, float]) -> Metric:
    """Return a gauge by its *name*, without ``offset_sync_``, and its help *text*, with samples by labels."""
    found = GaugeMetricFamily(f"offset_sync_{name}", text, labels=labels)
    for at, value in values.items():
        found.add_metric(at, value)
    return found


def of_pairs(found: Iterable[tuple[Labels, Mapping[Labels, float]]]) -> dict[Labels, float]:
    """Return the samples of all pairs, each by its pair and its other labels."""
    return {(*pair, *labels): value for pair, values in found for labels, value in values.items()}


class Gauges(Collector):
    """The gauges that *now* returns at a scrape. If that fails they are missing: an exception would void it."""

    def __init__(self, now: Callable[[], Iterable[Metric]]) -> None:
        self._now = now

    def collect(self) -> Iterable[Metric]:
        """Return the gauges as of now."""
        try:
            return [*self._now()]
        except Exception:
            logger.exception("metrics: some failed at a scrape, and are missing")
            return []


def worst(values: Mapping[Labels, float]) -> dict[Labels, float]:
    """Return the WORST largest *values* above 0, of which the last label is a user's name.

    It is cut, and characters that would break the text format are escaped. If names become the same label the larger
    value is shown: a second sample would void the scrape.
    """
    shown = dict[Labels, float]()
    for (*labels, name), value in heapq.nlargest(WORST, values.items(), key=itemgetter(1)):
        if value > 0:
            shown.setdefault((*labels, escaped(name)[:LONGEST_LABEL]), value)
    return shown


@contextmanager
def served(
    part: Literal["sync_offsets", "report_status"],
    config: Metrics,
    collectors: Iterable[Collector],
    pages: PageServer | None = None,
) -> Iterator[int | None]:
    """Serve metrics and *pages* as configured for *part* while the block runs; yields the port.

    None if it is off, or cannot be opened, which is logged.
    """
    option = f"{part}_port"
    port = getattr(config, option)
    if port is None:
        yield None
        return
    registry = registry_of(collectors)
    try:
        server, thread = start_http_server(port, str(config.address), registry)
    except (OSError, OverflowError, UnicodeError) as problem:
        logger.error(
            "metrics.%s: %s:%s cannot be opened (%s), so this job goes on without metrics; free the port or choose "
            "another (0: any free one), check metrics.address, and start again",
            *(option, config.address, port, problem),
        )
        yield None
        return
    if pages is not None:
        server.set_app(pages.over(make_wsgi_app(registry)))
    logger.info("metrics: http://%s:%d/metrics", config.address, server.server_port)
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def registry_of(collectors: Iterable[Collector]) -> CollectorRegistry:
    """Return a registry of *collectors* and process metrics."""
    registry = CollectorRegistry()
    for each in collectors:
        registry.register(each)
    ProcessCollector(registry=registry)
    return registry


class ReportMetrics:
    """The last report, and its age; *clock* in monotonic seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._shown_at = clock, clock()
        self.report: Report | None = None

    def show(self, report: Report) -> None:
        """Show *report* from the next scrape on, without series that only earlier reports had."""
        self._shown_at, self.report = self._clock(), report

    def age_s(self) -> float:
        """Return the time since the last report, or since the start."""
        return self._clock() - self._shown_at

    def gauges(self) -> Iterator[Metric]:
        """Yield the gauges of the last report."""
        rows = [(_PAIR(row), row) for row in self.report.document["pairs"]] if self.report is not None else []
        yield gauge("report_age_seconds", "time since the last report, or since the start", (), {(): self.age_s()})
        yield gauge(
            "report_positions",
            "group partitions by status",
            (*PAIR, "status"),
            of_pairs((pair, {(word,): row["statuses"].get(word, 0) for word in STATUS_WORDS}) for pair, row in rows),
        )
        yield gauge(
            "report_lost",
            "unread records that groups would never see if moved now",
            (*PAIR, "why"),
            of_pairs(
                (pair, {("not_mirrored",): row["not_mirrored"], ("deleted",): row["skipped"]}) for pair, row in rows
            ),
        )
        yield gauge(
            "report_mirror_lag_seconds",
            "age of the oldest record not mirrored yet",
            PAIR,
            {pair: row["mirror_lag_ms"] / 1000 for pair, row in rows},
        )
        drifts = {pair: row["drift"] for pair, row in rows if row["drift"]}
        yield gauge(
            "report_windowed_drift",
            "change of f - g, offsets at source minus target, over ten minutes",
            PAIR,
            {pair: drift["windowed_change"] for pair, drift in drifts.items()},
        )
        yield gauge(
            "report_drift_converged",
            "1 while the windowed drift is within its threshold",
            PAIR,
            {pair: drift["is_converged"] for pair, drift in drifts.items()},
        )


_HTML = "text/html; charset=utf-8"
# By a script: a browser treats a refresh of an address with a # as a jump within the page.
_WAITING = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
    "<title>Offset Sync</title><p>report_status makes its first report."
    "<script>setTimeout(() => location.reload(), 1000)</script>"
)
_ELSEWHERE = "The status page is for this machine only. To serve it to others set metrics.address.\n"


def is_open_to_others(config: Metrics) -> bool:
    """Return whether an address is configured that other machines can reach."""
    return "address" in config.model_fields_set and not _is_loopback(str(config.address))


class PageServer:
    """Serves the last report; *is_open*: also to requests from other machines."""

    def __init__(self, *, is_open: bool) -> None:
        self._is_open, self._waits = is_open, True
        self._bodies: dict[str, tuple[str, Callable[[], bytes]]] = dict.fromkeys(
            ("/", "/status.json"), (_HTML, _WAITING.encode)
        )

    def put(self, report: Report, page: str) -> None:
        """Serve a report and its page from now on."""
        as_json = cache(lambda: report.to_json().encode())  # if asked for, once
        self._waits, self._bodies = False, {"/": (_HTML, page.encode), "/status.json": ("application/json", as_json)}

    def over(self, metrics: WSGIApplication) -> WSGIApplication:
        """Return an application that serves the pages at their paths, and *metrics* at all others."""

        def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
            path = environ.get("PATH_INFO") or "/"
            if path not in self._bodies:
                return metrics(environ, start_response)
            status, kind, body = self._answer(path, environ)
            headers = [
                ("Content-Type", kind),
                ("Content-Length", str(len(body))),
                ("Cache-Control", "no-cache"),
                ("X-Content-Type-Options", "nosniff"),
                ("Content-Security-Policy", "frame-ancestors 'none'"),
                ("Cross-Origin-Resource-Policy", "same-origin"),
            ]
            start_response(status, headers)
            return [b"" if environ["REQUEST_METHOD"] == "HEAD" else body]

        return answer

    def _answer(self, path: str, environ: WSGIEnvironment) -> tuple[str, str, bytes]:
        if not (self._is_open or _is_of_this_machine(environ)):
            return "403 Forbidden", "text/plain; charset=utf-8", _ELSEWHERE.encode()
        kind, body = self._bodies[path]
        return "503 Service Unavailable" if self._waits else "200 OK", kind, body()


def _is_of_this_machine(environ: WSGIEnvironment) -> bool:
    try:
        host = urlsplit(f"//{environ.get('HTTP_HOST', '')}").hostname or ""
    except ValueError:
        return False
    return _is_loopback(host) and _is_loopback(environ["REMOTE_ADDR"])


def _is_loopback(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback
