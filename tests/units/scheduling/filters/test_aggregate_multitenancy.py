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
