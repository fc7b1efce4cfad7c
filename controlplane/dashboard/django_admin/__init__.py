"""The Django admin as a part of the panel: its sections, its look, and the ways between its pages and the panel's."""
