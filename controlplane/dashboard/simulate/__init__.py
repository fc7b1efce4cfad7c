"""Trials of requests: from the create form and on a page of their own."""
