"""The settings as this installation has them, to read: for admins, as a page and under /api/."""
