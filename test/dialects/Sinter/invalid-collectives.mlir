// RUN: sinter-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{expected axes with names, each once, got "data"}}
#grid_c1 = #sinter.grid<data = 2, data = 3>

// -----

// expected-error @below {{expected a positive number of ranks along each axis}}
#grid_c2 = #sinter.grid<data = 0>

// -----

// expected-error @below {{expected lists of axes by name, none of them twice}}
#sharding_c1 = #sinter.sharding<[["data"], ["data"]]>

// -----

// expected-error @below {{expected lists of axes by name, none of them twice}}
#sharding_c1_term = #sinter.sharding<[["data"], []] unreduced ["data"]>

// -----

module attributes {sinter.grid = #sinter.grid<data = 2>} {
  // expected-error @below {{expected 'sinter.sharding' of argument 0 to be a sharding with a list of axes a dimension}}
  func.func @sharding_c2(%x: tensor<4x8xf32> {sinter.input = "x", sinter.sharding = #sinter.sharding<[["data"]]>}) attributes {sinter.entry} {
    return
  }
}

// -----

module attributes {sinter.grid = #sinter.grid<data = 2>} {
  // expected-error @below {{expected 'sinter.sharding' of argument 0 to be along axes of the module's grid}}
  func.func @dialect_c6(%x: tensor<4xf32> {sinter.input = "x", sinter.sharding = #sinter.sharding<[["tensor"]]>}) attributes {sinter.entry} {
    return
  }
}

// -----

module attributes {sinter.grid = #sinter.grid<data = 2>} {
  // expected-error @below {{expected 'sinter.sharding' of result 0 to be along axes of the module's grid}}
  func.func @dialect_c6_result(%x: tensor<4xf32> {sinter.input = "x"})
      -> (tensor<4xf32> {sinter.output = "x", sinter.sharding = #sinter.sharding<[[]] unreduced ["tensor"]>}) attributes {sinter.entry} {
    return %x : tensor<4xf32>
  }
}

// -----

// expected-error @below {{expected 'sinter.box' of argument 0 to say where a state of type 'tensor<4x8xf32>' lies in a tensor, got #sinter.box<"w", tensor<4x12xf32>, [0, 5]>}}
func.func @dialect_c7(%w: tensor<4x8xf32> {sinter.state = "part", sinter.box = #sinter.box<"w", tensor<4x12xf32>, [0, 5]>}) attributes {sinter.entry} {
  return
}

// -----

// expected-error @below {{expected 'sinter.box' of result 0 to say where a state of type 'tensor<4xf32>' lies in a tensor, got #sinter.box<"w", tensor<12xf32>, [4]>}}
func.func @dialect_c7_result(%x: tensor<4xf32> {sinter.input = "x"})
    -> (tensor<4xf32> {sinter.output = "x", sinter.box = #sinter.box<"w", tensor<12xf32>, [4]>}) attributes {sinter.entry} {
  return %x : tensor<4xf32>
}

// -----

func.func @without_grid(%x: tensor<4xf32>) {
  // expected-error @below {{expected a module with the attribute 'sinter.grid'}}
  %0 = sinter.all_gather ["data"] %x : (tensor<4xf32>) -> tensor<2x4xf32>
  return
}

// -----

module attributes {sinter.grid = #sinter.grid<data = 2>} {
  func.func @all_gather_c1(%x: tensor<4xf32>) {
    // expected-error @below {{expected axes of #sinter.grid<data = 2>, each once, got ["tensor"]}}
    %0 = sinter.all_gather ["tensor"] %x : (tensor<4xf32>) -> tensor<2x4xf32>
    return
  }
}

// -----

module attributes {sinter.grid = #sinter.grid<data = 2>} {
  func.func @all_gather_c1_twice(%x: tensor<4xf32>) {
    // expected-error @below {{expected axes of #sinter.grid<data = 2>, each once, got ["data", "data"]}}
    %0 = sinter.all_gather ["data", "data"] %x : (tensor<4xf32>) -> tensor<4x4xf32>
    return
  }
}

// -----

module attributes {sinter.grid = #sinter.grid<data = 2>} {
  func.func @all_gather_c2(%x: tensor<4xf32>) {
    // expected-error @below {{expected a result of 2 operands, got 'tensor<3x4xf32>'}}
    %0 = sinter.all_gather ["data"] %x : (tensor<4xf32>) -> tensor<3x4xf32>
    return
  }
}

// -----

module attributes {sinter.grid = #sinter.grid<data = 2>} {
  func.func @all_to_all_c2(%x: tensor<3x4xf32>) {
    // expected-error @below {{expected an operand of 2 parts and a result of its type, got 'tensor<3x4xf32>' -> 'tensor<3x4xf32>'}}
    %0 = sinter.all_to_all ["data"] %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
    return
  }
}

// -----

module attributes {sinter.grid = #sinter.grid<data = 2>} {
  func.func @all_slice_c2(%x: tensor<2x4xf32>) {
    // expected-error @below {{expected an operand of 2 results, got 'tensor<2x4xf32>'}}
    %0 = sinter.all_slice ["data"] %x : (tensor<2x4xf32>) -> tensor<2xf32>
    return
  }
}

// -----

module attributes {sinter.grid = #sinter.grid<data = 2>} {
  func.func @all_reduce_c2(%x: tensor<4xi32>) {
    // expected-error @below {{expected f32 or f64 and a result of the operand's type, got 'tensor<4xi32>' -> 'tensor<4xi32>'}}
    %0 = sinter.all_reduce ["data"] %x : (tensor<4xi32>) -> tensor<4xi32>
    return
  }
}

// -----

module attributes {sinter.grid = #sinter.grid<data = 2>} {
  func.func @shard_c1(%x: tensor<4x8xf32>) {
    // expected-error @below {{expected a list of axes for each dimension and nothing unreduced, got #sinter.sharding<[["data"]]>}}
    %0 = sinter.shard %x {sharding = #sinter.sharding<[["data"]]>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return
  }
}

// -----

module attributes {sinter.grid = #sinter.grid<data = 2>} {
  func.func @shard_c1_term(%x: tensor<4xf32>) {
    // expected-error @below {{nothing unreduced}}
    %0 = sinter.shard %x {sharding = #sinter.sharding<[[]] unreduced ["data"]>} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
}

// -----

module attributes {sinter.grid = #sinter.grid<data = 2>} {
  func.func @shard_c2(%x: tensor<4xf32>) {
    // expected-error @below {{expected axes of #sinter.grid<data = 2>, got "tensor"}}
    %0 = sinter.shard %x {sharding = #sinter.sharding<[["tensor"]]>} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
}
