"""Settings, one module per way of running: dev (a laptop), prod, test."""
