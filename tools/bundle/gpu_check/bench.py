"""How fast: limits of the device, then Sinter, then PyTorch where it is installed."""

import contextlib
import os
import pathlib
import shutil
import sys
import tempfile

from .works import GRAPHS, MODELS, PRODUCT, PROFILES, TUNED


def measure_limits(check, bundle, folder, limits):
    """Fills in what the device reaches in a large product (TFLOP/s) and a large copy (GB/s)."""
    file = folder / "product.mlir"
    file.write_text(PRODUCT.text)
    done = check.run(PRODUCT.command(bundle, file), 90)
    found = done.read_json() if done.good else None
    if found:
        figures, rate = PRODUCT.judge(found, {})
        limits["product"] = rate
        check.note("limit: " + PRODUCT.name, "measured", f"{rate:.0f} TFLOP/s", tflops=rate)
    else:
        check.note("limit: " + PRODUCT.name, "failed", done.reason)
    done = check.run([bundle.copy_rate], 60)
    found = done.read_json() if done.good else None
    if found:
        limits["copy"] = found["copy_gb_per_s"]
        check.note("limit: copy", "measured", f"{limits['copy']:.0f} GB/s", gbs=limits["copy"])
    else:
        check.note("limit: copy", "failed", done.reason)


def measure(check, work, command, seconds, limits):
    """One work; its figures, or None."""
    done = check.run(command, seconds)
    found = done.read_json() if done.good else None
    if not found:
        check.note(work.name, "late" if done.status is None else "failed", done.reason)
        return None
    figures, reached = work.judge(found, limits)
    unit = getattr(work, "unit", "share")
    detail = f"{figures['ms']:.3f} ms"
    if reached is not None:
        figures["reached"] = reached
        detail += (f", {reached:.0f} {unit}" if unit == "TFLOP/s"
                   else f", {reached:.2f} of the {work.limit} rate")
    check.note(work.name, "measured", detail, bar=work.bar, **figures)
    return figures


def measure_compilation(check, bundle):
    """From a description to an executable on disk, with an empty cache and with a full one."""
    with tempfile.TemporaryDirectory() as name:
        command = [bundle.sinter, "compile", bundle.description, "--entry", "train", "--batch", 16,
                   "--seq", 1024, "--target", "cuda", "--dtype", "bf16", "-o",
                   pathlib.Path(name) / "step.sinter"]
        cache = {"SINTER_CACHE_DIR": str(pathlib.Path(name) / "cache")}
        for label, bar in (("cold compile of a training step", 3.0),
                           ("the same, cached", 0.2)):
            done = check.run(command, 60, cache)
            if not done.good:
                check.note(label, "failed", done.reason)
                return
            check.note(label, "measured", f"{done.seconds:.2f} s", seconds=done.seconds, bar=bar)


def check_bench(check, bundle):
    limits = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        measure_limits(check, bundle, folder, limits)
        measure_compilation(check, bundle)
        for i, work in enumerate(GRAPHS):
            file = folder / f"graph{i}.mlir"
            file.write_text(work.text)
            measure(check, work, work.command(bundle, file), 60, limits)
        for work in MODELS + TUNED:
            measure(check, work, work.command(bundle, work.shape.write(folder)), work.seconds,
                    limits)


def check_profile(check, bundle):
    with tempfile.TemporaryDirectory() as name:
        for work in PROFILES:
            done = check.run(work.command(bundle, work.write(pathlib.Path(name))), 90)
            found = done.read_json() if done.good else None
            if found:
                figures, detail = work.judge(found)
                check.note(work.name, "measured", detail, **figures)
            else:
                check.note(work.name, "late" if done.status is None else "failed", done.reason)


def find_torch(check):
    """An interpreter that has PyTorch and sees the GPU, or None."""
    names = [os.environ.get("SINTER_PYTHON"), shutil.which("python3"), shutil.which("python"),
             sys.executable]
    for python in dict.fromkeys(filter(None, names)):
        done = check.run([python, "-c", "import torch; assert torch.cuda.is_available(); "
                          "print(torch.__version__)"], 60)
        if done.good or check.dry:
            return python, done.out.strip()
    return None, done.reason


def check_peers(check, bundle):
    """PyTorch, the kind that has a bar first: torch.compile takes long to start."""
    python, version = find_torch(check)
    if not python:
        check.note("PyTorch", "skipped", f"none that sees the GPU ({version}); "
                   "SINTER_PYTHON names an interpreter")
        return
    check.note("PyTorch", "measured", version, version=version)
    ours = {result["name"]: result["ms"] for result in check.results if "ms" in result}
    jobs = [(work, kind, kind in work.peer_bars) for work in MODELS for kind in ("eager", "compile")]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for work, kind, _ in sorted(jobs, key=lambda job: not job[2]):
            # Small models are measured beside eager PyTorch alone.
            if kind == "compile" and not work.limit:
                continue
            file = work.shape.write(folder)
            done = check.run([python, *work.peer(bundle, file, kind)],
                             60 if kind == "eager" else 150)
            label = f"{work.name}, PyTorch {kind}"
            found = done.read_json() if done.good else None
            if not found:
                check.note(label, "late" if done.status is None else "skipped", done.reason)
                continue
            figures = {"torch_ms": found["ms_median"], "bar": work.peer_bars.get(kind)}
            detail = f"{found['ms_median']:.3f} ms"
            with contextlib.suppress(KeyError, ZeroDivisionError):
                figures["ratio"] = found["ms_median"] / ours[work.name]
                detail += f", Sinter is {figures['ratio']:.2f} x as fast"
            check.note(label, "measured", detail, **figures)
