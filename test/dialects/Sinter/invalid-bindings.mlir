// RUN: sinter-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{unknown attribute 'sinter.paramter' of argument 1: expected one of sinter.parameter, sinter.preprocessed, sinter.state, sinter.input, sinter.flight, sinter.donated, sinter.role, sinter.initializer, sinter.values, sinter.fixed, sinter.sharding}}
func.func @dialect_c1_argument(%x: tensor<4xf32> {sinter.input = "x"},
                               %w: tensor<4xf32> {sinter.paramter = "w"}) attributes {sinter.entry} {
  return
}

// -----

// expected-error @below {{unknown attribute 'sinter.parameter' of result 0: expected one of sinter.output, sinter.state, sinter.preprocessed, sinter.gradient}}
func.func @dialect_c1_result(%x: tensor<4xf32>) -> (tensor<4xf32> {sinter.parameter = "w"})
    attributes {sinter.entry} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{expected 'sinter.parameter' of argument 0 to be a name in quotes}}
func.func @dialect_c2_argument(%w: tensor<4xf32> {sinter.parameter = ""}) attributes {sinter.entry} {
  return
}

// -----

// expected-error @below {{expected 'sinter.output' of result 0 to be a name in quotes}}
func.func @dialect_c2_result(%x: tensor<4xf32>) -> (tensor<4xf32> {sinter.output})
    attributes {sinter.entry} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{expected 'sinter.role' of argument 0 to be a role, as #sinter.role<kv_cache>}}
func.func @dialect_c3_no_role(%s: tensor<4xf32> {sinter.state = "s", sinter.role = "kv_cache"}) attributes {sinter.entry} {
  return
}

// -----

// expected-error @below {{expected argument 0 with 'sinter.role' to be a state (with 'sinter.state')}}
func.func @dialect_c3_no_state(%w: tensor<4xf32> {sinter.parameter = "w",
                                                  sinter.role = #sinter.role<parameter>}) attributes {sinter.entry} {
  return
}

// -----

// expected-error @below {{expected a KV cache to be [batch, positions, heads, head size], got argument 0 of type 'tensor<4x8xf32>'}}
func.func @dialect_c3_cache(%k: tensor<4x8xf32> {sinter.state = "k_cache.0",
                                                 sinter.role = #sinter.role<kv_cache>}) attributes {sinter.entry} {
  return
}

// -----

// expected-error @below {{expected 'sinter.initializer' of argument 0 to be normal numbers, as #sinter.normal<mean = 0.0, deviation = 0.02>}}
func.func @dialect_c4_no_numbers(%w: tensor<4xf32> {sinter.parameter = "w",
                                                    sinter.initializer = 0.02 : f64}) attributes {sinter.entry} {
  return
}

// -----

// expected-error @below {{expected argument 0 with 'sinter.initializer' to be a parameter (with 'sinter.parameter' or the role parameter)}}
func.func @dialect_c4_no_parameter(
    %m: tensor<4xf32> {sinter.state = "m.w", sinter.role = #sinter.role<optimizer>,
                       sinter.initializer = #sinter.normal<mean = 0.0, deviation = 0.02>}) attributes {sinter.entry} {
  return
}

// -----

// expected-error @below {{expected 'sinter.values' of argument 0 to be 16 bytes, of a parameter of i8}}
func.func @dialect_c8_few(%w: tensor<4xi8> {sinter.parameter = "w", sinter.values = array<i8: 1, 2>}) attributes {sinter.entry} {
  return
}

// -----

// expected-error @below {{expected 'sinter.values' of argument 0 to be 16 bytes, of a parameter of i8}}
func.func @dialect_c8_type(%w: tensor<4xi4> {sinter.parameter = "w",
    sinter.values = array<i8: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15>}) attributes {sinter.entry} {
  return
}

// -----

// expected-error @below {{expected 'sinter.fixed' of argument 0 to be a mark of a parameter (with 'sinter.parameter' or the role parameter)}}
func.func @dialect_c9_no_mark(%w: tensor<4xf32> {sinter.parameter = "w", sinter.fixed = true}) attributes {sinter.entry} {
  return
}

// -----

// expected-error @below {{expected 'sinter.fixed' of argument 0 to be a mark of a parameter (with 'sinter.parameter' or the role parameter)}}
func.func @dialect_c9_no_parameter(%x: tensor<4xf32> {sinter.input = "x", sinter.fixed}) attributes {sinter.entry} {
  return
}

// -----

// expected-error @below {{expected 'sinter.donated' of argument 0 to be a result's number}}
func.func @donated_to_a_name(%s: tensor<4xf32> {sinter.state = "s", sinter.donated = "s"}) attributes {sinter.entry} {
  return
}

// -----

// expected-error @below {{expected 'sinter.metadata' to be strings by name, as {vocab_size = "50257"}}}
module @dialect_c5 attributes {sinter.metadata = {vocab_size = 50257 : i64}} {}

// -----

// expected-error @below {{expected a finite mean and a finite deviation}}
#normal_c1 = #sinter.normal<mean = 0x7FF0000000000000, deviation = 0.02>

// -----

// expected-error @below {{expected a deviation that is not negative, got -1}}
#normal_c2 = #sinter.normal<mean = 0.0, deviation = -1.0>

// -----

// expected-error @below {{expected ::sinter::Role to be one of: parameter, optimizer, gradient, kv_cache}}
// expected-error @below {{failed to parse Sinter_RoleAttr parameter 'value' which is to be a `::sinter::Role`}}
func.func @no_such_role(%s: tensor<4xf32> {sinter.state = "s", sinter.role = #sinter.role<cache>}) attributes {sinter.entry} {
  return
}
