"""Pages of webhooks, for admins: who is told of what, and what became of each delivery."""
