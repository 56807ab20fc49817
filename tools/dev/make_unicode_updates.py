#!/usr/bin/env python3
"""Makes frontends/Tokenizer/UnicodeUpdates.inc: characters that are newer than Debian 12's libraries.

Needs a Python whose unicodedata has Unicode 14 (3.11, as Debian 12's PCRE2 10.42), and the package
`tokenizers`, whose regular expressions say what the reference takes newer characters for.
"""

import pathlib
import sys
import unicodedata

from tokenizers import Regex, pre_tokenizers

CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cf"
OUTPUT = pathlib.Path(__file__).resolve().parents[2] / "frontends/Tokenizer/UnicodeUpdates.inc"


def main():
    if unicodedata.unidata_version != "14.0.0":
        sys.exit(f"this Python has Unicode {unicodedata.unidata_version}; 14.0.0 is needed")
    unassigned = "".join(c for c in map(chr, range(0x110000)) if unicodedata.category(c) == "Cn")
    category = {}
    for name in CATEGORIES.split():
        find = pre_tokenizers.Split(Regex(rf"\p{{{name}}}+"), "removed", invert=True)
        for i in range(0, len(unassigned), 50000):
            for found, _ in find.pre_tokenize_str(unassigned[i : i + 50000]):
                category.update((ord(c), name) for c in found)
    ranges = []
    for c in sorted(category):
        if ranges and ranges[-1][1] == c - 1 and ranges[-1][2] == category[c]:
            ranges[-1][1] = c
        else:
            ranges.append([c, c, category[c]])
    items = [f'{{0x{a:X}, 0x{b:X}, "{name}"}},' for a, b, name in ranges]
    lines = ["// Made by tools/dev/make_unicode_updates.py: first, last, general category."]
    for item in items:
        if len(lines) == 1 or len(lines[-1]) + len(item) >= 100:
            lines.append(item)
        else:
            lines[-1] += " " + item
    OUTPUT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
