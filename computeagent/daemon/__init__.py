"""The agent as a program: its options, its configuration file, its way to the control plane. No Django is needed."""
