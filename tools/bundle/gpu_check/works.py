"""What is measured, and what it cannot do without: the shapes, their useful work, the bars."""

import json
import pathlib


# Models, as GPT-2s, which Sinter and the peers build from one description.


class Shape:
    def __init__(self, name, layers, width, heads, positions=1024):
        self.name, self.layers, self.width, self.heads = name, layers, width, heads
        self.positions, self.vocabulary = positions, 50257

    def write(self, folder):
        """A config.json of this shape, whose weights are random."""
        file = folder / f"{self.name}.json"
        file.write_text(json.dumps({
            "model_type": "gpt2", "vocab_size": self.vocabulary, "n_positions": self.positions,
            "n_embd": self.width, "n_layer": self.layers, "n_head": self.heads,
            "activation_function": "gelu_new"}))
        return file

    @property
    def matrices(self):
        """Numbers in the layers' matrices."""
        return 12 * self.width * self.width * self.layers

    def count_flops(self, batch, tokens, heads):
        """Operations of the products and of causal attention, the head on `heads` rows."""
        pairs = batch * tokens * (tokens + 1) / 2
        return (2 * self.matrices * batch * tokens + 2 * self.width * self.vocabulary * heads
                + 4 * pairs * self.width * self.layers)


SMALL = Shape("124M", 12, 768, 12)
MEDIUM = Shape("1B", 24, 2048, 16)
LARGE = Shape("8B", 32, 4608, 36)
# Sizes of minGPT's kind.
FAMILY = [Shape("3 layers of 48", 3, 48, 3), Shape("4 layers of 128", 4, 128, 4),
          Shape("6 layers of 192", 6, 192, 6), Shape("6 layers of 256", 6, 256, 8),
          Shape("8 layers of 256", 8, 256, 8), Shape("8 layers of 512", 8, 512, 16)]


class ModelWork:
    """A step of a model, by `sinter bench` and by PyTorch."""

    def __init__(self, shape, mode, batch, tokens, context=0, limit=None, bar=None, peer_bars=None,
                 seconds=90, tune=False):
        self.shape, self.mode, self.batch = shape, mode, batch
        self.tokens, self.context = tokens, context
        self.limit, self.bar, self.seconds = limit, bar, seconds
        self.peer_bars, self.tune = peer_bars or {}, tune
        what = f"after {context}" if mode == "decode" else f"{batch} x {tokens}"
        self.name = f"{shape.name} {mode}, {what}" + (", tuned" if tune else "")

    def command(self, bundle, file):
        command = [bundle.sinter, "bench", file, "--mode", self.mode, "--target", "cuda", "--dtype",
                   "bf16", "--batch", self.batch, "--json"]
        # 3 repetitions warm up: the first compiles and walks, the second captures.
        command += (["--context", self.context, "--iters", 50] if self.mode == "decode"
                    else ["--seq", self.tokens, "--iters", 20])
        return command + (["--tune"] if self.tune else [])

    def peer(self, bundle, file, kind):
        """PyTorch's side of it."""
        if self.mode == "train":
            return [bundle.peers / "torch_train.py", file, self.batch, self.tokens, "bf16", kind, 8,
                    "cuda"]
        return [bundle.peers / "torch_bench.py", file, self.mode, self.tokens, self.context, "bf16",
                kind, 8, "cuda", self.batch]

    def useful(self):
        """(operations, bytes) that a step cannot do without: matrix products and causal attention,
        three times that for training; every weight in bf16 once, and the keys and values."""
        shape, rows = self.shape, self.batch * self.tokens
        if self.mode == "train":
            return 3 * shape.count_flops(self.batch, self.tokens, rows), 0
        cached = 2 * self.batch * shape.layers * shape.width * (self.context + self.tokens)
        return (shape.count_flops(self.batch, self.tokens, self.batch),
                2 * (shape.matrices + shape.width * shape.vocabulary + cached))

    def judge(self, found, limits):
        """(figures, share of the limit or None) of what `sinter bench --json` said."""
        ms = found["ms_median"]
        flops, read = self.useful()
        figures = {"ms": ms, "ms_min": found["ms_min"], "compile_ms": found["compile_ms"],
                   "peak_bytes": found["peak_bytes"], "tflops": flops / ms * 1e-9,
                   "gbs": read / ms * 1e-6}
        return figures, share_of(self.limit, figures, limits)


