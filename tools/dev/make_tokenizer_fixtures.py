#!/usr/bin/env python3
"""Makes test/unit/Tokenizer/fixtures: small tokenizers of every kind and what they should give.

usage: make_tokenizer_fixtures.py CORPUS.txt   (any English text of about a megabyte)

Needs the Python package `tokenizers`, which is the reference: the tests compare with the ids and
texts that it gives. Run it again only to add a tokenizer or a case; all of it is deterministic.
"""

import json
import pathlib
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers
from tokenizers import pre_tokenizers, processors, trainers

HERE = pathlib.Path(__file__).resolve().parents[2] / "test" / "unit" / "Tokenizer"
FIXTURES = HERE / "fixtures"
SAMPLES = (HERE / "samples.txt").read_bytes().decode().split("\n%%\n")
MIXED_BYTES = 1_000_000


class Random:
    """The generator of MixedText.h."""

    def __init__(self):
        self.state = 1

    def below(self, limit):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) & (2**64 - 1)
        return (self.state >> 33) % limit


def mixed_text():
    """What makeMixedText of MixedText.h gives: samples, characters of all scripts, broken bytes."""
    random = Random()
    soup = b"abAB09 .,'\n\t-_"
    samples = [sample.encode() for sample in SAMPLES]
    text = bytearray()
    while len(text) < MIXED_BYTES:
        kind = random.below(16)
        if kind < 10:
            text += samples[random.below(len(samples))]
            text += [b"", b" ", b"\n"][random.below(3)]
        elif kind < 13:
            for _ in range(1 + random.below(40)):
                first, count = [(0x20, 0x2FE0), (0x3000, 0xA000), (0x10000, 0x10000),
                                (0, 0x110000)][random.below(4)]
                c = first + random.below(count)
                text += (b"?" if 0xD800 <= c < 0xE000 else chr(c).encode())
        elif kind == 13:
            for _ in range(1 + random.below(80)):
                text.append(soup[random.below(len(soup))])
        elif kind == 14:
            for _ in range(1 + random.below(8)):
                text.append(random.below(256))
        else:
            sample = samples[random.below(len(samples))]
            begin = random.below(len(sample))
            text += sample[begin : begin + 1 + random.below(len(sample) - begin)]
    return bytes(text)


