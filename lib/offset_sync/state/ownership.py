"""Whose commit counts, and what may be done to the value that stands at a target. Arrays in, arrays out.

The owner of a (group, topic, partition) is the cluster with the newest *genuine* commit. What we wrote ourselves is
never genuine: taken for one, an answer from A to B would come back from B to A.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import Rule
from offset_sync.translate.index.runs import Int64s

NO_OWNER = -1


def owners(genuine_at_ms: Int64s) -> NDArray[np.intp]:
    """Return the cluster that owns each key, :data:`NO_OWNER` where nobody committed.

    *genuine_at_ms* has shape (clusters, keys), negative where a cluster has no genuine commit. Equal times go to the
    first cluster: an order that all drivers share.
    """
    if genuine_at_ms.shape[1] == 0:
        return np.empty(0, np.intp)
    owner = np.argmax(genuine_at_ms, axis=0)
    return np.where(np.max(genuine_at_ms, axis=0) < 0, NO_OWNER, owner)


def rules(
    actual_offset: Int64s, actual_is_own: NDArray[np.bool_], actual_at_ms: Int64s, rewound_at_ms: Int64s
) -> NDArray[np.intp]:
    """Return the code of each key's rule, from what is seen at the target and when the source last went back.

    Nothing there (negative offset) or our own value: set it, up or down. Somebody else's, which is older than the
    source's commit or the target would be the owner: forward only, unless the source went back after it.
    """
    is_free = (actual_offset < 0) | actual_is_own
    is_followed = rewound_at_ms > actual_at_ms
    return np.select([is_free, is_followed], [Rule.SET, Rule.FOLLOW], Rule.FORWARD)