def share_of(limit, figures, limits):
    """The part of the device's limit ("product" or "copy") that was reached, or None."""
    if not limit or not limits.get(limit):
        return None
    return figures["tflops" if limit == "product" else "gbs"] / limits[limit]


MODELS = [
    ModelWork(SMALL, "train", 16, 1024, limit="product", bar=0.50, peer_bars={"compile": 1.15},
              seconds=120),
    ModelWork(SMALL, "decode", 1, 1, 511, limit="copy", bar=0.45, peer_bars={"compile": 1.5}),
    ModelWork(MEDIUM, "decode", 1, 1, 511, limit="copy", bar=0.74, peer_bars={"compile": 1.5}),
    ModelWork(MEDIUM, "prefill", 1, 1024, limit="product", bar=0.70),
    *(ModelWork(shape, "prefill", 8, 128, peer_bars={"eager": 2.5}, seconds=40)
      for shape in FAMILY),
    # 8 G parameters are made on the host and carried over.
    ModelWork(LARGE, "decode", 1, 1, 511, limit="copy", bar=0.88, peer_bars={"compile": 1.5},
              seconds=150),
]

# The same where the device chooses among algorithms and kernels: what that gains.
TUNED = [
    ModelWork(SMALL, "train", 16, 1024, limit="product", tune=True),
    ModelWork(MEDIUM, "prefill", 1, 1024, limit="product", tune=True),
    ModelWork(SMALL, "decode", 1, 1, 511, limit="copy", tune=True),
]


# Graphs, by `sinter profile`, which times each of their commands on the device.


class GraphWork:
    def __init__(self, name, text, flops=0, moved=0, limit=None, bar=None, unit="share",
                 options=()):
        self.name, self.text, self.flops, self.moved = name, text, flops, moved
        self.limit, self.bar, self.unit, self.options = limit, bar, unit, options

    def command(self, bundle, file):
        return [bundle.sinter, "profile", file, "--target", "cuda", "--dtype", "bf16", "--iters", 10,
                "--json", *self.options]

    def judge(self, found, limits):
        """(figures, share or TFLOP/s) of what `sinter profile --json` said. The time is that of the
        commands: what carries inputs and outputs to the host and back is none of them."""
        ms = sum(row["ms"] for row in found["rows"] if not row["op"].startswith("("))
        if ms <= 0:
            return {"ms": ms}, None
        figures = {"ms": ms, "tflops": self.flops / ms * 1e-9, "gbs": self.moved / ms * 1e-6,
                   "kernels": [row["op"] for row in found["rows"]]}
        return figures, (figures["tflops"] if self.unit == "TFLOP/s"
                         else share_of(self.limit, figures, limits))


def entry(arguments, results, body):
    """An MLIR function of named inputs and outputs."""
    taken = ", ".join(f'%{name}: tensor<{kind}> {{sinter.input = "{name}"}}'
                      for name, kind in arguments)
    given = ", ".join(f'tensor<{kind}> {{sinter.output = "{name}"}}' for name, kind in results)
    return (f"func.func @work({taken}) -> ({given}) attributes {{sinter.entry}} {{\n{body}\n}}\n")


def make_gemm(n):
    m, f = f"{n}x{n}xbf16", f"{n}x{n}xf32"
    return GraphWork("product of bf16", entry([("a", m), ("b", m)], [("y", m)], f"""
  %0 = sinter.matmul %a, %b : (tensor<{m}>, tensor<{m}>) -> tensor<{f}>
  %1 = sinter.cast %0 : (tensor<{f}>) -> tensor<{m}>
  return %1 : tensor<{m}>"""), flops=2 * n**3, unit="TFLOP/s")


