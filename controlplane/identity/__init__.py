"""Who may do what: users, projects, roles, tokens, quota limits, and the table of actions."""
