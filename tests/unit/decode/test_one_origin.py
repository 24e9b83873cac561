"""A log whose records are all of one origin: headers that say otherwise are somebody else's."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from offset_sync.decode.mirror_headers import NOT_MIRRORED, Identities, decode_identities
from offset_sync.decode.one_origin import OTHER_ORIGIN, all_native, of_one_origin


def identities() -> Identities:
    origins = [b"dc1", b"dc2", None, b"dc1", b""]
    offsets = [b"5", b"6", None, b"x", b"7"]
    return decode_identities(pa.array(origins, pa.binary()), pa.array(offsets, pa.binary()), "text")


def test_at_home_every_record_is_native_whatever_its_headers_say() -> None:
    found = all_native(identities())
    assert found.is_native.all()
    assert found.reasons == {}
    assert found.origin_code.tolist() == [NOT_MIRRORED] * 5
    assert found.origin_offset.tolist() == [0] * 5


def test_in_a_copy_what_names_another_origin_is_malformed_and_the_rest_as_it_was() -> None:
    before = identities()
    is_home = np.array([*(each == "dc1" for each in before.origins), False])[before.origin_code]
    found = of_one_origin(before, is_home)
    assert found.is_mirrored.tolist() == [True, False, False, False, False]
    assert found.is_malformed.tolist() == [False, True, False, True, True]
    assert found.is_native.tolist() == [False, False, True, False, False]
    assert found.reasons[1] == OTHER_ORIGIN
    assert found.reasons.keys() == {1, *before.reasons}
    assert of_one_origin(before, before.is_mirrored) is before
