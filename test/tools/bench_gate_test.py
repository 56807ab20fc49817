#!/usr/bin/env python3
"""The gate of `make bench`: what falls, what may not, and shares that are never above 1. Programs are
scripts; nothing is measured."""

import pathlib
import stat
import sys
import tempfile
import unittest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "tools/bench"
sys.dont_write_bytecode = True
sys.path.insert(0, str(BENCH))

import bench  # noqa: E402
import gate  # noqa: E402
from limits import Machine, Moment, best_of  # noqa: E402

STORED = {"this": {"prefill": 0.8, "decode": 0.9}, "another": {"prefill": 0.1}}


class CompareTest(unittest.TestCase):
    def test_what_is_as_it_was_passes(self):
        found = gate.compare(STORED, "this", {"prefill": 0.8, "decode": 0.9})
        self.assertFalse(found.failed)
        self.assertEqual(len(found.lines), 2)

    def test_a_fall_of_more_than_15_percent_fails_and_names_the_work(self):
        found = gate.compare(STORED, "this", {"prefill": 0.67, "decode": 0.9})
        self.assertTrue(found.failed)
        self.assertIn("failed: prefill: 0.67, stored 0.80 (-16 %)", found.lines)
        self.assertFalse(any("decode" in line and "failed" in line for line in found.lines))

    def test_a_fall_of_less_passes_and_so_does_a_rise(self):
        self.assertFalse(gate.compare(STORED, "this", {"prefill": 0.69, "decode": 1.0}).failed)

    def test_other_machines_ratios_do_not_count(self):
        found = gate.compare(STORED, "another", {"prefill": 0.1, "decode": 0.01})
        self.assertFalse(found.failed)
        self.assertIn("decode: 0.01, not stored yet", found.lines)

    def test_a_machine_without_ratios_does_not_pass_in_silence(self):
        found = gate.compare(STORED, "a third", {"prefill": 0.8})
        self.assertTrue(found.failed)
        self.assertIn("--store", found.lines[0])

    def test_a_work_that_could_not_be_measured_fails_unless_it_was_not_asked_for(self):
        self.assertTrue(gate.compare(STORED, "this", {"prefill": 0.8}).failed)
        self.assertFalse(gate.compare(STORED, "this", {"prefill": 0.8}, whole=False).failed)


class StoreTest(unittest.TestCase):
    def test_what_is_stored_stands_beside_what_was(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "ratios.json"
            self.assertEqual(gate.read_ratios(file), {})
            gate.store("this", {"prefill": 0.81234}, file)
            gate.store("another", {"prefill": 0.5}, file)
            gate.store("this", {"decode": 0.9}, file)
            self.assertEqual(gate.read_ratios(file), {
                "this": {"prefill": 0.812, "decode": 0.9}, "another": {"prefill": 0.5}})

    def test_what_is_committed_can_be_compared_with(self):
        works = {work[0] for work in bench.WORKS}
        for machine, ratios in gate.read_ratios().items():
            self.assertLessEqual(works, ratios.keys(), machine)
            self.assertTrue(all(0 < share <= 1 for share in ratios.values()), machine)
            self.assertFalse(gate.compare(gate.read_ratios(), machine, ratios).failed)
            fallen = {work: 0.84 * share for work, share in ratios.items()}
            self.assertTrue(gate.compare(gate.read_ratios(), machine, fallen).failed)


class SharesTest(unittest.TestCase):
    def test_of_a_moment_the_faster_side_counts_and_no_share_is_above_1(self):
        before = {"now": {"f32_gflops": 100, "memory_gb_per_s": 40}, "limits": {"f32_gflops": 120}}
        after = {"now": {"f32_gflops": 90, "memory_gb_per_s": 50}, "limits": {"f32_gflops": 125}}
        moment = Moment(before, after)
        self.assertEqual(moment.share("f32_gflops", 50), 0.5)
        self.assertEqual(moment.share("memory_gb_per_s", 25), 0.5)
        self.assertEqual(moment.share("memory_gb_per_s", 60), 1)
        self.assertEqual(moment.limits["f32_gflops"], 125)

    def test_the_best_round_counts_work_by_work(self):
        self.assertEqual(best_of([{"a": 0.5}, {"a": 0.7, "b": 0.1}, {"a": 0.6}]),
                         {"a": 0.7, "b": 0.1})

    def test_a_limit_that_was_passed_is_raised_where_limits_are_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            program = folder / "sinter-limits"
            program.write_text(f"#!/bin/sh\necho \"$@\" >> {folder}/asked\necho '{{}}'\n")
            program.chmod(program.stat().st_mode | stat.S_IXUSR)
            machine = Machine(folder / "sinter", 2)
            self.assertEqual(machine.share("memory_gb_per_s", 20.0, 40.0), 0.5)
            self.assertFalse((folder / "asked").exists())
            self.assertEqual(machine.share("memory_gb_per_s", 44.0, 40.0), 1)
            self.assertEqual((folder / "asked").read_text(), "2 memory_gb_per_s=44.0\n")

    def test_a_work_is_divided_by_what_bounds_it(self):
        prefill, decode = bench.WORKS[1], bench.WORKS[2]
        self.assertEqual(bench.limit_of(prefill, {"held_in": "memory"}), "bf16_gflops")
        self.assertEqual(bench.limit_of(decode, {"held_in": "shared_cache"}),
                         "shared_cache_gb_per_s")
        # 85 M parameters of layers, twice, for 512 tokens, and attention: 92 GFLOP.
        self.assertAlmostEqual(bench.rate_of(prefill, 1000), 91.9, delta=0.1)
        # The same and 38.6 M of the head, 4 bytes each, and the cache: some 0.53 GB.
        self.assertAlmostEqual(bench.rate_of(decode, 1000), 0.53, delta=0.01)


if __name__ == "__main__":
    unittest.main()
