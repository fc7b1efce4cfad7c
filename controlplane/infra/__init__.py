"""The ground floor in Django: compare-and-set, leases, work rows, doorbells, errors to HTTP, paging."""