def make_norm(rows, width):
    """A residual, its norm, rounded for a product: two values in, two out."""
    x, h, w = f"{rows}x{width}xf32", f"{rows}x{width}xbf16", f"{width}xf32"
    body = f"""
  %0 = sinter.cast %d : (tensor<{h}>) -> tensor<{x}>
  %1 = sinter.add %x, %0 : (tensor<{x}>, tensor<{x}>) -> tensor<{x}>
  %2 = sinter.layer_norm %1, %w, %b {{eps = 1.0e-5}}
     : (tensor<{x}>, tensor<{w}>, tensor<{w}>) -> tensor<{x}>
  %3 = sinter.cast %2 : (tensor<{x}>) -> tensor<{h}>
  return %1, %3 : tensor<{x}>, tensor<{h}>"""
    return GraphWork(f"add + layer_norm, {rows} x {width}",
                     entry([("x", x), ("d", h), ("w", w), ("b", w)], [("r", x), ("y", h)], body),
                     moved=12 * rows * width, limit="copy", bar=0.85)


def make_norm_grad(rows, width):
    """Its backward pass: the norm's gradients, added to the residual's and rounded for products."""
    x, h, w = f"{rows}x{width}xf32", f"{rows}x{width}xbf16", f"{width}xf32"
    blocks = 512
    part = f"{blocks}x{width}xf32"
    body = f"""
  %0 = sinter.cast %g : (tensor<{h}>) -> tensor<{x}>
  %1:3 = sinter.layer_norm_grad %x, %w, %0 {{blocks = {blocks} : i64, eps = 1.0e-5}}
     : (tensor<{x}>, tensor<{w}>, tensor<{x}>) -> (tensor<{x}>, tensor<{part}>, tensor<{part}>)
  %2 = sinter.add %1#0, %r : (tensor<{x}>, tensor<{x}>) -> tensor<{x}>
  %3 = sinter.cast %2 : (tensor<{x}>) -> tensor<{h}>
  %4 = sinter.column_sum %1#1 : (tensor<{part}>) -> tensor<{w}>
  %5 = sinter.column_sum %1#2 : (tensor<{part}>) -> tensor<{w}>
  return %2, %3, %4, %5 : tensor<{x}>, tensor<{h}>, tensor<{w}>, tensor<{w}>"""
    return GraphWork(f"layer_norm_grad + add, {rows} x {width}",
                     entry([("x", x), ("w", w), ("g", h), ("r", x)],
                           [("dx", x), ("dy", h), ("dw", w), ("db", w)], body),
                     moved=16 * rows * width, limit="copy", bar=0.75)


def make_attention(batch, length, heads, size, backward, tuned=False):
    """By our own kernels; tuned, by them or cuDNN, whichever is faster."""
    q, o = f"{batch}x{length}x{heads}x{size}xbf16", f"{batch}x{length}x{heads}xf32"
    scale = size ** -0.5
    flops = 4 * batch * heads * size * length * (length + 1) / 2
    name = f"attention {'backward' if backward else 'forward'}, {length}, head size {size}"
    if not backward:
        body = f"""
  %0:2 = sinter.attention %q, %k, %v {{causal, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>,
      scale = {scale!r} : f64}}
     : (tensor<{q}>, tensor<{q}>, tensor<{q}>) -> (tensor<{q}>, tensor<{o}>)
  return %0#0, %0#1 : tensor<{q}>, tensor<{o}>"""
        graph = entry([("q", q), ("k", q), ("v", q)], [("y", q), ("l", o)], body)
        if tuned:
            return GraphWork(f"{name}, or cuDNN's", graph, flops=flops, unit="TFLOP/s",
                             options=("--tune",))
        return GraphWork(name, graph, flops=flops, unit="TFLOP/s", bar=300)
    body = f"""
  %0:3 = sinter.attention_grad %q, %k, %v, %g, %l, %d
     {{causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>, scale = {scale!r} : f64}}
     : (tensor<{q}>, tensor<{q}>, tensor<{q}>, tensor<{q}>, tensor<{o}>, tensor<{o}>)
     -> (tensor<{q}>, tensor<{q}>, tensor<{q}>)
  return %0#0, %0#1, %0#2 : tensor<{q}>, tensor<{q}>, tensor<{q}>"""
    return GraphWork(name, entry([("q", q), ("k", q), ("v", q), ("g", q), ("l", o), ("d", o)],
                                 [("dq", q), ("dk", q), ("dv", q)], body),
                     flops=2.5 * flops, unit="TFLOP/s", bar=280)


