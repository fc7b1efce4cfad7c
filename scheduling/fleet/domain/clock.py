"""When a host's clock is off: the one rule (as a condition of queries it is in `models.clock`)."""


def clock_is_off(skew_s: float | None, error_s: float | None, *, limit_s: float) -> bool:
    """Whether it differs by more than `limit_s`, even if the measurement was wrong by all of its error."""
    return skew_s is not None and error_s is not None and error_s < abs(skew_s) - limit_s
