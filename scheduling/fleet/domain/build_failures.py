"""When a host that fails builds gets no more, and when it gets some again: numbers only."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HostDisableRule:
    """`limit`: failed builds at which a host is disabled, 0 for never. `half_life_s`: 0 for no decay."""

    limit: int
    half_life_s: float

    def is_too_many(self, failed: int) -> bool:
        """Whether a host with so many counted failures gets no new instances."""
        return 0 < self.limit <= failed

    def decayed(self, failed: int, *, quiet_s: float) -> tuple[int, int]:
        """(what still counts, half-lives that passed) after so many seconds without another failure."""
        if not self.half_life_s or quiet_s < self.half_life_s:
            return failed, 0
        passed = int(quiet_s // self.half_life_s)
        return (failed >> passed if passed < failed.bit_length() else 0), passed
