"""Routers of bridges get a host, and another one when theirs is lost."""

import uuid
from collections.abc import Collection
from dataclasses import replace
from functools import partial

from django.db.models.functions import Now

from computeagent.protocol.networks import NetworkBackendKind
from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.infra.db import in_transaction
from controlplane.kernel.errors import Conflict
from controlplane.kernel.texts import phrase as _
from servers.conf import server_options
from servers.models import Router
from servers.networks.domain.router_host import RouterHost, host_choose, leave_reason
from servers.networks.selectors.routers import RouterNeeds, router_get, router_hosts, router_needs
from servers.networks.services.changes import networks_changed

FEWEST = _("It has the fewest routers of the hosts that can have it.")
AT_ONCE = 200
"""Routers that are placed in one transaction."""


def routers_place(router_ids: Collection[uuid.UUID]) -> int:
    """Give each of these a host that can have it; who has one stays there. Inside a transaction. Returns how many
    changed. Routers that no host can have say so in `problem`, and are tried again every few seconds.
    """
    rows = Router.objects.select_for_update(no_key=True, of=("self",)).filter(pk__in=router_ids).order_by("pk")
    routers, needs = list(rows), router_needs(router_ids)
    hosts = {host.name: host for host in router_hosts()}
    changed, left = [], set()
    for router in routers:
        before = (router.host, router.host_reason, router.problem)
        _place(router, needs[router.pk], hosts)
        if (router.host, router.host_reason, router.problem) == before:
            continue
        Router.objects.filter(pk=router.pk).update(
            host=router.host, host_reason=router.host_reason, problem=router.problem, updated_at=Now()
        )
        changed.append(router.pk)
        left.add(before[0])
    if changed:
        networks_changed(routers=changed, hosts=left)
    return len(changed)


def _place(router: Router, needs: RouterNeeds, hosts: dict[str, RouterHost]) -> None:
    """Where it is to be, in the row and in the numbers of the hosts."""
    if not needs.is_bridged:
        if router.host:
            router.host, router.host_reason, router.problem = "", "", ""
        return
    former, reason = router.host, ""
    if former:
        silence_s = server_options().router_host_down_s
        reason = leave_reason(hosts.get(former), physical=needs.physical, max_silence_s=silence_s)
        if not reason:
            return
    others = [host for name, host in hosts.items() if name != former]
    name, problem = host_choose(others, physical=needs.physical)
    why = _("It left {former}, since {reason}. ", former=former, reason=reason) if former else ""
    router.host, router.problem = name, problem if name else (why + problem).strip()
    router.host_reason = f"{why}{FEWEST}" if name else ""
    if name:
        hosts[name] = replace(hosts[name], routers=hosts[name].routers + 1)


def routers_round() -> int:
    """Move what cannot stay, and place what found no host before. Returns how many got another host or none.

    Looks without locks first, and decides under the locks of those that it found: run twice at once, each moves once.
    """
    bridge = NetworkBackendKind.BRIDGE.value
    rows = Router.objects.filter(ports__network__kind=bridge).order_by("pk").distinct()
    found = dict(rows.values_list("pk", "host"))
    if not found:
        return 0
    needs, hosts = router_needs(list(found)), {host.name: host for host in router_hosts()}
    silence_s = server_options().router_host_down_s
    due = [
        pk
        for pk, host in found.items()
        if not host or leave_reason(hosts.get(host), physical=needs[pk].physical, max_silence_s=silence_s)
    ]
    parts = [due[first : first + AT_ONCE] for first in range(0, len(due), AT_ONCE)]
    return sum(in_transaction(partial(routers_place, part)) for part in parts)


@audited("router.move", Router, by="router_id", also=("host",))
def router_move(*, caller: Caller | None, router_id: uuid.UUID, host: str = "") -> Router:
    """Move a router to this host, or to the best of the others. The callers decide who may.

    Raises RouterNotFound; Conflict where that host, or each other one, cannot have it, with the reason.
    """
    router = router_get(caller=caller, router_id=router_id)

    def work() -> None:
        held = Router.objects.select_for_update(no_key=True, of=("self",)).get(pk=router.pk)
        needs = router_needs([held.pk])[held.pk]
        if not needs.is_bridged:
            raise Conflict(_("This router has no network of bridges: it lives on no single host."), field="host")
        candidates = [each for each in router_hosts() if each.name != held.host]
        if host:
            candidates = [each for each in candidates if each.name == host]
            if not candidates:
                raise Conflict(
                    _("{host:.80} is no other host than the one that has the router.", host=host), field="host"
                )
        name, problem = host_choose(candidates, physical=needs.physical)
        if problem:
            raise Conflict(problem, field="host")
        reason = _("An administrator moved it away from {host}.", host=held.host or "nowhere")
        Router.objects.filter(pk=held.pk).update(host=name, host_reason=reason, problem="", updated_at=Now())
        networks_changed(routers=[held.pk], hosts=[held.host])

    in_transaction(work)
    return router_get(caller=caller, router_id=router_id)
