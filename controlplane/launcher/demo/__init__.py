"""`manage.py demo`: a large fleet that is simulated as rows, with a history, to look at pages with."""
