"""What the headers of a history's records say, where applications hand on those of what they read.

A record that such an application writes bears the headers of a copy: of another topic, with the place there. It was
produced in its log all the same, and its own copy gets a stamp of its own.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from workloads import ClusterLog, Workload

from offset_sync.decode.mirror_headers import OFFSET_HEADER, ORIGIN_HEADER, PLACE_HEADER, decode_stamps

Ints = NDArray[np.int64]
_WHERE = ("orders", 0)
_READ_FROM = "payments-0"
_SCATTER = 7_919


def told_by_headers(log: ClusterLog, origin: int, workload: Workload) -> tuple[NDArray[np.int32], Ints]:
    """Return the origin codes and offsets that the records of a log are taken for, shape (records,).

    *origin* is the log's own code. The product's own decoder reads the headers as they are in Kafka.
    """
    if not workload.leaks:
        return log.origin, log.origin_offset
    offset, clusters = np.arange(len(log.origin)), sorted(workload.clusters)
    is_copy = log.origin != origin
    is_leak = ~is_copy & (offset * _SCATTER % 1_000 < workload.leaks * 1_000)
    other = next(code for code in range(len(clusters)) if code != origin)
    named = np.array(clusters)[np.where(is_copy, log.origin, other)]
    numbers = np.where(is_copy, log.origin_offset, offset * _SCATTER % max(1, len(offset)))
    headers = {
        ORIGIN_HEADER: _bytes(named, is_copy | is_leak),
        OFFSET_HEADER: _bytes(numbers.astype(str), is_copy | is_leak),
        PLACE_HEADER: _bytes(np.where(is_copy, f"{_WHERE[0]}-{_WHERE[1]}", _READ_FROM), is_copy | is_leak),
    }
    if not workload.has_place:
        del headers[PLACE_HEADER]
    found = decode_stamps(headers, "text", _WHERE, log.at_ms)
    codes = np.array([*(clusters.index(each) for each in found.origins), origin], np.int32)
    return codes[found.origin_code], np.where(found.is_mirrored, found.origin_offset, offset)


def _bytes(values: NDArray[np.str_], is_there: NDArray[np.bool_]) -> pa.Array:
    return pa.array(values, pa.string(), mask=~is_there).cast(pa.binary())
