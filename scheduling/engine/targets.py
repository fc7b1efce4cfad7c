"""The hosts that the request itself names: the requested destination, those to ignore, those forced."""

from functools import partial

import numpy as np

from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup, refuse_in_turn
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.domain.request.schedule_request import Destination


def refuse_untargeted(spec: RequestSpecView, hosts: Hosts) -> list[RefusalGroup]:
    """Refuse all but exact matches of the destination, then the ignored hosts, then all but the forced ones."""
    rules = []
    if spec.requested_destination is not None:
        rules.append(partial(_refuse_others, spec.requested_destination))
        if spec.requested_destination.cell and not spec.requested_destination.allow_cross_cell_move:
            rules.append(partial(_refuse_other_cells, spec.requested_destination.cell))
    if spec.ignore_hosts:
        rules.append(partial(_refuse_ignored, spec.ignore_hosts))
    if spec.force_hosts:
        rules.append(partial(_refuse_unforced_hosts, spec.force_hosts))
    if spec.force_nodes:
        rules.append(partial(_refuse_unforced_nodes, spec.force_nodes))
    return refuse_in_turn(hosts, rules)


def _refuse_others(destination: Destination, hosts: Hosts) -> list[RefusalGroup]:
    names = " ".join(name for name in (destination.host, destination.node) if name)
    others = np.ones(len(hosts), dtype=np.bool_)
    for at, row in enumerate(hosts.rows.tolist()):
        others[at] = not destination.allows(hosts.table.hosts[row], hosts.table.nodes[row])
    return hosts.refuse(others, RefusalReason.NOT_REQUESTED_HOST, wanted=names or None)


def _refuse_other_cells(wanted: str, hosts: Hosts) -> list[RefusalGroup]:
    refusal = Refusal(RefusalReason.NOT_REQUESTED_HOST, wanted=f"cell {wanted}")
    return hosts.refuse_by(hosts.table.cells, lambda cell: None if cell == wanted else refusal)


def _refuse_ignored(names: tuple[str, ...], hosts: Hosts) -> list[RefusalGroup]:
    return hosts.refuse(hosts.mask(hosts.table.rows_of_hosts(names)), RefusalReason.IGNORED)


def _refuse_unforced_hosts(names: tuple[str, ...], hosts: Hosts) -> list[RefusalGroup]:
    forced = hosts.mask(hosts.table.rows_of_hosts(names))
    return hosts.refuse(~forced, RefusalReason.NOT_FORCED, wanted=", ".join(names))


def _refuse_unforced_nodes(names: tuple[str, ...], hosts: Hosts) -> list[RefusalGroup]:
    forced = hosts.mask(hosts.table.rows_of_nodes(names))
    return hosts.refuse(~forced, RefusalReason.NOT_FORCED, wanted=", ".join(names))
