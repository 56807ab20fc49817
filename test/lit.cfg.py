"""The lit suite: FileCheck tests beside the folders that they mirror."""

import os
import pathlib
import shutil
import sys

import lit.formats
from lit.llvm import llvm_config

config.name = "Sinter"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "fuzz", "unit"]
config.test_source_root = os.path.dirname(__file__)

# The processor to be assumed (runtime/Base/CpuFeatures.h); its run may go beside another.
cpu = os.environ.get("SINTER_CPU", "")
if cpu:
    config.environment["SINTER_CPU"] = cpu
    config.test_exec_root = os.path.join(config.test_exec_root, cpu)
    # Mistakes are answered and ranks talk alike on every processor, and some tests name their targets.
    config.excludes += [path.name for path in pathlib.Path(config.test_source_root).rglob("*-errors.test")]
    config.excludes += [
        "chat-ranks.test",
        "devices.test",
        "older-processors.test",
        "pipeline.test",
        "ranks-report.test",
        "ranks.test",
        "text-grid.test",
        "train-resume.test",
        "train-text.test",
        "tune.test",
    ]
# Where CUDA's parts are, if not in their usual places (tools/dev/get-cuda.sh).
if "SINTER_CUDA_HOME" in os.environ:
    config.environment["SINTER_CUDA_HOME"] = os.environ["SINTER_CUDA_HOME"]
# Compiled executables of the tests stay with the tests.
config.environment["SINTER_CACHE_DIR"] = os.path.join(config.test_exec_root, "cache")
config.environment["FILECHECK_OPTS"] = "-enable-var-scope --allow-unused-prefixes=false"

# Ranks by MPI, where it was found.
if shutil.which("mpiexec") and os.path.exists(os.path.join(config.sinter_lib_dir, "libSinterMpi.so")):
    config.available_features.add("mpi")

# Remarks as FileCheck and -verify-diagnostics see them: `sinter-opt %remarks`.
config.substitutions.append(
    ("%remarks", "--remarks-filter='sinter.*' --remark-policy=all --remark-format=emitRemark")
)
config.substitutions.append(("%python", sys.executable))
config.substitutions.append(("%models", os.path.join(config.test_source_root, "e2e", "models")))
config.substitutions.append(("%sinter_bin_dir", config.sinter_bin_dir))
config.substitutions.append(("%sinter_lib_dir", config.sinter_lib_dir))
llvm_config.use_default_substitutions()
llvm_config.add_tool_substitutions(
    [
        "sinter",
        "sinter-opt",
        "sinter-run",
        "sinter-lsp-server",
        "sinter-reduce",
        "mlir-opt",
        "llvm-nm",
        "llvm-readelf",
    ],
    [config.sinter_bin_dir, config.llvm_tools_dir],
)
