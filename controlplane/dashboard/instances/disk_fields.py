"""The part of the create form that is about disks: what it boots from, and volumes that it gets besides."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext as _

from controlplane.kernel.units import gib_text

LOCAL, NEW_VOLUME, VOLUME = "", "new", "volume:"
DISKS = ("boot_from", "boot_size_gib", "boot_volume_type", "boot_stays", "more_volumes")


def disk_fields(volumes: Iterable[Any], types: Iterable[Any]) -> dict[str, forms.Field]:
    """The fields by name. `volumes` are those that the project may give away now."""
    free = list(volumes)
    bootable = [(f"{VOLUME}{one.pk}", _volume_label(one)) for one in free if one.is_bootable]
    boot: list[Any] = [
        (LOCAL, _("its image, on its host's own disk")),
        (NEW_VOLUME, _("a new volume, made of its image")),
    ]
    if bootable:
        boot.append((_("A volume, instead of the image"), bootable))
    small = forms.NumberInput(attrs={"class": "short", "min": 1})
    return {
        "boot_from": forms.ChoiceField(
            label=_("Boots from"),
            required=False,
            choices=boot,
            help_text=_("What is on a volume stays when the instance goes, and can move to another one."),
        ),
        "boot_size_gib": forms.IntegerField(
            label=_("Size of the new volume (GiB)"),
            required=False,
            min_value=1,
            widget=small,
            help_text=_("Empty: as large as the flavor's disk."),
        ),
        "boot_volume_type": forms.ChoiceField(
            label=_("Type of the new volume"),
            required=False,
            choices=[("", _("the default")), *((str(one.pk), one.name) for one in types)],
        ),
        "boot_stays": forms.BooleanField(
            label=_("The new volume stays when the instance is deleted"),
            required=False,
            help_text=_("Else it goes with it."),
        ),
        "more_volumes": forms.MultipleChoiceField(
            label=_("Volumes that it gets besides"),
            required=False,
            widget=forms.CheckboxSelectMultiple,
            choices=[(str(one.pk), _volume_label(one)) for one in free],
        ),
    }


def _volume_label(volume: Any) -> str:
    return f"{volume.name or volume.pk}, {gib_text(volume.size_gib)}"


def block_devices_of(said: Mapping[str, Any], flavor_gib: int) -> list[dict[str, Any]] | None:
    """`block_device_mapping_v2` of the filled-in fields; None where the disks are those of flavor and image. A volume
    that is booted from takes the image's place.
    """
    boot, more = said.get("boot_from", ""), said.get("more_volumes") or []
    if not boot and not more:
        return None
    root: dict[str, Any] = {"boot_index": 0}
    if boot.startswith(VOLUME):
        root |= {"source_type": "volume", "destination_type": "volume", "uuid": boot.removeprefix(VOLUME)}
    elif boot == NEW_VOLUME:
        root |= {"source_type": "image", "destination_type": "volume", "uuid": said["image"]}
        root |= {"volume_size": said["boot_size_gib"] or max(flavor_gib, 1)}
        root |= {"delete_on_termination": not said["boot_stays"]}
        if said["boot_volume_type"]:
            root["volume_type"] = said["boot_volume_type"]
    else:
        root |= {"source_type": "image", "destination_type": "local", "uuid": said["image"]}
        root |= {"delete_on_termination": True}
    besides = [
        {"source_type": "volume", "destination_type": "volume", "uuid": one, "boot_index": -1}
        for one in more
        if one != root["uuid"]
    ]
    return [root, *besides]
