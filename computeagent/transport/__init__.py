"""How an agent reaches its control plane: HTTP, with a secret of its own host."""
