// Both passes inside the compiler. With Sinter's own fusion off, every op is a kernel of its own
// until ours runs.
//
// RUN: %sinter compile %S/Inputs/model.json --disable-pass=sinter-form-fusions --emit fused \
// RUN:   | FileCheck %s --check-prefix=ALONE
// RUN: %sinter compile %S/Inputs/model.json --disable-pass=sinter-form-fusions --emit fused \
// RUN:   --load-pass-plugin=%plugin --add-pass=after:Import:example-recognize-silu \
// RUN:   --add-pass=after:Fusion:example-merge-row-kernels | FileCheck %s --check-prefix=MERGED
//
// ALONE-NOT:  call_kernel @merged_rows
// MERGED:     call_kernel @merged_rows
//
// The numbers stay. The graph has SiLU as an op already, which is no evidence for the pass that
// recognizes it.
// RUN: %sinter verify-pass --load-pass-plugin=%plugin --pass example-recognize-silu \
// RUN:   %S/Inputs/model.json | FileCheck %s --check-prefix=UNCHANGED
// RUN: %sinter verify-pass --load-pass-plugin=%plugin --pass example-merge-row-kernels \
// RUN:   --after Fusion --disable-pass=sinter-form-fusions %S/Inputs/model.json \
// RUN:   | FileCheck %s --check-prefix=VERIFIED
//
// UNCHANGED: changed nothing
// VERIFIED: holds
//
// Mistakes end in one line.
// RUN: not %sinter compile %S/Inputs/model.json --emit fused --add-pass=after:Fusion:no-such-pass \
// RUN:   2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not %sinter compile %S/Inputs/model.json --emit fused --load-pass-plugin=%S/compile.mlir \
// RUN:   2>&1 | FileCheck %s --check-prefix=NO-PLUGIN
//
// UNKNOWN:       sinter: error: --add-pass after:Fusion:no-such-pass: 'no-such-pass' does not refer
// NO-PLUGIN:     sinter: error: --load-pass-plugin {{.*}}compile.mlir
