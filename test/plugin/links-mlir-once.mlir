// A process has one MLIR and one Sinter dialect, however many plugins it loads: what defines
// neither MLIR's context nor an op's TypeID cannot bring a second.
//
// RUN: llvm-readelf --dynamic-table %sinter_lib_dir/libSinterCompiler.so \
// RUN:   | FileCheck %s --check-prefix=COMPILER-NEEDS
// RUN: llvm-nm --dynamic --defined-only --demangle %sinter_lib_dir/libSinterCompiler.so \
// RUN:   | FileCheck %s --check-prefix=COMPILER-DEFINES
// RUN: llvm-readelf --dynamic-table %sinter_lib_dir/SinterPlugin.so \
// RUN:   | FileCheck %s --check-prefix=PLUGIN-NEEDS
// RUN: llvm-nm --defined-only --demangle %sinter_lib_dir/SinterPlugin.so \
// RUN:   | FileCheck %s --check-prefix=NEITHER
// RUN: llvm-nm --defined-only --demangle %sinter_bin_dir/sinter-opt \
// RUN:   | FileCheck %s --check-prefix=NEITHER

// COMPILER-NEEDS-DAG: NEEDED{{.*}}libMLIR.so.22
// COMPILER-NEEDS-DAG: NEEDED{{.*}}libLLVM.so.22

// COMPILER-DEFINES-NOT: T mlir::MLIRContext::
// COMPILER-DEFINES-NOT: T mlir::Operation::
// COMPILER-DEFINES:     sinter::SinterDialect::initialize()
// COMPILER-DEFINES-NOT: T mlir::MLIRContext::
// COMPILER-DEFINES-NOT: T mlir::Operation::

// PLUGIN-NEEDS: NEEDED{{.*}}libSinterCompiler.so

// NEITHER-NOT: mlir::MLIRContext::MLIRContext
// NEITHER-NOT: sinter::SinterDialect::initialize
// NEITHER-NOT: TypeIDResolver<sinter::
