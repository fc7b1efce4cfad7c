"""Moments that somebody wrote down."""

from datetime import UTC, datetime


def in_utc(moment: datetime) -> datetime:
    """The same moment in UTC; one without an offset is of UTC already. Raises ValueError for one that UTC counts to no
    year from 1 to 9999, such as 0001-01-01T00:00:00+01:00.
    """
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"{moment.isoformat()} is in no year from 1 to 9999 of UTC") from error
