"""AggregateImagePropertiesIsolation: aggregates reserved for images with certain properties."""

from collections.abc import Mapping
from typing import Any, ClassVar

from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.domain.hosts.aggregates import metadata_values
from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup
from scheduling.domain.request.image_property_names import present_properties
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.filters.base import Filter


class AggregateImagePropertiesIsolation(Filter):
    """Where aggregate metadata has a key that is a known image property, and the image sets it, the image's value
    must be among the key's values. An image without the property passes, so this keeps images in, not hosts apart.
    Values count as Nova reads them: `amd64` as `x86_64`, and yes as `True`, so that is what an aggregate must say.

    Keys that are no known image property are ignored. With `aggregate_image_properties_isolation_namespace` only keys
    that start with it (and the separator) count; since those are no image properties, no host is refused then, as in
    Nova since 12, which has deprecated the option.
    """

    run_filter_once_per_request: ClassVar[bool] = True
    RUN_ON_REBUILD: ClassVar[bool] = True

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
        """Hosts whose aggregates are for other images, naming the first such property."""
        options = spec.options
        namespace = options.aggregate_image_properties_isolation_namespace
        prefix = f"{namespace}{options.aggregate_image_properties_isolation_separator}" if namespace else ""
        wanted = {key: value for key, value in _texts(spec.image.properties).items() if key.startswith(prefix)}
        aggregates = hosts.table.aggregates

        def judge(members: tuple[int, ...]) -> Refusal | None:
            values = metadata_values(aggregates[each] for each in members)
            for key, value in wanted.items():
                if key in values and value not in values[key]:
                    here = f"{key} {', '.join(sorted(values[key]))}"
                    return Refusal(RefusalReason.IMAGE_NOT_ALLOWED, wanted=f"{key} {value}", available=here)
            return None

        return hosts.refuse_by(hosts.table.aggregate_sets, judge) if wanted else []


def _texts(properties: Mapping[str, Any]) -> dict[str, str]:
    """The known properties that are set, as text; those that are false, zero or empty are not set, as in Nova."""
    return {key: str(value) for key, value in sorted(present_properties(properties).items()) if value}
