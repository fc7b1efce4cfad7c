"""Lists of images at the Image API: filters, order, pages, and who sees what."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from servers.models import Image, ImageMember, ImageTag
from tests.worlds.cloud import image
from tests.worlds.image_api import ImagePeople, message

BEGAN = datetime(2026, 1, 31, 10, 0, tzinfo=UTC)
IDS = {name: str(uuid.UUID(int=number)) for number, name in enumerate(("debian:12", "b,c", "small"), start=1)}


@pytest.fixture
def rows(world: ImagePeople) -> ImagePeople:
    """Three public images, made a minute apart; the newest is the first of a list."""
    own = {"project_id": world.who.member.project_id}
    image("debian:12", pk=IDS["debian:12"], size_bytes=300, properties={"os_distro": "debian"}, **own)
    image("b,c", pk=IDS["b,c"], size_bytes=200, disk_format="raw", protected=True, checksum_sha256="a" * 64)
    image("small", pk=IDS["small"], size_bytes=100, status="queued", checksum_sha256="", min_ram_mib=64)
    for number, pk in enumerate(IDS.values()):
        Image.objects.filter(pk=pk).update(created_at=BEGAN + timedelta(minutes=number, microseconds=7))
    for tag in ("one", "two"):
        ImageTag.objects.create(image_id=IDS["b,c"], tag=tag)
    ImageTag.objects.create(image_id=IDS["small"], tag="one")
    return world


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["small", "b,c", "debian:12"]),
        ("?name=debian:12", ["debian:12"]),
        ("?name=eq:small", ["small"]),
        ('?name=in:"b,c",small', ["small", "b,c"]),
        ("?name=nothing", []),
        (f"?id=in:{IDS['small']},{IDS['b,c']}", ["small", "b,c"]),
        (f"?id={IDS['small']}", ["small"]),
        ("?id=in:no-id", []),
        ("?status=queued", ["small"]),
        ("?status=in:queued,active", ["small", "b,c", "debian:12"]),
        ("?status=deleted", []),
        ("?disk_format=raw", ["b,c"]),
        ("?container_format=bare&disk_format=in:raw", ["b,c"]),
        ("?visibility=public", ["small", "b,c", "debian:12"]),
        ("?visibility=private", []),
        ("?owner=no-id", []),
        ("?protected=true", ["b,c"]),
        ("?protected=False", ["small", "debian:12"]),
        ("?os_hidden=true", []),
        ("?os_hidden=false&name=small", ["small"]),
        ("?size_min=150&size_max=250", ["b,c"]),
        ("?size=300", ["debian:12"]),
        (f"?size_max={10**25}", ["small", "b,c", "debian:12"]),
        ("?min_ram=64", ["small"]),
        (f"?min_disk={10**25}", []),
        ("?tag=one", ["small", "b,c"]),
        ("?tag=one&tag=two", ["b,c"]),
        ("?os_distro=debian", ["debian:12"]),
        ("?os_distro=other", []),
        ("?no_such_property=x", []),
        ('?a"b=x', []),
        ("?a'b\\=x", []),
        ("?os_hash_value=" + "a" * 64, ["b,c"]),
        ("?os_hash_value=", []),
        ("?os_hash_algo=sha256", ["b,c", "debian:12"]),
        ("?os_hash_algo=md5", []),
        ("?checksum=x", []),
        ("?created_at=2026-01-31T10:01:00Z", ["b,c"]),
        ("?created_at=neq:2026-01-31T10:01:00Z", ["small", "debian:12"]),
        ("?created_at=gt:2026-01-31T10:01:00Z", ["small"]),
        ("?created_at=gte:2026-01-31T10:01:00Z", ["small", "b,c"]),
        ("?created_at=lt:2026-01-31T10:01:00", ["debian:12"]),
        ("?created_at=lte:2026-01-31T10:01:00", ["b,c", "debian:12"]),
        ("?updated_at=lt:0001-01-01T00:00:00Z", []),
        ("?updated_at=gt:9999-12-31T23:59:59Z", []),
        ("?sort_key=name&sort_dir=asc", ["b,c", "debian:12", "small"]),
        ("?sort_key=name", ["small", "debian:12", "b,c"]),
        ("?sort=status:desc,size:asc", ["small", "b,c", "debian:12"]),
        ("?sort_key=status&sort_dir=asc&sort_key=size&sort_dir=desc", ["debian:12", "b,c", "small"]),
        ("?sort=id:asc", ["debian:12", "b,c", "small"]),
        ("?limit=0", []),
        ("?limit=2", ["small", "b,c"]),
        (f"?marker={IDS['b,c']}", ["debian:12"]),
        (f"?marker={IDS['b,c']}&sort=size:asc", ["debian:12"]),
    ],
)
def test_list_is_narrowed_ordered_and_cut(rows: ImagePeople, query: str, expected: list[str]) -> None:
    assert rows.stranger.names(query) == expected


@pytest.mark.parametrize(
    "query",
    [
        "?limit=-1",
        "?limit=x",
        "?marker=no-id",
        "?marker=00000000-0000-4000-8000-000000000001",
        "?sort=nothing",
        "?sort=name:up",
        "?sort=name&sort_key=name",
        "?sort=name,name:asc",
        "?" + "&".join(f"p{number}=x" for number in range(129)),
        "?sort_key=name&sort_key=size&sort_dir=asc&sort_dir=asc&sort_dir=asc",
        "?visibility=everything",
        "?member_status=perhaps",
        "?protected=perhaps",
        "?size_min=x",
        "?created_at=yesterday",
        '?name=in:"a',
        "?name=a&name=b",
        "?locations=x",
        "?12=x",
        "?" + "9" * 50 + "=x",
        "?1_0=x",
        "?name=%00",
    ],
)
def test_what_no_list_can_be_asked_for_is_refused(rows: ImagePeople, query: str) -> None:
    message(rows.member.get(f"/v2/images{query}"), 400)


def test_pages_are_linked_and_keep_what_was_asked(rows: ImagePeople) -> None:
    path, seen = "/v2/images?limit=1&sort=name:asc&visibility=public", []
    while path:
        document = rows.member.get(path).json()
        assert document["first"] == "/v2/images?limit=1&sort=name%3Aasc&visibility=public"
        assert document["schema"] == "/v2/schemas/images"
        seen += [one["name"] for one in document["images"]]
        path = document.get("next", "")
    assert seen == ["b,c", "debian:12", "small"]


def test_images_made_in_the_same_moment_are_all_paged(world: ImagePeople) -> None:
    for number in range(5):
        image(f"i{number}")
    Image.objects.update(created_at=BEGAN, size_bytes=1)
    path, seen = "/v2/images?limit=2&sort_key=size", []
    while path:
        document = world.member.get(path).json()
        seen += [one["name"] for one in document["images"]]
        path = document.get("next", "")
    assert sorted(seen) == [f"i{number}" for number in range(5)]


def test_each_visibility_is_listed_to_whom_it_says(world: ImagePeople) -> None:
    made: dict[str, Any] = {}
    for visibility in ("public", "community", "shared", "private"):
        made[visibility] = image(visibility, visibility=visibility, project_id=world.who.member.project_id)
    everything = ["community", "private", "public", "shared"]
    by_name = "?sort=name:asc"
    assert world.member.names(by_name) == world.reader.names(by_name) == world.admin.names(by_name) == everything
    assert world.member.names("?visibility=shared") == ["shared"]
    assert world.member.names(f"?visibility=private&owner={world.who.member.project_id.hex}") == ["private"]
    assert world.stranger.names(by_name) == ["public"]
    assert world.stranger.names("?visibility=community") == ["community"]
    assert world.stranger.names(f"{by_name}&visibility=all") == ["community", "public"]
    assert world.stranger.get(f"/v2/images/{made['community'].pk}").status_code == 200
    message(world.stranger.get(f"/v2/images/{made['private'].pk}"), 404)
    message(world.stranger.get(f"/v2/images?marker={made['private'].pk}"), 400)

    ImageMember.objects.create(image=made["shared"], project_id=world.who.stranger.project_id)
    assert world.stranger.names(by_name) == ["public"]
    assert world.stranger.names("?visibility=shared") == []
    assert world.stranger.names("?visibility=shared&member_status=pending") == ["shared"]
    assert world.stranger.names("?visibility=shared&member_status=all") == ["shared"]
    ImageMember.objects.update(status="accepted")
    assert world.stranger.names(by_name) == ["public", "shared"]
    assert world.stranger.names("?visibility=shared&member_status=rejected") == []


def test_list_costs_the_same_however_many_there_are(world: ImagePeople, django_assert_num_queries: Any) -> None:
    def more(count: int) -> None:
        for _ in range(count):
            ImageTag.objects.create(image=image("i"), tag="t")

    more(2)
    world.member.get("/v2/images")  # the token's first use is noted
    with django_assert_num_queries(3):
        assert len(world.member.names()) == 2
    more(20)
    with django_assert_num_queries(3):
        assert len(world.member.names()) == 22


def test_property_named_as_a_key_of_ours_does_not_hide_it(world: ImagePeople) -> None:
    made = image("i", properties={"status": "mine", "os_glance_x": "y", "os_distro": "debian"})
    shown = world.member.get(f"/v2/images/{made.pk}").json()
    assert (shown["status"], shown["os_distro"]) == ("active", "debian")
    assert "os_glance_x" not in shown
