"""Pages of networks: what guests are joined to, and who lets what through."""
