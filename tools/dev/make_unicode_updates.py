#!/usr/bin/env python3
"""Makes frontends/Tokenizer/UnicodeUpdates.inc and UnicodeReference.inc.

The first has the characters that are newer than Debian 12's libraries. The second has the places
where the reference, the package `tokenizers`, has tables of another age than the libraries: what
it takes for punctuation or marks comes from Unicode 8, for numbers and lower case from Unicode 17.
Same ids as the reference means the same ages.

Needs a Python whose unicodedata has Unicode 14 (3.11, as Debian 12's PCRE2 10.42) and `tokenizers`.
"""

import pathlib
import sys
import unicodedata

from tokenizers import Regex, normalizers, pre_tokenizers

CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cf"
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "frontends/Tokenizer"
CHARACTERS = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
ASCII_PUNCTUATION = set("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def find(pre_tokenizer, text):
    found = set()
    for i in range(0, len(text), 50000):
        for part, _ in pre_tokenizer.pre_tokenize_str(text[i : i + 50000]):
            found.update(part)
    return found


def ranges(values):
    """[first, last, value] for runs of characters with one value."""
    runs = []
    for c in sorted(values):
        if runs and runs[-1][1] == ord(c) - 1 and runs[-1][2] == values[c]:
            runs[-1][1] = ord(c)
        else:
            runs.append([ord(c), ord(c), values[c]])
    return runs


def write(name, lists):
    lines = ["// Made by tools/dev/make_unicode_updates.py."]
    for head, items, tail in lists:
        lines += head
        first = True
        for item in items:
            if first or len(lines[-1]) + len(item) >= 100:
                lines.append(item)
            else:
                lines[-1] += " " + item
            first = False
        lines += tail
    (FOLDER / name).write_text("\n".join(lines) + "\n")


def main():
    if unicodedata.unidata_version != "14.0.0":
        sys.exit(f"this Python has Unicode {unicodedata.unidata_version}; 14.0.0 is needed")
    category = {c: unicodedata.category(c) for c in CHARACTERS}
    unassigned = "".join(c for c in CHARACTERS if category[c] == "Cn")
    newer = {}
    for name in CATEGORIES.split():
        split = pre_tokenizers.Split(Regex(rf"\p{{{name}}}+"), "removed", invert=True)
        newer.update((c, name) for c in find(split, unassigned))
    category.update(newer)
    write("UnicodeUpdates.inc",
          [([], [f'{{0x{a:X}, 0x{b:X}, "{name}"}},' for a, b, name in ranges(newer)], [])])

    def differing(name, comment, ours, theirs):
        items = [f"{{0x{a:X}, 0x{b:X}}}," for a, b, _ in ranges({c: 0 for c in ours ^ theirs})]
        return ([f"// {comment}", f"static constexpr Range {name}[] = {{"], items, ["};"])

    everything = "".join(CHARACTERS)
    punctuation = {c for c in CHARACTERS if pre_tokenizers.Punctuation("isolated")
                   .pre_tokenize_str(f"a{c}b")[0][0] == "a"}
    digits = {c for c in CHARACTERS
              if pre_tokenizers.Digits(True).pre_tokenize_str(f"a{c}b")[0][0] == "a"}
    marks = {c for c in CHARACTERS if normalizers.StripAccents().normalize_str(f"a{c}b") == "ab"}
    bert = normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=False,
                                      strip_accents=True, lowercase=False)
    nonspacing = {c for c in CHARACTERS if bert.normalize_str(f"a{c}b") == "ab"}
    cleaning = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=False,
                                          strip_accents=False, lowercase=False)
    other = {c for c in CHARACTERS if cleaning.normalize_str(f"a{c}b") == "ab"}
    newer_decomposed = {chr(c) for c in [*range(0x1CCD6, 0x1CCFA), *range(0x1E030, 0x1E06E)]}
    atoms = {c for c in CHARACTERS
             for form, reference in [("NFKD", normalizers.NFKD()), ("NFD", normalizers.NFD())]
             if (unicodedata.normalize(form, c) != c or c in newer_decomposed)
             and reference.normalize_str(c) == c}
    lower = {}
    for c in CHARACTERS:
        theirs = normalizers.Lowercase().normalize_str(c)
        if len(theirs) == 1 and theirs != c and (c in newer or c.lower() != theirs):
            lower[c] = ord(theirs) - ord(c)
    is_category = lambda *starts: {c for c in CHARACTERS if category[c].startswith(starts)}
    write("UnicodeReference.inc", [
        differing("kPunctuation", "Punctuation: where the reference is not of the category's opinion.",
                  is_category("P") | ASCII_PUNCTUATION, punctuation),
        differing("kNumeric", "The same for numbers.",
                  is_category("N"), digits),
        differing("kMark", "The same for marks.", is_category("M"), marks),
        differing("kNonspacingMark", "The same for nonspacing marks.", is_category("Mn"),
                  nonspacing),
        differing("kOther", "The same for controls and the like.",
                  is_category("Cc", "Cf", "Co") - set("\t\n\r") | {"\ufffd"}, other),
        (["// What has parts that the reference does not know: its normal forms leave it whole.",
          "static constexpr Range kAtoms[] = {"],
         [f"{{0x{a:X}, 0x{b:X}}}," for a, b, _ in ranges({c: 0 for c in atoms})], ["};"]),
        (["// Capitals that the libraries may not know, with the way to their lower case.",
          "static constexpr Shift kLowercase[] = {"],
         [f"{{0x{a:X}, 0x{b:X}, {shift}}}," for a, b, shift in ranges(lower)], ["};"]),
    ])


if __name__ == "__main__":
    main()
