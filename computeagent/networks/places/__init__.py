"""Where networks of a hypervisor are: the machine's own namespace, or one of its own beside others of one machine."""
