//===- CheckDialect.h - Assertions inside IR --------------------*- C++ -*-===//
#pragma once

#include "dialects/Interfaces/Interfaces.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Check/CheckDialect.h.inc"
#define GET_OP_CLASSES
#include "dialects/Check/CheckOps.h.inc"
