"""What must hold: kernels, agreement with the emulator, parity with the processor, sanitizers."""

import array
import json
import os
import pathlib
import re
import shutil
import tempfile

WORKERS = min(16, os.cpu_count() or 1)


class Bundle:
    """Where things are in an unpacked archive."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.sinter = self.root / "bin/sinter"
        self.copy_rate = self.root / "bin/sinter-copy-rate"
        self.tests = [self.root / "bin/template-tests", self.root / "bin/rows-tests"]
        self.agreement = self.root / "bin/agreement-tests"
        self.models = self.root / "test/e2e/models"
        self.families = self.root / "test/e2e/families"
        self.records = self.root / "records"
        self.peers = self.root / "tools/bench/peers"
        self.description = self.root / "examples/models/gpt2-124m.json"
        self.on_device = {"SINTER_KERNELS_ON": "device",
                          "SINTER_KERNEL_TEMPLATES": str(self.root / "kernels_templates/cuda")}


# Tests


def list_suites(text):
    """The suites in what --gtest_list_tests prints."""
    return re.findall(r"^([\w/]+)\.(?:\s*#.*)?$", text, re.MULTILINE)


def last_started(text):
    """The test that a program was in when it ended."""
    started = re.findall(r"^\[ RUN +\] (\S+)", text, re.MULTILINE)
    return started[-1] if started else ""


def judge_report(report):
    """(outcome, detail) of a gtest report: what failed, or how much passed."""
    tests = [test for suite in report.get("testsuites", []) for test in suite["testsuite"]]
    ran = [test for test in tests if test.get("status") != "NOTRUN"]
    failures = [test["name"] for test in ran if test.get("failures")]
    skipped = sum(test.get("result") == "SKIPPED" for test in ran)
    if failures:
        return "failed", f"{len(failures)} of {len(ran)} failed: {', '.join(failures[:3])}"
    if len(ran) == skipped:
        return "skipped", f"{skipped} tests, none of which runs here"
    return "passed", f"{len(ran) - skipped} tests" + (f", {skipped} skipped" if skipped else "")


def run_suite(check, program, suite, environment, seconds):
    """One suite in a process of its own: after an error of the GPU a process is of no more use."""
    name = f"{program.name}, {suite}"
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "report.json"
        done = check.run([program, f"--gtest_filter={suite}.*", f"--gtest_output=json:{file}"],
                         seconds, environment)
        try:
            outcome, detail = judge_report(json.loads(file.read_text()))
        except (OSError, ValueError, KeyError):
            late = done.status is None and done.seconds == 0
            at = last_started(done.out)
            outcome = "late" if late else "failed"
            detail = "no time was left" if late else (f"in {at}: " if at else "") + done.reason
        check.note(name, outcome, detail)


def run_tests(check, programs, environment, seconds=150):
    jobs = []
    for program in programs:
        listed = check.run([program, "--gtest_list_tests"], 60, environment)
        suites = ["*"] if check.dry else list_suites(listed.out)
        if not suites:
            check.note(program.name, "failed", listed.reason)
        for suite in suites:
            jobs.append(lambda program=program, suite=suite: run_suite(check, program, suite,
                                                                       environment, seconds))
    check.run_all(jobs, WORKERS)


def check_kernels(check, bundle):
    run_tests(check, bundle.tests, bundle.on_device)


def check_agreement(check, bundle):
    run_tests(check, [bundle.agreement], bundle.on_device)
    run_tests(check, bundle.tests,
              {**bundle.on_device, "SINTER_KERNEL_RECORDS": str(bundle.records)})


# Small shapes: a sanitizer slows a kernel down by a factor of 10 to 100.
SANITIZED = {"template-tests": "*.TouchesOnlyWhatItMay:*.SmallIsClean:DeviceTest.*",
             "rows-tests": "RowsTraining.*:RowsFusion.*:RowsKernel.RowsOfAllWidths"}


def check_sanitizer(check, bundle):
    tool = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not pathlib.Path(tool).exists() and not check.dry:
        check.note("compute-sanitizer", "skipped", "is not installed")
        return
    # memcheck first: it finds most, should time run out.
    for kind in ("memcheck", "racecheck", "synccheck"):
        for program in bundle.tests:
            # The sanitizer looks at processes, of which the program's loader is one.
            done = check.run([tool, "--tool", kind, "--error-exitcode", "9", "--print-limit", "10",
                              "--target-processes", "all", program,
                              f"--gtest_filter={SANITIZED[program.name]}", "--gtest_brief=1"], 90,
                             bundle.on_device)
            outcome, detail = judge_sanitizer(done)
            check.note(f"{kind}, {program.name}", outcome, detail)


def judge_sanitizer(done):
    """(outcome, detail): its last word is a summary; a run without one checked nothing."""
    summaries = re.findall(r"^=+ ((?:ERROR|RACECHECK) SUMMARY:.*)$", done.out + "\n" + done.err,
                           re.MULTILINE)
    tests = re.search(r"\[  PASSED  \] (\d+) test", done.out)
    if done.status is None:
        return "late", done.reason
    if done.good and summaries and tests and int(tests.group(1)) > 0:
        return "passed", f"{tests.group(1)} tests, {summaries[-1]}"
    return "failed", summaries[-1] if summaries else done.reason


# Parity


def has_experts(model):
    return "experts" in (model / "config.json").read_text()


# How far logits may be apart, as a part of the largest.
LOGITS = {"f32": 1e-5, "bf16": 4e-2, "f16": 1e-2}
TRAINED = ("models/gpt2", "models/llama", "models/gemma2", "models/mixtral", "models/sinter-mixed",
           "families/qwen3_next", "families/bamba", "families/lfm2", "families/deepseek_v3", "families/gpt_oss",
           "families/granitemoe")


def read_npy(path):
    """The numbers of a float32 file as sinter writes it."""
    data = pathlib.Path(path).read_bytes()
    length = int.from_bytes(data[8:10], "little")
    return array.array("f", data[10 + length:])


def compare(first, second):
    """The largest difference over the largest magnitude; infinite where lengths or NaNs differ."""
    if len(first) != len(second) or any(a != a for a in (*first, *second)):
        return float("inf")
    scale = max(map(abs, second), default=0) or 1.0
    return max((abs(a - b) for a, b in zip(first, second)), default=0.0) / scale


def check_logits(check, bundle, folder, model, dtype, most):
    tokens = ",".join(str(3 + i * 7 % 50) for i in range(24))
    outputs, label = [], f"{model.name}, {dtype}"
    for target in ("cpu", "cuda"):
        file = folder / f"{model.name}-{dtype}-{target}.npy"
        done = check.run([bundle.sinter, "logits", model, "--tokens", tokens, "--dtype", dtype,
                          "--target", target, "-o", file], 60)
        if not done.good:
            check.note(label, "failed", f"{target}: {done.reason}")
            return
        outputs.append(read_npy(file))
    difference = compare(outputs[1], outputs[0])
    check.note(label, "passed" if difference <= most else "failed",
               f"logits differ by {difference:.1e} of the largest (bar {most:.0e})",
               difference=difference)


def check_training(check, bundle, folder, model, dtype, most):
    """Losses of a run on either side, and the same bits from two runs on the GPU."""
    name = model.name
    tokens, label = folder / "tokens.bin", f"train {name}, {dtype}"
    losses, weights = [], []
    for target, out in (("cpu", "c"), ("cuda", "g"), ("cuda", "again")):
        run = folder / f"{name}-{dtype}-{out}"
        log = pathlib.Path(f"{run}.jsonl")
        done = check.run([bundle.sinter, "train", model, "--data", tokens, "--out", run,
                          "--steps", 10, "--batch", 2, "--seq", 16, "--order", "sequential",
                          "--dtype", dtype, "--target", target, "--log", log], 60)
        if not done.good:
            check.note(label, "failed", f"{target}: {done.reason}")
            return
        losses.append([json.loads(line)["loss"] for line in log.read_text().splitlines()])
        weights.append((run / "model.safetensors").read_bytes())
    difference = max(abs(a - b) / abs(b) for a, b in zip(losses[1], losses[0]))
    same = losses[1] == losses[2] and weights[1] == weights[2]
    check.note(label, "passed" if difference <= most and same else "failed",
               f"losses differ by {difference:.1e} (bar {most:.0e}); two runs on the GPU are "
               f"{'the same' if same else 'NOT the same'} to the bit",
               difference=difference, repeatable=same)


def check_parity(check, bundle):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        # Their vocabularies hold no text's bytes.
        (folder / "tokens.bin").write_bytes(array.array(
            "H", (3 + i * i % 47 for i in range(8192))).tobytes())
        jobs = []
        for models, dtypes in ((bundle.models, ("f32", "bf16", "f16")),
                               (bundle.families, ("f32", "bf16"))):
            for model in sorted(models.iterdir()):
                for dtype in dtypes:
                    most = LOGITS[dtype]
                    # A token may get another expert that is barely less likely.
                    most *= 8 if dtype != "f32" and has_experts(model) else 1
                    jobs.append(lambda model=model, dtype=dtype, most=most: check_logits(
                        check, bundle, folder, model, dtype, most))
        for model in TRAINED:
            for dtype, most in (("f32", 1e-4), ("bf16", 2e-2)):
                jobs.append(lambda model=model, dtype=dtype, most=most: check_training(
                    check, bundle, folder, bundle.root / "test/e2e" / model, dtype, most))
        check.run_all(jobs, WORKERS)
