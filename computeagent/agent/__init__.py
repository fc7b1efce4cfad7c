"""The agent of one hypervisor: one process of threads that does what the control plane has written down."""
