"""The plugin's lit tests: `%opt` is sinter-opt with the plugin loaded."""

import os

import lit.formats

config.name = "FusionPlugin"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = os.path.dirname(__file__)
config.environment["PATH"] = os.pathsep.join([config.llvm_tools_dir, os.environ["PATH"]])
config.substitutions.append(("%sinter", f"{config.sinter_bin_dir}/sinter"))
config.substitutions.append(
    ("%opt", f"{config.sinter_bin_dir}/sinter-opt --load-pass-plugin={config.plugin}")
)
config.substitutions.append(("%plugin", config.plugin))
config.substitutions.append(
    ("%remarks", "--remarks-filter='example.*' --remark-policy=all --remark-format=emitRemark")
)
