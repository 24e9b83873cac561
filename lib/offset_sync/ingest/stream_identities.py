"""What records of one partition are, by their headers and by what their stream allows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from offset_sync.config.stream_names import Names
from offset_sync.decode.mirror_headers import Identities
from offset_sync.decode.one_origin import all_native, of_one_origin
from offset_sync.decode.place_header import confirmed, read_places
from offset_sync.model.values import TopicPartition

Places = tuple[pa.Array, NDArray[np.int64]]
"""The values of the third header, and the times of the records in ms."""


def judged(
    found: Identities,
    place: TopicPartition,
    alias: str,
    names: Names,
    origins: Mapping[str, str],
    header: Places | None = None,
) -> Identities:
    """Return the identities, *found* in the stream *place* at the cluster *alias*, that count.

    *origins* are aliases by what the origin header says. The third *header* names the topic as its origin does.
    """
    home = names.home(place.topic)
    if home == alias:
        return all_native(found)
    if header is not None:
        topic = names.origin_topic(place.topic) or place.topic
        found = confirmed(found, read_places(header[0], topic, place.partition, header[1]))
    if home is None:
        return found
    is_home = np.array([*(origins.get(each, each) == home for each in found.origins), False], np.bool_)
    return of_one_origin(found, is_home[found.origin_code])
