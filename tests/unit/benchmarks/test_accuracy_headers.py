"""Headers that were handed on, in the accuracy benchmark: only the place tells them apart."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[3] / "benchmarks"))

from accuracy_headers import told_by_headers
from workloads import Workload, steady, write_logs

HALF = steady({"A": 100.0, "B": 100.0})
BOTH = (("A", "B"), ("B", "A"))


def wrongly_told(has_place: bool) -> float:
    """Return of which share of the log at B the decoder believes what is not so."""
    workload = Workload("handed on", 5, HALF, BOTH, (0.01, 0.1), leaks=0.05, has_place=has_place)
    log = write_logs(workload, np.random.default_rng(1))["B"]
    origin, offset = told_by_headers(log, 1, workload)
    return float(((origin != log.origin) | (offset != log.origin_offset)).mean())


def test_with_a_place_header_no_record_passes_for_a_copy() -> None:
    assert wrongly_told(has_place=True) == 0


def test_without_it_those_that_were_handed_on_do() -> None:
    assert 0.01 < wrongly_told(has_place=False) < 0.05
