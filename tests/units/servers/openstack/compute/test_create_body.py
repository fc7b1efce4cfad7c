"""The body of a new server as the service's words."""

from typing import Any

import pytest

from servers.openstack.compute.create_body import create_asked, last_part

IMAGE = "0f43af4e-b702-4b8c-88a5-a3d76bdaec3b"
ROOT = {"uuid": IMAGE, "source_type": "image", "destination_type": "local", "boot_index": 0}


def _asked(**more: Any) -> Any:
    return create_asked({"server": {"name": "vm", "flavorRef": "1", "imageRef": IMAGE, **more}})


@pytest.mark.parametrize(
    ("disks", "is_said"),
    [
        ([], False),
        ([ROOT], False),
        ([{**ROOT, "delete_on_termination": True, "volume_size": None}], False),
        ([{**ROOT, "boot_index": "0"}], False),
        ([{**ROOT, "delete_on_termination": False}], True),
        ([{**ROOT, "volume_size": 3}], True),
        ([{**ROOT, "boot_index": 1}], True),
        ([{**ROOT, "destination_type": "volume", "volume_size": 3}], True),
        ([{**ROOT, "uuid": IMAGE[::-1]}], True),
        ([ROOT, ROOT], True),
    ],
)
def test_the_image_once_more_as_the_root_disk_says_nothing(disks: list[dict[str, Any]], is_said: bool) -> None:
    assert bool(_asked(block_device_mapping_v2=disks).block_device_mapping_v2) is is_said


def test_older_spellings() -> None:
    asked = _asked(block_device_mapping_v2=[{"volume_id": "v", "boot_index": 0}], imageRef="")
    assert asked.block_device_mapping_v2 == [{"source_type": "volume", "uuid": "v", "boot_index": 0}]
    assert last_part(f"http://cloud.example.org/image/v2/images/{IMAGE}") == last_part(IMAGE) == IMAGE


def test_networks_hints_and_counts() -> None:
    asked = create_asked(
        {
            "server": {
                "name": "vm",
                "flavorRef": 1,
                "networks": [{"uuid": "n", "fixed_ip": "10.0.0.5"}, {"port": "p", "uuid": None}],
                "min_count": "2",
                "config_drive": "",
            },
            "os:scheduler_hints": {"group": "g"},
            "OS-SCH-HNT:scheduler_hints": {"query": "q"},
        }
    )
    assert asked.networks == [{"network": "n", "fixed_ip": "10.0.0.5"}, {"port": "p"}]
    assert (asked.flavor, asked.image, asked.min_count, asked.max_count) == ("1", "", 2, None)
    assert (asked.hints, asked.config_drive) == ({"group": "g", "query": "q"}, None)
    assert _asked(networks="auto").networks == "auto"
    assert _asked().networks is None
