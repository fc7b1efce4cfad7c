"""What another policy would have done with a request, against the one that decided."""

from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest


class Agreement(StrEnum):
    """What the other policy would have done, against the one that decided."""

    SAME = "same"
    ELSEWHERE = "elsewhere"
    WOULD_FAIL = "would_fail"
    WOULD_SUCCEED = "would_succeed"
    BOTH_FAIL = "both_fail"


@dataclass(frozen=True, slots=True)
class PolicyComparison:
    """The other policy against the one that decided.

    `moved` counts instances that would have another compute node (or one where they had none, or none). The `hosts`
    are in the order of the batch. `score_difference` is how much more points the other policy gives to its own choices
    than to those that were made, in its own points, on average over instances where it lets both hosts pass; None
    where there are none. The fragmentations are the part (0 to 1) of the room left that larger
    instances could not use; None where nothing was placed.
    """

    agreement: Agreement
    moved: int
    decided_hosts: tuple[str, ...]
    other_hosts: tuple[str, ...]
    score_difference: float | None = None
    decided_fragmentation: float | None = None
    other_fragmentation: float | None = None

    @property
    def deciding_pair(self) -> tuple[str, str]:
        """The decided and the other host of the first instance that they differ in, else of the first one."""
        pairs = list(zip_longest(self.decided_hosts, self.other_hosts, fillvalue=""))
        return next((pair for pair in pairs if pair[0] != pair[1]), pairs[0] if pairs else ("", ""))
