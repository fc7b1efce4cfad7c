"""The whole Image API on one screen: which path and method leads where, and what it needs."""

from controlplane.openstack.routes import Endpoint, Route, RouteTable
from servers.images.downloads import OCTETS
from servers.openstack.image.access import ImageAccess
from servers.openstack.image.json_patch import MEDIA_V2_0, MEDIA_V2_1
from servers.openstack.image.views import image_file, images, imports, members, schemas, tags, tasks, versions

READ, WRITE, PUBLISH = ImageAccess.READ, ImageAccess.WRITE, ImageAccess.PUBLISH
IMAGE = "/v2/images/{image_id}"
OPEN_PATHS = ("", "/", "/versions", "/versions/", "/v2", "/v2/")
VERSIONS = {"GET": Endpoint(versions.version_list, None)}

ROUTES = RouteTable(
    [
        # No token is needed for these.
        Route("/", {"GET": Endpoint(versions.version_choices, None)}),
        *(Route(path, VERSIONS) for path in OPEN_PATHS[2:]),
        Route(
            "/v2/images",
            {"GET": Endpoint(images.images_list, READ), "POST": Endpoint(images.image_add, WRITE, takes=True)},
        ),
        Route(
            IMAGE,
            {
                "GET": Endpoint(images.image_show, READ),
                "PATCH": Endpoint(images.image_change, WRITE, media_types=(MEDIA_V2_1, MEDIA_V2_0)),
                "DELETE": Endpoint(images.image_remove, WRITE),
            },
        ),
        Route(
            IMAGE + "/file",
            {
                "GET": Endpoint(image_file.file_download, READ),
                "PUT": Endpoint(image_file.file_upload, WRITE, media_types=(OCTETS,)),
            },
        ),
        Route(IMAGE + "/stage", {"PUT": Endpoint(imports.stage_refused, WRITE)}),
        Route(IMAGE + "/import", {"POST": Endpoint(imports.import_begin, WRITE, takes=True)}),
        Route(IMAGE + "/tasks", {"GET": Endpoint(imports.image_tasks, READ)}),
        Route(IMAGE + "/actions/deactivate", {"POST": Endpoint(images.deactivate, PUBLISH)}),
        Route(IMAGE + "/actions/reactivate", {"POST": Endpoint(images.reactivate, PUBLISH)}),
        Route(
            IMAGE + "/members",
            {"GET": Endpoint(members.members_list, READ), "POST": Endpoint(members.member_add, WRITE, takes=True)},
        ),
        Route(
            IMAGE + "/members/{member_id}",
            {
                "GET": Endpoint(members.member_show, READ),
                "PUT": Endpoint(members.member_answer, WRITE, takes=True),
                "DELETE": Endpoint(members.member_remove, WRITE),
            },
        ),
        Route(
            IMAGE + "/tags/{tag}",
            {"PUT": Endpoint(tags.tag_put, WRITE), "DELETE": Endpoint(tags.tag_delete, WRITE)},
        ),
        Route("/v2/schemas/{name}", {"GET": Endpoint(schemas.schema_show, READ)}),
        Route("/v2/tasks", {"GET": Endpoint(tasks.tasks_list, PUBLISH)}),
        Route("/v2/tasks/{task_id}", {"GET": Endpoint(tasks.task_show, PUBLISH)}),
        Route("/v2/info/import", {"GET": Endpoint(imports.import_methods, READ)}),
        Route("/v2/info/stores", {"GET": Endpoint(imports.stores_list, READ)}),
    ]
)
