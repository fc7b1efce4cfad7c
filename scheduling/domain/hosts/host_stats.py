"""A host's `stats` as Nova's host states have them: the counts of the table beside what was told of the host."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from scheduling.domain.columns import Interned
from scheduling.domain.hosts.host_table import HostTable

OF_PROJECTS = "num_proj_"


def row_stats(table: HostTable, row: int) -> dict[str, Any]:
    """One host's."""
    return {**table.stats[row], **_counts(table, row)}


def stats_column(table: HostTable) -> Interned[Mapping[str, Any]]:
    """All hosts': each distinct combination once."""
    parts = (table.stats.codes, table.num_instances, table.num_io_ops, table.failed_builds)
    _, first, codes = np.unique(np.stack(parts), axis=1, return_index=True, return_inverse=True)
    return Interned(tuple(row_stats(table, int(row)) for row in first), codes.reshape(-1).astype(np.int64))


def askable_stats_column(table: HostTable) -> Interned[Mapping[str, Any]]:
    """The same without counts of projects: a tenant's request may ask it, and nobody asks about other tenants."""
    column = stats_column(table)
    values = ({name: one for name, one in each.items() if not name.startswith(OF_PROJECTS)} for each in column.values)
    return Interned(tuple(values), column.codes)


def _counts(table: HostTable, row: int) -> dict[str, int]:
    return {
        "num_instances": int(table.num_instances[row]),
        "io_workload": int(table.num_io_ops[row]),
        "failed_builds": int(table.failed_builds[row]),
    }
