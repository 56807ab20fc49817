#!/usr/bin/env python3
"""gpu-check without a GPU: its judgements, its table, and that nothing that fails or hangs loses
what else there is. A folder of scripts stands in for the archive."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import types
import unittest

BUNDLE = pathlib.Path(__file__).resolve().parents[2] / "tools/bundle"
sys.dont_write_bytecode = True
sys.path.insert(0, str(BUNDLE))

from gpu_check import bench, proofs, table, works  # noqa: E402
from gpu_check.check import Check, Done  # noqa: E402


def outcomes(check):
    return {result["name"]: result["outcome"] for result in check.results}


class CheckTest(unittest.TestCase):
    def test_a_command_that_hangs_is_ended_with_what_it_started(self):
        with tempfile.TemporaryDirectory() as folder:
            alive = pathlib.Path(folder) / "alive"
            start = time.monotonic()
            done = Check(1).run(["sh", "-c", f"(sleep 2; touch {alive}) & sleep 30"], 0.3)
            self.assertLess(time.monotonic() - start, 2)
            self.assertIsNone(done.status)
            self.assertIn("out of time", done.reason)
            time.sleep(2.2)
            self.assertFalse(alive.exists())

    def test_a_process_that_outlives_its_command_holds_nobody_up(self):
        start = time.monotonic()
        done = Check(1).run(["sh", "-c", "sleep 30 & echo '{\"a\": 1}'"], 20)
        self.assertLess(time.monotonic() - start, 10)
        self.assertEqual(done.read_json(), {"a": 1})

    def test_what_is_not_there_is_a_failure_like_any_other(self):
        self.assertEqual(Check(1).run(["/nonexistent/program"]).status, 127)

    def test_a_signal_is_said(self):
        self.assertEqual(Done(-11, "", "bad\n", 0).reason, "signal 11, bad")

    def test_an_exception_in_a_part_is_a_result_and_the_next_part_runs(self):
        check = Check(1)

        def fail(check):
            raise ValueError("a defect")

        sys.stderr, kept = open(os.devnull, "w"), sys.stderr
        check.run_part("first", fail, 0.5)
        sys.stderr.close()
        sys.stderr = kept
        check.run_part("second", lambda check: check.note("work", "passed"), 1)
        self.assertEqual(outcomes(check), {"first": "failed", "work": "passed"})
        self.assertTrue(check.failed())

    def test_parts_share_the_time_and_what_one_leaves_the_next_one_has(self):
        check = Check(1)
        seen = []
        check.run_part("first", lambda check: seen.append(check.left()), 0.25)
        check.run_part("second", lambda check: seen.append(check.left()), 1)
        self.assertAlmostEqual(seen[0], 15, delta=2)
        self.assertAlmostEqual(seen[1], 60, delta=3)

    def test_without_time_nothing_is_started(self):
        self.assertEqual(Check(0).run(["touch", "/nonexistent/folder"]).seconds, 0)

    def test_the_file_is_there_from_the_first_result_on(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "results.json"
            check = Check(1, file)
            check.heading = {"gpu": {"name": "one"}}
            check.note("work", "measured", "1 ms", ms=1.0)
            found = json.loads(file.read_text())
            self.assertEqual(found["gpu"]["name"], "one")
            self.assertEqual(found["results"][0]["ms"], 1.0)


class JudgementTest(unittest.TestCase):
    def test_suites_are_found_in_what_gtest_lists(self):
        text = "Running main()\nGemv.\n  IsAProduct\nAll/Rows.  # TypeParam = int\n  Some/0\n"
        self.assertEqual(proofs.list_suites(text), ["Gemv", "All/Rows"])

    def test_reports(self):
        def report(*tests):
            return {"testsuites": [{"testsuite": list(tests)}]}

        good = {"name": "a", "status": "RUN", "result": "COMPLETED"}
        skipped = {"name": "b", "status": "RUN", "result": "SKIPPED"}
        bad = {"name": "c", "status": "RUN", "result": "COMPLETED", "failures": [{}]}
        other = {"name": "d", "status": "NOTRUN"}
        self.assertEqual(proofs.judge_report(report(good, skipped, other)),
                         ("passed", "1 tests, 1 skipped"))
        self.assertEqual(proofs.judge_report(report(good, bad)), ("failed", "1 of 2 failed: c"))
        self.assertEqual(proofs.judge_report(report(skipped))[0], "skipped")
        self.assertEqual(proofs.judge_report(report())[0], "skipped")

    def test_the_test_that_ended_a_program_is_named(self):
        self.assertEqual(proofs.last_started("[ RUN      ] A.b\n[       OK ] A.b\n[ RUN      ] A.c\n"),
                         "A.c")

    def test_a_sanitizer_that_checked_nothing_has_not_passed(self):
        said = "[  PASSED  ] 3 tests.\n========= ERROR SUMMARY: 0 errors\n"
        self.assertEqual(proofs.judge_sanitizer(Done(0, said, "", 1))[0], "passed")
        self.assertEqual(proofs.judge_sanitizer(Done(0, "[  PASSED  ] 3 tests.\n", "", 1))[0],
                         "failed")
        nothing = "[  PASSED  ] 0 tests.\n========= ERROR SUMMARY: 0 errors\n"
        self.assertEqual(proofs.judge_sanitizer(Done(0, nothing, "", 1))[0], "failed")
        hazards = "========= RACECHECK SUMMARY: 2 hazards displayed (2 errors, 0 warnings)\n"
        self.assertEqual(proofs.judge_sanitizer(Done(9, "", hazards, 1)),
                         ("failed", hazards.strip("= \n")))
        self.assertEqual(proofs.judge_sanitizer(Done(None, "", "", 90))[0], "late")

    def test_numbers_are_compared_by_the_largest(self):
        self.assertAlmostEqual(proofs.compare([1.0, 2.0], [1.0, 4.0]), 0.5)
        self.assertEqual(proofs.compare([0.0], [0.0]), 0)
        self.assertEqual(proofs.compare([1.0], [1.0, 2.0]), float("inf"))
        self.assertEqual(proofs.compare([float("nan")], [1.0]), float("inf"))


class WorkTest(unittest.TestCase):
    def test_useful_work_is_products_and_causal_attention(self):
        shape = works.Shape("tiny", layers=2, width=4, heads=2)
        shape.vocabulary = 10
        work = works.ModelWork(shape, "train", 3, 5)
        # 2 * 12 * 16 * 2 a token, 2 * 4 * 10 a row of logits, 4 * 15 pairs * 4 * 2 a sequence.
        self.assertEqual(work.useful()[0], 3 * (768 * 15 + 80 * 15 + 480 * 3))
        decode = works.ModelWork(shape, "decode", 1, 1, 7)
        # The matrices and the head in 16 bits, 8 keys and values of 4 in 2 layers.
        self.assertEqual(decode.useful()[1], 2 * (384 + 40 + 2 * 2 * 4 * 8))

    def test_a_share_is_of_the_measured_limit(self):
        work = works.ModelWork(works.SMALL, "decode", 1, 1, 511, limit="copy", bar=0.45)
        found = {"ms_median": 0.1, "ms_min": 0.1, "compile_ms": 1, "peak_bytes": 2}
        figures, share = work.judge(found, {"copy": 4000.0})
        self.assertAlmostEqual(share, figures["gbs"] / 4000)
        self.assertIsNone(work.judge(found, {})[1])

    def test_tuned_works_are_those_without_by_another_name(self):
        bundle = types.SimpleNamespace(sinter="sinter")
        plain = {work.name: work.command(bundle, "m.json") for work in works.MODELS}
        for work in works.TUNED:
            name = work.name.removesuffix(", tuned")
            self.assertNotIn(work.name, plain)
            self.assertEqual(work.command(bundle, "m.json"), plain[name] + ["--tune"])

    def test_a_graph_takes_the_time_of_its_commands(self):
        found = {"rows": [{"op": "layer_norm", "ms": 0.5}, {"op": "(between commands)", "ms": 9}]}
        work = works.GraphWork("norm", "", moved=10**9, limit="copy", bar=0.85)
        figures, share = work.judge(found, {"copy": 4000.0})
        self.assertEqual(figures["gbs"], 2000)
        self.assertEqual(share, 0.5)
        self.assertIsNone(work.judge({"rows": []}, {"copy": 4000.0})[1])


    def test_a_profile_names_what_is_furthest_above_its_roofline(self):
        rows = [{"op": op, "ms": ms, "roofline_ms": bound, "count": 1}
                for op, ms, bound in (("matmul", 3, 2.5), ("norm", 2, 0.5), ("sample", 0.5, 0.25),
                                      ("add", 0.25, 0.25), ("(between commands)", 9, 0))]
        figures, detail = works.ProfileWork(works.SMALL, "decode").judge({"ms": 6, "rows": rows})
        self.assertEqual(figures["roofline_ms"], 3.5)
        self.assertEqual(detail, "6.000 ms, roofline 3.500; norm 2.000 (1, roofline 0.500), "
                         "matmul 3.000 (1, roofline 2.500), sample 0.500 (1, roofline 0.250)")

    def test_every_profile_has_a_description_and_a_name_of_its_own(self):
        with tempfile.TemporaryDirectory() as folder:
            for work in works.PROFILES:
                config = json.loads(work.write(pathlib.Path(folder)).read_text())
                self.assertIn("model_type", config)
        names = [work.name for work in works.PROFILES]
        self.assertEqual(len(set(names)), len(names))


class TableTest(unittest.TestCase):
    def test_what_has_a_bar_is_judged(self):
        lines = table.make_table([
            {"name": "norm", "outcome": "measured", "ms": 1.0, "reached": 0.9, "bar": 0.85},
            {"name": "attention", "outcome": "measured", "ms": 1.0, "reached": 250, "bar": 300},
            {"name": "no limit", "outcome": "measured", "ms": 1.5, "bar": 0.5},
            {"name": "cold", "outcome": "measured", "seconds": 2.5, "bar": 3.0},
            {"name": "peer", "outcome": "measured", "torch_ms": 2.0, "ratio": 1.0, "bar": 1.15},
            {"name": "test", "outcome": "passed"}])
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:-1]]
        self.assertEqual(cells, [["norm", ">= 0.85", "0.90", "met"],
                                 ["attention", ">= 300", "250", "MISSED"],
                                 ["no limit", ">= 0.5", "1.500 ms", "not judged"],
                                 ["cold", "<= 3.0 s", "2.50 s", "met"],
                                 ["peer", ">= 1.15 x", "1.00 x", "MISSED"]])
        self.assertEqual(lines[-1], "5 measured, 1 passed")

    def test_nothing_is_a_table_too(self):
        self.assertEqual(table.make_table([]), ["nothing was run"])


SINTER = """#!{python}
import json, sys, time
words = sys.argv[1:]
if words[0] == "devices":
    print(json.dumps({{"devices": [{{"target": "cpu"}}, {{"target": "cuda:sm_90", "name": "GPU",
                                                        "driver": "13.0"}}]}}))
