"""Replace: the whole new state of any consumers, old and new, in one transaction (PUT and POST of allocations)."""

from collections.abc import Sequence
from uuid import UUID

from controlplane.infra.db import in_transaction
from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _
from placement.domain import ConsumerState, check_states
from placement.services.allocation_writer import Locked, allocations_rewrite, class_ids, held_by, names_asked
from placement.services.consumers import consumers_upsert, generations_check
from placement.services.counts import keys_lock
from placement.services.locks import providers_touch, seen_check
from placement.services.single_claim import claimed_shortly


def allocations_replace(states: Sequence[ConsumerState]) -> None:
    """Let every consumer hold its new state, and nothing else, or change nothing at all.

    A consumer that shall hold nothing ends. Its generation, and that of every provider it holds or held something of,
    grows by 1; a new consumer starts at 1. As in Placement, min_unit, max_unit and step_size count for every amount
    that is asked, new or not, and capacity only for what is more than before.

    Raises ConsumerChanged; Invalid (field "resource_provider" or "resource_class", extra `unknown`, texts) for what is
    not there; NoCapacity (see `domain.capacity_error`).
    """
    check_states(states)
    if states:
        states_set(states, must_exist=True)


def states_set(states: Sequence[ConsumerState], *, must_exist: bool) -> None:
    """The work, for states that are sound. Without `must_exist` a provider or class that is unknown has no capacity."""
    if len(states) == 1 and claimed_shortly(states[0]):
        return
    in_transaction(lambda: states_write(states, must_exist=must_exist))


def states_write(states: Sequence[ConsumerState], *, must_exist: bool) -> None:
    """The plain way, for any states, in the caller's transaction."""
    consumers = consumers_upsert(states)
    generations_check(states, consumers)
    keys_lock(states)
    held = held_by([consumer.id for consumer in consumers.values() if consumer.before is not None])
    provider_uuids, names = names_asked(states)
    providers = providers_touch({one.provider_id for one in held}, uuids=provider_uuids)
    classes = class_ids(names)
    if must_exist:
        known_check("resource_provider", provider_uuids, providers)
        known_check("resource_class", names, classes)
    allocations_rewrite(states, Locked(consumers, providers, classes, held))
    seen_check(states, providers)  # last: who finds no room gets the numbers instead


def known_check(field: str, asked: set[UUID] | set[str], known: object) -> None:
    """Raise Invalid for the names that are not known."""
    unknown = sorted(str(name) for name in asked if name not in known)  # type: ignore[operator]
    if unknown:
        raise Invalid(
            _("There is no {field} {unknown}.", field=field.replace("_", " "), unknown=", ".join(unknown)),
            field=field,
            unknown=unknown,
        )
