"""The call of `/api/` that does what a page shows or a form asks for, as a line for curl."""
