"""The HTTP endpoint that Prometheus scrapes. Its errors are logged and never stop a job."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from prometheus_client import CollectorRegistry, Info, ProcessCollector, make_wsgi_app, start_http_server
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from offset_sync import __version__
from offset_sync.config import Metrics

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

logger = logging.getLogger(__name__)
Wrap = Callable[["WSGIApplication"], "WSGIApplication"]
Part = Literal["sync_offsets", "report_status"]


class Endpoint:
    """A running endpoint at *port*."""

    def __init__(
        self, part: Part, address: str, port: int, collectors: Sequence[Collector], wrap: Wrap | None = None
    ) -> None:
        """Open it; raises OSError if the address or port is unavailable. *wrap* may serve more than metrics."""
        registry = registry_of(part, collectors)
        self._server, self._thread = start_http_server(port, address, registry)
        self.port: int = self._server.server_port
        if wrap is not None:
            self._server.set_app(wrap(make_wsgi_app(registry)))

    def close(self) -> None:
        """Stop serving and release the port."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def open_endpoint(
    part: Part, config: Metrics, collectors: Sequence[Collector], wrap: Wrap | None = None
) -> Endpoint | None:
    """Open the endpoint of *part* as configured; None if it is off, or cannot be opened, which is logged."""
    option = f"{part}_port"
    port = getattr(config, option)
    if port == "off":
        return None
    try:
        endpoint = Endpoint(part, str(config.address), port, collectors, wrap)
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


def registry_of(part: Part, collectors: Sequence[Collector]) -> CollectorRegistry:
    """Return a registry of *collectors*, process and build metrics; a failing collector does not affect the others."""
    registry = CollectorRegistry()
    Info("offset_sync_build", "1; which job answers here, and its version", registry=registry).info(
        {"part": part, "version": __version__}
    )
    for collector in collectors:
        registry.register(_Careful(collector))
    ProcessCollector(registry=registry)
    return registry


class _Careful(Collector):
    """Returns no metrics if *collector* fails: an exception would void the whole scrape."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector

    def collect(self) -> Iterator[Metric]:
        try:
            found = list(self._collector.collect())
        except Exception:
            logger.exception("metrics: %s failed at a scrape; its metrics are missing", type(self._collector).__name__)
            return
        yield from found
