"""The invariants of docs/design.md, by their numbers."""

from __future__ import annotations

from protections.entry import Protection

BY_NUMBER: dict[int, tuple[Protection, ...]] = {}
PROTECTIONS: tuple[Protection, ...] = tuple(each for of_one in BY_NUMBER.values() for each in of_one)
