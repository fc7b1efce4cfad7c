"""Networks on a hypervisor: from the document that the control plane sends to bridges, taps, rules and DHCP."""
