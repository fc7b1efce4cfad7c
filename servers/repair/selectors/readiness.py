"""Can a VM be created now? Each thing that it takes, and what is missing of it."""

from controlplane.kernel.errors import Unavailable
from controlplane.kernel.units import MIB
from controlplane.work.conf import work_options
from controlplane.work.readiness import (
    Check,
    CheckState,
    ReadinessCheck,
    checks_run,
    checks_skipped,
    database_missing,
    infra_checks,
)
from scheduling.fleet.selectors.hosts import hosts_schedulable_count
from servers.images.domain.images import ImageStatus
from servers.images.selectors import newest_upload
from servers.images.stores.chosen import byte_store
from servers.images.stores.store import BytesName
from servers.images.stores.watch import StoreQuestion, image_store_watch
from servers.models import Flavor, Image


def readiness_checks() -> list[Check]:
    """Every check, whatever the others say; only without a database the rest is skipped."""
    named_checks = infra_checks() | _catalog_checks()
    database = checks_run({"database": database_missing})
    if database[0].state is not CheckState.OK:
        return [*database, *checks_skipped(list(named_checks), "the database does not answer")]
    return [*database, *checks_run(named_checks)]


def readiness_reasons(checks: list[Check]) -> list[str]:
    """Why no VM can be created; empty when one can."""
    return [check.reason for check in checks if check.state is CheckState.FAILED]


def _catalog_checks() -> dict[str, ReadinessCheck]:
    return {
        "flavors": lambda: _unless(Flavor.objects.filter(disabled=False).exists(), "there is no flavor"),
        "images": lambda: _unless(Image.objects.filter(status=ImageStatus.ACTIVE).exists(), "there is no active image"),
        "image_store": _image_store_away,
        "hosts": lambda: _unless(hosts_schedulable_count() > 0, "no compute host is enabled and up"),
    }


def _image_store_away() -> str:
    """Why images cannot be had; of an answer that was made beside this request, so that none of it is waited for."""
    try:
        store = byte_store()
    except Unavailable as error:  # what is not set
        return error.message
    newest, wanted = newest_upload(), work_options().ready_disk_free_mib * MIB
    return image_store_watch().problem(StoreQuestion(store, BytesName(*newest) if newest else None, wanted))


def _unless(is_fine: bool, reason: str) -> str:
    return "" if is_fine else reason
