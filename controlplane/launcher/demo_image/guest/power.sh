#!/bin/busybox sh
# The power button was pressed: a graceful stop.
echo "Power button: going down" >/dev/console
/bin/poweroff