def fnv(data):
    """64-bit FNV-1a."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & (2**64 - 1)
    return f"{value:016x}"


LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
          r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")
CL100K = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
          r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
         r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
         r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}"
         r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DEEPSEEK = (r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
            r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def corpus():
    lines = pathlib.Path(sys.argv[1]).read_text().splitlines(keepends=True)
    return ["".join(lines[i : i + 40]) for i in range(0, len(lines), 40)] + SAMPLES * 4


def special(content, **options):
    return AddedToken(content, special=True, normalized=False, **options)


def byte_level(name, pre, specials, *, normalizer=None, size=640, added=(), post=None, model=None):
    tokenizer = Tokenizer(models.BPE(**(model or {})))
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(corpus(), trainer)
    tokenizer.add_special_tokens([special(token) for token in specials])
    tokenizer.add_tokens(list(added))
    if post:
        tokenizer.post_processor = post(tokenizer)
    return name, json.loads(tokenizer.to_str())


def split_then_bytes(*patterns):
    steps = [pre_tokenizers.Split(Regex(p), "isolated") for p in patterns]
    return pre_tokenizers.Sequence(steps + [pre_tokenizers.ByteLevel(False, use_regex=False)])


def template(first, tokenizer):
    return processors.TemplateProcessing(single=f"{first} $A", pair=f"{first} $A {first} $B",
                                         special_tokens=[(first, tokenizer.token_to_id(first))])


def sentencepiece(name, pre, decoder, *, normalizer=None, added=(), post=True):
    """A vocabulary as SentencePiece makes: specials, bytes, then merges of metaspaced words."""
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.BpeTrainer(vocab_size=460, show_progress=False, min_frequency=8)
    trained.train_from_iterator(corpus()[:-len(SAMPLES) * 4], trainer)
    model = json.loads(trained.to_str())["model"]
    vocab = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]
    merges = [["▁", "▁"], ["▁▁", "▁▁"]] + model["merges"]
    for token in ["▁▁", "▁▁▁▁"] + sorted(model["vocab"], key=model["vocab"].get):
        if token not in vocab:
            vocab.append(token)
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(vocab)},
                                     [tuple(m) for m in merges], unk_token="<unk>",
                                     fuse_unk=True, byte_fallback=True))
    if normalizer:
        tokenizer.normalizer = normalizer
    if pre:
        tokenizer.pre_tokenizer = pre
    tokenizer.decoder = decoder
    tokenizer.add_special_tokens([special(token) for token in vocab[:3]])
    tokenizer.add_tokens(list(added))
    if post:
        tokenizer.post_processor = template("<s>", tokenizer)
    return name, json.loads(tokenizer.to_str())


def clip():
    """Suffixed words, accents and case removed, unknown characters one by one."""
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]", end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.decoder = decoders.BPEDecoder(suffix="</w>")
    trainer = trainers.BpeTrainer(vocab_size=400, show_progress=False, limit_alphabet=50,
                                  end_of_word_suffix="</w>", special_tokens=["[UNK]", "[CLS]", "[SEP]"])
    tokenizer.train_from_iterator(corpus(), trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("[SEP]", 2), ("[CLS]", 1))
    made = json.loads(tokenizer.to_str())
    made["model"]["merges"] = [" ".join(merge) for merge in made["model"]["merges"]]
    return "clip", made


def odds():
    """The parts and flags that no other one uses."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True,
                                     continuing_subword_prefix="##"))
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.NFKC(), normalizers.Nmt(), normalizers.Strip(left=True, right=True),
        normalizers.Replace(Regex(r" {2,}"), " "), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Metaspace(prepend_scheme="first", split=True),
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.Punctuation("contiguous"),
        pre_tokenizers.Split("▁the", "merged_with_next"),
        pre_tokenizers.Split(Regex("[aeiou]+"), "merged_with_previous"),
        pre_tokenizers.Split(Regex(r"\w+"), "contiguous", invert=True)])
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="first")
    trainer = trainers.BpeTrainer(vocab_size=420, show_progress=False, limit_alphabet=80,
                                  continuing_subword_prefix="##", special_tokens=["<unk>"])
    tokenizer.train_from_iterator(corpus(), trainer)
    tokenizer.add_special_tokens([special("<left>", lstrip=True), special("<right>", rstrip=True),
                                  special("<both>", lstrip=True, rstrip=True)])
    tokenizer.add_tokens([AddedToken("King", normalized=True, single_word=True),
                          AddedToken("Ångström", normalized=True),
                          AddedToken("<b>", normalized=False), AddedToken("<b><b>", normalized=False),
                          AddedToken("don't", normalized=True, single_word=True, rstrip=True)])
    return "odds", json.loads(tokenizer.to_str())


