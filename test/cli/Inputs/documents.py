"""41 ids from 4 to 49, among them the ends, 3, of four documents: documents.py FILE"""

import struct
import sys

ids = [(7 * i * i + 11 * i + 5) % 46 + 4 for i in range(41)]
for end in (8, 9, 22, 30):
    ids[end] = 3
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<41H", *ids))
