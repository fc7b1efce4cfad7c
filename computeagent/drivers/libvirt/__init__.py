"""The driver of libvirt hypervisors: real ones (QEMU, KVM) and libvirt's own simulated `test:///` hosts.

`driver.LibvirtDriver` is the way in. What differs between real and simulated hosts stands in the two profiles
(`real_host`, `simulated_host`); nothing else asks which one it is. Only this package imports libvirt.
"""
