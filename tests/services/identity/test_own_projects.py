"""The projects that a user may work in, one by one and as many as are offered."""

import uuid

import pytest

from controlplane.identity.domain import Role
from controlplane.identity.models import GroupMember, GroupRole, Project, User, UserGroup
from controlplane.identity.selectors import caller_for_user, project_id_called
from controlplane.identity.selectors.held_roles import roles_in
from controlplane.identity.selectors.own_projects import (
    MAX_OFFERED,
    own_project,
    own_project_called,
    own_project_default,
    own_project_named,
    own_projects_offered,
    projects_of_user,
)
from controlplane.identity.services import project_create, project_update, role_grant, user_create
from controlplane.kernel.errors import Forbidden, NotFound

pytestmark = pytest.mark.django_db


@pytest.fixture
def projects() -> dict[str, Project]:
    """Of `mary`: b by a role of her own, a and c by a group, d not; e by both, and disabled."""
    found = {name: project_create(name=name) for name in "cabde"}
    project_update(project=found["e"], enabled=False)
    return found


@pytest.fixture
def mary(projects: dict[str, Project]) -> User:
    user = user_create(username="mary", password="correct horse battery")
    group = UserGroup.objects.create(name="editors")
    GroupMember.objects.create(group=group, user=user)
    for name in "ace":
        GroupRole.objects.create(group=group, project=projects[name], role=Role.READER)
    for name in "be":
        role_grant(user=user, project=projects[name], role=Role.MEMBER)
    return user


@pytest.fixture
def root() -> User:
    return User.objects.create_superuser(username="root", password="correct horse battery")


def test_each_is_found_by_id_and_by_name_and_no_other_is(mary: User, projects: dict[str, Project]) -> None:
    by_id = {name for name, project in projects.items() if own_project(user=mary, project_id=project.pk) == project}
    by_name = {name for name, project in projects.items() if own_project_named(user=mary, name=name) == project}
    called = {name for name, one in projects.items() if own_project_called(user=mary, text=str(one.pk)) == one}

    assert by_id == by_name == called == {one.name for one in projects_of_user(user=mary)} == {"a", "b", "c"}
    assert own_project_called(user=mary, text="b") == projects["b"]
    assert own_project_called(user=mary, text=str(uuid.uuid4())) is None


def test_superuser_works_in_every_enabled_one(root: User, projects: dict[str, Project]) -> None:
    found = {name for name, project in projects.items() if own_project(user=root, project_id=project.pk)}

    assert found == {one.name for one in own_projects_offered(user=root)} == {"a", "b", "c", "d"}
    assert own_project_named(user=root, name="e") is None


def test_default_project_goes_before_the_first_by_name(mary: User, projects: dict[str, Project]) -> None:
    first = own_project_default(user=mary)
    mary.default_project_id = projects["c"].pk
    chosen = own_project_default(user=mary)
    mary.default_project_id = projects["d"].pk  # where she has no role any more

    assert (first, chosen, own_project_default(user=mary)) == (projects["a"], projects["c"], projects["a"])


def test_an_id_goes_before_another_projects_name(mary: User, projects: dict[str, Project]) -> None:
    named_alike = project_create(name=str(projects["b"].pk))
    role_grant(user=mary, project=named_alike, role=Role.MEMBER)

    assert own_project_called(user=mary, text=str(projects["b"].pk)) == projects["b"]


def test_one_more_is_offered_than_can_be_chosen_from(root: User, mary: User, projects: dict[str, Project]) -> None:
    Project.objects.bulk_create(Project(name=f"x{number:03}") for number in range(MAX_OFFERED + 10))

    offered = [one.name for one in own_projects_offered(user=root)]

    assert (len(offered), offered[:5]) == (MAX_OFFERED + 1, ["a", "b", "c", "d", "x000"])
    assert [one.name for one in own_projects_offered(user=mary)] == ["a", "b", "c"]


def test_roles_are_those_of_the_user_and_of_the_groups(mary: User, projects: dict[str, Project]) -> None:
    role_grant(user=mary, project=projects["a"], role=Role.MEMBER)

    found = {name: roles_in(user_id=mary.pk, project_id=project.pk) for name, project in projects.items()}

    assert found["a"] == frozenset({Role.MEMBER, Role.READER})
    assert (found["b"], found["c"], found["d"]) == (frozenset({Role.MEMBER}), frozenset({Role.READER}), frozenset())
    assert caller_for_user(user=mary, project_id=projects["a"].pk).roles == found["a"]
    with pytest.raises(Forbidden, match="You have no role there"):
        caller_for_user(user=mary, project_id=projects["d"].pk)


def test_project_is_called_by_its_id_before_another_ones_name() -> None:
    one = project_create(name="one")
    other = project_create(name=str(one.pk))
    assert project_id_called("one") == project_id_called(str(one.pk)) == one.pk
    assert project_id_called(str(other.pk)) == other.pk
    unknown = str(uuid.uuid4())
    named_as_an_id = project_create(name=unknown)
    assert project_id_called(unknown) == named_as_an_id.pk


@pytest.mark.parametrize("called", ["", "nobody", "00000000-0000-0000-0000-00000000000a", "n" * 300])
def test_project_that_is_not_there_is_refused_by_what_it_was_called(called: str) -> None:
    project_create(name="one")
    with pytest.raises(NotFound) as refused:
        project_id_called(called)
    assert (refused.value.field, refused.value.message) == ("project", f"There is no project {called[:80]}.")
