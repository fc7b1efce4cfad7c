"""Device profiles in the Django admin: their groups are rows of keys and values, no JSON."""

from typing import Any

import pytest
from django.test import Client

from controlplane.identity.models import User
from servers.catalog.services.device_profile import device_profile_create
from servers.models import DeviceProfile
from tests.worlds.admin_actions import pairs

pytestmark = pytest.mark.django_db
ADD = "/admin/servers/deviceprofile/add/"
CARD = {"pci_passthrough:alias": "a100:2"}
GPU = {"resources:VGPU": "1", "trait:CUSTOM_A100": "required"}


@pytest.fixture
def browser() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser(username="boss", password="x"))
    return client


def sent(*groups: dict[str, str], **more: Any) -> dict[str, Any]:
    """The form as a browser sends it: the groups, and the blank one at the end."""
    form: dict[str, Any] = {"name": "gpu", "description": ""} | more
    for at, group in enumerate([*groups, {}]):
        form |= pairs(f"groups_{at}", group) if group else {f"groups_{at}_key": [""], f"groups_{at}_value": [""]}
    return form


def test_profile_is_made_of_groups_of_rows(browser: Client) -> None:
    assert browser.post(ADD, sent(CARD, GPU)).status_code == 302
    made = DeviceProfile.objects.get()
    assert (made.name, made.groups) == ("gpu", [CARD, GPU])


def test_form_shows_each_group_and_a_blank_one(browser: Client) -> None:
    made = device_profile_create(name="gpu", groups=[CARD, GPU])
    page = browser.get(f"/admin/servers/deviceprofile/{made.pk}/change/").text
    assert page.count('<fieldset class="pair-group">') == 3
    for name in ("Group 1", "Group 2", "One more group"):
        assert f"<legend>{name}</legend>" in page
    assert 'name="groups_0_value" value="a100:2"' in page
    assert "by the alias that hosts are set up with" in page


def test_group_whose_rows_are_emptied_is_removed(browser: Client) -> None:
    made = device_profile_create(name="gpu", groups=[CARD, GPU])
    blank = {"groups_0_key": [""], "groups_0_value": [""]}
    path = f"/admin/servers/deviceprofile/{made.pk}/change/"
    assert browser.post(path, {**sent(CARD, GPU), **blank}).status_code == 302
    assert DeviceProfile.objects.get().groups == [GPU]


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ([], "Must be a list of at least one group."),
        ([{"pci_passthrough:alias": "none"}], "it must be name:count"),
        (
            [CARD, {"resources:VGPU": "99"}],
            "Group 2: resources:VGPU is &#x27;99&#x27;; it must be a number from 1 to 32",
        ),
        ([{"": "x"}], "Group 1: The value x has no key."),
    ],
)
def test_what_is_wrong_is_said_and_all_that_was_typed_stays(
    browser: Client, groups: list[dict[str, str]], said: str
) -> None:
    page = browser.post(ADD, sent(*groups)).text
    assert said in page
    assert not DeviceProfile.objects.exists()
    for group in groups:
        for text in group.values():
            assert f'value="{text}"' in page


def test_form_without_its_rows_changes_nothing(browser: Client) -> None:
    made = device_profile_create(name="gpu", groups=[CARD])
    page = browser.post(f"/admin/servers/deviceprofile/{made.pk}/change/", {"name": "gpu", "description": "x"})
    assert "were not sent" in page.text
    assert DeviceProfile.objects.get().groups == [CARD]
