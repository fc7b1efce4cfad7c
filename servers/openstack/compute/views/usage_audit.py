"""How far hosts are with the audit of usage that Nova's agents run each month.

Agents here run none: usage is read from the rows of instances when it is asked for. So of every period no host has run
it, which is what Nova answers where the audit is switched off.
"""

from datetime import UTC, datetime, timedelta

from django.http import HttpResponse

from controlplane.infra.db import db_now
from controlplane.openstack.faults import bad_request
from scheduling.fleet.selectors.liveness import services_with_is_up
from servers.openstack.compute.call import ComputeCall

FORMS = ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S")
SHOWN = "%Y-%m-%d %H:%M:%S"


def audit_now(call: ComputeCall) -> HttpResponse:
    """The last whole month."""
    return call.answer({"instance_usage_audit_logs": _log(db_now())})


def audit_before(call: ComputeCall, before: str) -> HttpResponse:
    """The last whole month before a moment. Raises Fault 400."""
    for form in FORMS:
        try:
            moment = datetime.strptime(before, form).replace(tzinfo=UTC)
        except ValueError:
            continue
        return call.answer({"instance_usage_audit_log": _log(moment)})
    raise bad_request("Invalid timestamp for date " + before[:80])


def _log(moment: datetime) -> dict[str, object]:
    end = moment.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    hosts = [service.host for service in services_with_is_up()]
    return {
        "period_beginning": f"{(end - timedelta(days=1)).replace(day=1):{SHOWN}}",
        "period_ending": f"{end:{SHOWN}}",
        "num_hosts": len(hosts),
        "num_hosts_done": 0,
        "num_hosts_running": 0,
        "num_hosts_not_run": len(hosts),
        "hosts_not_run": hosts,
        "total_instances": 0,
        "total_errors": 0,
        "overall_status": f"0 of {len(hosts)} hosts done. 0 errors.",
        "log": {},
    }
