"""The lit suite: FileCheck tests beside the folders that they mirror."""

import os

import lit.formats
from lit.llvm import llvm_config

config.name = "Sinter"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.excludes = ["Inputs", "fuzz", "unit"]
config.test_source_root = os.path.dirname(__file__)

config.environment["FILECHECK_OPTS"] = "-enable-var-scope --allow-unused-prefixes=false"

# Remarks as FileCheck and -verify-diagnostics see them: `sinter-opt %remarks`.
config.substitutions.append(
    ("%remarks", "--remarks-filter='sinter.*' --remark-policy=all --remark-format=emitRemark")
)
config.substitutions.append(("%sinter_bin_dir", config.sinter_bin_dir))
config.substitutions.append(("%sinter_lib_dir", config.sinter_lib_dir))
llvm_config.use_default_substitutions()
llvm_config.add_tool_substitutions(
    [
        "sinter-opt",
        "sinter-lsp-server",
        "sinter-reduce",
        "mlir-opt",
        "llvm-nm",
        "llvm-readelf",
    ],
    [config.sinter_bin_dir, config.llvm_tools_dir],
)
