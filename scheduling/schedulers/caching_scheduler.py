"""The filter scheduler on a view of the fleet that may be some seconds old."""

from scheduling.domain.policy import Policy
from scheduling.schedulers.filter_scheduler import FilterScheduler


class CachingScheduler(FilterScheduler):
    """Reads the fleet again only when the last read is older than the policy's option `cached_view_age_s`.

    It never grants from the old view: the claim decides in the database, whether the chosen hosts are still up and
    enabled is asked anew, and what fails there, or finds no host, is decided on a fresh read.
    """

    def view_age_s(self, policy: Policy) -> float:
        return policy.options.cached_view_age_s
