"""Private hypervisors (`qemu:///private?root=DIR`): a libvirtd of their own, with all that it writes below DIR."""
