"""Networks of kind OVN on a host: taps that Open vSwitch and OVN do the rest for."""
