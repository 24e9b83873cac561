"""The newest report of report_status over HTTP: as metrics, as the page at ``/``, and as ``/status.json``.

Unless ``metrics.address`` is set, pages are only served to requests from this machine: metrics are for a remote
scraper, the names of all groups are not. Errs to refusing: such a request must also name this machine in its Host
header, so that no other web site can read them by a name of its own that resolves to this machine (DNS rebinding).
"""

from __future__ import annotations

import gzip
import ipaddress
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from prometheus_client.metrics_core import Metric

from offset_sync.config import Config, Metrics
from offset_sync.jobs.metrics.endpoint import gauge
from offset_sync.status.assessment import STATUS_WORDS
from offset_sync.status.report import Report

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

Row = Mapping[str, Any]
Labels = tuple[str, ...]


class ReportMetrics:
    """Collects the metrics of the last report, and its age; *clock* in monotonic seconds."""

    def __init__(self, config: Config, clock: Callable[[], float] = time.monotonic) -> None:
        self._pairs, self._clock = config.pairs(), clock
        self._shown: tuple[float, list[Metric]] = clock(), []

    def show(self, report: Report) -> None:
        """Show *report* from the next scrape on, without series that only earlier reports had."""
        pairs = report.document["pairs"]
        positions: dict[Labels, float] = {(*pair, word): 0 for pair in self._pairs for word in STATUS_WORDS}
        for row in pairs:
            positions |= {(*_pair_of(row), word): count for word, count in row["statuses"].items()}
        counted = _gauge("positions", "group partitions by status", positions, "status")
        self._shown = self._clock(), [counted, *_costs(pairs), *_drift(pairs), _rehearsed(report)]

    def collect(self) -> Iterator[Metric]:
        """Return the last report and its age."""
        shown_at, metrics = self._shown
        age = self._clock() - shown_at
        yield gauge("report_age_seconds", "time since the last report, or since the start", value=age)
        yield from metrics


def _costs(pairs: Iterable[Row]) -> Iterator[Metric]:
    why = {"not_mirrored": "not_mirrored", "deleted": "skipped"}
    lost = {(*_pair_of(row), word): row[column] for row in pairs for word, column in why.items()}
    yield _gauge("lost", "unread records that groups would never see if moved now", lost, "why")
    lags = {_pair_of(row): row["mirror_lag_ms"] / 1000 for row in pairs}
    yield _gauge("mirror_lag_seconds", "age of the oldest record not mirrored yet", lags)


def _drift(pairs: Iterable[Row]) -> Iterator[Metric]:
    found = {_pair_of(row): row["drift"] for row in pairs if row["drift"] is not None}
    change = {pair: drift["windowed_change"] for pair, drift in found.items()}
    yield _gauge("windowed_drift", "change of f - g, offsets at source minus target, over ten minutes", change)
    is_within = {pair: drift["is_converged"] for pair, drift in found.items()}
    yield _gauge("drift_converged", "1 while the windowed drift is within its threshold", is_within)


def _rehearsed(report: Report) -> Metric:
    counts = dict[Labels, float]()
    for each in report.rehearsals:
        pair = each.source, each.target
        counts |= {(*pair, "failed"): each.failed, (*pair, "done"): each.partitions - each.failed}
    return _gauge("rehearsed", "partitions of each group's last rehearsal; failed: not as predicted", counts, "outcome")


def _gauge(name: str, text: str, values: Mapping[Labels, float], *labels: str) -> Metric:
    family = gauge(f"report_{name}", text, "source", "target", *labels)
    for of_labels, value in values.items():
        family.add_metric(of_labels, value)
    return family


def _pair_of(row: Row) -> Labels:
    return row["source_cluster"], row["target_cluster"]


_HTML, _JSON, _TEXT = "text/html; charset=utf-8", "application/json", "text/plain; charset=utf-8"
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
        self._is_open = is_open
        self._bodies: dict[str, tuple[str, Callable[[], bytes]] | None] = {"/": None, "/status.json": None}

    def put(self, report: Report, page: str) -> None:
        """Serve a report and its page from now on."""
        as_json = cache(lambda: report.to_json().encode())  # if asked for, once
        self._bodies = {"/": (_HTML, page.encode), "/status.json": (_JSON, as_json)}

    def over(self, metrics: WSGIApplication) -> WSGIApplication:
        """Return an application that serves the pages at their paths, and *metrics* at all others."""

        def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
            is_page = (environ.get("PATH_INFO") or "/") in self._bodies
            return (self._answer if is_page else metrics)(environ, start_response)

        return answer

    def _answer(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environ.get("PATH_INFO") or "/"
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            return _answer(start_response, "405 Method Not Allowed", _TEXT, b"", ("Allow", "GET, HEAD"))
        if not self._is_open and not _is_of_this_machine(environ):
            return _answer(start_response, "403 Forbidden", _TEXT, _ELSEWHERE.encode())
        body = self._bodies[path]
        if body is None:
            kind, text = (_HTML, _WAITING) if path == "/" else (_JSON, "{}")
            return _answer(start_response, "503 Service Unavailable", kind, text.encode(), ("Retry-After", "2"))
        kind, content, more = body[0], body[1](), [("Vary", "Accept-Encoding")]
        if "gzip" in environ.get("HTTP_ACCEPT_ENCODING", ""):
            content, more = gzip.compress(content, 1), [*more, ("Content-Encoding", "gzip")]
        found = _answer(start_response, "200 OK", kind, content, *more)
        return found if environ["REQUEST_METHOD"] == "GET" else [b""]


def _answer(
    start_response: StartResponse, status: str, kind: str, content: bytes, *more: tuple[str, str]
) -> list[bytes]:
    headers = [
        ("Content-Type", kind),
        ("Content-Length", str(len(content))),
        ("Cache-Control", "no-cache"),
        ("X-Content-Type-Options", "nosniff"),
        ("Content-Security-Policy", "frame-ancestors 'none'"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
    ]
    start_response(status, [*headers, *more])
    return [content]


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
