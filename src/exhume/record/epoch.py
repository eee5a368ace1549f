"""Epochs of the head log: stretches that a reader can hold at once, each readable by itself."""

from __future__ import annotations

from msgspec import Struct

from exhume.sampler.sampler import Drained

EPOCH_NS = 60_000_000_000
EPOCH_WORDS = 1_000_000
"""8 MB of addresses: what whoever assembles a segment must hold at once."""
EPOCH_RECORDS = 300_000
EPOCH_SAMPLES = 60_000


class Epoch(Struct):
    number: int = 0
    start_ns: int = 0
    words: int = 0
    records: int = 0
    samples: int = 0

    def begin(self, now_ns: int) -> None:
        self.number += 1
        self.start_ns = now_ns
        self.words = self.records = self.samples = 0

    def add(self, drained: Drained) -> None:
        self.words += len(drained.words)
        self.samples += len(drained.samples)
        self.records += (
            len(drained.mappings.time) + len(drained.comms.time) + len(drained.forks.time)
        )

    def is_over(self, now_ns: int) -> bool:
        return (
            now_ns - self.start_ns >= EPOCH_NS
            or self.words > EPOCH_WORDS
            or self.records > EPOCH_RECORDS
            or self.samples > EPOCH_SAMPLES
        )
