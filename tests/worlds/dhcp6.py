"""A client of DHCPv6 (RFC 8415) as guests have one: solicit, request, and what the server says. Debian's busybox has
none. It is run inside of a guest's namespace: `python -c CLIENT MAC`, and prints JSON.
"""

CLIENT = """
import ipaddress, json, os, socket, struct, sys, time

SOLICIT, ADVERTISE, REQUEST, REPLY = 1, 2, 3, 7
CLIENT_ID, SERVER_ID, IA_NA, IA_ADDRESS, WANTED, ELAPSED, STATUS, DNS = 1, 2, 3, 5, 6, 8, 13, 23
END = time.monotonic() + 8


def option(code, data):
    return struct.pack("!HH", code, len(data)) + data


def options(data):
    found = {}
    while len(data) >= 4:
        code, length = struct.unpack("!HH", data[:4])
        found[code], data = data[4:4 + length], data[4 + length:]
    return found


def ask(kind, *more):
    number = os.urandom(3)
    message = bytes([kind]) + number + own + option(WANTED, struct.pack("!H", DNS)) + option(ELAPSED, bytes(2))
    message += b"".join(more)
    while time.monotonic() < END:
        try:
            door.sendto(message, ("ff02::1:2", 547, 0, socket.if_nametoindex("eth0")))
            while True:
                answer = door.recv(2000)
                if answer[1:4] == number:
                    return answer[0], options(answer[4:])
        except OSError:  # no answer yet, or an own address that is still being tried out
            time.sleep(0.05)
    print(json.dumps({"answer": None}))
    sys.exit()


own = option(CLIENT_ID, struct.pack("!HH", 3, 1) + bytes.fromhex(sys.argv[1].replace(":", "")))
door = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
door.bind(("::", 546))
door.settimeout(0.5)
kind, said = ask(SOLICIT, option(IA_NA, b"\\0\\0\\0\\1" + bytes(8)))
offered = options(said.get(IA_NA, bytes(12))[12:])
if kind == ADVERTISE and IA_ADDRESS in offered:
    wanted = option(IA_NA, b"\\0\\0\\0\\1" + bytes(8) + option(IA_ADDRESS, offered[IA_ADDRESS]))
    kind, said = ask(REQUEST, option(SERVER_ID, said[SERVER_ID]), wanted)
given = options(said.get(IA_NA, bytes(12))[12:]).get(IA_ADDRESS)
servers = said.get(DNS, b"")
print(json.dumps({
    "answer": kind,
    "address": str(ipaddress.IPv6Address(given[:16])) if given else "",
    "dns": [str(ipaddress.IPv6Address(servers[at:at + 16])) for at in range(0, len(servers), 16)],
}))
"""
