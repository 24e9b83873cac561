"""The status page over HTTP: what a browser gets, who gets nothing, and that metrics stay where they were."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

import pytest

from builders.status_rows import NO_DRIFT, status_rows
from offset_sync.config import Metrics
from offset_sync.jobs.endpoint import PageServer, is_open_to_others, served
from offset_sync.status.report import Report

AT = datetime(2026, 11, 27, 3, 12, tzinfo=timezone.utc)
REPORT = Report(status_rows({"reported_at": AT, "group_id": "billing"}), NO_DRIFT, reported_at=AT)
PAGE = "<!doctype html><p>bílling</p>"


class Site:
    """The *pages* at the *port* of report_status."""

    def __init__(self, pages: PageServer, port: int) -> None:
        self.pages, self.port = pages, port

    def ask(self, path: str, method: str = "GET") -> tuple[int, dict[str, str], bytes]:
        """Return status, headers in lower case, and body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path)
            answer = connection.getresponse()
            return answer.status, {name.lower(): text for name, text in answer.getheaders()}, answer.read()
        finally:
            connection.close()


@pytest.fixture
def site() -> Iterator[Site]:
    pages = PageServer(is_open=False)
    with served("report_status", Metrics(address="127.0.0.1", report_status_port=0), [], pages) as port:
        assert port is not None
        yield Site(pages, port)


def test_the_page_the_report_and_the_metrics_are_at_their_paths_once_there_is_a_report(site: Site) -> None:
    status, headers, body = site.ask("/")
    assert (status, b"location.reload()" in body) == (503, True)
    assert site.ask("/status.json")[0] == 503
    site.pages.put(REPORT, PAGE)
    status, headers, body = site.ask("/")
    assert (status, headers["content-type"], body.decode()) == (200, "text/html; charset=utf-8", PAGE)
    assert int(headers["content-length"]) == len(body)
    status, headers, body = site.ask("/status.json")
    assert (status, headers["content-type"]) == (200, "application/json")
    assert json.loads(body) == json.loads(REPORT.to_json())
    status, _, body = site.ask("/metrics")
    assert (status, b"process_start_time_seconds" in body) == (200, True)


def test_a_page_is_not_kept_and_not_framed(site: Site) -> None:
    site.pages.put(REPORT, PAGE)
    status, headers, body = site.ask("/", "HEAD")
    assert (status, int(headers["content-length"]), body) == (200, len(PAGE.encode()), b"")
    assert headers["content-security-policy"] == "frame-ancestors 'none'"
    assert (headers["x-content-type-options"], headers["cache-control"]) == ("nosniff", "no-cache")


def asked_from(address: str, host: str, *, is_open: bool = False) -> str:
    """Return the status of an answer to a request from elsewhere."""
    pages, told = PageServer(is_open=is_open), list[str]()
    pages.put(REPORT, PAGE)
    environ: dict[str, Any] = {"PATH_INFO": "/", "REQUEST_METHOD": "GET", "REMOTE_ADDR": address, "HTTP_HOST": host}
    metrics: Any = None
    answer: Any = pages.over(metrics)
    body = b"".join(answer(environ, lambda status, _: told.append(status)))
    assert (b"billing" in body or PAGE.encode() == body) == told[0].startswith("200")
    return told[0]


LOCAL, ELSEWHERE = "127.0.0.1", "10.0.0.7"
HERE = [(LOCAL, "localhost:9465"), (LOCAL, "[::1]:9465"), ("::1", "localhost"), ("::ffff:127.0.0.1", "127.0.0.2:1")]
THERE = [(ELSEWHERE, "localhost"), (f"::ffff:{ELSEWHERE}", "localhost"), ("", "localhost")]
THERE += [(LOCAL, host) for host in ("evil.example", "localhost.evil.example", "", "[::")]


@pytest.mark.parametrize(("address", "host"), HERE + THERE)
def test_others_than_this_machine_see_the_page_only_where_an_address_is_configured(address: str, host: str) -> None:
    assert asked_from(address, host).startswith("200" if (address, host) in HERE else "403")
    assert asked_from(address, host, is_open=True).startswith("200")


@pytest.mark.parametrize(
    ("given", "is_open"),
    [({}, False), ({"address": "0.0.0.0"}, True), ({"address": "10.0.0.1"}, True), ({"address": "metrics.dc1"}, True)]
    + [({"address": address}, False) for address in ("127.0.0.1", "::1", "localhost", "127.0.0.2")],
)
def test_it_is_open_to_others_only_at_an_address_that_is_given_and_that_they_reach(
    given: dict[str, str], is_open: bool
) -> None:
    assert is_open_to_others(Metrics(**given)) == is_open  # type: ignore[arg-type]
