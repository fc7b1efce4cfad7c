"""The fleet as columns, and one row of it with Nova's attribute names."""
