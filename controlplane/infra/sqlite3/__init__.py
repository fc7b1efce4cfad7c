"""Django's backend for SQLite, for processes with many threads."""
