"""`manage.py keys_document`: writes docs/extra-specs.md from the tables of extra specs and image properties."""

from argparse import ArgumentParser
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from servers.catalog.domain.extra_specs import CONTRADICTIONS, EXTRA_SPEC_RULES, KNOWN_NAMESPACES
from servers.catalog.domain.extra_specs.rules import KeyRule
from servers.images.domain.image_properties import EARLIER_NAMES, IMAGE_CONTRADICTIONS, PROPERTY_RULES
from servers.instances.domain.key_effects import KEY_EFFECTS, KeyEffect
from servers.instances.domain.not_provided import FLAVOR_KEYS, IMAGE_KEYS, WITHOUT_EFFECT, NotProvided

DOCUMENT = Path("docs/extra-specs.md")

INTRODUCTION = """\
# Extra specs and image properties

<!-- Written by `manage.py keys_document`; edit the tables in servers/domain, not this page. -->

A flavor's extra specs and an image's properties say what a guest wants beyond its sizes. They are checked when the
flavor or image is saved, by the API and the admin alike; each refusal names its key, as in
`extra_specs.hw:cpu_policy`, and says what is allowed. What was saved before a rule came stays as it is, and does not
stop an edit of something else.

Keys and values are those of Nova, whose API checks them from version 2.86 on. A key in one of these namespaces that is
not listed below is refused, with the nearest one that is; so a typing error does not silently change where instances
run. Keys of any other namespace, or of none, are your own: they are kept as they are.

A few values that Nova saves and can never use are refused here: empty text, amounts of resources below 0, CPU ranges
that run backwards, an alias of 0 devices, more than 128 NUMA nodes, and operators without an operand or that compare
with something that is no number. `hw:maxphysaddr_mode` and `hw:maxphysaddr_bits`, which Nova reads but its API does not
list, are taken.

"""

EXTRA_SPECS = """
## Extra specs

In a key, `{group}` is nothing, or up to 64 letters, digits, `-` and `_`; `{node}` is a number from 0; `{name}` is a
standard resource class or trait, or `CUSTOM_` with capitals, digits and underscores; `{key}` is anything, and
`{fields}` is nothing, or words with a colon before each.
"""

CONTRADICTING_KEYS = """
## What cannot go together

These are refused as well, because Nova would refuse each boot of such a flavor, or Placement each query for it.
What an image could still complete is not: a thread policy without a CPU policy waits for an image that names one.

"""

PROPERTIES = f"""
## Image properties

A property that is not listed is its owner's own and has no effect. Architectures, hypervisors, SCSI controllers, NICs,
machine modes and systems may be written in any case of letters. `vmware_adaptertype` is read, too: `ide` is a disk bus,
anything else a SCSI controller.

These names count as those of today: {", ".join(f"`{old}` ({new})" for old, new in EARLIER_NAMES.items())}.

"""

EFFECTS = """

## What each key does

Elements are those of libvirt's definition of a guest; tests are below `tests/`. *By a trait*: the scheduler asks for
it, and a host that cannot give it does not report it.

| effect | keys | shown by |
| --- | --- | --- |
"""

REFUSED_KEYS = """

## What no guest can be given here

A flavor or an image may say it, since Nova knows it, and images come from other clouds; their pages say beside the
key that no guest can be given it, and of images the API does as well (`refusals`). An instance of them is refused
when it is asked for, before a host is chosen. So are limits that no hypervisor takes (`quota:cpu_shares` below 2, a
total of disk operations beside one of reads, a peak of a NIC without its average). Everything else of these tables is
given to the guest, or decides which host it gets: UEFI, secure boot, TPMs, buses, models of devices and IOMMUs need a
trait that a host reports only where its libvirt, QEMU and firmware have them, so that what no host has ends in *No
valid host was found*, with that trait as the reason. No host here encrypts memory or disks, or has persistent memory.
Limits of CPUs and NICs, CPUs at real time and locked memory need a host [that
can](hypervisor.md#private-hypervisors); `hw:pmu` is for KVM: under QEMU's emulation there is nothing to switch.

A machine is an i440fx unless the image names another; where it names none, secure boot and an IOMMU make it a q35.
The state of a TPM lies on its host, so that `hw:tpm_secret_security` is `host` here where the flavor says nothing,
and no host keeps secrets for users or for the deployment. `os_secure_boot=optional` is secure boot where the host has
it. What cannot go together is refused as well: secure boot without UEFI or with stateless firmware, IDE on a q35, an
IOMMU on an i440fx, `hw:maxphysaddr_mode=emulate` without bits from 32 to 52, and devices on USB beside
`hw:usb_model=none`.

"""

