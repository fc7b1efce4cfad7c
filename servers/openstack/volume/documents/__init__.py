"""Rows as the Volume API shows them."""
