"""`manage.py up`: a whole installation in one process tree, prepared, started, watched and stopped."""
