"""The brake on guessing: tries are counted first and judged afterwards, so that tries which are under way at the same
time see each other. See `domain.throttle` for what is counted and who waits.
"""

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from controlplane.identity.domain import LoginThrottled
from controlplane.identity.domain.throttle import FORGOTTEN_AFTER_S, FREE, Bucket, login_wait_s
from controlplane.identity.models import LoginFailure
from controlplane.infra.db import db_now, now_plus

MAX_FORGOTTEN_AT_ONCE = 1000
Tries = dict[Bucket, tuple[str, str]]
"""What a try counts in, as username and address."""


@transaction.atomic
def tries_count(buckets: Tries) -> None:
    """One more failure in each, as long as it is not known better. A try that has to wait is not counted.

    Raises LoginThrottled.
    """
    fresh = [
        LoginFailure(bucket=bucket, username=name, address=address, failures=0, last_failed_at=Now())
        for bucket, (name, address) in buckets.items()
    ]
    LoginFailure.objects.bulk_create(fresh, ignore_conflicts=True)
    rows = list(LoginFailure.objects.select_for_update().filter(_any_of(buckets)).order_by("pk"))
    now = db_now()
    for row in rows:
        bucket = Bucket(row.bucket)
        since_last_s = (now - row.last_failed_at).total_seconds()
        wait = login_wait_s(failures=row.failures, since_last_s=since_last_s, free=FREE[bucket])
        if wait:
            raise LoginThrottled(wait, bucket)
    LoginFailure.objects.filter(_any_of(buckets)).update(failures=F("failures") + 1, last_failed_at=Now())


def tries_forgive(buckets: Tries, *, anew: Bucket) -> None:
    """The try was right: `anew` starts anew, the others lose this one try and keep those of strangers."""
    LoginFailure.objects.filter(_any_of({anew: buckets[anew]})).delete()
    tries_take_back({bucket: key for bucket, key in buckets.items() if bucket is not anew})


def tries_take_back(buckets: Tries) -> None:
    """Nobody judged the try: it counts nowhere."""
    if buckets:
        LoginFailure.objects.filter(_any_of(buckets), failures__gt=0).update(failures=F("failures") - 1)


def _any_of(buckets: Tries) -> Q:
    found = Q()
    for bucket, (username, address) in buckets.items():
        found |= Q(bucket=bucket, username=username, address=address)
    return found


@transaction.atomic
def tries_forget_old() -> None:
    """Old counts go, whoever's they are: a forgotten one starts anew, and the table stays small.

    Rows that somebody counts in now are passed over: two that wait for each other's rows would be a deadlock.
    """
    old = LoginFailure.objects.filter(last_failed_at__lt=now_plus(-FORGOTTEN_AFTER_S))
    keys = list(old.select_for_update(skip_locked=True).values_list("pk", flat=True)[:MAX_FORGOTTEN_AT_ONCE])
    if keys:
        LoginFailure.objects.filter(pk__in=keys).delete()
