"""Names of hosts that nobody has."""

import pytest

from controlplane.kernel.errors import NotFound
from scheduling.fleet.selectors.hosts import host_get

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("name", ["nosuch", "", "a\0b", "x" * 300])
def test_unknown_host_is_not_found(name: str) -> None:
    with pytest.raises(NotFound):
        host_get(host=name)
