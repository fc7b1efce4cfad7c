"""A flavor and an image side by side: what each may say for itself, and what Nova refuses of the two together.

CPU policies, NUMA nodes, pages and locked memory are judged by `scheduling.topology.domain.numa.constraint`, which
makes the guest of them; the rest stands here. Values that are not in order by themselves, which only rows from before
the rules have, are left out of the comparison.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from computeagent.protocol.guest_machine import FIRMWARE, STATELESS, UEFI
from controlplane.kernel.booleans import is_true
from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _
from scheduling.domain.request.image_property_names import present_names
from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from scheduling.topology.domain.numa.constraint import guest_topology
from servers.catalog.domain.extra_specs import extra_spec_complaint
from servers.fields import Problems, problems_found
from servers.images.domain.image_properties import image_contradictions, property_complaint

Pairs = Mapping[str, str]

ONE_VALUE = {
    "os:secure_boot": "os_secure_boot",
    **{
        f"hw:{name}": f"hw_{name}"
        for name in (
            "tpm_version",
            "tpm_model",
            "sound_model",
            "viommu_model",
            "usb_model",
            "redirected_usb_ports",
            "maxphysaddr_mode",
            "maxphysaddr_bits",
            "ephemeral_encryption_format",
            "mem_encryption_model",
            "pci_numa_affinity_policy",
        )
    },
}
"""Keys that both may set, to the same value."""

ONE_TRUTH = {
    f"hw:{name}": f"hw_{name}"
    for name in ("pmu", "vif_multiqueue_enabled", "virtio_packed_ring", "ephemeral_encryption", "mem_encryption")
}
"""The same, of truth values, whatever words they are said with."""

CEILINGS = {
    "hw:serial_port_count": "hw_serial_port_count",
    **{f"hw:cpu_max_{part}": f"hw_cpu_max_{part}" for part in ("sockets", "cores", "threads")},
}
"""Amounts of which an image may ask for less, never for more."""

# A flavor without this allows no video memory of an image's choice.
VIDEO_CEILING, VIDEO_MEMORY = "hw_video:ram_max_mb", "hw_video_ram"

WILLING: tuple[Pairs, ...] = (
    {FIRMWARE: UEFI},
    {FIRMWARE: UEFI, STATELESS: "yes", "hw_video_model": "none"},
)
"""Properties of images by which a flavor has whatever an image must be made for; no one image is made for all of it."""


def flavor_image_problems(flavor: FlavorSnapshot, image: ImageSnapshot) -> list[str]:
    """Why this image cannot boot with this flavor, each sentence naming both keys; nothing where it can."""
    specs = _in_order(flavor.extra_specs, extra_spec_complaint)
    properties = present_names(_in_order(image.properties, property_complaint))
    found = [sentence for rule in RULES for sentence in rule(specs, properties)]
    try:
        guest_topology(flavor, image)
    except Invalid as error:
        found.append(f"{error.message}.")
    return found


def problems_by_asker(judged: Callable[[Pairs], Sequence[str]], properties: Pairs) -> Problems:
    """The sentences that `judged` has against one flavor with an image of these properties: under `flavor` those that
    it has with every image, however willing, since another flavor is what helps; under `image` all others.
    """
    found = judged(properties)
    of_flavor = set(found).intersection(*(judged(willing) for willing in WILLING)) if found else set()
    return problems_found(
        {
            "flavor": [sentence for sentence in found if sentence in of_flavor],
            "image": [sentence for sentence in found if sentence not in of_flavor],
        }
    )


def _in_order(pairs: Mapping[str, object], complaint: Callable[[str, str], str]) -> dict[str, str]:
    return {key: str(value) for key, value in pairs.items() if not complaint(key, str(value))}


def _contradiction(key: str, wanted: str, name: str, own: str) -> str:
    return _(
        "{name}={own} of the image contradicts {key}={wanted} of the flavor.",
        name=name,
        own=own,
        key=key,
        wanted=wanted,
    )


def _one_value(specs: Pairs, properties: Pairs) -> Iterator[str]:
    for key, name in ONE_VALUE.items():
        wanted, own = specs.get(key), properties.get(name)
        if wanted and own and wanted != own:
            yield _contradiction(key, wanted, name, own)


def _one_truth(specs: Pairs, properties: Pairs) -> Iterator[str]:
    for key, name in ONE_TRUTH.items():
        wanted, own = specs.get(key), properties.get(name)
        if wanted is not None and own is not None and is_true(wanted) != is_true(own):
            yield _contradiction(key, wanted, name, own)


def _ceilings(specs: Pairs, properties: Pairs) -> Iterator[str]:
    """0 is no ceiling, and no constraint."""
    for key, name in CEILINGS.items():
        maximum, wanted = int(specs.get(key, "0")), int(properties.get(name, "0"))
        if maximum and wanted > maximum:
            yield _(
                "{name}={wanted} of the image is above {key}={maximum} of the flavor.",
                name=name,
                wanted=wanted,
                key=key,
                maximum=maximum,
            )
    allowed, memory = int(specs.get(VIDEO_CEILING, "0")), int(properties.get(VIDEO_MEMORY, "0"))
    if memory > allowed:
        yield _(
            "{video_memory}={memory} of the image is above {video_ceiling}={allowed} of the flavor.",
            video_memory=VIDEO_MEMORY,
            memory=memory,
            video_ceiling=VIDEO_CEILING,
            allowed=allowed,
        )


def _cpu_shape(specs: Pairs, properties: Pairs) -> Iterator[str]:
    """What an image prefers is within the flavor's maxima, where the image has none of its own."""
    for part in ("sockets", "cores", "threads"):
        maximum = int(specs.get(f"hw:cpu_max_{part}", "0"))
        wanted, own_max = (int(properties.get(f"hw_cpu_{word}{part}", "0")) for word in ("", "max_"))
        if maximum and not own_max and wanted > maximum:
            yield _(
                "hw_cpu_{part}={wanted} of the image is above hw:cpu_max_{part}={maximum} of the flavor.",
                part=part,
                wanted=wanted,
                maximum=maximum,
            )


def _traits(specs: Pairs, properties: Pairs) -> Iterator[str]:
    """Traits of an image join the flavor's group without a name."""
    for key, value in properties.items():
        if key.startswith("trait:") and value == "required" and specs.get(key) == "forbidden":
            yield _("{key}=required of the image contradicts {key}=forbidden of the flavor.", key=key)


def _together(specs: Pairs, properties: Pairs) -> Iterator[str]:
    """What the flavor asks for and the image must be made for: encryption of memory, and the version of a TPM."""
    from_flavor = ("mem_encryption", "mem_encryption_model", "tpm_model", "tpm_version")
    asked = {f"hw_{name}": specs[f"hw:{name}"] for name in from_flavor if f"hw:{name}" in specs}
    alone = {sentence for _, sentence in image_contradictions(properties)}
    for _rest, sentence in image_contradictions({**properties, **asked}):
        if asked and sentence not in alone:
            yield f"With the flavor's extra specs, {sentence}"


RULES: tuple[Callable[[Pairs, Pairs], Iterator[str]], ...] = (
    _one_value,
    _one_truth,
    _ceilings,
    _cpu_shape,
    _traits,
    _together,
)
