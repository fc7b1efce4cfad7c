"""Pages of the scheduler's policies: versions, editor, comparison, preview."""
