"""What a scrape has brought, by name and labels."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.request import urlopen

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from offset_sync.jobs.endpoint import registry_of

Labels = frozenset[tuple[str, str]]


class Scrape:
    """The samples in *text*, the format that Prometheus reads; AssertionError if one occurs twice."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._values: dict[tuple[str, Labels], float] = {}
        self.kinds: dict[str, tuple[str, str]] = {}
        """Kind and help of each metric of ours."""
        for family in text_string_to_metric_families(text):
            if family.name.startswith("offset_sync_"):
                name = f"{family.name}_total" if family.type == "counter" else family.name
                self.kinds[name] = family.type, family.documentation
            for sample in family.samples:
                where = sample.name, frozenset(sample.labels.items())
                assert where not in self._values, where
                self._values[where] = float(sample.value)

    def values(self, name: str, label: str, **labels: str) -> dict[str, float]:
        """Return the values of all samples with at least *labels*, by what they say for *label*."""
        found = {}
        for (one, where), value in self._values.items():
            if one == f"offset_sync_{name}" and where >= labels.items():
                found[dict(where)[label]] = value
        return found

    def labels(self) -> dict[str, set[str]]:
        """Return, for every name of ours, the names of the labels that occur."""
        found: dict[str, set[str]] = {}
        for name, where in self._values:
            if name.startswith("offset_sync_"):
                found.setdefault(name, set()).update(label for label, _ in where)
        return found


def read(collectors: Iterable[Collector]) -> Scrape:
    """Scrape *collectors* without a network."""
    return Scrape(generate_latest(registry_of(collectors)).decode())


def fetch(port: int) -> Scrape:
    """Scrape the endpoint at *port* of this machine, as Prometheus does."""
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        return Scrape(answer.read().decode())
