#!/usr/bin/env python3
"""Gives the fuzz corpus of executables the version that ExecutableFile.h has.

    tools/dev/version_corpus.py OLD

To be called when `executableVersion` has changed from OLD: files of test/fuzz/corpus/executable that
are of that version get the new one in their flatbuffer and, where they have an envelope that was
whole, in its header and its checksum. Others stay as they are. What a changed table of Executable.fbs
made invalid is found by the tests.
"""

import ctypes
import pathlib
import re
import struct
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAGIC = b"SINTER\r\n"
HEADER = struct.Struct("<8sI4xQ16s")  # magic, version, bytes, XXH3-128


class Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def checksum(content):
    library = ctypes.CDLL("libxxhash.so.0")
    library.XXH3_128bits.restype = Hash128
    result = library.XXH3_128bits(ctypes.c_char_p(content), ctypes.c_size_t(len(content)))
    return struct.pack(">QQ", result.high, result.low)


def find_version(content):
    """The place of the field `version`, the first of the root table, or nothing."""
    try:
        (table,) = struct.unpack_from("<I", content, 0)
        (back,) = struct.unpack_from("<i", content, table)
        (field,) = struct.unpack_from("<H", content, table - back + 4)
    except struct.error:
        return None
    return table + field if field and table + field + 4 <= len(content) else None


def convert(content, old, new):
    place = find_version(content)
    if place is None or struct.unpack_from("<I", content, place) != (old,):
        return content
    return content[:place] + struct.pack("<I", new) + content[place + 4:]


def main():
    if len(sys.argv) != 2 or not sys.argv[1].isdecimal():
        sys.exit(__doc__)
    old = int(sys.argv[1])
    header = (ROOT / "runtime/Format/ExecutableFile.h").read_text()
    new = int(re.search(r"executableVersion = (\d+)", header).group(1))
    for path in sorted((ROOT / "test/fuzz/corpus/executable").iterdir()):
        content = path.read_bytes()
        if content.startswith(MAGIC) and len(content) >= 64:
            magic, version, size, known = HEADER.unpack_from(content)
            body = convert(content[64:], old, new)
            if version == old and known == checksum(content[64:]):
                known = checksum(body)
            version = new if version == old else version
            changed = HEADER.pack(magic, version, size, known) + content[HEADER.size:64] + body
        else:
            changed = convert(content, old, new)
        if changed != content:
            path.write_bytes(changed)
            print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