PRODUCT = make_gemm(8192)
GRAPHS = [
    make_norm(16384, 768), make_norm(16384, 4096),
    make_norm_grad(16384, 768), make_norm_grad(16384, 4096),
    *(make_attention(2, 8192, 2048 // size, size, backward)
      for size in (64, 128) for backward in (False, True)),
    *(make_attention(2, 8192, 2048 // size, size, backward=False, tuned=True)
      for size in (64, 128)),
]


# Steps of whole models, kernel by kernel: what is far above its roofline, and what that costs.


class ProfileWork:
    """`sinter profile` of a shape, or of a description in the folder models."""

    def __init__(self, model, mode, batch=1, tokens=512, options=()):
        self.model, self.mode, self.batch = model, mode, batch
        self.tokens, self.options = tokens, options
        what = f"{batch} after {tokens - 1}" if mode == "decode" else f"{batch} x {tokens}"
        name = model.name if isinstance(model, Shape) else model
        self.name = " ".join([f"{name} {mode}, {what},", *map(str, options)]).rstrip(",")

    def write(self, folder):
        if isinstance(self.model, Shape):
            return self.model.write(folder)
        return pathlib.Path(__file__).parent / f"models/{self.model}.json"

    def command(self, bundle, file):
        return [bundle.sinter, "profile", file, "--mode", self.mode, "--target", "cuda", "--dtype",
                "bf16", "--batch", self.batch, "--iters", 20, "--json",
                *(["--context", self.tokens - 1] if self.mode == "decode"
                  else ["--seq", self.tokens]), *self.options]

    def judge(self, found):
        """(figures, what to print) of what `sinter profile --json` said."""
        rows = [row for row in found["rows"] if not row["op"].startswith("(")]
        bound = sum(row["roofline_ms"] for row in rows)
        above = sorted(rows, key=lambda row: row["roofline_ms"] - row["ms"])[:3]
        detail = f"{found['ms']:.3f} ms, roofline {bound:.3f}; " + ", ".join(
            f"{row['op']} {row['ms']:.3f} ({row['count']}, roofline {row['roofline_ms']:.3f})"
            for row in above)
        return {"ms": found["ms"], "roofline_ms": bound, "rows": found["rows"]}, detail


PROFILES = [
    ProfileWork(SMALL, "train", 16, 1024),
    ProfileWork(SMALL, "decode"),
    ProfileWork(MEDIUM, "prefill", 1, 1024),
    *(ProfileWork(model, "decode", batch, options=options)
      for model, batch in ((MEDIUM, 1), ("llama-8b-4-layers", 1), ("llama-8b-4-layers", 8))
      for options in ((), ("--weights", "int8"), ("--weights", "int4"), ("--weights", "fp8"))),
    *(ProfileWork(model, mode, batch)
      for model in ("qwen3-next-4-layers", "granite-moe-8-layers", "lfm2-1.2b")
      for mode, batch in (("decode", 1), ("prefill", 1), ("train", 2))),
    ProfileWork("granite-moe-8-layers", "decode", options=("--weights", "int4")),
]
