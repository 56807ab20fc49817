// A process has one MLIR and one Sinter dialect, however many plugins it loads: libSinterCompiler.so
// has both and needs no other, and what defines neither MLIR's context nor an op's TypeID cannot bring
// a second. SinterPlugin.so brings the dialect to tools without it, never MLIR.
//
// RUN: llvm-readelf --dynamic-table %sinter_lib_dir/libSinterCompiler.so \
// RUN:   | FileCheck %s --check-prefix=NEEDS-NO-MLIR
// RUN: llvm-nm --dynamic --defined-only --demangle %sinter_lib_dir/libSinterCompiler.so \
// RUN:   | FileCheck %s --check-prefix=COMPILER-DEFINES
// RUN: llvm-readelf --dynamic-table %sinter_lib_dir/SinterPlugin.so \
// RUN:   | FileCheck %s --check-prefix=NEEDS-NO-MLIR
// RUN: llvm-nm --defined-only --demangle %sinter_lib_dir/SinterPlugin.so \
// RUN:   | FileCheck %s --check-prefix=PLUGIN-DEFINES
// RUN: llvm-nm --defined-only --demangle %sinter_lib_dir/PlantedDefects.so \
// RUN:   | FileCheck %s --check-prefix=DEFECTS
// RUN: llvm-nm --defined-only --demangle %sinter_bin_dir/sinter-opt \
// RUN:   | FileCheck %s --check-prefix=NEITHER

// NEEDS-NO-MLIR-NOT: NEEDED{{.*}}lib{{MLIR|LLVM}}
// NEEDS-NO-MLIR:     NEEDED{{.*}}libc.so
// NEEDS-NO-MLIR-NOT: NEEDED{{.*}}lib{{MLIR|LLVM}}

// COMPILER-DEFINES-DAG: T mlir::MLIRContext::MLIRContext
// COMPILER-DEFINES-DAG: T sinter::SinterDialect::initialize()

// PLUGIN-DEFINES-NOT: mlir::MLIRContext::MLIRContext
// PLUGIN-DEFINES:     T sinter::SinterDialect::initialize()
// PLUGIN-DEFINES-NOT: mlir::MLIRContext::MLIRContext

// DEFECTS-NOT: mlir::MLIRContext::MLIRContext
// DEFECTS-NOT: sinter::SinterDialect::initialize

// NEITHER-NOT: mlir::MLIRContext::MLIRContext
// NEITHER-NOT: sinter::SinterDialect::initialize
// NEITHER-NOT: TypeIDResolver<sinter::
