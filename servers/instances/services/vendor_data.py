"""What the installation says to its guests: from a file, and from services that are asked about each guest.

Form and rules are Nova's: https://docs.openstack.org/nova/latest/admin/vendordata.html. A service is asked by a POST
that is signed as webhooks are, when the config drive is made.
"""

import json
import logging
import threading
import time
from pathlib import Path
from typing import Any

from controlplane.kernel.errors import Invalid, Throttled
from controlplane.kernel.texts import phrase as _
from controlplane.notifications.http_client import http_post
from controlplane.notifications.signature import SIGNATURE_HEADER, signature
from servers.conf import ServerOptions, server_options
from servers.instances.domain.vendor_data import (
    VENDOR_DATA_MAX_BYTES,
    VendorDataTarget,
    vendor_data_merged,
    vendor_data_request,
    vendor_data_targets,
    with_disk_config,
)
from servers.models import Instance

log = logging.getLogger(__name__)
ANYWHERE = ("0.0.0.0/0", "::/0")
"""The addresses are the operator's own choice, unlike those of webhooks."""
SIDE_BY_SIDE = 4
"""Guests that one web process asks about at the same time; whoever comes on top of them asks again."""
_asking = threading.BoundedSemaphore(SIDE_BY_SIDE)


def has_vendor_data(instance: Instance) -> bool:
    """Whether the guest is told anything by anybody, so that somebody has to ask."""
    options = server_options()
    is_configured = options.vendordata_jsonfile_path or options.vendordata_dynamic_targets
    return bool(is_configured or with_disk_config({}, instance.disk_config))


def vendor_data_of(instance: Instance) -> tuple[str, str]:
    """JSON texts of vendor_data.json and vendor_data2.json.

    Raises Invalid where VENDORDATA_DYNAMIC_FAILURE_FATAL and a service did not answer; Throttled when too many are
    asked about right now.
    """
    options = server_options()
    static = static_vendor_data(options)
    targets, _ = vendor_data_targets(options.vendordata_dynamic_targets)
    dynamic = _asked(instance, targets, options) if targets else {}
    merged = vendor_data_merged(static if options.vendordata_jsonfile_path else None, dynamic)
    return json.dumps(with_disk_config(static, instance.disk_config)), json.dumps(merged)


def static_vendor_data(options: ServerOptions) -> dict[str, Any]:
    """The object in VENDORDATA_JSONFILE_PATH; empty, with a word in the log, where there is none to be read."""
    if not options.vendordata_jsonfile_path:
        return {}
    try:
        found = json.loads(_file_bytes(Path(options.vendordata_jsonfile_path)))
    except (OSError, ValueError) as error:
        log.warning("vendor data: %s cannot be read: %s", options.vendordata_jsonfile_path, error)
        return {}
    if not isinstance(found, dict):
        log.warning("vendor data: %s holds no JSON object", options.vendordata_jsonfile_path)
        return {}
    return found


def _file_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        data = file.read(VENDOR_DATA_MAX_BYTES + 1)
    if len(data) > VENDOR_DATA_MAX_BYTES:
        raise ValueError(f"it has more than {VENDOR_DATA_MAX_BYTES} bytes")
    return data


def _asked(instance: Instance, targets: list[VendorDataTarget], options: ServerOptions) -> dict[str, Any]:
    """The answer of each service by its name. The deadline is for all of them together."""
    if not _asking.acquire(blocking=False):
        raise Throttled(_("Vendor data services are asked about other guests now."), wait_s=1.0)
    until = time.monotonic() + options.vendordata_dynamic_timeout_s
    try:
        return {target.name: _answer(instance, target, options, until) for target in targets}
    finally:
        _asking.release()


def _answer(instance: Instance, target: VendorDataTarget, options: ServerOptions, until: float) -> Any:
    """The JSON that the service answers; {} where it does not, unless that is fatal."""
    body = json.dumps(vendor_data_request(instance)).encode()
    headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "kilonova-vendordata"}
    if options.vendordata_secret:
        timestamp = int(time.time())
        headers[SIGNATURE_HEADER] = signature(secret=options.vendordata_secret, timestamp=timestamp, body=body)
    answer = http_post(
        url=target.url,
        body=body,
        headers=headers,
        timeout_s=max(0.001, until - time.monotonic()),
        allowed_networks=ANYWHERE,
        max_read_bytes=VENDOR_DATA_MAX_BYTES,
    )
    problem = answer.problem
    if not problem:
        try:
            return json.loads(answer.body) if answer.body else {}
        except ValueError:
            problem = _("it did not answer with JSON")
    log.warning("vendor data service %s about instance %s: %s", target.name, instance.pk, problem)
    if options.vendordata_dynamic_failure_fatal:
        raise Invalid(
            _(
                "The vendor data service {target} did not answer as it must: {problem}.",
                target=target.name,
                problem=problem,
            )
        )
    return {}
