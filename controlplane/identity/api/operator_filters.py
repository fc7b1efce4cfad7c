"""Lists that operators may filter by more than others may, such as by host."""

from collections.abc import Callable
from typing import Any, ClassVar

from controlplane.identity.api.callers import caller_of


class OperatorFilters:
    """For views whose `filters_for` returns the filters, with `is_admin` those of operators; documents show these."""

    filters_for: ClassVar[Callable[..., type[Any]]]
    request: Any

    @property
    def filterset_class(self) -> type[Any]:
        """Those that the caller may use: to a tenant the answer to a filter by host would tell what runs where."""
        return self.filters_for(is_admin=self.asks_as_operator)

    @property
    def asks_as_operator(self) -> bool:
        """Whether the caller sees the whole installation."""
        return getattr(self, "swagger_fake_view", False) or caller_of(self.request).sees_all
