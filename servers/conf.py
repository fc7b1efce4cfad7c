"""Settings of what users own: instances, images, key pairs and server groups, and of what puts drift right."""

from dataclasses import dataclass
from pathlib import Path

from controlplane.infra.conf import options_now
from controlplane.kernel.macs import base_mac_problem
from controlplane.kernel.settings import networks_problem, setting
from controlplane.kernel.state_parts import StatePart
from controlplane.kernel.texts import phrase as _

DIRECTORY, S3 = "directory", "s3"
"""Places for the bytes of images."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Limits are those of Nova's quota defaults unless set."""

    build_deadline_s: float = setting(
        1800.0, _("Seconds after which a build that has not ended becomes ERROR."), min_value=10
    )
    volume_work_deadline_s: float = setting(
        14400.0,
        _(
            "Seconds after which work on a volume that has not ended fails: copying, or waiting for a host that "
            "is down."
        ),
        min_value=10,
    )
    volume_transfer_hours: float = setting(
        168.0,
        _("Hours for which a volume can be taken that was offered to another project."),
        min_value=0.01,
    )
    deleted_retention_days: float = setting(
        30.0,
        _(
            "Days for which a deleted instance, with all that happened to it, and the record of a deleted image "
            "are kept; 0: for ever."
        ),
    )
    bulk_job_max_items: int = setting(1000, _("Instances of one bulk job."), min_value=1)
    bulk_jobs_max_open: int = setting(5, _("Bulk jobs that a project may have under way."), min_value=1)
    reclaim_instance_interval_s: float = setting(
        0.0,
        _(
            "Seconds for which a deleted instance is only powered off and can be restored, before it is deleted "
            "for good; 0: it is deleted at once, and what is soft-deleted then stays until it is restored or "
            "force-deleted."
        ),
        min_value=0,
    )
    rescue_timeout_s: float = setting(
        0.0,
        _("Seconds after which a rescue is ended, so that the instance boots from its own disks again; 0: never."),
        min_value=0,
    )
    shelved_offload_time_s: float = setting(
        0.0,
        _(
            "Seconds after which a shelved instance leaves its host; 0: at once, -1: only when an administrator "
            "says so."
        ),
        min_value=-1,
    )
    quota_recheck: bool = setting(
        True, _("Whether a batch that found hosts ends in ERROR if its project is over quota by then.")
    )
    image_store: str = setting(
        DIRECTORY,
        _(
            "Where uploaded images are kept: in IMAGE_DIR, or in an S3-compatible store, so that several web "
            "machines need no shared disk."
        ),
        choices=(DIRECTORY, S3),
    )
    image_dir: Path = setting(Path(f"$KILONOVA_STATE/{StatePart.IMAGES}"), _("Directory that holds uploaded images."))
    image_s3_endpoint: str = setting(
        "",
        _("Address of the S3-compatible store, such as https://s3.example.org:9000; empty: AWS, in IMAGE_S3_REGION."),
    )
    image_s3_bucket: str = setting("", _("Bucket that holds uploaded images. It must exist."))
    image_s3_region: str = setting("", _("Region of the bucket, where the store has regions."))
    image_s3_prefix: str = setting("images/", _("What the keys of all images begin with."))
    image_s3_path_style: bool = setting(
        True,
        _("Whether the bucket's name stands in the path of addresses; no: it is the first part of the host's name."),
    )
    image_s3_ca_file: str = setting("", _("File of certificates to trust instead of the system's."))
    image_s3_access_key_id: str = setting(
        "", _("Access key of the store. Without one, AWS's own variables, files and machine roles count.")
    )
    image_s3_secret_access_key: str = setting("", _("Its secret."), is_secret=True)
    image_max_bytes: int = setting(64 * 2**30, _("Largest image that may be uploaded."), min_value=1)
    image_reserve_bytes: int = setting(
        2**30, _("Free bytes that uploads leave on the file system of IMAGE_DIR; 0: none.")
    )
    image_max_virtual_bytes: int = setting(
        2 * 2**40, _("Largest disk that an image may say it is, however small its file."), min_value=1
    )
    image_members: int = setting(128, _("Projects that an image may be shared with."), min_value=0)
    image_import_schemes: tuple[str, ...] = setting(
        ("https", "http"),
        _("Kinds of URL that images are imported from; none: no imports."),
        problem=lambda value: "" if set(value) <= {"http", "https"} else "must be of http and https",
    )
    image_import_hosts: tuple[str, ...] = setting(
        (),
        _("Hosts that images are imported from, as names or as *.name for what is below one; none: any public host."),
    )
    image_import_ports: tuple[str, ...] = setting(
        ("443", "80"),
        _("Ports that images are imported from."),
        problem=lambda value: "" if all(each.isdecimal() for each in value) else "must be numbers",
    )
    image_import_networks: tuple[str, ...] = setting(
        (),
        _("Networks, such as 10.1.0.0/16, that images may be imported from although their addresses are not public."),
        problem=networks_problem,
    )
    image_import_ca_file: str = setting("", _("File of certificates to trust in imports instead of the system's."))
    image_import_deadline_s: float = setting(
        14400.0,
        _("Seconds after which an import, or a conversion, that has not ended is given up."),
        min_value=10,
    )
    image_import_slow_s: float = setting(
        60.0, _("Seconds in which at least 1 MiB of an import must come, else it is cut off."), min_value=5
    )
    image_catalogue_file: str = setting(
        "", _("File (TOML) of images that can be copied by one click, beside those that are known already.")
    )
    image_scratch_dir: Path = setting(
        Path("$KILONOVA_STATE/image-scratch"),
        _(
            "Directory where a conductor converts images, with room for the image and its copy, and where a web server "
            "keeps images from S3 while it sends them."
        ),
    )
    image_shared_bytes: int = setting(
        16 * 2**30,
        _(
            "Bytes of images from S3 that one web process keeps in IMAGE_SCRATCH_DIR while it sends them, so that all "
            "that ask for an image at once share one read of the store; who finds no room reads it alone. 0: none."
        ),
        min_value=0,
    )
    upload_stale_s: float = setting(
        3600.0, _("Seconds after which the file of a cut-off image upload is removed."), min_value=1
    )
    image_unknown_days: float = setting(
        7.0,
        _(
            "Days after which a whole file of the image store that no image explains (the database was restored "
            "from an older backup) is moved to its directory trash; 0: never."
        ),
    )
    image_downloads: int = setting(
        16,
        _(
            "Images that one web process sends to agents at a time, and as many again to users. Who is refused "
            "asks again."
        ),
        min_value=1,
    )
    image_downloads_each: int = setting(
        4, _("How many of them may go to one host, or to the users of one project."), min_value=1
    )
    image_uploads: int = setting(
        8,
        _("Images that one web process receives from users at a time. Who is refused asks again."),
        min_value=1,
    )
    image_uploads_each: int = setting(4, _("How many of them may come from the users of one project."), min_value=1)
    orphan_guest_grace_s: float = setting(
        60.0,
        _("Seconds that a guest which no instance explains is listed before its host's agent removes it."),
    )
    orphan_volume_grace_s: float = setting(
        3600.0,
        _("Seconds that bytes of a volume which no row explains are listed before a host removes them."),
    )
    guest_counters_days: float = setting(
        1.0, _("Days for which the counters of guests (CPU, memory, disks, network) are kept."), max_value=31
    )
    screenshot_retention_s: float = setting(
        600.0,
        _("Seconds for which a picture of a guest's screen is kept; one of each instance."),
        min_value=1,
    )
    console_token_s: float = setting(
        60.0, _("Seconds within which the token of a console session has to be used."), min_value=1
    )
    console_sessions_per_user: int = setting(
        20, _("Console sessions that one user may have open at a time."), min_value=1
    )
    consoles_per_process: int = setting(200, _("Open consoles that one web process holds at most."), min_value=1)
    console_relay_address: str = setting(
        "",
        _(
            "Address at which this machine's web processes are reached by those of other machines, for consoles; "
            "a port of each is chosen by the system. Their bytes go unencrypted: an internal network only. "
            "Empty: one machine alone."
        ),
    )
    console_lost_s: float = setting(
        60.0,
        _(
            "Seconds after which a console session is over that no web process has spoken of: the one that held it was "
            "killed. It speaks every 5 seconds."
        ),
        min_value=10,
    )
    console_session_retention_days: float = setting(
        30.0, _("Days for which a console session that ended is listed."), min_value=0
    )
    guest_on_crash: str = setting(
        "stop",
        _("What follows a crash or hang of a guest, where its instance does not say: stop, or restart."),
        choices=("stop", "restart"),
    )
    guest_restarts: int = setting(
        3,
        _(
            "How often a guest that crashes or hangs is started again within GUEST_RESTART_INTERVAL_S, by the policy "
            "restart."
        ),
        min_value=0,
    )
    guest_restart_interval_s: float = setting(
        3600.0, _("Seconds within which the restarts of a guest that crashes or hangs are counted."), min_value=1
    )
    force_config_drive: bool = setting(
        False,
        _("Whether nobody may create an instance without a config drive (Nova's option of this name)."),
    )
    dhcp_domain: str = setting(
        "", _("Domain that guests are told after host names that have none, such as example.org.")
    )
    verify_image_signatures: bool = setting(
        False, _("Whether instances are only made of signed images (Nova's verify_glance_signatures).")
    )
    enable_certificate_validation: bool = setting(
        False,
        _("Whether the certificate of an image's signature must be trusted, by the request or by the next setting."),
    )
    default_trusted_certificate_ids: str = setting(
        "", _("Ids of certificates that are trusted where a request trusts none, with commas between.")
    )
    default_access_ip_network_name: str = setting(
        "",
        _("Network by whose addresses instances are reached: they become access_ip_v4 and access_ip_v6; empty: none."),
    )
    network_kind: str = setting(
        "none",
        _(
            "Who carries the networks that projects make: bridge (bridges of Linux and VXLAN), ovn, or none, so "
            "that only administrators make networks."
        ),
        choices=("none", "bridge", "ovn"),
    )
    network_underlay_mtu: int = setting(
        1500,
        _("Bytes that the network between hypervisors carries in a packet."),
        min_value=1280,
        max_value=65535,
    )
    network_segment_min: int = setting(
        1, _("First VXLAN id that networks are given."), min_value=1, max_value=2**24 - 1
    )
    network_segment_max: int = setting(
        2**24 - 1, _("Last VXLAN id that networks are given."), min_value=1, max_value=2**24 - 1
    )
    base_mac: str = setting(
        "fa:16:3e:00:00:00",
        _("What MAC addresses of new ports begin with: its first three octets, and its fourth where that is not 00."),
        problem=base_mac_problem,
    )
    max_disk_devices_to_attach: int = setting(
        -1,
        _("Disks that one instance may have; -1: as many as their names allow, which is 26."),
        min_value=-1,
    )
    max_local_block_devices: int = setting(
        3,
        _(
            "Disks in its host's own storage that one instance may name in block_device_mapping_v2, the root disk "
            "included; -1: any."
        ),
        min_value=-1,
    )
    cross_az_attach: bool = setting(
        True, _("Whether an instance may have volumes of another availability zone than its own; else it is in theirs.")
    )
    vendordata_jsonfile_path: str = setting(
        "", _("File with a JSON object that each guest finds on its config drive, in vendor_data.json.")
    )
    vendordata_dynamic_targets: str = setting(
        "",
        _(
            "Services that are asked about each guest by a POST, as name@https://address, several with commas between. "
            "Their answers are in vendor_data2.json."
        ),
    )
    vendordata_secret: str = setting(
        "",
        _("What these questions are signed with, as webhooks are; empty: they are not signed."),
        is_secret=True,
    )
    vendordata_dynamic_timeout_s: float = setting(
        5.0,
        _("Seconds that all these services together may take to answer about one guest."),
        min_value=0.1,
        max_value=30,
    )
    vendordata_dynamic_failure_fatal: bool = setting(
        False, _("Whether a guest is not built where one of these services does not answer.")
    )
    router_host_down_s: float = setting(
        60.0,
        _("Seconds that a host may be silent before its routers (of networks of bridges) move to another one."),
        min_value=1,
    )
    auto_network_cidr: str = setting(
        "10.64.0.0/24",
        _("Range of the network that is made for a project which asks for a network and has none (`auto`)."),
        problem=lambda value: networks_problem((value,)),
    )
    drift_grace_s: float = setting(
        60.0,
        _(
            "Seconds that other drift between instances, guests and allocations must last before it is put right by "
            "itself."
        ),
    )
    drift_max_findings: int = setting(
        10000,
        _("Findings at which one look for drift stops; those are listed, and the page says that there are more."),
        min_value=1,
    )
    drift_max_findings_of_host: int = setting(
        500,
        _(
            "How many findings of one host a look for drift lists one by one; of more it says how many, so that no "
            "host hides those of others."
        ),
        min_value=1,
    )


