#!/bin/sh
# debian_cloud_image.sh TARGET.qcow2: make a Debian cloud image out of Debian's packages.
#
# For places that reach Debian's packages but none of its finished cloud images. The result is what those are: the cloud
# kernel, cloud-init, an SSH server without keys, a network by DHCP, a root file system that grows with the disk, a
# console on the serial port. Nothing is mounted and no loop device is used; as an ordinary user it needs user
# namespaces. Needs the packages mmdebstrap, e2fsprogs, fdisk, mtools, syslinux, syslinux-common, qemu-utils.
# SUITE (bookworm), MIRROR (http://deb.debian.org/debian) and SIZE_MIB (1536) may be set.
set -eu
target=$(realpath "$1")
suite=${SUITE:-bookworm} mirror=${MIRROR:-http://deb.debian.org/debian} size_mib=${SIZE_MIB:-1536}
work=$(mktemp -d "${TMPDIR:-/tmp}/debian-image.XXXXXX")
trap 'rm -rf "$work"' EXIT
boot_mib=96

# Debian's generic cloud image has these; udev and dbus are what cloud-init and the network wait for.
packages=linux-image-cloud-amd64,systemd-sysv,systemd-resolved,udev,dbus,cloud-init,cloud-guest-utils,netplan.io
packages=$packages,openssh-server,iproute2,e2fsprogs,fdisk,sudo,initramfs-tools,qemu-guest-agent,zstd
cat > "$work/customize" <<'EOF'
set -eu
root=$1
printf 'LABEL=root / ext4 defaults,x-systemd.growfs 0 1\n' > "$root/etc/fstab"
printf 'datasource_list: [ConfigDrive, NoCloud, OpenStack, None]\n' > "$root/etc/cloud/cloud.cfg.d/90_datasources.cfg"
rm -f "$root"/etc/ssh/ssh_host_*_key* "$root/etc/machine-id" "$root/var/lib/dbus/machine-id"
: > "$root/etc/machine-id"
rm -f "$root/etc/hostname"
EOF
mmdebstrap --quiet --variant=minbase --include="$packages" --aptopt='Acquire::Languages "none"' \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    --customize-hook="sh $work/customize \"\$1\"" --customize-hook="cp \"\$1\"/boot/vmlinuz-* $work/vmlinuz" \
    --customize-hook="cp \"\$1\"/boot/initrd.img-* $work/initrd" "$suite" "$work/root.tar" "$mirror"

# A small FAT partition for the boot loader, then the root, which is last so that it can grow.
disk=$work/disk.raw
truncate -s "${size_mib}M" "$disk"
sfdisk --quiet "$disk" <<EOF
label: dos
start=1MiB, size=${boot_mib}MiB, type=e, bootable
start=$((1 + boot_mib))MiB, type=83
EOF
dd if=/usr/lib/syslinux/mbr/mbr.bin of="$disk" bs=440 count=1 conv=notrunc status=none
export MTOOLS_SKIP_CHECK=1
mformat -i "$disk@@1M" -T $((boot_mib * 2048)) -h 255 -s 63 -H 2048 -v BOOT ::
syslinux --install --offset $((1024 * 1024)) "$disk"
cat > "$work/syslinux.cfg" <<'EOF'
default linux
label linux
    kernel vmlinuz
    initrd initrd
    append root=LABEL=root ro console=tty0 console=ttyS0,115200
EOF
mcopy -i "$disk@@1M" "$work/syslinux.cfg" "$work/vmlinuz" "$work/initrd" ::

# mke2fs reads the tar's tree; fakeroot-like ownership comes from the tar itself, unpacked in a user namespace.
root_fs=$work/root.ext4
truncate -s $((size_mib - 1 - boot_mib))M "$root_fs"
unpack='mkdir "$1/tree" && tar -C "$1/tree" --numeric-owner -xpf "$1/root.tar" --exclude=./dev/* && mke2fs -q -t ext4 -L root -d "$1/tree" "$2" && rm -rf "$1/tree"'
if [ "$(id -u)" = 0 ]; then sh -c "$unpack" - "$work" "$root_fs"
else unshare --map-auto --map-root-user sh -c "$unpack" - "$work" "$root_fs"; fi
dd if="$root_fs" of="$disk" bs=1M seek=$((1 + boot_mib)) conv=notrunc,sparse status=none
qemu-img convert -f raw -O qcow2 -c "$disk" "$target.part"
mv "$target.part" "$target"
echo "$target"
