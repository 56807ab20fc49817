module {
  func.func @prefill(%arg0: tensor<2x4xi32> {sinter.input = "tokens"}, %arg1: tensor<2xi32> {sinter.input = "start"}, %arg2: tensor<2xi32> {sinter.input = "count"}, %arg3: tensor<64x16xf32> {sinter.parameter = "wte"}, %arg4: tensor<2x16x2x4xf32> {sinter.donated = 1 : i64, sinter.state = "k_cache.0"}, %arg5: tensor<2x16x2x4xf32> {sinter.donated = 2 : i64, sinter.state = "v_cache.0"}, %arg6: tensor<16xf32> {sinter.parameter = "l0.ln1_w"}, %arg7: tensor<16x16xf32> {sinter.parameter = "l0.q_w"}, %arg8: tensor<8x16xf32> {sinter.parameter = "l0.k_w"}, %arg9: tensor<8x16xf32> {sinter.parameter = "l0.v_w"}, %arg10: tensor<16x16xf32> {sinter.parameter = "l0.o_w"}, %arg11: tensor<16xf32> {sinter.parameter = "l0.ln2_w"}, %arg12: tensor<24x16xf32> {sinter.parameter = "l0.g_w"}, %arg13: tensor<24x16xf32> {sinter.parameter = "l0.u_w"}, %arg14: tensor<16x24xf32> {sinter.parameter = "l0.down_w"}, %arg15: tensor<2x16x2x4xf32> {sinter.donated = 3 : i64, sinter.state = "k_cache.1"}, %arg16: tensor<2x16x2x4xf32> {sinter.donated = 4 : i64, sinter.state = "v_cache.1"}, %arg17: tensor<16xf32> {sinter.parameter = "l1.ln1_w"}, %arg18: tensor<16x16xf32> {sinter.parameter = "l1.q_w"}, %arg19: tensor<8x16xf32> {sinter.parameter = "l1.k_w"}, %arg20: tensor<8x16xf32> {sinter.parameter = "l1.v_w"}, %arg21: tensor<16x16xf32> {sinter.parameter = "l1.o_w"}, %arg22: tensor<16xf32> {sinter.parameter = "l1.ln2_w"}, %arg23: tensor<24x16xf32> {sinter.parameter = "l1.g_w"}, %arg24: tensor<24x16xf32> {sinter.parameter = "l1.u_w"}, %arg25: tensor<16x24xf32> {sinter.parameter = "l1.down_w"}, %arg26: tensor<16xf32> {sinter.parameter = "lnf_w"}) -> (tensor<2x64xf32> {sinter.output = "logits"}, tensor<2x16x2x4xf32> {sinter.state = "k_cache.0"}, tensor<2x16x2x4xf32> {sinter.state = "v_cache.0"}, tensor<2x16x2x4xf32> {sinter.state = "k_cache.1"}, tensor<2x16x2x4xf32> {sinter.state = "v_cache.1"}) attributes {sinter.entry} {
    %0 = sinter.embedding %arg3, %arg0 : (tensor<64x16xf32>, tensor<2x4xi32>) -> tensor<2x4x16xf32>
    %1 = sinter.constant dense<[[5.000000e-01, 6.000000e-01], [8.000000e-01, 0.899999976], [6.000000e-01, 0.699999988], [0.899999976, 5.000000e-01], [0.699999988, 8.000000e-01], [5.000000e-01, 6.000000e-01], [8.000000e-01, 0.899999976], [6.000000e-01, 0.699999988], [0.899999976, 5.000000e-01], [0.699999988, 8.000000e-01], [5.000000e-01, 6.000000e-01], [8.000000e-01, 0.899999976], [6.000000e-01, 0.699999988], [0.899999976, 5.000000e-01], [0.699999988, 8.000000e-01], [5.000000e-01, 6.000000e-01]]> : tensor<16x2xf32>
    %2 = sinter.constant dense<[[5.000000e-01, 6.000000e-01], [8.000000e-01, 0.899999976], [6.000000e-01, 0.699999988], [0.899999976, 5.000000e-01], [0.699999988, 8.000000e-01], [5.000000e-01, 6.000000e-01], [8.000000e-01, 0.899999976], [6.000000e-01, 0.699999988], [0.899999976, 5.000000e-01], [0.699999988, 8.000000e-01], [5.000000e-01, 6.000000e-01], [8.000000e-01, 0.899999976], [6.000000e-01, 0.699999988], [0.899999976, 5.000000e-01], [0.699999988, 8.000000e-01], [5.000000e-01, 6.000000e-01]]> : tensor<16x2xf32>
    %3 = sinter.rms_norm %0, %arg6 {eps = 1.000000e-05 : f64} : (tensor<2x4x16xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
    %4 = sinter.matmul %3, %arg7 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<16x16xf32>) -> tensor<2x4x16xf32>
    %5 = sinter.matmul %3, %arg8 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<8x16xf32>) -> tensor<2x4x8xf32>
    %6 = sinter.matmul %3, %arg9 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<8x16xf32>) -> tensor<2x4x8xf32>
    %7 = sinter.reshape %4 : (tensor<2x4x16xf32>) -> tensor<2x4x4x4xf32>
    %8 = sinter.reshape %5 : (tensor<2x4x8xf32>) -> tensor<2x4x2x4xf32>
    %9 = sinter.reshape %6 : (tensor<2x4x8xf32>) -> tensor<2x4x2x4xf32>
    %10 = sinter.rotary %7, %1, %2, %arg1 : (tensor<2x4x4x4xf32>, tensor<16x2xf32>, tensor<16x2xf32>, tensor<2xi32>) -> tensor<2x4x4x4xf32>
    %11 = sinter.rotary %8, %1, %2, %arg1 : (tensor<2x4x2x4xf32>, tensor<16x2xf32>, tensor<16x2xf32>, tensor<2xi32>) -> tensor<2x4x2x4xf32>
    %12 = sinter.cache_append %arg4, %11, %arg1, %arg2 : (tensor<2x16x2x4xf32>, tensor<2x4x2x4xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x16x2x4xf32>
    %13 = sinter.cache_append %arg5, %9, %arg1, %arg2 : (tensor<2x16x2x4xf32>, tensor<2x4x2x4xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x16x2x4xf32>
    %14 = sinter.attention %10, %12, %13, %arg1 {causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0>, scale = 3.500000e-01 : f64} : (tensor<2x4x4x4xf32>, tensor<2x16x2x4xf32>, tensor<2x16x2x4xf32>, tensor<2xi32>) -> tensor<2x4x4x4xf32>
    %15 = sinter.reshape %14 : (tensor<2x4x4x4xf32>) -> tensor<2x4x16xf32>
    %16 = sinter.matmul %15, %arg10 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<16x16xf32>) -> tensor<2x4x16xf32>
    %17 = sinter.add %0, %16 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %18 = sinter.rms_norm %17, %arg11 {eps = 1.000000e-05 : f64} : (tensor<2x4x16xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
    %19 = sinter.matmul %18, %arg12 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<24x16xf32>) -> tensor<2x4x24xf32>
    %20 = sinter.matmul %18, %arg13 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<24x16xf32>) -> tensor<2x4x24xf32>
    %21 = sinter.silu %19 : (tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
    %22 = sinter.mul %21, %20 : (tensor<2x4x24xf32>, tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
    %23 = sinter.matmul %22, %arg14 {transpose_rhs} : (tensor<2x4x24xf32>, tensor<16x24xf32>) -> tensor<2x4x16xf32>
    %24 = sinter.add %17, %23 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %25 = sinter.rms_norm %24, %arg17 {eps = 1.000000e-05 : f64} : (tensor<2x4x16xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
    %26 = sinter.matmul %25, %arg18 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<16x16xf32>) -> tensor<2x4x16xf32>
    %27 = sinter.matmul %25, %arg19 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<8x16xf32>) -> tensor<2x4x8xf32>
    %28 = sinter.matmul %25, %arg20 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<8x16xf32>) -> tensor<2x4x8xf32>
    %29 = sinter.reshape %26 : (tensor<2x4x16xf32>) -> tensor<2x4x4x4xf32>
    %30 = sinter.reshape %27 : (tensor<2x4x8xf32>) -> tensor<2x4x2x4xf32>
    %31 = sinter.reshape %28 : (tensor<2x4x8xf32>) -> tensor<2x4x2x4xf32>
    %32 = sinter.rotary %29, %1, %2, %arg1 : (tensor<2x4x4x4xf32>, tensor<16x2xf32>, tensor<16x2xf32>, tensor<2xi32>) -> tensor<2x4x4x4xf32>
    %33 = sinter.rotary %30, %1, %2, %arg1 : (tensor<2x4x2x4xf32>, tensor<16x2xf32>, tensor<16x2xf32>, tensor<2xi32>) -> tensor<2x4x2x4xf32>
    %34 = sinter.cache_append %arg15, %33, %arg1, %arg2 : (tensor<2x16x2x4xf32>, tensor<2x4x2x4xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x16x2x4xf32>
    %35 = sinter.cache_append %arg16, %31, %arg1, %arg2 : (tensor<2x16x2x4xf32>, tensor<2x4x2x4xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x16x2x4xf32>
    %36 = sinter.attention %32, %34, %35, %arg1 {causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0>, scale = 3.500000e-01 : f64} : (tensor<2x4x4x4xf32>, tensor<2x16x2x4xf32>, tensor<2x16x2x4xf32>, tensor<2xi32>) -> tensor<2x4x4x4xf32>
    %37 = sinter.reshape %36 : (tensor<2x4x4x4xf32>) -> tensor<2x4x16xf32>
    %38 = sinter.matmul %37, %arg21 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<16x16xf32>) -> tensor<2x4x16xf32>
    %39 = sinter.add %24, %38 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %40 = sinter.rms_norm %39, %arg22 {eps = 1.000000e-05 : f64} : (tensor<2x4x16xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
    %41 = sinter.matmul %40, %arg23 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<24x16xf32>) -> tensor<2x4x24xf32>
    %42 = sinter.matmul %40, %arg24 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<24x16xf32>) -> tensor<2x4x24xf32>
    %43 = sinter.silu %41 : (tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
    %44 = sinter.mul %43, %42 : (tensor<2x4x24xf32>, tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
    %45 = sinter.matmul %44, %arg25 {transpose_rhs} : (tensor<2x4x24xf32>, tensor<16x24xf32>) -> tensor<2x4x16xf32>
    %46 = sinter.add %39, %45 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %47 = sinter.rms_norm %46, %arg26 {eps = 1.000000e-05 : f64} : (tensor<2x4x16xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
    %48 = sinter.last_row %47, %arg2 : (tensor<2x4x16xf32>, tensor<2xi32>) -> tensor<2x16xf32>
    %49 = sinter.matmul %48, %arg3 {transpose_rhs} : (tensor<2x16xf32>, tensor<64x16xf32>) -> tensor<2x64xf32>
    return %49, %12, %13, %34, %35 : tensor<2x64xf32>, tensor<2x16x2x4xf32>, tensor<2x16x2x4xf32>, tensor<2x16x2x4xf32>, tensor<2x16x2x4xf32>
  }
  func.func @decode(%arg0: tensor<2x1xi32> {sinter.input = "tokens"}, %arg1: tensor<2xi32> {sinter.input = "start"}, %arg2: tensor<2xi32> {sinter.input = "count"}, %arg3: tensor<64x16xf32> {sinter.parameter = "wte"}, %arg4: tensor<2x16x2x4xf32> {sinter.donated = 1 : i64, sinter.state = "k_cache.0"}, %arg5: tensor<2x16x2x4xf32> {sinter.donated = 2 : i64, sinter.state = "v_cache.0"}, %arg6: tensor<16xf32> {sinter.parameter = "l0.ln1_w"}, %arg7: tensor<16x16xf32> {sinter.parameter = "l0.q_w"}, %arg8: tensor<8x16xf32> {sinter.parameter = "l0.k_w"}, %arg9: tensor<8x16xf32> {sinter.parameter = "l0.v_w"}, %arg10: tensor<16x16xf32> {sinter.parameter = "l0.o_w"}, %arg11: tensor<16xf32> {sinter.parameter = "l0.ln2_w"}, %arg12: tensor<24x16xf32> {sinter.parameter = "l0.g_w"}, %arg13: tensor<24x16xf32> {sinter.parameter = "l0.u_w"}, %arg14: tensor<16x24xf32> {sinter.parameter = "l0.down_w"}, %arg15: tensor<2x16x2x4xf32> {sinter.donated = 3 : i64, sinter.state = "k_cache.1"}, %arg16: tensor<2x16x2x4xf32> {sinter.donated = 4 : i64, sinter.state = "v_cache.1"}, %arg17: tensor<16xf32> {sinter.parameter = "l1.ln1_w"}, %arg18: tensor<16x16xf32> {sinter.parameter = "l1.q_w"}, %arg19: tensor<8x16xf32> {sinter.parameter = "l1.k_w"}, %arg20: tensor<8x16xf32> {sinter.parameter = "l1.v_w"}, %arg21: tensor<16x16xf32> {sinter.parameter = "l1.o_w"}, %arg22: tensor<16xf32> {sinter.parameter = "l1.ln2_w"}, %arg23: tensor<24x16xf32> {sinter.parameter = "l1.g_w"}, %arg24: tensor<24x16xf32> {sinter.parameter = "l1.u_w"}, %arg25: tensor<16x24xf32> {sinter.parameter = "l1.down_w"}, %arg26: tensor<16xf32> {sinter.parameter = "lnf_w"}) -> (tensor<2x64xf32> {sinter.output = "logits"}, tensor<2x16x2x4xf32> {sinter.state = "k_cache.0"}, tensor<2x16x2x4xf32> {sinter.state = "v_cache.0"}, tensor<2x16x2x4xf32> {sinter.state = "k_cache.1"}, tensor<2x16x2x4xf32> {sinter.state = "v_cache.1"}) attributes {sinter.entry} {
    %0 = sinter.embedding %arg3, %arg0 : (tensor<64x16xf32>, tensor<2x1xi32>) -> tensor<2x1x16xf32>
    %1 = sinter.constant dense<[[5.000000e-01, 6.000000e-01], [8.000000e-01, 0.899999976], [6.000000e-01, 0.699999988], [0.899999976, 5.000000e-01], [0.699999988, 8.000000e-01], [5.000000e-01, 6.000000e-01], [8.000000e-01, 0.899999976], [6.000000e-01, 0.699999988], [0.899999976, 5.000000e-01], [0.699999988, 8.000000e-01], [5.000000e-01, 6.000000e-01], [8.000000e-01, 0.899999976], [6.000000e-01, 0.699999988], [0.899999976, 5.000000e-01], [0.699999988, 8.000000e-01], [5.000000e-01, 6.000000e-01]]> : tensor<16x2xf32>
    %2 = sinter.constant dense<[[5.000000e-01, 6.000000e-01], [8.000000e-01, 0.899999976], [6.000000e-01, 0.699999988], [0.899999976, 5.000000e-01], [0.699999988, 8.000000e-01], [5.000000e-01, 6.000000e-01], [8.000000e-01, 0.899999976], [6.000000e-01, 0.699999988], [0.899999976, 5.000000e-01], [0.699999988, 8.000000e-01], [5.000000e-01, 6.000000e-01], [8.000000e-01, 0.899999976], [6.000000e-01, 0.699999988], [0.899999976, 5.000000e-01], [0.699999988, 8.000000e-01], [5.000000e-01, 6.000000e-01]]> : tensor<16x2xf32>
    %3 = sinter.rms_norm %0, %arg6 {eps = 1.000000e-05 : f64} : (tensor<2x1x16xf32>, tensor<16xf32>) -> tensor<2x1x16xf32>
    %4 = sinter.matmul %3, %arg7 {transpose_rhs} : (tensor<2x1x16xf32>, tensor<16x16xf32>) -> tensor<2x1x16xf32>
    %5 = sinter.matmul %3, %arg8 {transpose_rhs} : (tensor<2x1x16xf32>, tensor<8x16xf32>) -> tensor<2x1x8xf32>
    %6 = sinter.matmul %3, %arg9 {transpose_rhs} : (tensor<2x1x16xf32>, tensor<8x16xf32>) -> tensor<2x1x8xf32>
    %7 = sinter.reshape %4 : (tensor<2x1x16xf32>) -> tensor<2x1x4x4xf32>
    %8 = sinter.reshape %5 : (tensor<2x1x8xf32>) -> tensor<2x1x2x4xf32>
    %9 = sinter.reshape %6 : (tensor<2x1x8xf32>) -> tensor<2x1x2x4xf32>
    %10 = sinter.rotary %7, %1, %2, %arg1 : (tensor<2x1x4x4xf32>, tensor<16x2xf32>, tensor<16x2xf32>, tensor<2xi32>) -> tensor<2x1x4x4xf32>
    %11 = sinter.rotary %8, %1, %2, %arg1 : (tensor<2x1x2x4xf32>, tensor<16x2xf32>, tensor<16x2xf32>, tensor<2xi32>) -> tensor<2x1x2x4xf32>
    %12 = sinter.cache_append %arg4, %11, %arg1, %arg2 : (tensor<2x16x2x4xf32>, tensor<2x1x2x4xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x16x2x4xf32>
    %13 = sinter.cache_append %arg5, %9, %arg1, %arg2 : (tensor<2x16x2x4xf32>, tensor<2x1x2x4xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x16x2x4xf32>
    %14 = sinter.attention %10, %12, %13, %arg1 {causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0>, scale = 3.500000e-01 : f64} : (tensor<2x1x4x4xf32>, tensor<2x16x2x4xf32>, tensor<2x16x2x4xf32>, tensor<2xi32>) -> tensor<2x1x4x4xf32>
    %15 = sinter.reshape %14 : (tensor<2x1x4x4xf32>) -> tensor<2x1x16xf32>
    %16 = sinter.matmul %15, %arg10 {transpose_rhs} : (tensor<2x1x16xf32>, tensor<16x16xf32>) -> tensor<2x1x16xf32>
    %17 = sinter.add %0, %16 : (tensor<2x1x16xf32>, tensor<2x1x16xf32>) -> tensor<2x1x16xf32>
    %18 = sinter.rms_norm %17, %arg11 {eps = 1.000000e-05 : f64} : (tensor<2x1x16xf32>, tensor<16xf32>) -> tensor<2x1x16xf32>
    %19 = sinter.matmul %18, %arg12 {transpose_rhs} : (tensor<2x1x16xf32>, tensor<24x16xf32>) -> tensor<2x1x24xf32>
    %20 = sinter.matmul %18, %arg13 {transpose_rhs} : (tensor<2x1x16xf32>, tensor<24x16xf32>) -> tensor<2x1x24xf32>
    %21 = sinter.silu %19 : (tensor<2x1x24xf32>) -> tensor<2x1x24xf32>
    %22 = sinter.mul %21, %20 : (tensor<2x1x24xf32>, tensor<2x1x24xf32>) -> tensor<2x1x24xf32>
    %23 = sinter.matmul %22, %arg14 {transpose_rhs} : (tensor<2x1x24xf32>, tensor<16x24xf32>) -> tensor<2x1x16xf32>
    %24 = sinter.add %17, %23 : (tensor<2x1x16xf32>, tensor<2x1x16xf32>) -> tensor<2x1x16xf32>
    %25 = sinter.rms_norm %24, %arg17 {eps = 1.000000e-05 : f64} : (tensor<2x1x16xf32>, tensor<16xf32>) -> tensor<2x1x16xf32>
    %26 = sinter.matmul %25, %arg18 {transpose_rhs} : (tensor<2x1x16xf32>, tensor<16x16xf32>) -> tensor<2x1x16xf32>
    %27 = sinter.matmul %25, %arg19 {transpose_rhs} : (tensor<2x1x16xf32>, tensor<8x16xf32>) -> tensor<2x1x8xf32>
    %28 = sinter.matmul %25, %arg20 {transpose_rhs} : (tensor<2x1x16xf32>, tensor<8x16xf32>) -> tensor<2x1x8xf32>
    %29 = sinter.reshape %26 : (tensor<2x1x16xf32>) -> tensor<2x1x4x4xf32>
    %30 = sinter.reshape %27 : (tensor<2x1x8xf32>) -> tensor<2x1x2x4xf32>
    %31 = sinter.reshape %28 : (tensor<2x1x8xf32>) -> tensor<2x1x2x4xf32>
    %32 = sinter.rotary %29, %1, %2, %arg1 : (tensor<2x1x4x4xf32>, tensor<16x2xf32>, tensor<16x2xf32>, tensor<2xi32>) -> tensor<2x1x4x4xf32>
    %33 = sinter.rotary %30, %1, %2, %arg1 : (tensor<2x1x2x4xf32>, tensor<16x2xf32>, tensor<16x2xf32>, tensor<2xi32>) -> tensor<2x1x2x4xf32>
    %34 = sinter.cache_append %arg15, %33, %arg1, %arg2 : (tensor<2x16x2x4xf32>, tensor<2x1x2x4xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x16x2x4xf32>
    %35 = sinter.cache_append %arg16, %31, %arg1, %arg2 : (tensor<2x16x2x4xf32>, tensor<2x1x2x4xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x16x2x4xf32>
    %36 = sinter.attention %32, %34, %35, %arg1 {causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0>, scale = 3.500000e-01 : f64} : (tensor<2x1x4x4xf32>, tensor<2x16x2x4xf32>, tensor<2x16x2x4xf32>, tensor<2xi32>) -> tensor<2x1x4x4xf32>
    %37 = sinter.reshape %36 : (tensor<2x1x4x4xf32>) -> tensor<2x1x16xf32>
    %38 = sinter.matmul %37, %arg21 {transpose_rhs} : (tensor<2x1x16xf32>, tensor<16x16xf32>) -> tensor<2x1x16xf32>
    %39 = sinter.add %24, %38 : (tensor<2x1x16xf32>, tensor<2x1x16xf32>) -> tensor<2x1x16xf32>
    %40 = sinter.rms_norm %39, %arg22 {eps = 1.000000e-05 : f64} : (tensor<2x1x16xf32>, tensor<16xf32>) -> tensor<2x1x16xf32>
    %41 = sinter.matmul %40, %arg23 {transpose_rhs} : (tensor<2x1x16xf32>, tensor<24x16xf32>) -> tensor<2x1x24xf32>
    %42 = sinter.matmul %40, %arg24 {transpose_rhs} : (tensor<2x1x16xf32>, tensor<24x16xf32>) -> tensor<2x1x24xf32>
    %43 = sinter.silu %41 : (tensor<2x1x24xf32>) -> tensor<2x1x24xf32>
    %44 = sinter.mul %43, %42 : (tensor<2x1x24xf32>, tensor<2x1x24xf32>) -> tensor<2x1x24xf32>
    %45 = sinter.matmul %44, %arg25 {transpose_rhs} : (tensor<2x1x24xf32>, tensor<16x24xf32>) -> tensor<2x1x16xf32>
    %46 = sinter.add %39, %45 : (tensor<2x1x16xf32>, tensor<2x1x16xf32>) -> tensor<2x1x16xf32>
    %47 = sinter.rms_norm %46, %arg26 {eps = 1.000000e-05 : f64} : (tensor<2x1x16xf32>, tensor<16xf32>) -> tensor<2x1x16xf32>
    %48 = sinter.last_row %47, %arg2 : (tensor<2x1x16xf32>, tensor<2xi32>) -> tensor<2x16xf32>
    %49 = sinter.matmul %48, %arg3 {transpose_rhs} : (tensor<2x16xf32>, tensor<64x16xf32>) -> tensor<2x64xf32>
    return %49, %12, %13, %34, %35 : tensor<2x64xf32>, tensor<2x16x2x4xf32>, tensor<2x16x2x4xf32>, tensor<2x16x2x4xf32>, tensor<2x16x2x4xf32>
  }
  func.func @logits(%arg0: tensor<2x4xi32> {sinter.input = "tokens"}, %arg1: tensor<2xi32> {sinter.input = "start"}, %arg2: tensor<2xi32> {sinter.input = "count"}, %arg3: tensor<64x16xf32> {sinter.parameter = "wte"}, %arg4: tensor<2x16x2x4xf32> {sinter.donated = 1 : i64, sinter.state = "k_cache.0"}, %arg5: tensor<2x16x2x4xf32> {sinter.donated = 2 : i64, sinter.state = "v_cache.0"}, %arg6: tensor<16xf32> {sinter.parameter = "l0.ln1_w"}, %arg7: tensor<16x16xf32> {sinter.parameter = "l0.q_w"}, %arg8: tensor<8x16xf32> {sinter.parameter = "l0.k_w"}, %arg9: tensor<8x16xf32> {sinter.parameter = "l0.v_w"}, %arg10: tensor<16x16xf32> {sinter.parameter = "l0.o_w"}, %arg11: tensor<16xf32> {sinter.parameter = "l0.ln2_w"}, %arg12: tensor<24x16xf32> {sinter.parameter = "l0.g_w"}, %arg13: tensor<24x16xf32> {sinter.parameter = "l0.u_w"}, %arg14: tensor<16x24xf32> {sinter.parameter = "l0.down_w"}, %arg15: tensor<2x16x2x4xf32> {sinter.donated = 3 : i64, sinter.state = "k_cache.1"}, %arg16: tensor<2x16x2x4xf32> {sinter.donated = 4 : i64, sinter.state = "v_cache.1"}, %arg17: tensor<16xf32> {sinter.parameter = "l1.ln1_w"}, %arg18: tensor<16x16xf32> {sinter.parameter = "l1.q_w"}, %arg19: tensor<8x16xf32> {sinter.parameter = "l1.k_w"}, %arg20: tensor<8x16xf32> {sinter.parameter = "l1.v_w"}, %arg21: tensor<16x16xf32> {sinter.parameter = "l1.o_w"}, %arg22: tensor<16xf32> {sinter.parameter = "l1.ln2_w"}, %arg23: tensor<24x16xf32> {sinter.parameter = "l1.g_w"}, %arg24: tensor<24x16xf32> {sinter.parameter = "l1.u_w"}, %arg25: tensor<16x24xf32> {sinter.parameter = "l1.down_w"}, %arg26: tensor<16xf32> {sinter.parameter = "lnf_w"}) -> (tensor<2x4x64xf32> {sinter.output = "logits"}, tensor<2x16x2x4xf32> {sinter.state = "k_cache.0"}, tensor<2x16x2x4xf32> {sinter.state = "v_cache.0"}, tensor<2x16x2x4xf32> {sinter.state = "k_cache.1"}, tensor<2x16x2x4xf32> {sinter.state = "v_cache.1"}) attributes {sinter.entry} {
    %0 = sinter.embedding %arg3, %arg0 : (tensor<64x16xf32>, tensor<2x4xi32>) -> tensor<2x4x16xf32>
    %1 = sinter.constant dense<[[5.000000e-01, 6.000000e-01], [8.000000e-01, 0.899999976], [6.000000e-01, 0.699999988], [0.899999976, 5.000000e-01], [0.699999988, 8.000000e-01], [5.000000e-01, 6.000000e-01], [8.000000e-01, 0.899999976], [6.000000e-01, 0.699999988], [0.899999976, 5.000000e-01], [0.699999988, 8.000000e-01], [5.000000e-01, 6.000000e-01], [8.000000e-01, 0.899999976], [6.000000e-01, 0.699999988], [0.899999976, 5.000000e-01], [0.699999988, 8.000000e-01], [5.000000e-01, 6.000000e-01]]> : tensor<16x2xf32>
    %2 = sinter.constant dense<[[5.000000e-01, 6.000000e-01], [8.000000e-01, 0.899999976], [6.000000e-01, 0.699999988], [0.899999976, 5.000000e-01], [0.699999988, 8.000000e-01], [5.000000e-01, 6.000000e-01], [8.000000e-01, 0.899999976], [6.000000e-01, 0.699999988], [0.899999976, 5.000000e-01], [0.699999988, 8.000000e-01], [5.000000e-01, 6.000000e-01], [8.000000e-01, 0.899999976], [6.000000e-01, 0.699999988], [0.899999976, 5.000000e-01], [0.699999988, 8.000000e-01], [5.000000e-01, 6.000000e-01]]> : tensor<16x2xf32>
    %3 = sinter.rms_norm %0, %arg6 {eps = 1.000000e-05 : f64} : (tensor<2x4x16xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
    %4 = sinter.matmul %3, %arg7 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<16x16xf32>) -> tensor<2x4x16xf32>
    %5 = sinter.matmul %3, %arg8 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<8x16xf32>) -> tensor<2x4x8xf32>
    %6 = sinter.matmul %3, %arg9 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<8x16xf32>) -> tensor<2x4x8xf32>
    %7 = sinter.reshape %4 : (tensor<2x4x16xf32>) -> tensor<2x4x4x4xf32>
    %8 = sinter.reshape %5 : (tensor<2x4x8xf32>) -> tensor<2x4x2x4xf32>
    %9 = sinter.reshape %6 : (tensor<2x4x8xf32>) -> tensor<2x4x2x4xf32>
    %10 = sinter.rotary %7, %1, %2, %arg1 : (tensor<2x4x4x4xf32>, tensor<16x2xf32>, tensor<16x2xf32>, tensor<2xi32>) -> tensor<2x4x4x4xf32>
    %11 = sinter.rotary %8, %1, %2, %arg1 : (tensor<2x4x2x4xf32>, tensor<16x2xf32>, tensor<16x2xf32>, tensor<2xi32>) -> tensor<2x4x2x4xf32>
    %12 = sinter.cache_append %arg4, %11, %arg1, %arg2 : (tensor<2x16x2x4xf32>, tensor<2x4x2x4xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x16x2x4xf32>
    %13 = sinter.cache_append %arg5, %9, %arg1, %arg2 : (tensor<2x16x2x4xf32>, tensor<2x4x2x4xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x16x2x4xf32>
    %14 = sinter.attention %10, %12, %13, %arg1 {causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0>, scale = 3.500000e-01 : f64} : (tensor<2x4x4x4xf32>, tensor<2x16x2x4xf32>, tensor<2x16x2x4xf32>, tensor<2xi32>) -> tensor<2x4x4x4xf32>
    %15 = sinter.reshape %14 : (tensor<2x4x4x4xf32>) -> tensor<2x4x16xf32>
    %16 = sinter.matmul %15, %arg10 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<16x16xf32>) -> tensor<2x4x16xf32>
    %17 = sinter.add %0, %16 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %18 = sinter.rms_norm %17, %arg11 {eps = 1.000000e-05 : f64} : (tensor<2x4x16xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
    %19 = sinter.matmul %18, %arg12 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<24x16xf32>) -> tensor<2x4x24xf32>
    %20 = sinter.matmul %18, %arg13 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<24x16xf32>) -> tensor<2x4x24xf32>
    %21 = sinter.silu %19 : (tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
    %22 = sinter.mul %21, %20 : (tensor<2x4x24xf32>, tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
    %23 = sinter.matmul %22, %arg14 {transpose_rhs} : (tensor<2x4x24xf32>, tensor<16x24xf32>) -> tensor<2x4x16xf32>
    %24 = sinter.add %17, %23 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %25 = sinter.rms_norm %24, %arg17 {eps = 1.000000e-05 : f64} : (tensor<2x4x16xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
    %26 = sinter.matmul %25, %arg18 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<16x16xf32>) -> tensor<2x4x16xf32>
    %27 = sinter.matmul %25, %arg19 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<8x16xf32>) -> tensor<2x4x8xf32>
    %28 = sinter.matmul %25, %arg20 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<8x16xf32>) -> tensor<2x4x8xf32>
    %29 = sinter.reshape %26 : (tensor<2x4x16xf32>) -> tensor<2x4x4x4xf32>
    %30 = sinter.reshape %27 : (tensor<2x4x8xf32>) -> tensor<2x4x2x4xf32>
    %31 = sinter.reshape %28 : (tensor<2x4x8xf32>) -> tensor<2x4x2x4xf32>
    %32 = sinter.rotary %29, %1, %2, %arg1 : (tensor<2x4x4x4xf32>, tensor<16x2xf32>, tensor<16x2xf32>, tensor<2xi32>) -> tensor<2x4x4x4xf32>
    %33 = sinter.rotary %30, %1, %2, %arg1 : (tensor<2x4x2x4xf32>, tensor<16x2xf32>, tensor<16x2xf32>, tensor<2xi32>) -> tensor<2x4x2x4xf32>
    %34 = sinter.cache_append %arg15, %33, %arg1, %arg2 : (tensor<2x16x2x4xf32>, tensor<2x4x2x4xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x16x2x4xf32>
    %35 = sinter.cache_append %arg16, %31, %arg1, %arg2 : (tensor<2x16x2x4xf32>, tensor<2x4x2x4xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x16x2x4xf32>
    %36 = sinter.attention %32, %34, %35, %arg1 {causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0>, scale = 3.500000e-01 : f64} : (tensor<2x4x4x4xf32>, tensor<2x16x2x4xf32>, tensor<2x16x2x4xf32>, tensor<2xi32>) -> tensor<2x4x4x4xf32>
    %37 = sinter.reshape %36 : (tensor<2x4x4x4xf32>) -> tensor<2x4x16xf32>
    %38 = sinter.matmul %37, %arg21 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<16x16xf32>) -> tensor<2x4x16xf32>
    %39 = sinter.add %24, %38 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %40 = sinter.rms_norm %39, %arg22 {eps = 1.000000e-05 : f64} : (tensor<2x4x16xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
    %41 = sinter.matmul %40, %arg23 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<24x16xf32>) -> tensor<2x4x24xf32>
    %42 = sinter.matmul %40, %arg24 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<24x16xf32>) -> tensor<2x4x24xf32>
    %43 = sinter.silu %41 : (tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
    %44 = sinter.mul %43, %42 : (tensor<2x4x24xf32>, tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
    %45 = sinter.matmul %44, %arg25 {transpose_rhs} : (tensor<2x4x24xf32>, tensor<16x24xf32>) -> tensor<2x4x16xf32>
    %46 = sinter.add %39, %45 : (tensor<2x4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %47 = sinter.rms_norm %46, %arg26 {eps = 1.000000e-05 : f64} : (tensor<2x4x16xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
    %48 = sinter.matmul %47, %arg3 {transpose_rhs} : (tensor<2x4x16xf32>, tensor<64x16xf32>) -> tensor<2x4x64xf32>
    return %48, %12, %13, %34, %35 : tensor<2x4x64xf32>, tensor<2x16x2x4xf32>, tensor<2x16x2x4xf32>, tensor<2x16x2x4xf32>, tensor<2x16x2x4xf32>
  }
}
