"""Files of one host, served to others over the network block device protocol by QEMU's own storage daemon."""
