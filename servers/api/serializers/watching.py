"""Console log, screenshot and diagnostics on the wire."""

from typing import Any

from rest_framework import serializers

from controlplane.identity.domain import Caller
from servers.instances.selectors.screenshots import ScreenshotState


class ConsoleLogOutput(serializers.Serializer[Any]):
    """The end of a serial log."""

    output = serializers.CharField()
    size = serializers.IntegerField(help_text="Bytes of the log that are kept.")


class GuestPasswordOutput(serializers.Serializer[Any]):
    """What a guest told of its own password."""

    password = serializers.CharField()


class ScreenshotOutput(serializers.Serializer[Any]):
    """The newest picture of a screen; the image itself is at `image/` below."""

    state = serializers.ChoiceField(choices=["none", "waiting", "taken", "failed"])
    taken_at = serializers.DateTimeField(allow_null=True)
    error = serializers.CharField(help_text="For admins: why the host took none.")


class DiagnosticsOutput(serializers.Serializer[Any]):
    """Nova's diagnostics 2.48. Entries are sums of all CPUs, disks and interfaces; null is what nobody counted."""

    state = serializers.CharField()
    driver = serializers.CharField()
    hypervisor = serializers.CharField()
    hypervisor_os = serializers.CharField()
    uptime = serializers.IntegerField(allow_null=True)
    config_drive = serializers.BooleanField()
    num_cpus = serializers.IntegerField()
    num_nics = serializers.IntegerField()
    num_disks = serializers.IntegerField()
    cpu_details = serializers.ListField(child=serializers.DictField())
    disk_details = serializers.ListField(child=serializers.DictField())
    nic_details = serializers.ListField(child=serializers.DictField())
    memory_details = serializers.DictField()
    sampled_at_s = serializers.IntegerField(allow_null=True, help_text="Unix seconds.")


def screenshot_document(found: ScreenshotState, caller: Caller) -> dict[str, Any]:
    """What a host said of a failure may name it, so only admins read that."""
    said = found.error if caller.sees_all else "The host could not take it." if found.error else ""
    return {"state": found.state, "taken_at": found.taken_at, "error": said}
