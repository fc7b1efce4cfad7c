"""One action for many instances, as a job with an item for each."""
