"""Records whose headers are not what a mirror writes: producers that make them up, or hand on what they were given."""

from __future__ import annotations

from offset_sync.model.values import TopicPartition
from simulation.acting import Acting
from simulation.logs import Record
from simulation.mirrors import headers_of

MOST_RECORDS = 40


class OddRecords(Acting):
    """Actions of producers."""

    def do_malformed(self, alias: str, place: TopicPartition, chance: float) -> None:
        self.world.produce(alias, place, (b"IDC-Y", b"x"), is_odd=True)

    def do_beyond_log(self, alias: str, place: TopicPartition, chance: float) -> None:
        self.world.produce(alias, place, headers_of(self.other(alias, chance), 1_000 + int(chance * 100)), is_odd=True)

    def do_leak(self, alias: str, place: TopicPartition, chance: float) -> None:
        other = self.other(alias, chance)
        if end := self.log(other, place).end:
            self.world.produce(alias, place, headers_of(other, int(chance * end)), is_odd=True)

    def do_echo(self, alias: str, place: TopicPartition, chance: float) -> None:
        log = self.log(alias, place)
        offset = int(chance * log.end)
        if not log.start <= offset < log.end <= MOST_RECORDS or (record := log.entries[offset]) is None:
            return
        if self.world.births[place][record.number] == (alias, offset, log.life) and record.headers is None:
            self.world.append(alias, place, Record(record.number, headers_of(alias, offset)))
