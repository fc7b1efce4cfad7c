"""Answers of a service below a mount prefix, as the same service would give them at the root of its host."""

from typing import Any


def without_mount(value: Any, prefix: str) -> Any:
    """`value` with the mount prefix taken off each link; a link that lacks it becomes one that matches nothing.

    The empty link stays: it means "this document", and is what the original's version document holds wherever it is
    mounted.
    """
    if isinstance(value, list):
        return [without_mount(each, prefix) for each in value]
    if not isinstance(value, dict):
        return value
    changed = {key: without_mount(each, prefix) for key, each in value.items()}
    link = changed.get("href")
    if isinstance(link, str) and link:
        changed["href"] = link.removeprefix(prefix) if link.startswith(prefix) else f"not below {prefix}: {link}"
    return changed
