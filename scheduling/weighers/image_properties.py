"""ImagePropertiesWeigher: packs servers of like images (spreads them at a negative multiplier)."""

import numpy as np

from scheduling.domain.columns import FloatArray
from scheduling.domain.hosts.host_slice import Hosts
from scheduling.domain.hosts.host_table import HostTable
from scheduling.domain.request.image_property_names import present_properties
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.weighers.base import Multiplier, Weigher


class ImagePropertiesWeigher(Weigher):
    """Raw value: how often properties of the request's image occur among the images of the host's instances.

    Each counts by its weight in `image_props_weight_setting` (others not at all), or 1 where that is empty. Instances
    of this batch count, properties that Nova does not know do not: most images carry many that say nothing of how they
    run. No effect unless the policy gives a multiplier, whatever aggregates say, because reading the
    images of the whole fleet is dear. Source: Nova's image properties weigher.
    """

    multiplier_key = "image_props_weight_multiplier"
    default_multiplier = 0.0
    judges_hosts_alone = True

    def reads(self, table: HostTable, spec: RequestSpecView) -> tuple[object, ...]:
        """The images of the hosts' instances, and which of the batch went where."""
        return table.image_properties, table.placed

    def raw(self, hosts: Hosts, spec: RequestSpecView) -> FloatArray:
        """Weighted occurrences of the request's properties."""
        weights = self._weights(spec)
        column = hosts.table.image_properties
        values = np.array([sum(weights.get(pair, 0.0) * count for pair, count in one.items()) for one in column.values])
        found = values[column.codes].astype(np.float64)
        np.add.at(found, np.array(list(hosts.table.placed.values()), dtype=np.int64), sum(weights.values()))
        return hosts.of(found)

    def _weights(self, spec: RequestSpecView) -> dict[tuple[str, str], float]:
        """What one occurrence of each of the request's properties, with its value as text, is worth."""
        setting = spec.options.image_props_weight_setting
        named = ((name, str(value)) for name, value in present_properties(spec.image.properties).items())
        return {pair: setting.get(pair[0], 0.0) if setting else 1.0 for pair in named}

    def weigh(self, hosts: Hosts, spec: RequestSpecView, configured: float | None) -> tuple[FloatArray, Multiplier]:
        """Nothing at all while the policy's multiplier is 0: aggregates alone do not switch it on."""
        if not (self.default_multiplier if configured is None else configured):
            return np.zeros(len(hosts), dtype=np.float64), 0.0
        return super().weigh(hosts, spec, configured)
