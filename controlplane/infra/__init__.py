"""The ground floor in Django: compare-and-set, leases, work rows, wake-ups, errors to HTTP, paging."""