def server_options() -> ServerOptions:
    """The options as settings have them now."""
    return options_now(ServerOptions)


@dataclass(frozen=True, slots=True)
class OvnOptions:
    """How the control plane reaches OVN, and how routers use it (docs/networks.md)."""

    ovn_northbound: str = setting(
        "",
        _(
            "Address of OVN's northbound database: ssl:ADDRESS:6641, tcp:ADDRESS:6641 or unix:FILE; of a "
            "cluster's servers all, with commas between. Empty: there are no networks of kind ovn."
        ),
        problem=lambda value: (
            ""
            if all(one.strip().startswith(("ssl:", "tcp:", "unix:")) for one in value.split(",") if value)
            else "must begin with ssl:, tcp: or unix:"
        ),
    )
    ovn_private_key: str = setting("", _("File with the private key that ssl: connections to it are made with."))
    ovn_certificate: str = setting("", _("File with the certificate of this key."))
    ovn_ca_certificate: str = setting("", _("File with the certificates that the database's own is checked by."))
    ovn_gateway_chassis: tuple[str, ...] = setting(
        (),
        _(
            "Hosts (their system-id in Open vSwitch) that routers' traffic with external networks goes through. "
            "Routers share them, and another one takes over from one that fails."
        ),
    )
    ovn_distributed_floating_ips: bool = setting(
        True,
        _(
            "Whether a floating address is outside at its guest's own host, which then needs the external network's "
            "bridge mapping; no: at its router's gateway chassis."
        ),
    )
    ovn_reconcile_interval_s: float = setting(
        300.0,
        _("Seconds between two looks whether OVN has all that it should, and nothing else of ours."),
        min_value=5,
    )


def ovn_options() -> OvnOptions:
    """The options as settings have them now."""
    return options_now(OvnOptions)
