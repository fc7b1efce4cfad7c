"""Whatever a door calls to change something is recorded in the audit log, or stands here with the reason why not."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

from controlplane.audit_log.entry_hash import CONTENT, is_secret
from controlplane.audit_log.models import AuditLogEntry
from tests.fixtures.source_trees import nodes_of

ROOT = Path(__file__).resolve().parent.parent.parent
DOORS = (
    "controlplane/dashboard",
    "controlplane/identity/admin.py",
    "controlplane/identity/api",
    "controlplane/identity/management",
    "controlplane/notifications/admin.py",
    "controlplane/notifications/api",
    "controlplane/work/admin",
    "placement/admin",
    "placement/api",
    "placement/openstack",
    "scheduling/admin",
    "scheduling/api",
    "servers/admin",
    "servers/api/views",
    "servers/management",
    "servers/openstack",
)
HOMES = (".control", ".webhooks", ".credentials", ".test_delivery")
"""Ends of modules that hold services and are not below a package `services`."""
READS = {
    "aggregate_members",
    "audit_findings",
    "bulk_action_of",
    "bulk_kind_of",
    "enrolment_is_awaited",
    "size_require",
    "byte_store_named",
    "certificates_visible",
    "console_refusal",
    "console_session_opened",
    "credential_host",
    "credential_of_host",
    "agent_refusals",
    "decision_replay",
    "enrolment_command",
    "flavor_fields",
    "group_of_reference",
    "guest_password_read",
    "host_of",
    "image_chunks",
    "instances_create_check",
    "is_last_superuser",
    "network_quota_limit",
    "networks_usable",
    "placement_audit",
    "policy_steps_for",
    "source_rules",
    "user_quota_limit",
    "volumes_restorable",
    "webhook_get",
    "well_known_images",
    "work_counts",
    "work_get",
    "work_status",
    "work_statuses",
    "works",
}
NOT_RECORDED = {
    "allocations_free": "written by programs for each instance, by consumer: Placement's rows are the record",
    "allocations_replace": "as above",
    "reshape": "as above",
    "provider_status_disabled": "the compute service's switch is recorded, which this follows",
    "images_move": "the bytes move to another store; no image changes",
    "console_session_open": "recorded when the session was created",
    "policy_step_take": "calls the service of the step, which is recorded",
    "token_used": "a note of use",
    "volume_metadata_change": "calls the change of the volume, which is recorded",
    "snapshot_metadata_change": "calls the change of the snapshot, which is recorded",
    "tag_add": "calls the change of the tags, which is recorded",
    "tag_remove": "as above",
    "tags_replace": "as above",
    "with_tags": "calls the change of the tags and the service of the other change, which are recorded",
    "interface_attach": "calls the service of the action, which is recorded",
    "default_group_make": "comes by itself with the first look, as with the first port: nobody decides it",
    "second_factor_check": "a step of logging in, which is recorded as `session.begin`",
    "outsider_admit": "writes its entries itself: nobody is logged in yet who could be named",
}


def _called() -> Iterator[tuple[str, str]]:
    """(module, name) of each service that a door imports."""
    for door in DOORS:
        place = ROOT / door
        for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
            for node in nodes_of(path):
                if not isinstance(node, ast.ImportFrom) or node.module is None:
                    continue
                if ".services" in node.module or node.module.endswith(HOMES):
                    yield from ((node.module, one.name) for one in node.names if one.name[0].islower())


def test_each_service_that_a_door_calls_is_recorded() -> None:
    missing = sorted(
        f"{module}.{name}"
        for module, name in set(_called())
        if name not in READS
        and name not in NOT_RECORDED
        and callable(getattr(importlib.import_module(module), name, None))
        and not hasattr(getattr(importlib.import_module(module), name), "audit_rule")
    )
    assert missing == []


def test_the_exceptions_are_still_called() -> None:
    names = {name for _, name in _called()}
    assert sorted(set(NOT_RECORDED) - names) == []


def test_the_hash_is_over_every_field_of_an_entry_but_its_place_in_the_chain() -> None:
    fields = {field.name for field in AuditLogEntry._meta.concrete_fields}
    assert fields - set(CONTENT) == {"id", "number", "previous_hash", "hash"}


def test_names_of_secrets_are_known() -> None:
    for name in ("secret", "password", "token", "digest", "user_data", "admin_password", "auth_key", "private_key"):
        assert is_secret(name), name
    for name in ("name", "public_key", "key_name", "memory_mib", "description"):
        assert not is_secret(name), name
