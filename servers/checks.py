"""System checks: settings that cannot work, alone or together. They open no connection."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core import checks
from django.core.checks import CheckMessage, Error

from computeagent.protocol.networks import NetworkBackendKind
from scheduling.conf import SchedulingOptions, scheduling_options
from servers.conf import S3, OvnOptions, ServerOptions, ovn_options, server_options
from servers.images.stores.chosen import s3_problems
from servers.instances.domain.vendor_data import vendor_data_targets


def image_store_problems(options: ServerOptions) -> list[CheckMessage]:
    """What is missing for the store that IMAGE_STORE names."""
    if options.image_store != S3:
        return []
    hint = "Set it in the environment, or IMAGE_STORE=directory."
    problems: list[CheckMessage] = [Error(text, hint=hint, id="servers.E001") for text in s3_problems(options)]
    if options.image_s3_ca_file and not Path(options.image_s3_ca_file).is_file():
        problems.append(Error("IMAGE_S3_CA_FILE names no file that is there.", id="servers.E002"))
    if options.image_s3_endpoint.startswith("http://") and options.image_s3_secret_access_key:
        problems.append(
            checks.Warning(
                "IMAGE_S3_ENDPOINT is not encrypted: images can be read and altered on their way.", id="servers.W001"
            )
        )
    return problems


def check_image_store(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Entry point of Django's check framework."""
    return image_store_problems(server_options())


def vendor_data_problems(options: ServerOptions) -> list[CheckMessage]:
    """Services of VENDORDATA_DYNAMIC_TARGETS that nobody would ask, and a file that is not there."""
    _, reasons = vendor_data_targets(options.vendordata_dynamic_targets)
    problems: list[CheckMessage] = [
        Error(f"VENDORDATA_DYNAMIC_TARGETS: {reason}", hint="No guest would be told by it.", id="servers.E003")
        for reason in reasons
    ]
    path = options.vendordata_jsonfile_path
    if path and not Path(path).is_file():
        problems.append(checks.Warning("VENDORDATA_JSONFILE_PATH names no file that is there.", id="servers.W002"))
    return problems


def check_vendor_data(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Entry point of Django's check framework."""
    return vendor_data_problems(server_options())


def ovn_problems(options: OvnOptions, network_kind: str = "") -> list[CheckMessage]:
    """What is missing to reach OVN's northbound database by TLS, and what goes there in clear."""
    if network_kind == NetworkBackendKind.OVN.value and not options.ovn_northbound:
        text = "NETWORK_KIND is ovn, and OVN_NORTHBOUND is empty: nothing would carry networks of projects."
        return [Error(text, hint="Name OVN's northbound database (docs/networks.md).", id="servers.E005")]
    addresses = [one.strip() for one in options.ovn_northbound.split(",")]
    files = {
        "OVN_PRIVATE_KEY": options.ovn_private_key,
        "OVN_CERTIFICATE": options.ovn_certificate,
        "OVN_CA_CERTIFICATE": options.ovn_ca_certificate,
    }
    if any(one.startswith("ssl:") for one in addresses):
        return [
            Error(f"{name} names no file that is there, and OVN_NORTHBOUND is reached by TLS.", id="servers.E004")
            for name, path in files.items()
            if not Path(path).is_file()
        ]
    if any(one.startswith("tcp:") for one in addresses):
        text = "OVN_NORTHBOUND is not encrypted: whoever reaches it changes every network."
        return [checks.Warning(text, hint="Use ssl: (docs/networks.md).", id="servers.W003")]
    return []


def check_ovn(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Entry point of Django's check framework."""
    return ovn_problems(ovn_options(), server_options().network_kind)


def routed_network_problems(options: SchedulingOptions) -> list[CheckMessage]:
    """A question about segments that no network has."""
    if not options.query_placement_for_routed_network_aggregates:
        return []
    text = "QUERY_PLACEMENT_FOR_ROUTED_NETWORK_AGGREGATES changes nothing: networks here have no segments."
    hint = "Name each segment as a network of its own, with its physical network (docs/networks.md)."
    return [checks.Warning(text, hint=hint, id="servers.W004")]


def check_routed_networks(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Entry point of Django's check framework."""
    return routed_network_problems(scheduling_options())


def register_all() -> None:
    """Called once by the app config."""
    checks.register(check_image_store, "servers")
    checks.register(check_vendor_data, "servers")
    checks.register(check_ovn, "servers")
    checks.register(check_routed_networks, "servers")