KEYS_WITHOUT_EFFECT = """

These properties are kept and have no effect: notes about the image, settings of agents and caches of other
hypervisors, and what holds here in any case.

"""

CONTRADICTING_PROPERTIES = """
Not together, whatever the flavor:

"""


class Command(BaseCommand):
    """Writes the page; with --check it compares, and ends with status 1 when the page is not up to date."""

    help = __doc__
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """See --help."""
        parser.add_argument("--check", action="store_true", help="write nothing, compare")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write or compare."""
        page, text = Path(settings.BASE_DIR) / DOCUMENT, keys_document()
        if not options["check"]:
            page.write_text(text, encoding="utf-8")
        elif not page.exists() or page.read_text(encoding="utf-8") != text:
            raise CommandError(f"{DOCUMENT} is out of date: run manage.py keys_document")


def keys_document() -> str:
    """The page. It depends on nothing but the tables."""
    namespaces = f"The namespaces: {', '.join(f'`{name}`' for name in sorted(KNOWN_NAMESPACES))}.\n"
    families = dict.fromkeys(rule.namespace for rule in EXTRA_SPEC_RULES)
    specs = [_namespace(name, [rule for rule in EXTRA_SPEC_RULES if rule.namespace == name]) for name in families]
    return "".join(
        [
            INTRODUCTION,
            namespaces,
            EXTRA_SPECS,
            *specs,
            CONTRADICTING_KEYS,
            _sentences(CONTRADICTIONS),
            PROPERTIES,
            _table(PROPERTY_RULES),
            CONTRADICTING_PROPERTIES,
            _sentences(IMAGE_CONTRADICTIONS),
            EFFECTS,
            *(f"{_effect(each)}\n" for each in KEY_EFFECTS),
            REFUSED_KEYS,
            *(f"- {_refused(rule)}\n" for rule in (*FLAVOR_KEYS, *IMAGE_KEYS)),
            KEYS_WITHOUT_EFFECT,
            f"{', '.join(f'`{name}`' for name in WITHOUT_EFFECT)}.\n",
        ]
    )


def _effect(each: KeyEffect) -> str:
    return f"| {each.effect} | {', '.join(f'`{key}`' for key in each.keys)} | `{each.shown_by}` |"


def _refused(rule: NotProvided) -> str:
    name = f"`{rule.key}...`" if rule.key.endswith((":", "_")) else f"`{rule.key}`"
    possible = "unless it is no" if rule.is_switch else f"but for {', '.join(rule.possible)}"
    return f"{name}{f', {possible}' if rule.is_switch or rule.possible else ''}: {rule.why}."


def _namespace(name: str, rules: Iterable[KeyRule]) -> str:
    heading = f"`{name}:`" if name else "Without a namespace"
    return f"\n### {heading}\n\n{_table(rules)}"


def _table(rules: Iterable[KeyRule]) -> str:
    rows = [_row(f"`{rule.key}`", rule.allowed.words, rule.meaning) for rule in rules]
    return "\n".join(["| key | value | meaning |", "| --- | --- | --- |", *rows, ""])


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|').replace('<', '&lt;') for cell in cells)} |"


def _sentences(rules: Iterable[Callable[..., object]]) -> str:
    return "".join(f"- {rule.__doc__}\n" for rule in rules)
