"""What crosses the border between hypervisors and the control plane: the verbs, and every type they carry."""
