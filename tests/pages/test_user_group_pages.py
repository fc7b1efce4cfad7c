"""Groups of users and roles in the system, on their pages and in the Django admin: for admins alone."""

from collections.abc import Callable

from django.test import Client

from controlplane.identity.domain import Caller
from controlplane.identity.models import GroupRole, SystemRole, User, UserGroup
from tests.worlds.cloud import People

AsPerson = Callable[[Caller], Client]


def test_a_group_is_made_filled_given_roles_and_deleted(people: People, as_person: AsPerson) -> None:
    client, mary = as_person(people.admin), User.objects.get(username="mary")
    client.post("/user-groups/new/", {"name": "devs", "description": ""})
    group = UserGroup.objects.get(name="devs")
    home, demo = f"/user-groups/{group.pk}/", str(people.member.project_id)
    assert "A group with this name exists already." in client.post("/user-groups/new/", {"name": "devs"}).text
    client.post(f"{home}edit/", {"name": "developers", "description": "who develops"})
    for name in ("mary", "rita"):
        assert client.post(f"{home}members/", {"username": name, "do": "add"}).status_code == 302
    for where in (demo, "system"):
        assert client.post(f"{home}roles/", {"project": where, "role": "manager", "do": "grant"}).status_code == 302
    assert client.post(f"{home}members/", {"username": "nobody"}).status_code == 404
    assert client.post(f"{home}roles/", {"project": "x", "role": "member"}).status_code == 400
    assert client.post(f"{home}roles/", {"project": demo, "role": "king"}).status_code == 400

    assert all(word in client.get(home).text for word in ("developers", "mary", "rita", "the system", "manager"))
    assert "developers" in client.get("/user-groups/?q=rita").text
    assert home in client.get(f"/users/{mary.pk}/").text and home in client.get(f"/projects/{demo}/").text
    for person in (people.member, people.reader):
        other = as_person(person)
        assert {other.get(path).status_code for path in ("/user-groups/", home, f"{home}edit/")} == {403}
        assert other.post(f"{home}delete/").status_code == 403

    client.post(f"{home}members/", {"user": str(mary.pk), "do": "remove"})
    client.post(f"{home}roles/", {"project": "system", "role": "manager", "do": "revoke"})
    assert not group.memberships.filter(user=mary).exists()
    assert list(GroupRole.objects.values_list("project_id", flat=True)) == [people.member.project_id]
    assert client.post(f"{home}delete/").headers["Location"] == "/user-groups/"
    assert not UserGroup.objects.exists()

    place = f"/users/{mary.pk}/system-roles/"
    client.post(place, {"role": "reader", "do": "grant"})
    assert SystemRole.objects.filter(user=mary, role="reader").exists()
    assert "Take away the role reader in the system" in client.get(f"/users/{mary.pk}/").text
    client.post(place, {"role": "reader", "do": "revoke"})
    assert not SystemRole.objects.exists()


def test_groups_in_the_django_admin_are_for_superusers_alone(people: People) -> None:
    group = UserGroup.objects.create(name="operators")
    staff = User.objects.create_user("stefan", is_staff=True)
    boss = User.objects.create_superuser("boss")
    paths = ("usergroup/", f"usergroup/{group.pk}/change/", "systemrole/")
    for person, status in ((boss, 200), (staff, 403)):
        client = Client()
        client.force_login(person)
        assert {client.get(f"/admin/identity/{path}").status_code for path in paths} == {status}