elif words[0] == "profile":
    print(json.dumps({{"rows": [{{"op": "matmul", "ms": 2.0}}]}}))
elif words[0] == "compile":
    open(words[words.index("-o") + 1], "w").close()
elif words[0] == "bench" and "decode" in words:
    time.sleep(60)
elif words[0] == "bench":
    print(json.dumps({{"ms_median": 1.0, "ms_min": 1.0, "compile_ms": 1.0, "peak_bytes": 1}}))
else:
    sys.exit("no such command")
"""


class FlowTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        for name in ("bin", "test/e2e/models/one", "test/e2e/families/two"):
            (self.root / name).mkdir(parents=True)
            (self.root / name / "config.json").write_text('{"num_experts": 4}')
        self.write("sinter", SINTER.format(python=sys.executable))
        self.write("sinter-copy-rate", "#!/bin/sh\necho '{\"copy_gb_per_s\": 4000.0}'\n")
        self.write("template-tests", "#!/bin/sh\nkill -SEGV $$\n")
        # What gpu-check needs lies beside it in the archive.
        (self.root / "gpu_check").symlink_to(BUNDLE / "gpu_check")
        (self.root / "gpu-check").write_text((BUNDLE / "gpu-check").read_text())

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        file = self.root / "bin" / name
        file.write_text(text)
        file.chmod(0o755)

    def start(self, *words):
        return subprocess.run([sys.executable, self.root / "gpu-check", *words],
                              capture_output=True, text=True, timeout=120,
                              env={**os.environ, "SINTER_PYTHON": "/nonexistent/python"})

    def test_what_hangs_or_crashes_loses_nothing_else(self):
        file = self.root / "results.json"
        done = self.start("--only", "kernels,bench", "--minutes", "0.2", "--json", file)
        self.assertEqual(done.returncode, 1)
        found = json.loads(file.read_text())
        self.assertEqual(found["gpu"]["name"], "GPU")
        named = {result["name"]: result["outcome"] for result in found["results"]}
        self.assertEqual(named["template-tests"], "failed")
        self.assertEqual(named["rows-tests"], "failed")
        self.assertEqual(named["limit: copy"], "measured")
        self.assertEqual(named["attention forward, 8192, head size 64"], "measured")
        self.assertEqual(named["124M train, 16 x 1024"], "measured")
        self.assertEqual(named["124M decode, after 511"], "late")
        self.assertIn("| 124M train, 16 x 1024", done.stdout)

    def test_a_machine_without_a_gpu_is_told_so(self):
        self.write("sinter", "#!/bin/sh\necho '{\"devices\": [{\"target\": \"cpu\"}, {\"target\": "
                   "\"cuda\", \"missing\": \"libcuda.so.1: is not there\"}]}'\n")
        done = self.start()
        self.assertEqual(done.returncode, 1)
        self.assertIn("no GPU to check: libcuda.so.1: is not there", done.stderr)

    def test_a_dry_run_starts_nothing(self):
        started = self.root / "started"
        for name in ("sinter", "template-tests", "rows-tests", "agreement-tests",
                     "sinter-copy-rate"):
            self.write(name, f"#!/bin/sh\ntouch {started}\n")
        done = self.start("--dry-run")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(started.exists())
        for word in ("compute-sanitizer", "--mode train", "graph0.mlir", "torch_train.py",
                     "logits", "families/two", "models/qwen3-next-4-layers.json"):
            self.assertIn(word, done.stdout)

    def test_a_part_that_there_is_not_is_an_error(self):
        done = self.start("--only", "kernels,nothing")
        self.assertEqual(done.returncode, 2)
        self.assertIn("nothing is no part", done.stderr)


class PeersTest(unittest.TestCase):
    def test_without_pytorch_the_part_is_skipped(self):
        check = Check(1)
        check.run = lambda *words, **options: Done(1, "", "No module named 'torch'\n", 0)
        check.run_part("peers", lambda check: bench.check_peers(check, None), 1)
        self.assertEqual(outcomes(check), {"PyTorch": "skipped"})


if __name__ == "__main__":
    unittest.main()
