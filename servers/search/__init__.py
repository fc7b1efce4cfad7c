"""One search over everything that has a page: by id, id of a request, address or name."""
