"""The metadata service of the guests of one host: 169.254.169.254 as OpenStack and EC2 have it.

Each network of the host is listened in by itself, so a guest is known by its network and its address in it, which the
check of addresses at its port warrants. What is said comes from documents that the control plane signed and that are
kept here; while guests read, nobody else is asked anything.
"""
