module {
  func.func @prefill(%arg0: tensor<2x4xi32> {sinter.input = "tokens"}, %arg1: tensor<2xi32> {sinter.input = "start"}, %arg2: tensor<2xi32> {sinter.input = "count"}, %arg3: tensor<64x16xf32> {sinter.parameter = "wte"}, %arg4: tensor<16x16xf32> {sinter.parameter = "wpe"}, %arg5: tensor<2x16x4x4xf32> {sinter.donated = 1 : i64, sinter.state = "k_cache.0"}, %arg6: tensor<2x16x4x4xf32> {sinter.donated = 2 : i64, sinter.state = "v_cache.0"}, %arg7: tensor<16xf32> {sinter.parameter = "l0.ln1_w"}, %arg8: tensor<16xf32> {sinter.parameter = "l0.ln1_b"}, %arg9: tensor<16x16xf32> {sinter.parameter = "l0.q_w"}, %arg10: tensor<16xf32> {sinter.parameter = "l0.q_b"}, %arg11: tensor<16x16xf32> {sinter.parameter = "l0.k_w"}, %arg12: tensor<16xf32> {sinter.parameter = "l0.k_b"}, %arg13: tensor<16x16xf32> {sinter.parameter = "l0.v_w"}, %arg14: tensor<16xf32> {sinter.parameter = "l0.v_b"}, %arg15: tensor<16x16xf32> {sinter.parameter = "l0.o_w"}, %arg16: tensor<16xf32> {sinter.parameter = "l0.o_b"}, %arg17: tensor<16xf32> {sinter.parameter = "l0.ln2_w"}, %arg18: tensor<16xf32> {sinter.parameter = "l0.ln2_b"}, %arg19: tensor<24x16xf32> {sinter.parameter = "l0.fc_w"}, %arg20: tensor<24xf32> {sinter.parameter = "l0.fc_b"}, %arg21: tensor<16x24xf32> {sinter.parameter = "l0.down_w"}, %arg22: tensor<16xf32> {sinter.parameter = "l0.down_b"}, %arg23: tensor<2x16x4x4xf32> {sinter.donated = 3 : i64, sinter.state = "k_cache.1"}, %arg24: tensor<2x16x4x4xf32> {sinter.donated = 4 : i64, sinter.state = "v_cache.1"}, %arg25: tensor<16xf32> {sinter.parameter = "l1.ln1_w"}, %arg26: tensor<16xf32> {sinter.parameter = "l1.ln1_b"}, %arg27: tensor<16x16xf32> {sinter.parameter = "l1.q_w"}, %arg28: tensor<16xf32> {sinter.parameter = "l1.q_b"}, %arg29: tensor<16x16xf32> {sinter.parameter = "l1.k_w"}, %arg30: tensor<16xf32> {sinter.parameter = "l1.k_b"}, %arg31: tensor<16x16xf32> {sinter.parameter = "l1.v_w"}, %arg32: tensor<16xf32> {sinter.parameter = "l1.v_b"}, %arg33: tensor<16x16xf32> {sinter.parameter = "l1.o_w"}, %arg34: tensor<16xf32> {sinter.parameter = "l1.o_b"}, %arg35: tensor<16xf32> {sinter.parameter = "l1.ln2_w"}, %arg36: tensor<16xf32> {sinter.parameter = "l1.ln2_b"}, %arg37: tensor<24x16xf32> {sinter.parameter = "l1.fc_w"}, %arg38: tensor<24xf32> {sinter.parameter = "l1.fc_b"}, %arg39: tensor<16x24xf32> {sinter.parameter = "l1.down_w"}, %arg40: tensor<16xf32> {sinter.parameter = "l1.down_b"}, %arg41: tensor<16xf32> {sinter.parameter = "lnf_w"}, %arg42: tensor<16xf32> {sinter.parameter = "lnf_b"}) -> (tensor<2x64xf32> {sinter.output = "logits"}, tensor<2x16x4x4xf32> {sinter.state = "k_cache.0"}, tensor<2x16x4x4xf32> {sinter.state = "v_cache.0"}, tensor<2x16x4x4xf32> {sinter.state = "k_cache.1"}, tensor<2x16x4x4xf32> {sinter.state = "v_cache.1"}) attributes {sinter.entry} {
    %0 = sinter.embedding %arg3, %arg0 : (tensor<64x16xf32>, tensor<2x4xi32>) -> tensor<2x4x16xf32>
    %1 = sinter.positions %arg1 : (tensor<2xi32>) -> tensor<2x4xi32>
    %2 = sinter.embedding %arg4, %1 : (tensor<16x16xf32>, tensor<2x4xi32>) -> tensor<2x4x16xf32>
    %3 = sinter.add %0, %2 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %4 = sinter.layer_norm %3, %arg7, %arg8 {eps = 1.000000e-05 : f64} : (tensor<2x4x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
    %5 = sinter.matmul %4, %arg9 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<16x16xf32>) -> tensor<2x4x16xf32>
    %6 = sinter.broadcast %arg10 {dims = array<i64: 2>} : (tensor<16xf32>) -> tensor<2x4x16xf32>
    %7 = sinter.add %5, %6 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %8 = sinter.matmul %4, %arg11 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<16x16xf32>) -> tensor<2x4x16xf32>
    %9 = sinter.broadcast %arg12 {dims = array<i64: 2>} : (tensor<16xf32>) -> tensor<2x4x16xf32>
    %10 = sinter.add %8, %9 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %11 = sinter.matmul %4, %arg13 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<16x16xf32>) -> tensor<2x4x16xf32>
    %12 = sinter.broadcast %arg14 {dims = array<i64: 2>} : (tensor<16xf32>) -> tensor<2x4x16xf32>
    %13 = sinter.add %11, %12 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %14 = sinter.reshape %7 : (tensor<2x4x16xf32>) -> tensor<2x4x4x4xf32>
    %15 = sinter.reshape %10 : (tensor<2x4x16xf32>) -> tensor<2x4x4x4xf32>
    %16 = sinter.reshape %13 : (tensor<2x4x16xf32>) -> tensor<2x4x4x4xf32>
    %17 = sinter.cache_append %arg5, %15, %arg1, %arg2 : (tensor<2x16x4x4xf32>, tensor<2x4x4x4xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x16x4x4xf32>
    %18 = sinter.cache_append %arg6, %16, %arg1, %arg2 : (tensor<2x16x4x4xf32>, tensor<2x4x4x4xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x16x4x4xf32>
    %19 = sinter.attention %14, %17, %18, %arg1 {causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>, scale = 3.500000e-01 : f64} : (tensor<2x4x4x4xf32>, tensor<2x16x4x4xf32>, tensor<2x16x4x4xf32>, tensor<2xi32>) -> tensor<2x4x4x4xf32>
    %20 = sinter.reshape %19 : (tensor<2x4x4x4xf32>) -> tensor<2x4x16xf32>
    %21 = sinter.matmul %20, %arg15 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<16x16xf32>) -> tensor<2x4x16xf32>
    %22 = sinter.broadcast %arg16 {dims = array<i64: 2>} : (tensor<16xf32>) -> tensor<2x4x16xf32>
    %23 = sinter.add %21, %22 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %24 = sinter.add %3, %23 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %25 = sinter.layer_norm %24, %arg17, %arg18 {eps = 1.000000e-05 : f64} : (tensor<2x4x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
    %26 = sinter.matmul %25, %arg19 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<24x16xf32>) -> tensor<2x4x24xf32>
    %27 = sinter.broadcast %arg20 {dims = array<i64: 2>} : (tensor<24xf32>) -> tensor<2x4x24xf32>
    %28 = sinter.add %26, %27 : (tensor<2x4x24xf32>, tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
    %29 = sinter.gelu %28 {tanh} : (tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
    %30 = sinter.matmul %29, %arg21 {transpose_rhs} : (tensor<2x4x24xf32>, tensor<16x24xf32>) -> tensor<2x4x16xf32>
    %31 = sinter.broadcast %arg22 {dims = array<i64: 2>} : (tensor<16xf32>) -> tensor<2x4x16xf32>
    %32 = sinter.add %30, %31 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %33 = sinter.add %24, %32 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %34 = sinter.layer_norm %33, %arg25, %arg26 {eps = 1.000000e-05 : f64} : (tensor<2x4x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
    %35 = sinter.matmul %34, %arg27 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<16x16xf32>) -> tensor<2x4x16xf32>
    %36 = sinter.broadcast %arg28 {dims = array<i64: 2>} : (tensor<16xf32>) -> tensor<2x4x16xf32>
    %37 = sinter.add %35, %36 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %38 = sinter.matmul %34, %arg29 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<16x16xf32>) -> tensor<2x4x16xf32>
    %39 = sinter.broadcast %arg30 {dims = array<i64: 2>} : (tensor<16xf32>) -> tensor<2x4x16xf32>
    %40 = sinter.add %38, %39 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %41 = sinter.matmul %34, %arg31 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<16x16xf32>) -> tensor<2x4x16xf32>
    %42 = sinter.broadcast %arg32 {dims = array<i64: 2>} : (tensor<16xf32>) -> tensor<2x4x16xf32>
    %43 = sinter.add %41, %42 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %44 = sinter.reshape %37 : (tensor<2x4x16xf32>) -> tensor<2x4x4x4xf32>
    %45 = sinter.reshape %40 : (tensor<2x4x16xf32>) -> tensor<2x4x4x4xf32>
    %46 = sinter.reshape %43 : (tensor<2x4x16xf32>) -> tensor<2x4x4x4xf32>
    %47 = sinter.cache_append %arg23, %45, %arg1, %arg2 : (tensor<2x16x4x4xf32>, tensor<2x4x4x4xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x16x4x4xf32>
    %48 = sinter.cache_append %arg24, %46, %arg1, %arg2 : (tensor<2x16x4x4xf32>, tensor<2x4x4x4xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x16x4x4xf32>
    %49 = sinter.attention %44, %47, %48, %arg1 {causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>, scale = 3.500000e-01 : f64} : (tensor<2x4x4x4xf32>, tensor<2x16x4x4xf32>, tensor<2x16x4x4xf32>, tensor<2xi32>) -> tensor<2x4x4x4xf32>
    %50 = sinter.reshape %49 : (tensor<2x4x4x4xf32>) -> tensor<2x4x16xf32>
    %51 = sinter.matmul %50, %arg33 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<16x16xf32>) -> tensor<2x4x16xf32>
    %52 = sinter.broadcast %arg34 {dims = array<i64: 2>} : (tensor<16xf32>) -> tensor<2x4x16xf32>
    %53 = sinter.add %51, %52 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %54 = sinter.add %33, %53 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %55 = sinter.layer_norm %54, %arg35, %arg36 {eps = 1.000000e-05 : f64} : (tensor<2x4x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
    %56 = sinter.matmul %55, %arg37 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<24x16xf32>) -> tensor<2x4x24xf32>
    %57 = sinter.broadcast %arg38 {dims = array<i64: 2>} : (tensor<24xf32>) -> tensor<2x4x24xf32>
    %58 = sinter.add %56, %57 : (tensor<2x4x24xf32>, tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
    %59 = sinter.gelu %58 {tanh} : (tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
    %60 = sinter.matmul %59, %arg39 {transpose_rhs} : (tensor<2x4x24xf32>, tensor<16x24xf32>) -> tensor<2x4x16xf32>
    %61 = sinter.broadcast %arg40 {dims = array<i64: 2>} : (tensor<16xf32>) -> tensor<2x4x16xf32>
    %62 = sinter.add %60, %61 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %63 = sinter.add %54, %62 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %64 = sinter.layer_norm %63, %arg41, %arg42 {eps = 1.000000e-05 : f64} : (tensor<2x4x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
    %65 = sinter.last_row %64, %arg2 : (tensor<2x4x16xf32>, tensor<2xi32>) -> tensor<2x16xf32>
    %66 = sinter.matmul %65, %arg3 {transpose_rhs} : (tensor<2x16xf32>, tensor<64x16xf32>) -> tensor<2x64xf32>
    return %66, %17, %18, %47, %48 : tensor<2x64xf32>, tensor<2x16x4x4xf32>, tensor<2x16x4x4xf32>, tensor<2x16x4x4xf32>, tensor<2x16x4x4xf32>
  }
  func.func @decode(%arg0: tensor<2x1xi32> {sinter.input = "tokens"}, %arg1: tensor<2xi32> {sinter.input = "start"}, %arg2: tensor<2xi32> {sinter.input = "count"}, %arg3: tensor<64x16xf32> {sinter.parameter = "wte"}, %arg4: tensor<16x16xf32> {sinter.parameter = "wpe"}, %arg5: tensor<2x16x4x4xf32> {sinter.donated = 1 : i64, sinter.state = "k_cache.0"}, %arg6: tensor<2x16x4x4xf32> {sinter.donated = 2 : i64, sinter.state = "v_cache.0"}, %arg7: tensor<16xf32> {sinter.parameter = "l0.ln1_w"}, %arg8: tensor<16xf32> {sinter.parameter = "l0.ln1_b"}, %arg9: tensor<16x16xf32> {sinter.parameter = "l0.q_w"}, %arg10: tensor<16xf32> {sinter.parameter = "l0.q_b"}, %arg11: tensor<16x16xf32> {sinter.parameter = "l0.k_w"}, %arg12: tensor<16xf32> {sinter.parameter = "l0.k_b"}, %arg13: tensor<16x16xf32> {sinter.parameter = "l0.v_w"}, %arg14: tensor<16xf32> {sinter.parameter = "l0.v_b"}, %arg15: tensor<16x16xf32> {sinter.parameter = "l0.o_w"}, %arg16: tensor<16xf32> {sinter.parameter = "l0.o_b"}, %arg17: tensor<16xf32> {sinter.parameter = "l0.ln2_w"}, %arg18: tensor<16xf32> {sinter.parameter = "l0.ln2_b"}, %arg19: tensor<24x16xf32> {sinter.parameter = "l0.fc_w"}, %arg20: tensor<24xf32> {sinter.parameter = "l0.fc_b"}, %arg21: tensor<16x24xf32> {sinter.parameter = "l0.down_w"}, %arg22: tensor<16xf32> {sinter.parameter = "l0.down_b"}, %arg23: tensor<2x16x4x4xf32> {sinter.donated = 3 : i64, sinter.state = "k_cache.1"}, %arg24: tensor<2x16x4x4xf32> {sinter.donated = 4 : i64, sinter.state = "v_cache.1"}, %arg25: tensor<16xf32> {sinter.parameter = "l1.ln1_w"}, %arg26: tensor<16xf32> {sinter.parameter = "l1.ln1_b"}, %arg27: tensor<16x16xf32> {sinter.parameter = "l1.q_w"}, %arg28: tensor<16xf32> {sinter.parameter = "l1.q_b"}, %arg29: tensor<16x16xf32> {sinter.parameter = "l1.k_w"}, %arg30: tensor<16xf32> {sinter.parameter = "l1.k_b"}, %arg31: tensor<16x16xf32> {sinter.parameter = "l1.v_w"}, %arg32: tensor<16xf32> {sinter.parameter = "l1.v_b"}, %arg33: tensor<16x16xf32> {sinter.parameter = "l1.o_w"}, %arg34: tensor<16xf32> {sinter.parameter = "l1.o_b"}, %arg35: tensor<16xf32> {sinter.parameter = "l1.ln2_w"}, %arg36: tensor<16xf32> {sinter.parameter = "l1.ln2_b"}, %arg37: tensor<24x16xf32> {sinter.parameter = "l1.fc_w"}, %arg38: tensor<24xf32> {sinter.parameter = "l1.fc_b"}, %arg39: tensor<16x24xf32> {sinter.parameter = "l1.down_w"}, %arg40: tensor<16xf32> {sinter.parameter = "l1.down_b"}, %arg41: tensor<16xf32> {sinter.parameter = "lnf_w"}, %arg42: tensor<16xf32> {sinter.parameter = "lnf_b"}) -> (tensor<2x64xf32> {sinter.output = "logits"}, tensor<2x16x4x4xf32> {sinter.state = "k_cache.0"}, tensor<2x16x4x4xf32> {sinter.state = "v_cache.0"}, tensor<2x16x4x4xf32> {sinter.state = "k_cache.1"}, tensor<2x16x4x4xf32> {sinter.state = "v_cache.1"}) attributes {sinter.entry} {
    %0 = sinter.embedding %arg3, %arg0 : (tensor<64x16xf32>, tensor<2x1xi32>) -> tensor<2x1x16xf32>
    %1 = sinter.positions %arg1 : (tensor<2xi32>) -> tensor<2x1xi32>
    %2 = sinter.embedding %arg4, %1 : (tensor<16x16xf32>, tensor<2x1xi32>) -> tensor<2x1x16xf32>
    %3 = sinter.add %0, %2 : (tensor<2x1x16xf32>, tensor<2x1x16xf32>) -> tensor<2x1x16xf32>
    %4 = sinter.layer_norm %3, %arg7, %arg8 {eps = 1.000000e-05 : f64} : (tensor<2x1x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x1x16xf32>
    %5 = sinter.matmul %4, %arg9 {transpose_rhs} : (tensor<2x1x16xf32>, tensor<16x16xf32>) -> tensor<2x1x16xf32>
    %6 = sinter.broadcast %arg10 {dims = array<i64: 2>} : (tensor<16xf32>) -> tensor<2x1x16xf32>
    %7 = sinter.add %5, %6 : (tensor<2x1x16xf32>, tensor<2x1x16xf32>) -> tensor<2x1x16xf32>
    %8 = sinter.matmul %4, %arg11 {transpose_rhs} : (tensor<2x1x16xf32>, tensor<16x16xf32>) -> tensor<2x1x16xf32>
    %9 = sinter.broadcast %arg12 {dims = array<i64: 2>} : (tensor<16xf32>) -> tensor<2x1x16xf32>
    %10 = sinter.add %8, %9 : (tensor<2x1x16xf32>, tensor<2x1x16xf32>) -> tensor<2x1x16xf32>
    %11 = sinter.matmul %4, %arg13 {transpose_rhs} : (tensor<2x1x16xf32>, tensor<16x16xf32>) -> tensor<2x1x16xf32>
    %12 = sinter.broadcast %arg14 {dims = array<i64: 2>} : (tensor<16xf32>) -> tensor<2x1x16xf32>
    %13 = sinter.add %11, %12 : (tensor<2x1x16xf32>, tensor<2x1x16xf32>) -> tensor<2x1x16xf32>
    %14 = sinter.reshape %7 : (tensor<2x1x16xf32>) -> tensor<2x1x4x4xf32>
    %15 = sinter.reshape %10 : (tensor<2x1x16xf32>) -> tensor<2x1x4x4xf32>
    %16 = sinter.reshape %13 : (tensor<2x1x16xf32>) -> tensor<2x1x4x4xf32>
    %17 = sinter.cache_append %arg5, %15, %arg1, %arg2 : (tensor<2x16x4x4xf32>, tensor<2x1x4x4xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x16x4x4xf32>
    %18 = sinter.cache_append %arg6, %16, %arg1, %arg2 : (tensor<2x16x4x4xf32>, tensor<2x1x4x4xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x16x4x4xf32>
    %19 = sinter.attention %14, %17, %18, %arg1 {causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>, scale = 3.500000e-01 : f64} : (tensor<2x1x4x4xf32>, tensor<2x16x4x4xf32>, tensor<2x16x4x4xf32>, tensor<2xi32>) -> tensor<2x1x4x4xf32>
    %20 = sinter.reshape %19 : (tensor<2x1x4x4xf32>) -> tensor<2x1x16xf32>
    %21 = sinter.matmul %20, %arg15 {transpose_rhs} : (tensor<2x1x16xf32>, tensor<16x16xf32>) -> tensor<2x1x16xf32>
    %22 = sinter.broadcast %arg16 {dims = array<i64: 2>} : (tensor<16xf32>) -> tensor<2x1x16xf32>
    %23 = sinter.add %21, %22 : (tensor<2x1x16xf32>, tensor<2x1x16xf32>) -> tensor<2x1x16xf32>
    %24 = sinter.add %3, %23 : (tensor<2x1x16xf32>, tensor<2x1x16xf32>) -> tensor<2x1x16xf32>
    %25 = sinter.layer_norm %24, %arg17, %arg18 {eps = 1.000000e-05 : f64} : (tensor<2x1x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x1x16xf32>
    %26 = sinter.matmul %25, %arg19 {transpose_rhs} : (tensor<2x1x16xf32>, tensor<24x16xf32>) -> tensor<2x1x24xf32>
    %27 = sinter.broadcast %arg20 {dims = array<i64: 2>} : (tensor<24xf32>) -> tensor<2x1x24xf32>
    %28 = sinter.add %26, %27 : (tensor<2x1x24xf32>, tensor<2x1x24xf32>) -> tensor<2x1x24xf32>
    %29 = sinter.gelu %28 {tanh} : (tensor<2x1x24xf32>) -> tensor<2x1x24xf32>
    %30 = sinter.matmul %29, %arg21 {transpose_rhs} : (tensor<2x1x24xf32>, tensor<16x24xf32>) -> tensor<2x1x16xf32>
    %31 = sinter.broadcast %arg22 {dims = array<i64: 2>} : (tensor<16xf32>) -> tensor<2x1x16xf32>
    %32 = sinter.add %30, %31 : (tensor<2x1x16xf32>, tensor<2x1x16xf32>) -> tensor<2x1x16xf32>
    %33 = sinter.add %24, %32 : (tensor<2x1x16xf32>, tensor<2x1x16xf32>) -> tensor<2x1x16xf32>
    %34 = sinter.layer_norm %33, %arg25, %arg26 {eps = 1.000000e-05 : f64} : (tensor<2x1x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x1x16xf32>
    %35 = sinter.matmul %34, %arg27 {transpose_rhs} : (tensor<2x1x16xf32>, tensor<16x16xf32>) -> tensor<2x1x16xf32>
    %36 = sinter.broadcast %arg28 {dims = array<i64: 2>} : (tensor<16xf32>) -> tensor<2x1x16xf32>
    %37 = sinter.add %35, %36 : (tensor<2x1x16xf32>, tensor<2x1x16xf32>) -> tensor<2x1x16xf32>
    %38 = sinter.matmul %34, %arg29 {transpose_rhs} : (tensor<2x1x16xf32>, tensor<16x16xf32>) -> tensor<2x1x16xf32>
    %39 = sinter.broadcast %arg30 {dims = array<i64: 2>} : (tensor<16xf32>) -> tensor<2x1x16xf32>
    %40 = sinter.add %38, %39 : (tensor<2x1x16xf32>, tensor<2x1x16xf32>) -> tensor<2x1x16xf32>
    %41 = sinter.matmul %34, %arg31 {transpose_rhs} : (tensor<2x1x16xf32>, tensor<16x16xf32>) -> tensor<2x1x16xf32>
    %42 = sinter.broadcast %arg32 {dims = array<i64: 2>} : (tensor<16xf32>) -> tensor<2x1x16xf32>
    %43 = sinter.add %41, %42 : (tensor<2x1x16xf32>, tensor<2x1x16xf32>) -> tensor<2x1x16xf32>
    %44 = sinter.reshape %37 : (tensor<2x1x16xf32>) -> tensor<2x1x4x4xf32>
    %45 = sinter.reshape %40 : (tensor<2x1x16xf32>) -> tensor<2x1x4x4xf32>
    %46 = sinter.reshape %43 : (tensor<2x1x16xf32>) -> tensor<2x1x4x4xf32>
    %47 = sinter.cache_append %arg23, %45, %arg1, %arg2 : (tensor<2x16x4x4xf32>, tensor<2x1x4x4xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x16x4x4xf32>
    %48 = sinter.cache_append %arg24, %46, %arg1, %arg2 : (tensor<2x16x4x4xf32>, tensor<2x1x4x4xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x16x4x4xf32>
    %49 = sinter.attention %44, %47, %48, %arg1 {causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>, scale = 3.500000e-01 : f64} : (tensor<2x1x4x4xf32>, tensor<2x16x4x4xf32>, tensor<2x16x4x4xf32>, tensor<2xi32>) -> tensor<2x1x4x4xf32>
    %50 = sinter.reshape %49 : (tensor<2x1x4x4xf32>) -> tensor<2x1x16xf32>
    %51 = sinter.matmul %50, %arg33 {transpose_rhs} : (tensor<2x1x16xf32>, tensor<16x16xf32>) -> tensor<2x1x16xf32>
    %52 = sinter.broadcast %arg34 {dims = array<i64: 2>} : (tensor<16xf32>) -> tensor<2x1x16xf32>
    %53 = sinter.add %51, %52 : (tensor<2x1x16xf32>, tensor<2x1x16xf32>) -> tensor<2x1x16xf32>
    %54 = sinter.add %33, %53 : (tensor<2x1x16xf32>, tensor<2x1x16xf32>) -> tensor<2x1x16xf32>
    %55 = sinter.layer_norm %54, %arg35, %arg36 {eps = 1.000000e-05 : f64} : (tensor<2x1x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x1x16xf32>
    %56 = sinter.matmul %55, %arg37 {transpose_rhs} : (tensor<2x1x16xf32>, tensor<24x16xf32>) -> tensor<2x1x24xf32>
    %57 = sinter.broadcast %arg38 {dims = array<i64: 2>} : (tensor<24xf32>) -> tensor<2x1x24xf32>
    %58 = sinter.add %56, %57 : (tensor<2x1x24xf32>, tensor<2x1x24xf32>) -> tensor<2x1x24xf32>
    %59 = sinter.gelu %58 {tanh} : (tensor<2x1x24xf32>) -> tensor<2x1x24xf32>
    %60 = sinter.matmul %59, %arg39 {transpose_rhs} : (tensor<2x1x24xf32>, tensor<16x24xf32>) -> tensor<2x1x16xf32>
    %61 = sinter.broadcast %arg40 {dims = array<i64: 2>} : (tensor<16xf32>) -> tensor<2x1x16xf32>
    %62 = sinter.add %60, %61 : (tensor<2x1x16xf32>, tensor<2x1x16xf32>) -> tensor<2x1x16xf32>
    %63 = sinter.add %54, %62 : (tensor<2x1x16xf32>, tensor<2x1x16xf32>) -> tensor<2x1x16xf32>
    %64 = sinter.layer_norm %63, %arg41, %arg42 {eps = 1.000000e-05 : f64} : (tensor<2x1x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x1x16xf32>
    %65 = sinter.last_row %64, %arg2 : (tensor<2x1x16xf32>, tensor<2xi32>) -> tensor<2x16xf32>
    %66 = sinter.matmul %65, %arg3 {transpose_rhs} : (tensor<2x16xf32>, tensor<64x16xf32>) -> tensor<2x64xf32>
    return %66, %17, %18, %47, %48 : tensor<2x64xf32>, tensor<2x16x4x4xf32>, tensor<2x16x4x4xf32>, tensor<2x16x4x4xf32>, tensor<2x16x4x4xf32>
  }
  func.func @logits(%arg0: tensor<2x4xi32> {sinter.input = "tokens"}, %arg1: tensor<2xi32> {sinter.input = "start"}, %arg2: tensor<2xi32> {sinter.input = "count"}, %arg3: tensor<64x16xf32> {sinter.parameter = "wte"}, %arg4: tensor<16x16xf32> {sinter.parameter = "wpe"}, %arg5: tensor<2x16x4x4xf32> {sinter.donated = 1 : i64, sinter.state = "k_cache.0"}, %arg6: tensor<2x16x4x4xf32> {sinter.donated = 2 : i64, sinter.state = "v_cache.0"}, %arg7: tensor<16xf32> {sinter.parameter = "l0.ln1_w"}, %arg8: tensor<16xf32> {sinter.parameter = "l0.ln1_b"}, %arg9: tensor<16x16xf32> {sinter.parameter = "l0.q_w"}, %arg10: tensor<16xf32> {sinter.parameter = "l0.q_b"}, %arg11: tensor<16x16xf32> {sinter.parameter = "l0.k_w"}, %arg12: tensor<16xf32> {sinter.parameter = "l0.k_b"}, %arg13: tensor<16x16xf32> {sinter.parameter = "l0.v_w"}, %arg14: tensor<16xf32> {sinter.parameter = "l0.v_b"}, %arg15: tensor<16x16xf32> {sinter.parameter = "l0.o_w"}, %arg16: tensor<16xf32> {sinter.parameter = "l0.o_b"}, %arg17: tensor<16xf32> {sinter.parameter = "l0.ln2_w"}, %arg18: tensor<16xf32> {sinter.parameter = "l0.ln2_b"}, %arg19: tensor<24x16xf32> {sinter.parameter = "l0.fc_w"}, %arg20: tensor<24xf32> {sinter.parameter = "l0.fc_b"}, %arg21: tensor<16x24xf32> {sinter.parameter = "l0.down_w"}, %arg22: tensor<16xf32> {sinter.parameter = "l0.down_b"}, %arg23: tensor<2x16x4x4xf32> {sinter.donated = 3 : i64, sinter.state = "k_cache.1"}, %arg24: tensor<2x16x4x4xf32> {sinter.donated = 4 : i64, sinter.state = "v_cache.1"}, %arg25: tensor<16xf32> {sinter.parameter = "l1.ln1_w"}, %arg26: tensor<16xf32> {sinter.parameter = "l1.ln1_b"}, %arg27: tensor<16x16xf32> {sinter.parameter = "l1.q_w"}, %arg28: tensor<16xf32> {sinter.parameter = "l1.q_b"}, %arg29: tensor<16x16xf32> {sinter.parameter = "l1.k_w"}, %arg30: tensor<16xf32> {sinter.parameter = "l1.k_b"}, %arg31: tensor<16x16xf32> {sinter.parameter = "l1.v_w"}, %arg32: tensor<16xf32> {sinter.parameter = "l1.v_b"}, %arg33: tensor<16x16xf32> {sinter.parameter = "l1.o_w"}, %arg34: tensor<16xf32> {sinter.parameter = "l1.o_b"}, %arg35: tensor<16xf32> {sinter.parameter = "l1.ln2_w"}, %arg36: tensor<16xf32> {sinter.parameter = "l1.ln2_b"}, %arg37: tensor<24x16xf32> {sinter.parameter = "l1.fc_w"}, %arg38: tensor<24xf32> {sinter.parameter = "l1.fc_b"}, %arg39: tensor<16x24xf32> {sinter.parameter = "l1.down_w"}, %arg40: tensor<16xf32> {sinter.parameter = "l1.down_b"}, %arg41: tensor<16xf32> {sinter.parameter = "lnf_w"}, %arg42: tensor<16xf32> {sinter.parameter = "lnf_b"}) -> (tensor<2x4x64xf32> {sinter.output = "logits"}, tensor<2x16x4x4xf32> {sinter.state = "k_cache.0"}, tensor<2x16x4x4xf32> {sinter.state = "v_cache.0"}, tensor<2x16x4x4xf32> {sinter.state = "k_cache.1"}, tensor<2x16x4x4xf32> {sinter.state = "v_cache.1"}) attributes {sinter.entry} {
    %0 = sinter.embedding %arg3, %arg0 : (tensor<64x16xf32>, tensor<2x4xi32>) -> tensor<2x4x16xf32>
    %1 = sinter.positions %arg1 : (tensor<2xi32>) -> tensor<2x4xi32>
    %2 = sinter.embedding %arg4, %1 : (tensor<16x16xf32>, tensor<2x4xi32>) -> tensor<2x4x16xf32>
    %3 = sinter.add %0, %2 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %4 = sinter.layer_norm %3, %arg7, %arg8 {eps = 1.000000e-05 : f64} : (tensor<2x4x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
    %5 = sinter.matmul %4, %arg9 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<16x16xf32>) -> tensor<2x4x16xf32>
    %6 = sinter.broadcast %arg10 {dims = array<i64: 2>} : (tensor<16xf32>) -> tensor<2x4x16xf32>
    %7 = sinter.add %5, %6 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %8 = sinter.matmul %4, %arg11 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<16x16xf32>) -> tensor<2x4x16xf32>
    %9 = sinter.broadcast %arg12 {dims = array<i64: 2>} : (tensor<16xf32>) -> tensor<2x4x16xf32>
    %10 = sinter.add %8, %9 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %11 = sinter.matmul %4, %arg13 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<16x16xf32>) -> tensor<2x4x16xf32>
    %12 = sinter.broadcast %arg14 {dims = array<i64: 2>} : (tensor<16xf32>) -> tensor<2x4x16xf32>
    %13 = sinter.add %11, %12 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %14 = sinter.reshape %7 : (tensor<2x4x16xf32>) -> tensor<2x4x4x4xf32>
    %15 = sinter.reshape %10 : (tensor<2x4x16xf32>) -> tensor<2x4x4x4xf32>
    %16 = sinter.reshape %13 : (tensor<2x4x16xf32>) -> tensor<2x4x4x4xf32>
    %17 = sinter.cache_append %arg5, %15, %arg1, %arg2 : (tensor<2x16x4x4xf32>, tensor<2x4x4x4xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x16x4x4xf32>
    %18 = sinter.cache_append %arg6, %16, %arg1, %arg2 : (tensor<2x16x4x4xf32>, tensor<2x4x4x4xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x16x4x4xf32>
    %19 = sinter.attention %14, %17, %18, %arg1 {causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>, scale = 3.500000e-01 : f64} : (tensor<2x4x4x4xf32>, tensor<2x16x4x4xf32>, tensor<2x16x4x4xf32>, tensor<2xi32>) -> tensor<2x4x4x4xf32>
    %20 = sinter.reshape %19 : (tensor<2x4x4x4xf32>) -> tensor<2x4x16xf32>
    %21 = sinter.matmul %20, %arg15 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<16x16xf32>) -> tensor<2x4x16xf32>
    %22 = sinter.broadcast %arg16 {dims = array<i64: 2>} : (tensor<16xf32>) -> tensor<2x4x16xf32>
    %23 = sinter.add %21, %22 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %24 = sinter.add %3, %23 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %25 = sinter.layer_norm %24, %arg17, %arg18 {eps = 1.000000e-05 : f64} : (tensor<2x4x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
    %26 = sinter.matmul %25, %arg19 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<24x16xf32>) -> tensor<2x4x24xf32>
    %27 = sinter.broadcast %arg20 {dims = array<i64: 2>} : (tensor<24xf32>) -> tensor<2x4x24xf32>
    %28 = sinter.add %26, %27 : (tensor<2x4x24xf32>, tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
    %29 = sinter.gelu %28 {tanh} : (tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
    %30 = sinter.matmul %29, %arg21 {transpose_rhs} : (tensor<2x4x24xf32>, tensor<16x24xf32>) -> tensor<2x4x16xf32>
    %31 = sinter.broadcast %arg22 {dims = array<i64: 2>} : (tensor<16xf32>) -> tensor<2x4x16xf32>
    %32 = sinter.add %30, %31 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %33 = sinter.add %24, %32 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %34 = sinter.layer_norm %33, %arg25, %arg26 {eps = 1.000000e-05 : f64} : (tensor<2x4x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
    %35 = sinter.matmul %34, %arg27 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<16x16xf32>) -> tensor<2x4x16xf32>
    %36 = sinter.broadcast %arg28 {dims = array<i64: 2>} : (tensor<16xf32>) -> tensor<2x4x16xf32>
    %37 = sinter.add %35, %36 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %38 = sinter.matmul %34, %arg29 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<16x16xf32>) -> tensor<2x4x16xf32>
    %39 = sinter.broadcast %arg30 {dims = array<i64: 2>} : (tensor<16xf32>) -> tensor<2x4x16xf32>
    %40 = sinter.add %38, %39 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %41 = sinter.matmul %34, %arg31 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<16x16xf32>) -> tensor<2x4x16xf32>
    %42 = sinter.broadcast %arg32 {dims = array<i64: 2>} : (tensor<16xf32>) -> tensor<2x4x16xf32>
    %43 = sinter.add %41, %42 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %44 = sinter.reshape %37 : (tensor<2x4x16xf32>) -> tensor<2x4x4x4xf32>
    %45 = sinter.reshape %40 : (tensor<2x4x16xf32>) -> tensor<2x4x4x4xf32>
    %46 = sinter.reshape %43 : (tensor<2x4x16xf32>) -> tensor<2x4x4x4xf32>
    %47 = sinter.cache_append %arg23, %45, %arg1, %arg2 : (tensor<2x16x4x4xf32>, tensor<2x4x4x4xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x16x4x4xf32>
    %48 = sinter.cache_append %arg24, %46, %arg1, %arg2 : (tensor<2x16x4x4xf32>, tensor<2x4x4x4xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x16x4x4xf32>
    %49 = sinter.attention %44, %47, %48, %arg1 {causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>, scale = 3.500000e-01 : f64} : (tensor<2x4x4x4xf32>, tensor<2x16x4x4xf32>, tensor<2x16x4x4xf32>, tensor<2xi32>) -> tensor<2x4x4x4xf32>
    %50 = sinter.reshape %49 : (tensor<2x4x4x4xf32>) -> tensor<2x4x16xf32>
    %51 = sinter.matmul %50, %arg33 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<16x16xf32>) -> tensor<2x4x16xf32>
    %52 = sinter.broadcast %arg34 {dims = array<i64: 2>} : (tensor<16xf32>) -> tensor<2x4x16xf32>
    %53 = sinter.add %51, %52 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %54 = sinter.add %33, %53 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %55 = sinter.layer_norm %54, %arg35, %arg36 {eps = 1.000000e-05 : f64} : (tensor<2x4x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
    %56 = sinter.matmul %55, %arg37 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<24x16xf32>) -> tensor<2x4x24xf32>
    %57 = sinter.broadcast %arg38 {dims = array<i64: 2>} : (tensor<24xf32>) -> tensor<2x4x24xf32>
    %58 = sinter.add %56, %57 : (tensor<2x4x24xf32>, tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
    %59 = sinter.gelu %58 {tanh} : (tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
    %60 = sinter.matmul %59, %arg39 {transpose_rhs} : (tensor<2x4x24xf32>, tensor<16x24xf32>) -> tensor<2x4x16xf32>
    %61 = sinter.broadcast %arg40 {dims = array<i64: 2>} : (tensor<16xf32>) -> tensor<2x4x16xf32>
    %62 = sinter.add %60, %61 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %63 = sinter.add %54, %62 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %64 = sinter.layer_norm %63, %arg41, %arg42 {eps = 1.000000e-05 : f64} : (tensor<2x4x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
    %65 = sinter.matmul %64, %arg3 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<64x16xf32>) -> tensor<2x4x64xf32>
    return %65, %17, %18, %47, %48 : tensor<2x4x64xf32>, tensor<2x16x4x4xf32>, tensor<2x16x4x4xf32>, tensor<2x16x4x4xf32>, tensor<2x16x4x4xf32>
  }
}
