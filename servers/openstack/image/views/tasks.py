"""Tasks of all images, for administrators. What a project may know of its own stands at `/v2/images/ID/tasks`."""

from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.answers import JsonAnswer
from controlplane.openstack.faults import bad_request, not_found
from servers.images.selectors import image_tasks_all
from servers.models import ImageTask
from servers.openstack.call import ServersCall
from servers.openstack.image.image_json import SCHEMAS, TASK_TYPES, TASKS, task_json
from servers.openstack.image.list_query import DIRECTIONS, PAGE, PAGE_MAX
from servers.openstack.image.query_words import whole_number
from servers.openstack.image.shapes import ListedTask, TaskShown, TasksShown
from servers.openstack.paging import SortKey, page_after

FILTERS = frozenset({"status", "type"})
SORTED = {"created_at": "created_at", "updated_at": "updated_at", "status": "state", "id": "pk"}
NAMES = FILTERS | {"limit", "marker", "sort_key", "sort_dir"}


def tasks_list(call: ServersCall) -> JsonAnswer[TasksShown]:
    """The newest first, unless another order is asked for; without what they were asked and what came of it."""
    query = call.query
    if unknown := sorted(set(query) - NAMES):
        raise bad_request(f"Tasks cannot be listed by {unknown[0]:.80}.")
    key, direction = query.get("sort_key", "created_at"), query.get("sort_dir", "desc")
    if key not in SORTED or direction not in DIRECTIONS:
        raise bad_request(f"Invalid sort key or direction: {key:.80} {direction:.80}.")
    rows = image_tasks_all()
    if "status" in query:
        rows = rows.filter(state=query["status"])
    if "type" in query:
        rows = rows.filter(kind__in=[kind for kind, name in TASK_TYPES.items() if name == query["type"]])
    limit = min(whole_number("limit", query.get("limit", "")), PAGE_MAX) if "limit" in query else PAGE
    marker = _found(query.get("marker", "")) if "marker" in query else None
    found, is_more = page_after(rows, [SortKey(SORTED[key], direction == "desc")], marker=marker, limit=limit)
    shown: TasksShown = {
        "tasks": [_short(task) for task in found],
        "first": TASKS,
        "schema": f"{SCHEMAS}/tasks",
    }
    if is_more and found:
        following = query.copy()
        following["marker"] = str(found[-1].pk)
        shown["next"] = f"{TASKS}?{following.urlencode()}"
    return call.answer(shown)


def task_show(call: ServersCall, task_id: str) -> JsonAnswer[TaskShown]:
    """All of one."""
    task = _found(task_id)
    return call.answer({**task_json(task.image, task), "self": f"{TASKS}/{task.pk}", "schema": f"{SCHEMAS}/task"})


def _short(task: ImageTask) -> ListedTask:
    whole = task_json(task.image, task)
    return {
        "id": whole["id"],
        "type": whole["type"],
        "status": whole["status"],
        "owner": whole["owner"],
        "created_at": whole["created_at"],
        "updated_at": whole["updated_at"],
        "expires_at": whole["expires_at"],
        "self": f"{TASKS}/{task.pk}",
        "schema": f"{SCHEMAS}/task",
    }


def _found(text: str) -> ImageTask:
    known = parse_uuid(text)
    task = image_tasks_all().filter(pk=known).first() if known else None
    if task is None:
        raise not_found(f"No task found with ID {text:.80}")
    return task
