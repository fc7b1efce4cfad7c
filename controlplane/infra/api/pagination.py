"""Pages of lists: {count, next, previous, results}."""

from rest_framework.pagination import PageNumberPagination


class StandardPagination(PageNumberPagination):
    """`?page=` and `?page_size=`, at most 1000 rows at once."""

    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 1000