def all_fixtures():
    spaces = [AddedToken(" " * n, normalized=True) for n in range(24, 1, -1)]
    yield byte_level(
        "llama3", split_then_bytes(LLAMA3), ["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"],
        model={"ignore_merges": True},
        post=lambda t: processors.Sequence([processors.ByteLevel(trim_offsets=False),
                                            template("<|begin_of_text|>", t)]))
    yield byte_level("qwen2", split_then_bytes(QWEN2), ["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
                     normalizer=normalizers.NFC(),
                     added=[AddedToken("<tool_call>", normalized=False)],
                     post=lambda t: processors.ByteLevel(trim_offsets=False))
    yield byte_level("neox", pre_tokenizers.ByteLevel(False), ["<|endoftext|>", "<|padding|>"],
                     normalizer=normalizers.NFC(), added=spaces)
    yield byte_level("prefixed", pre_tokenizers.ByteLevel(True), ["<s>", "</s>"], size=400)
    yield byte_level("cl100k", split_then_bytes(CL100K), ["<|endoftext|>"])
    yield byte_level("o200k", split_then_bytes(O200K), ["<|endoftext|>"])
    yield byte_level("deepseek", split_then_bytes(r"\p{N}{1,3}", r"[一-龥぀-ゟ゠-ヿ]+", DEEPSEEK),
                     ["<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"],
                     post=lambda t: template("<｜begin▁of▁sentence｜>", t))
    llama_decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(),
                                       decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    yield sentencepiece("llama2", None, llama_decoder, normalizer=normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]))
    yield sentencepiece("mistral", pre_tokenizers.Metaspace(prepend_scheme="first", split=False),
                        llama_decoder)
    yield sentencepiece(
        "gemma", pre_tokenizers.Split(" ", "merged_with_previous"),
        decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]),
        normalizer=normalizers.Replace(" ", "▁"),
        added=[AddedToken("\n" * n, normalized=False) for n in range(2, 9)] +
              [AddedToken("▁" * n, normalized=False) for n in range(5, 9)])
    yield sentencepiece("t5", pre_tokenizers.Metaspace(), decoders.Metaspace(), post=False)
    yield clip()
    yield odds()


CASES = [
    "", " ", "  ", "\n", "a", "Hello, world!", " Hello  world ", "I'm you're WE'LL 's 'ſ",
    "1234567 3.14 ١٢٣ ½", "    if (x) {\n\t\treturn y;\r\n}\n\n\n", "naïve café Ångström e\u0301",
    "漢字かなカナ 한글 ру́сский עברית العربية हिन्दी ไทย", "👩‍👩‍👧‍👦🇩🇪👍🏽", "\u180e\u2003\u3000\u0085|",
    "<s>a</s> <unk>", "x <left> y <right> z <both> !", "King Kings King. don't  don'ts <b><b><b>",
    "<|endoftext|><|im_start|>user\nhi<|im_end|>", "▁▁a ▁b", "\x00\x01\ufffd\ufeff", "ﬁ ﬃ Ⅷ ℡",
    "the THE other The", "<0x41> <0xZZ>", "a" * 300, " " * 70, "\U0001F9FF" * 20,
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaathethethetheandandandandingingingingerererer" * 3,
]


def main():
    text_bytes = mixed_text()
    text = text_bytes.decode("utf-8", "replace")
    expected = {"mixed_bytes": len(text_bytes), "mixed_hash": fnv(text_bytes), "cases": CASES,
                "tokenizers": {}}
    for name, made in all_fixtures():
        directory = FIXTURES / name
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "tokenizer.json").write_text(
            json.dumps(made, ensure_ascii=False, separators=(",", ":")) + "\n")
        tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        ids = tokenizer.encode(text).ids
        cases = [tokenizer.encode(case).ids for case in CASES]
        expected["tokenizers"][name] = {
            "vocabulary": max(tokenizer.get_vocab().values()) + 1,
            "mixed_ids": len(ids),
            "mixed_ids_hash": fnv(b"".join(i.to_bytes(4, "little") for i in ids)),
            "mixed_text_hash": fnv(tokenizer.decode(ids, skip_special_tokens=False).encode()),
            "mixed_skipped_hash": fnv(tokenizer.decode(ids, skip_special_tokens=True).encode()),
            "cases": cases,
            "no_special": tokenizer.encode("Hello", add_special_tokens=False).ids,
            "texts": [tokenizer.decode(case, skip_special_tokens=True) for case in cases],
        }
        print(name, tokenizer.get_vocab_size(), len(ids), file=sys.stderr)
    (HERE / "expected.json").write_text(
        json.dumps(expected, ensure_ascii=True, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
