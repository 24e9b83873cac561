"""Clocks that differ."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class SkewedClock:
    """A cluster's clock, which differs from the others by *skew_ms*; read as the fakes read theirs."""

    common: list[int]
    skew_ms: int

    def __getitem__(self, _zero: int) -> int:
        return self.common[0] + self.skew_ms
