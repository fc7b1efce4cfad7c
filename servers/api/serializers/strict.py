"""Bodies with a closed set of fields, by the name under which this app's serializers know them."""

from controlplane.infra.api.strict import StrictInput

__all__ = ["StrictInput"]
