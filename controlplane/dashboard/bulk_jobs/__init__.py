"""Pages of bulk jobs: what is asked before, the progress of each item, the list."""
