import pytest

from scheduling.filters.aggregate_multitenancy import AggregateMultiTenancyIsolation
from tests.units.scheduling.worlds import aggregate, host, refused, request, table

FLEET = table(
    host("open"),
    host("mine"),
    host("theirs"),
    host("both"),
    aggregates=(
        aggregate("mine", "mine", "both", filter_tenant_id="project-0, project-1"),
        aggregate("theirs", "theirs", "both", filter_tenant_id_more="project-2"),
    ),
)


@pytest.mark.parametrize(
    ("project", "refused_hosts"),
    [("project-1", {"theirs"}), ("project-2", {"mine"}), ("project-3", {"mine", "theirs", "both"})],
)
def test_only_named_projects_may_use_the_host(project: str, refused_hosts: set[str]) -> None:
    assert set(refused(AggregateMultiTenancyIsolation(), FLEET, request(project_id=project))) == refused_hosts


@pytest.mark.parametrize("said", ["0b5f0d2e8c0e4a639a1c1d8f3ecb3a55", "0B5F0D2E8C0E4A639A1C1D8F3ECB3A55, other"])
def test_project_is_named_with_dashes_or_without(said: str) -> None:
    fleet = table(host("mine"), aggregates=(aggregate("mine", "mine", filter_tenant_id=said),))
    mine = request(project_id="0b5f0d2e-8c0e-4a63-9a1c-1d8f3ecb3a55")
    assert not refused(AggregateMultiTenancyIsolation(), fleet, mine)
    other = request(project_id="0b5f0d2e-8c0e-4a63-9a1c-1d8f3ecb3a56")
    assert set(refused(AggregateMultiTenancyIsolation(), fleet, other)) == {"mine"}
