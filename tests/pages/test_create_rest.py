"""What else the create form can ask for: metadata, files, certificates, a node, how many at most, protection."""

import base64
import json
import shlex
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from controlplane.dashboard.api_calls.calls import HIDDEN
from controlplane.dashboard.instances.file_fields import FORM_MAX_BYTES
from controlplane.identity.domain import Caller
from controlplane.identity.models import Project
from controlplane.infra.secret_encryption import secret_decrypt
from servers.instances.services.first_boot import PURPOSE
from servers.models import BuildRequest, FirstBootData, ImageCertificate, RequestSpec
from tests.pages.test_instance_pages import form
from tests.worlds.cloud import People, client_of

AsPerson = Callable[[Caller], Client]
CREATE = "/instances/create/"


def files(*asked: tuple[str, str, str], **more: Any) -> dict[str, Any]:
    paths, contents, encodings = zip(*asked, strict=True)
    return {"file_path": paths, "file_contents": contents, "file_encoding": encodings, **more}


def upload(data: bytes) -> SimpleUploadedFile:
    return SimpleUploadedFile("chosen", data)


def injected() -> list[tuple[str, bytes]]:
    said = json.loads(secret_decrypt(FirstBootData.objects.get().encrypted, purpose=PURPOSE))
    return [(one["path"], base64.b64decode(one["contents"])) for one in said["files"]]


def problems(client: Client, data: dict[str, Any]) -> dict[str, list[str]]:
    answer = client.post(CREATE, data)
    assert not BuildRequest.objects.exists()
    assert not FirstBootData.objects.exists()
    return {field: list(texts) for field, texts in answer.context["form"].errors.items()}


def test_a_fresh_form_is_not_judged(people: People, as_person: AsPerson) -> None:
    page = as_person(people.member).get(CREATE)

    assert not page.context["form"].errors
    assert 'role="alert"' not in page.text
    assert '<details class="more" id="files">' in page.text
    assert '<details class="more" id="interfaces">' in page.text


def test_metadata_and_protection_are_passed_on(people: People, as_person: AsPerson) -> None:
    as_person(people.member).post(CREATE, form(metadata="role = web\r\n\r\nowner=ops = us", protected="on"))

    body = BuildRequest.objects.get().typed_body
    assert (body.metadata, body.protected) == ({"role": "web", "owner": "ops = us"}, True)


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ("role", "Line 1 is not of the form key = value."),
        ("a = 1\na = 2", "Line 2 has the key a once more."),
        ("a/b = 1", "Key 'a/b': 1 to 255 letters"),
        ("a = " + "x" * 256, "Value of 'a': Has 256 characters"),
        ("x" * 600_000, "Ensure this value has at most 512000 characters"),
        ("\n".join(f"k{number} = v" for number in range(129)), "Over quota: metadata_items: 129 asked for"),
    ],
)
def test_metadata_that_is_none_is_refused_at_its_field(
    people: People, as_person: AsPerson, metadata: str, reason: str
) -> None:
    found = problems(as_person(people.member), form(metadata=metadata))

    assert list(found) == ["metadata"]
    assert found["metadata"][0].startswith(reason)


def test_files_are_typed_or_sent(people: People, as_person: AsPerson) -> None:
    typed = ("/etc/motd", "hello\r\nyou\r\n", "text")
    data = files(typed, ("/b", "AAEC\r\n", "base64"), ("/c", "", "text"), file_upload_2=upload(b"\x00\xff\r\n"))

    as_person(people.member).post(CREATE, form() | data)

    assert injected() == [("/etc/motd", b"hello\nyou\n"), ("/b", b"\x00\x01\x02"), ("/c", b"\x00\xff\r\n")]


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (files(("", "x", "text")), "File 1: path must be text of 1 to 4096 characters."),
        (files(("/a" * 3000, "x", "text")), "File 1: path must be text of 1 to 4096 characters."),
        (files(("/a", "x", "text"), ("/a", "y", "text")), "File 2: there is another file with the path '/a'."),
        (files(("/a", "!", "base64")), "File 1: contents must be base64."),
        (files(("/a", "x", "rot13")), "File 1: its contents are text or base64."),
        (files(("/a", "x", "text"), file_upload_0=upload(b"y")), "File 1: type its contents or choose a file"),
        (files(("/a", "", "text"), file_upload_0=upload(b"y" * (FORM_MAX_BYTES + 1))), "File 1: has 1048577 bytes;"),
        (files(("/a", "y" * (FORM_MAX_BYTES + 1), "text")), "File 1: has 1048577 bytes; a form takes at most 1048576."),
        (files(("/a", "y" * 10_241, "text")), "Over quota: injected_file_content_bytes: 10241 asked for"),
        (files(*((f"/{number}", "", "text") for number in range(6))), "Over quota: injected_files: 6 asked for"),
    ],
)
def test_files_that_are_none_are_refused_at_their_rows(
    people: People, as_person: AsPerson, asked: dict[str, Any], reason: str
) -> None:
    for one in (value for name, value in asked.items() if name.startswith("file_upload")):
        one.seek(0)
    found = problems(as_person(people.member), form() | asked)

    assert list(found) == ["personality"]
    assert found["personality"][0].startswith(reason)


