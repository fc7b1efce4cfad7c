"""`tempest.conf`: where the cloud is, and what it can and cannot do. Tempest skips the tests of what it cannot do."""

import configparser
from collections.abc import Mapping
from pathlib import Path

from tests.conformance.compute.cloud import ADMINISTRATOR, MULTIATTACH_TYPE, PROJECT, VOLUME_TYPE, Cloud
from tests.fixtures.installation import PASSWORD

Sections = Mapping[str, Mapping[str, str | int | bool]]

FILTERS = (
    "AvailabilityZoneFilter",
    "ComputeCapabilitiesFilter",
    "ComputeFilter",
    "DifferentHostFilter",
    "ImagePropertiesFilter",
    "SameHostFilter",
    "ServerGroupAffinityFilter",
    "ServerGroupAntiAffinityFilter",
)
"""Of those that are on, what tests ask for."""
AUTO_ALLOCATION = "auto-allocated-topology"
"""The Compute API makes a network where a server is to have one of itself; the Network API has no path for it."""


def sections(cloud: Cloud, directory: Path, *, is_real: bool) -> Sections:
    """All that differs from Tempest's own defaults, and what is worth to be seen."""
    return {
        "DEFAULT": {"log_dir": str(directory), "log_file": "tempest.log", "debug": True},
        "oslo_concurrency": {"lock_path": str(directory / "locks")},
        "auth": {
            # Projects, users, roles and networks of each class of tests are made and deleted by Tempest itself.
            "use_dynamic_credentials": True,
            "create_isolated_networks": True,
            "admin_username": ADMINISTRATOR,
            "admin_password": PASSWORD,
            "admin_project_name": PROJECT,
            "admin_domain_name": "Default",
        },
        "identity": {
            "uri_v3": f"{cloud.base}/identity/v3",
            "auth_version": "v3",
            "region": "RegionOne",
            "v3_endpoint_type": "public",
        },
        "identity-feature-enabled": {"trust": False, "access_rules": False},
        "service_available": {"cinder": True, "neutron": True, "glance": True, "nova": True, "swift": False},
        "compute": {
            "region": "RegionOne",
            "endpoint_type": "public",
            "image_ref": cloud.images[0],
            "image_ref_alt": cloud.images[1],
            "flavor_ref": cloud.flavors[0],
            "flavor_ref_alt": cloud.flavors[1],
            "min_compute_nodes": cloud.installation.hypervisors,
            "min_microversion": "2.1",
            "max_microversion": cloud.newest_compute,
            "build_interval": 1,
            "build_timeout": 300 if is_real else 120,
        },
        "compute-feature-enabled": _compute_features(is_real=is_real),
        "image": {"region": "RegionOne", "http_image": cloud.file_url, "http_qcow2_image": cloud.file_url},
        "image-feature-enabled": {"api_v2": True, "import_image": True},
        "network": {
            "region": "RegionOne",
            "public_network_id": cloud.public_network,
            "floating_network_name": "public",
        },
        "network-feature-enabled": {
            "ipv6": True,
            # SLAAC, and stateless DHCP with it, are absent: addresses come by stateful DHCP alone.
            "ipv6_subnet_attributes": False,
            "floating_ips": True,
            "port_security": True,
            "api_extensions": ",".join((*cloud.network_extensions, AUTO_ALLOCATION)),
        },
        "volume": {
            "region": "RegionOne",
            "catalog_type": "volumev3",
            "volume_type": VOLUME_TYPE,
            "volume_type_multiattach": MULTIATTACH_TYPE,
            "storage_protocol": "file",
            "vendor_name": "Kilonova",
            "min_microversion": "3.0",
            "max_microversion": "3.67",
            "build_interval": 1,
            "build_timeout": 120,
            "volume_size": 1,
        },
        "volume-feature-enabled": {"backup": True, "snapshot": True, "manage_volume": False, "manage_snapshot": False},
        # What happens inside of guests is for tests of our own (docs/networks.md): simulated ones have no inside.
        "validation": {"run_validation": False},
    }


def _compute_features(*, is_real: bool) -> Mapping[str, str | bool]:
    """What the Compute API has here. What belongs to moves is absent: those actions answer 501."""
    return {
        "resize": False,
        "cold_migration": False,
        "live_migration": False,
        "shelve_migrate": False,
        "block_migration_for_live_migration": False,
        "volume_backed_live_migration": False,
        "disk_config": True,
        # By the agent of a guest, which the images of simulated ones promise and the demo guest has not.
        "change_password": not is_real,
        "console_output": True,
        "pause": True,
        "shelve": True,
        "suspend": True,
        "metadata_service": True,
        "vnc_console": True,
        "spice_console": False,
        "serial_console": True,
        "rescue": True,
        "stable_rescue": True,
        "enable_instance_password": True,
        "interface_attach": True,
        "snapshot": True,
        "personality": True,
        "attach_encrypted_volume": False,
        "config_drive": True,
        "swap_volume": False,
        "volume_multiattach": True,
        "ide_bus": True,
        "unified_limits": False,
        "scheduler_enabled_filters": ",".join(FILTERS),
    }


def written(wanted: Sections, path: Path) -> Path:
    """The file."""
    parser = configparser.RawConfigParser()
    for name, values in wanted.items():
        if name != "DEFAULT":
            parser.add_section(name)
        for key, value in values.items():
            parser.set(name, key, str(value))
    with path.open("w") as file:
        parser.write(file)
    return path
