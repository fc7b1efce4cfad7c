"""Password and files for a first boot: encrypted from the request until the guest runs, then gone.

They are in no order and no answer; the agent that makes the config drive asks for them under its lease.
"""

import json
import uuid
from collections.abc import Mapping, Sequence

from computeagent.protocol.guest_config import FirstBoot, InjectedFile
from controlplane.infra.secret_encryption import secret_decrypt, secret_encrypt
from servers.instances.services.vendor_data import vendor_data_of
from servers.models import FirstBootData, Instance

PURPOSE = b"kilonova first boot"


def first_boot_store(
    *, instance_ids: Sequence[uuid.UUID], admin_pass: str, personality: Sequence[Mapping[str, str]]
) -> None:
    """Keep them for these new instances, in the caller's transaction."""
    if not (admin_pass or personality):
        return
    files = [{"path": each["path"], "contents": "".join(each["contents"].split())} for each in personality]
    encrypted = secret_encrypt(json.dumps({"admin_pass": admin_pass, "files": files}), purpose=PURPOSE)
    FirstBootData.objects.bulk_create(
        FirstBootData(instance_uuid=instance_id, encrypted=encrypted) for instance_id in instance_ids
    )


def first_boot_replace(*, instance_id: uuid.UUID, admin_pass: str, personality: Sequence[Mapping[str, str]]) -> None:
    """Keep them for an instance that boots anew, in place of what was kept for it before."""
    first_boot_erase(instance_id)
    first_boot_store(instance_ids=[instance_id], admin_pass=admin_pass, personality=personality)


def first_boot_read(instance: Instance) -> FirstBoot:
    """What this instance's config drive says besides its order.

    Raises Invalid where a vendor data service must answer and does not, and where SECRET_KEY changed meanwhile.
    """
    row = FirstBootData.objects.filter(instance_uuid=instance.pk).first()
    said = json.loads(secret_decrypt(row.encrypted, purpose=PURPOSE)) if row else {"admin_pass": "", "files": []}
    vendor_data, vendor_data2 = vendor_data_of(instance)
    return FirstBoot(
        admin_password=said["admin_pass"],
        files=tuple(InjectedFile(each["path"], each["contents"]) for each in said["files"]),
        vendor_data=vendor_data,
        vendor_data2=vendor_data2,
    )


def first_boot_erase(instance_id: uuid.UUID) -> None:
    """The guest runs, or is gone: forget them."""
    FirstBootData.objects.filter(instance_uuid=instance_id).delete()
