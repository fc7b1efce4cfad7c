"""Device profiles under /api/, by role."""

import pytest

from servers.models import DeviceProfile
from tests.worlds.cloud import client_of, people

pytestmark = pytest.mark.django_db
BODY = {"name": "gpu", "groups": [{"resources:VGPU": "1"}]}
URL = "/api/device-profiles/"


def test_admin_makes_changes_and_removes_one() -> None:
    admin = client_of(people().admin)
    made = admin.post(URL, BODY, format="json")
    assert made.status_code == 201, made.content
    one = f"{URL}{made.data['id']}/"
    assert admin.patch(one, {"description": "a card"}, format="json").data["description"] == "a card"
    assert admin.get(URL, {"search": "gp"}).data["count"] == 1
    wrong = admin.patch(one, {"groups": [{"resources:FPGA": "1"}]}, format="json")
    assert wrong.status_code == 400
    assert "pci_passthrough:alias" in str(wrong.content)
    assert admin.delete(one).status_code == 204
    assert admin.get(one).status_code == 404


def test_others_read_only() -> None:
    found = people()
    profile = DeviceProfile.objects.create(**BODY)
    for caller in (found.member, found.reader, found.stranger):
        client = client_of(caller)
        assert client.get(URL).status_code == 200
        assert client.get(f"{URL}{profile.pk}/").data["name"] == "gpu"
        assert client.post(URL, BODY, format="json").status_code == 403
        assert client.patch(f"{URL}{profile.pk}/", BODY, format="json").status_code == 403
        assert client.delete(f"{URL}{profile.pk}/").status_code == 403
