"""How entries of the audit log are written: who acts, what services say, what the Django admin saves by itself."""
