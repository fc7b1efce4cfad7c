"""The demo guest: a Linux of about 15 MB, made on this machine from Debian's kernel, busybox and dropbear.

It boots from a virtio or IDE disk, finds its config drive (IDE CD-ROM, virtio disk or virtio SCSI; the cloud
kernel has no AHCI) or asks the metadata service, says its name and user data on the first serial port, asks DHCP
for an address, lets root in by SSH with the key pair, keeps a root shell on its consoles and obeys the power button.
It writes nothing to its disk.
"""