def test_what_was_sent_as_a_file_is_still_there_when_the_form_comes_again(people: People, as_person: AsPerson) -> None:
    sent = {"file_upload_0": upload(b"\n<b>text\n"), "file_upload_1": upload(b"\x00\x01"), "min_count": "many"}

    for button in ({}, {"more": "files"}, {"try": "1"}):
        for one in ("file_upload_0", "file_upload_1"):
            sent[one].seek(0)  # type: ignore[attr-defined]
        data = form() | files(("/a", "", "text"), ("/b", "", "text"), **sent, **button)
        answer = as_person(people.member).post(CREATE, data)
        shown = answer.context["form"].file_rows
        assert [(one.path, one.contents, one.encoding) for one in shown[:2]] == [
            ("/a", "\n<b>text\n", "text"),
            ("/b", "AAE=", "base64"),
        ]
        assert len(shown) == (4 if "more" in button else 3)
        assert "\n&lt;b&gt;text\n</textarea>" in answer.text
        assert '<details class="more" id="files" open>' in answer.text
    assert not BuildRequest.objects.exists()


def test_a_nul_in_a_form_is_refused(people: People, as_person: AsPerson) -> None:
    for data in (files(("/a\x00", "x", "text")), files(("/a", "x\x00", "text")), form(metadata="a = \x00")):
        assert as_person(people.member).post(CREATE, form() | data).status_code == 400
    assert not BuildRequest.objects.exists()


def test_only_certificates_of_the_project_are_offered_and_taken(people: People, as_person: AsPerson) -> None:
    client = as_person(people.member)
    assert "trusted_image_certificates" not in client.get(CREATE).text
    other = Project.objects.get(pk=people.stranger.project_id)
    mine = ImageCertificate.objects.create(name="ours", certificate="-", project_id=people.member.project_id)
    theirs = ImageCertificate.objects.create(name="their-signer", certificate="-", project=other)
    page = client.get(CREATE).text
    assert f'value="{mine.pk}"' in page
    assert "their-signer" not in page

    refused = problems(client, {**form(), "trusted_image_certificates": [str(theirs.pk)]})
    assert list(refused) == ["trusted_image_certificates"]
    assert "not one of the available choices" in refused["trusted_image_certificates"][0]
    unsigned = problems(client, {**form(), "trusted_image_certificates": [str(mine.pk)]})
    assert list(unsigned) != [], "its image is not signed"
    assert "sign" in str(unsigned)


def test_only_administrators_name_a_node(people: People, as_person: AsPerson) -> None:
    assert 'name="hypervisor_hostname"' in as_person(people.admin).get(CREATE).text
    assert 'name="hypervisor_hostname"' not in as_person(people.member).get(CREATE).text
    found = problems(as_person(people.admin), form(hypervisor_hostname="h9"))
    assert found == {"hypervisor_hostname": ["Compute host 'h9' could not be found."]}

    as_person(people.admin).post(CREATE, form(hypervisor_hostname="h2"))

    assert RequestSpec.objects.get().body["requested_node"] == "h2"


def test_as_many_are_made_as_the_quota_allows_and_the_page_that_follows_says_so(
    people: People, as_person: AsPerson
) -> None:
    client = as_person(people.member)
    client.post(CREATE, form(name="first", min_count="18"))

    answer = client.post(CREATE, form(min_count="1", max_count="5", batch="best_effort"), follow=True)

    assert answer.redirect_chain == [("/instances/", 302)]
    assert "2 instances, web-1 to web-2, requested. The quota allows no more; up to 5 were asked for." in answer.text
    assert "Only these" in answer.text
    assert BuildRequest.objects.count() == 20
    assert sorted(one.body.get("min_count") or 0 for one in RequestSpec.objects.all()) == [0] * 18 + [1] * 2


@pytest.mark.parametrize(
    ("changes", "field", "reason"),
    [
        ({"min_count": "3", "max_count": "2"}, "max_count", "Is 2, less than min_count, which is 3."),
        ({"max_count": "0"}, "max_count", "Is 0; the least is 1."),
        ({"max_count": "9" * 30}, "max_count", "Is 9"),
        ({"max_count": "two"}, "max_count", "Enter a whole number."),
        ({"batch": "some"}, "batch", "Select a valid choice."),
    ],
)
def test_numbers_that_are_none_are_refused_at_their_field(
    people: People, as_person: AsPerson, changes: dict[str, str], field: str, reason: str
) -> None:
    found = problems(as_person(people.member), form(**changes))

    assert list(found) == [field]
    assert found[field][0].startswith(reason)


def test_the_call_of_the_form_asks_for_the_same_but_for_what_files_hold(people: People, as_person: AsPerson) -> None:
    typed = {
        **form(),
        **files(("/etc/key", "top secret", "text"), ("", "", "text")),
        "metadata": "role = web",
        "protected": "on",
        "max_count": "2",
        "batch": "best_effort",
        "as_curl_of": CREATE,
    }
    answer = as_person(people.member).post("/as-curl/", typed)
    body = json.loads(shlex.split(unescape(answer.text))[-1])
    assert "top secret" not in answer.text
    assert body["personality"] == [{"path": "/etc/key", "contents": HIDDEN}]
    body["personality"][0]["contents"] = ""

    made = client_of(people.member).post("/api/instances/", body)

    assert made.status_code == 202, made.text
    bodies = [one.typed_body for one in BuildRequest.objects.all()]
    assert [(one.metadata, one.protected) for one in bodies] == [({"role": "web"}, True)] * 2


def test_the_call_of_a_refused_form_is_the_one_that_was_refused(people: People, as_person: AsPerson) -> None:
    data = {**form(), **files(("/etc/key", "x", "text")), "nic_of": ["port:p"], "nic_fixed_ip": [""], "nic_tag": [""]}

    page = unescape(as_person(people.member).post(CREATE, data).text)

    assert '"networks": [{"port": "p"}]' in page
    assert '"personality": [{"path": "/etc/key", "contents": "..."}]' in page
