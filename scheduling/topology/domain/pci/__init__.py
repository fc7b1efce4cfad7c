"""PCI devices: aliases, device specs, pools of like devices, and taking from them."""
