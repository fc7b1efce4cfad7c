"""Views, a file per resource family."""
