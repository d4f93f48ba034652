#!/usr/bin/env python3
"""A cable between two network namespaces on which each frame takes its time: the kernels of some systems have
no `tc netem`. Makes an interface named "cable" in each, prints "ready", and carries frames until it is ended.

usage: slow_cable.py NAMESPACE NAMESPACE MILLISECONDS
"""
import collections
import ctypes
import fcntl
import os
import select
import struct
import sys
import time

TUNSETIFF, TUNSETOFFLOAD = 0x400454CA, 0x400454D0
IFF_TAP, IFF_NO_PI, IFF_VNET_HDR = 0x0002, 0x1000, 0x4000
# Frames may come whole from the sender's stack, as a network card takes them: fewer, and of up to 64 KB.
TUN_F_CSUM, TUN_F_TSO4 = 0x01, 0x02
CLONE_NEWNET = 0x40000000
LARGEST = 1 << 17


def plug_into(namespace):
    """The end of the cable that lies there."""
    with open(f"/run/netns/{namespace}") as there:
        if ctypes.CDLL(None, use_errno=True).setns(there.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"cannot enter {namespace}")
    end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH22x", b"cable", IFF_TAP | IFF_NO_PI | IFF_VNET_HDR))
    fcntl.ioctl(end, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4)
    return end


def main():
    delay = float(sys.argv[3]) / 1000
    ends = [plug_into(sys.argv[1]), plug_into(sys.argv[2])]
    under_way = collections.deque()  # when it arrives, where, the frame: all take equally long
    print("ready", flush=True)
    while True:
        wait = max(0.0, under_way[0][0] - time.monotonic()) if under_way else None
        readable, _, _ = select.select(ends, [], [], wait)
        for end in readable:
            try:
                frame = os.read(end, LARGEST)
            except BlockingIOError:
                continue
            under_way.append((time.monotonic() + delay, ends[1 - ends.index(end)], frame))
        while under_way and under_way[0][0] <= time.monotonic():
            _, end, frame = under_way.popleft()
            try:
                os.write(end, frame)
            except OSError:
                pass  # that end is down, or full: a network loses frames


if __name__ == "__main__":
    main()
