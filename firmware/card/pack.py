"""Fills length and checksum into the header of a firmware image: pack.py RAW IMAGE. The header is start.S's."""

import struct
import sys

MAGIC, LENGTH_AT, CHECKSUM_AT = 0x57464354, 2, 3


def pack(raw):
    raw += bytes(-len(raw) % 4)
    words = list(struct.unpack(f"<{len(raw) // 4}I", raw))
    if words[0] != MAGIC:
        sys.exit("pack.py: the image does not begin with the header of start.S")
    words[LENGTH_AT], words[CHECKSUM_AT] = len(raw), 0
    total = 0
    for word in words:
        total = ((total << 1 | total >> 31) + word) & 0xFFFFFFFF
    words[CHECKSUM_AT] = total
    return struct.pack(f"<{len(words)}I", *words)


with open(sys.argv[1], "rb") as source, open(sys.argv[2], "wb") as image:
    image.write(pack(source.read()))
