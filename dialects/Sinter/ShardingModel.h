//===- ShardingModel.h - Sinter's ops in the shard dialect ------*- C++ -*-===//
#pragma once

#include "mlir/IR/DialectRegistry.h"

namespace sinter {

/// Gives every op with a LoopNest the upstream ShardingInterface, which `sharding-propagation` and
/// `shard-partition` ask. A dimension that an op needs whole is gathered before it; results that
/// devices have only parts of are combined by an all-reduce after it.
void registerShardingModels(mlir::DialectRegistry &registry);

} // namespace sinter
