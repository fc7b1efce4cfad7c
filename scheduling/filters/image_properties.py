"""ImagePropertiesFilter: what the image asks of the hypervisor."""

import operator
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np

from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.domain.columns import Interned
from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup, refuse_in_turn
from scheduling.domain.request.image_property_names import present_value
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.filters.base import Filter

_COMPARE = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "=": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
_PREDICATE = re.compile(r"^\s*(>=|<=|==|!=|=|>|<)\s*([0-9]+(?:\.[0-9]+)*)\s*$")

Triples = tuple[tuple[str, str, str], ...]
ImageRule = Callable[[Hosts], list[RefusalGroup]]


class ImagePropertiesFilter(Filter):
    """The host must offer one triple of architecture, hypervisor type and vm mode that has all the image asks for;
    its hypervisor version must satisfy `img_hv_requested_version`; its address width `hw_maxphysaddr_bits`.
    """

    run_filter_once_per_request: ClassVar[bool] = True
    RUN_ON_REBUILD: ClassVar[bool] = True

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """Hosts that cannot run the image, with what it asks for."""
        return refuse_in_turn(hosts, _rules(spec.image.properties, spec.options.image_properties_default_architecture))


def _rules(properties: Mapping[str, Any], default_architecture: str | None) -> list[ImageRule]:
    rules: list[ImageRule] = []
    triple = _wanted_triple(properties, default_architecture)
    if any(triple):
        rules.append(partial(_refuse_triple, triple))
    version = _first(properties, "img_hv_requested_version", "hypervisor_version_requires")
    if version:
        rules.append(partial(_refuse_version, version))
    bits = _first(properties, "hw_maxphysaddr_bits")
    if bits:
        rules.append(partial(_refuse_width, bits))
    return rules


def _wanted_triple(properties: Mapping[str, Any], default_architecture: str | None) -> tuple[str, str, str]:
    """Architecture, hypervisor type, vm mode in canonical spelling; '' where the image does not care."""
    architecture = _first(properties, "hw_architecture", "architecture") or (default_architecture or "")
    return _canonical(
        architecture,
        _first(properties, "img_hv_type", "hypervisor_type"),
        _first(properties, "hw_vm_mode", "vm_mode"),
    )


def _first(properties: Mapping[str, Any], *names: str) -> str:
    return next((str(properties[name]) for name in names if properties.get(name)), "")


def _canonical(architecture: str, hypervisor: str, mode: str) -> tuple[str, str, str]:
    return (
        present_value("hw_architecture", architecture),
        present_value("img_hv_type", hypervisor),
        present_value("hw_vm_mode", mode),
    )


def _refuse_triple(wanted: tuple[str, str, str], hosts: Hosts) -> list[RefusalGroup]:
    return hosts.refuse_by(hosts.table.supported_instances, partial(_judge_triples, wanted))


def _judge_triples(wanted: tuple[str, str, str], offered: Triples) -> Refusal | None:
    if any(_contains(_canonical(*triple), wanted) for triple in offered):
        return None
    return Refusal(
        RefusalReason.IMAGE_PROPERTY_UNSUPPORTED,
        wanted=" ".join(part for part in wanted if part),
        available=", ".join(" ".join(triple) for triple in offered) or "no architecture",
    )


def _contains(offered: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    return all(not want or offer == want for offer, want in zip(offered, wanted, strict=True))


def _refuse_version(wanted: str, hosts: Hosts) -> list[RefusalGroup]:
    versions, codes = np.unique(hosts.table.hypervisor_version, return_inverse=True)
    column = Interned(tuple(versions.tolist()), codes.astype(np.int64))
    return hosts.refuse_by(column, partial(_judge_version, wanted))


def _judge_version(wanted: str, version: int) -> Refusal | None:
    """A host that reports no version passes, as in Nova; a predicate that cannot be read fits no host."""
    try:
        fits = not version or version_satisfies(version, wanted)
    except ValueError as error:
        return Refusal(
            RefusalReason.IMAGE_PROPERTY_UNSUPPORTED, wanted=f"hypervisor version {wanted}", detail=str(error)
        )
    if fits:
        return None
    return Refusal(
        RefusalReason.IMAGE_PROPERTY_UNSUPPORTED,
        wanted=f"hypervisor version {wanted}",
        available=".".join(map(str, version_parts(version))),
    )


def version_parts(version: int) -> tuple[int, ...]:
    """Nova's integer form in parts: 8002002 is 8.2.2."""
    parts: list[int] = []
    while version:
        version, part = divmod(version, 1000)
        parts.insert(0, part)
    return tuple(parts)


def version_satisfies(version: int, wanted: str) -> bool:
    """Whether an integer version satisfies all of '>=6.0, <7.2'. Raises ValueError for another form."""
    return all(_satisfies(version_parts(version), predicate) for predicate in wanted.split(","))


def _satisfies(parts: tuple[int, ...], predicate: str) -> bool:
    found = _PREDICATE.match(predicate)
    if found is None:
        raise ValueError(f"{predicate.strip()!r} is no version predicate such as >=6.0")
    wanted = tuple(int(part) for part in found[2].split("."))
    width = max(len(parts), len(wanted))
    padded = [each + (0,) * (width - len(each)) for each in (parts, wanted)]
    return bool(_COMPARE[found[1]](padded[0], padded[1]))


def _refuse_width(bits: str, hosts: Hosts) -> list[RefusalGroup]:
    return hosts.refuse_by(hosts.table.cpu_info, partial(_judge_width, bits))


def _judge_width(bits: str, cpu_info: Mapping[str, Any]) -> Refusal | None:
    """A host that does not report its width passes."""
    reported = _bits(cpu_info)
    if reported is None or (bits.isdigit() and int(bits) <= reported):
        return None
    return Refusal(RefusalReason.IMAGE_PROPERTY_UNSUPPORTED, wanted=f"{bits} physical address bits", available=reported)


def _bits(cpu_info: Mapping[str, Any]) -> int | None:
    width = cpu_info.get("maxphysaddr")
    bits = width.get("bits") if isinstance(width, Mapping) else None
    return int(bits) if bits is not None and str(bits).isdigit() else None
