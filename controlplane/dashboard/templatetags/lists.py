"""The rows of lists. A list's template has one `{% column "key" %}...{% endcolumn %}` for each column."""

from typing import Any

from django import template
from django.core.paginator import Page
from django.template.base import FilterExpression, NodeList, Parser, Token
from django.template.defaultfilters import pluralize
from django.template.loader import get_template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from controlplane.dashboard.lists.declaration import Column, ListDeclaration
from controlplane.dashboard.lists.query import ListQuery
from controlplane.dashboard.lists.things import things_counted
from controlplane.dashboard.lists.window import ListPage
from controlplane.dashboard.texts import translated
from controlplane.kernel.units import amount_text

register = template.Library()


class ColumnNode(template.Node):
    """What stands in the cells of one column. It shows nothing where it stands."""

    def __init__(self, key: str, nodelist: NodeList) -> None:
        self.key, self.nodelist = key, nodelist

    def render(self, context: template.Context) -> SafeString:
        return SafeString("")


@register.tag("column")
def column(parser: Parser, token: Token) -> ColumnNode:
    """`{% column "name" %}` ... `{% endcolumn %}`, with `row` in it."""
    _, key = token.split_contents()
    body = parser.parse(("endcolumn",))
    parser.delete_first_token()
    return ColumnNode(str(FilterExpression(key, parser).resolve(template.Context())), body)


@register.simple_tag(takes_context=True)
def list_rows(context: template.RequestContext) -> SafeString:
    """The table's rows: for each the cells of the columns that are shown."""
    query: ListQuery = context["query"]
    declared = query.declaration
    cells = _cells(declared.cells)
    own = query.has_own_columns
    columns = [(cells[one.key], cell_start(one, own=own)) for one in query.columns]
    select = cells.get("select") if declared.bulk else None
    lines: list[str] = []
    with context.push():
        for row in context["rows"]:
            context["row"] = row
            css = declared.row_class(row) if declared.row_class else ""
            lines.append(format_html('<tr class="{}">', css) if css else "<tr>")
            if select is not None:
                lines.append(f'<td class="select">{select.render(context)}</td>')
            lines.extend(f"{start}{body.render(context)}</td>" for body, start in columns)
            lines.append("</tr>\n")
    return mark_safe("".join(lines))  # noqa: S308  # each part was escaped where it was rendered


def cell_start(one: Column, *, own: bool) -> SafeString:
    """The cell's tag. Chosen columns are not left out on small screens."""
    css = one.css_class.replace("hide-small", "").strip() if own else one.css_class
    title = translated(one.title)
    if css:
        return format_html('<td class="{}" data-label="{}">', css, title)
    return format_html('<td data-label="{}">', title)


@register.simple_tag
def list_count(declaration: ListDeclaration, page: ListPage) -> str:
    """How many rows there are: '1 host', '10,000 or more hosts'."""
    things = declaration.thing if page.count == 1 else declaration.plural
    return things_counted(amount_text(page.count, ""), things, is_bounded=page.is_bounded)


@register.simple_tag
def pages_count(page: Page[Any], thing: str, ending: str = "s") -> str:
    """The same of Django's paginator."""
    count = page.paginator.count
    is_bounded = bool(getattr(page.paginator, "is_bounded", False))
    return things_counted(str(count), f"{thing}{pluralize(count, ending)}", is_bounded=is_bounded)


@register.filter
def things(thing: str, ending: str = "s") -> str:
    """Several of them."""
    return translated(f"{thing}{pluralize(0, ending)}")


@register.simple_tag
def head_class(query: ListQuery, one: Column) -> str:
    """The classes of a column's head."""
    return one.css_class.replace("hide-small", "").strip() if query.has_own_columns else one.css_class


@register.simple_tag
def sort_link(query: ListQuery, one: Column) -> str:
    """Where its head leads."""
    return query.sort_link(one)


@register.simple_tag
def page_link(query: ListQuery, number: int, step: int) -> str:
    """The page before or after one, of the same rows."""
    return query.page_link(number + step)


@register.simple_tag
def sort_state(query: ListQuery, one: Column) -> str:
    """What a reader is told of its head."""
    return {one.key: "ascending", f"-{one.key}": "descending"}.get(query.sort, "none")


def _cells(name: str) -> dict[str, NodeList]:
    found: Any = get_template(name)
    return {node.key: node.nodelist for node in found.template.nodelist.get_nodes_by_type(ColumnNode)}
