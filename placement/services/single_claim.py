"""The short way of the commonest claim: one consumer that holds nothing takes classes of one provider.

On PostgreSQL a function of the database does it (`placement_claim_one`, made by migration 0003). It takes one round
trip and, outside a transaction of the caller, neither BEGIN nor COMMIT: its statements are planned once per
connection, and all Python does is call it.

The function follows the rules of `allocation_writer`. It locks the consumer by inserting it, then the provider by
counting its generation, then it changes the inventories by the guard. Each of its statements sees what was committed
when it begins, so after the wait for the provider the guard reads the newest numbers. It leaves a consumer that exists
already alone (ON CONFLICT DO NOTHING, which waits for whoever is inserting or deleting it just now). A claim that
cannot win by what is committed ends before it writes or waits at all; one that loses only behind the lock is undone as
a whole by an error.

A provider that has changed since it was chosen (`seen`) gives nothing, even if it has room: the function checks that
before the first write, and the UPDATE that locks the provider checks it again.

The short way leaves whatever it cannot do to the long way, which does it or says why not. On SQLite there is only the
long way: a write there costs a file lock, not round trips.

It saves 44 % of the CPU of PUT /placement/allocations/{consumer} and 15 % of a choice of host with its claim
(`python -m bench.fast_ways --only "claim in one call"`), and is held to the plain way, `replace.states_write`, by
`tests/properties/placement/test_claim_in_one_call.py`.
"""

from django.db import IntegrityError, OperationalError, connection, transaction

from placement.domain import INCOMPLETE_OWNER, ConsumerState
from placement.domain.errors import provider_changed
from placement.models import ResourceProvider

_CALL = "SELECT placement_claim_one(%s, %s, %s, %s, %s, %s, %s, %s, %s)"


def claimed_shortly(state: ConsumerState) -> bool:
    """Whether the short way gave this consumer its state. False: nothing has happened, take the long way.

    Raises ProviderChanged.
    """
    if connection.vendor != "postgresql" or not _is_simple(state):
        return False
    try:
        if not connection.in_atomic_block:
            return _call(state)
        with transaction.atomic():  # an error must not spoil the caller's transaction
            return _call(state)
    except (IntegrityError, OperationalError):
        return False


def _is_simple(state: ConsumerState) -> bool:
    """Whether the function can serve this state: a new consumer without limits, and only one provider named."""
    if isinstance(state.generation, int) or state.limits or len(state.resources) != 1:
        return False
    ((provider, classes),) = state.resources.items()
    return bool(classes) and not state.seen.keys() - {provider}


def _call(state: ConsumerState) -> bool:
    ((provider, classes),) = state.resources.items()
    with connection.cursor() as cursor:
        cursor.execute(
            _CALL,
            (
                state.consumer_uuid,
                state.project_id or INCOMPLETE_OWNER,
                state.user_id or INCOMPLETE_OWNER,
                state.consumer_type,
                state.by_client,
                provider,
                list(classes),
                list(classes.values()),
                state.seen.get(provider),
            ),
        )
        (is_done,) = cursor.fetchone()
    if is_done is None:
        # The function found another generation. Where it reads as expected by now, the long way decides.
        expected = state.seen[provider]
        actual = ResourceProvider.objects.filter(uuid=provider).values_list("generation", flat=True).first()
        if actual is not None and actual != expected:
            raise provider_changed(provider, expected=expected, actual=actual)
    return bool(is_done)
