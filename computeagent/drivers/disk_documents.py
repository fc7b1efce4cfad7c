"""What a guest is told of its disks: those that have a tag, by which its owner finds them."""

from collections.abc import Mapping

from computeagent.protocol.guests import GuestSpec

Json = Mapping[str, object]


def tagged_disks(guest: GuestSpec) -> list[Json]:
    """For `devices` of meta_data.json, with Nova's names. The serial number is that of the disk in the guest: a
    volume's id, of which virtio shows the first 20 characters. Disks of the host have none.
    """
    volumes = [(each.device, each.volume.id, each.tag) for each in guest.volumes]
    local = [(each.device, "", each.tag) for each in guest.local_disks or ()]
    return [
        {
            "type": "disk",
            "bus": "none",
            "address": "none",
            "serial": serial,
            "path": f"/dev/{device}",
            "tags": [tag],
        }
        for device, serial, tag in (*volumes, *local)
        if tag
    ]
