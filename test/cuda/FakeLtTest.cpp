//===- FakeLtTest.cpp - Matrix products behind cuBLASLt's table -----------===//
#include "test/cuda/TestGpu.h"

#include "runtime/Base/Float8.h"
#include "runtime/Base/HalfFloat.h"
#include "runtime/Device/Cuda/LtApi.h"

#include <cmath>
#include <random>

using namespace sinter;
using namespace sinter::fake;

namespace {

/// What a test asks of cublasLtMatmul: out[m, n] = epilogue(op(a) * op(b) + beta * out),
/// column-major.
struct Case {
  cudaDataType type = CUDA_R_32F;
  bool transposeA = false, transposeB = false;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  float beta = 0;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
};

class FakeLtTest : public FakeGpuTest {
protected:
  static constexpr uint64_t m = 5, n = 7, k = 9, padding = 3;

  void SetUp() override {
    FakeGpuTest::SetUp();
    if (!IsSkipped())
      lt = *runtime::cuda::ltApi();
  }

  /// Small integers, which every type has exactly.
  std::vector<float> digits(size_t count) {
    std::uniform_int_distribution<int> digit(-4, 4);
    std::vector<float> values(count);
    for (float &value : values)
      value = float(digit(random));
    return values;
  }

  CUdeviceptr upload(const std::vector<float> &values, cudaDataType type) {
    if (type == CUDA_R_32F)
      return copyOf(values);
    std::vector<uint16_t> narrow;
    for (float value : values)
      narrow.push_back(type == CUDA_R_16BF ? floatToBf16(value) : floatToF16(value));
    CUdeviceptr address = newMemory(narrow.size() * 2);
    api->cuMemcpyHtoDAsync(address, narrow.data(), narrow.size() * 2, stream);
    return address;
  }

  std::vector<float> download(CUdeviceptr address, size_t count, cudaDataType type) {
    if (type == CUDA_R_32F)
      return read(address, count);
    std::vector<uint16_t> narrow(count);
    EXPECT_EQ(api->cuMemcpyDtoHAsync(narrow.data(), address, count * 2, stream), CUDA_SUCCESS);
    std::vector<float> values;
    for (uint16_t value : narrow)
      values.push_back(type == CUDA_R_16BF ? bf16ToFloat(value) : f16ToFloat(value));
    return values;
  }

  struct Handles {
    cublasLtHandle_t library;
    cublasLtMatmulDesc_t product;
    cublasLtMatrixLayout_t a, b, out;
    cublasLtMatmulPreference_t preference;
  };

  Handles describe(const Case &what, CUdeviceptr bias = 0) {
    Handles h;
    EXPECT_EQ(lt->cublasLtCreate(&h.library), CUBLAS_STATUS_SUCCESS);
    lt->cublasLtMatmulDescCreate(&h.product, what.compute, CUDA_R_32F);
    auto set = [&](cublasLtMatmulDescAttributes_t attribute, auto value) {
      EXPECT_EQ(lt->cublasLtMatmulDescSetAttribute(h.product, attribute, &value, sizeof(value)),
                CUBLAS_STATUS_SUCCESS);
    };
    set(CUBLASLT_MATMUL_DESC_TRANSA, what.transposeA ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, what.transposeB ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, what.epilogue);
    if (bias)
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, reinterpret_cast<const void *>(bias));
    auto layout = [&](cublasLtMatrixLayout_t &made, uint64_t rows, uint64_t columns) {
      lt->cublasLtMatrixLayoutCreate(&made, what.type, rows, columns, int64_t(rows + padding));
    };
    layout(h.a, what.transposeA ? k : m, what.transposeA ? m : k);
    layout(h.b, what.transposeB ? n : k, what.transposeB ? k : n);
    layout(h.out, m, n);
    lt->cublasLtMatmulPreferenceCreate(&h.preference);
    uint64_t room = 1000;
    lt->cublasLtMatmulPreferenceSetAttribute(h.preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                             &room, sizeof(room));
    return h;
  }

  void destroy(const Handles &h) {
    lt->cublasLtMatmulPreferenceDestroy(h.preference);
    for (cublasLtMatrixLayout_t layout : {h.a, h.b, h.out})
      lt->cublasLtMatrixLayoutDestroy(layout);
    lt->cublasLtMatmulDescDestroy(h.product);
    lt->cublasLtDestroy(h.library);
  }

  cublasStatus_t heuristic(const Handles &h, cublasLtMatmulHeuristicResult_t &result, int &found) {
    return lt->cublasLtMatmulAlgoGetHeuristic(h.library, h.product, h.a, h.b, h.out, h.out,
                                              h.preference, 1, &result, &found);
  }

  /// Runs the product and compares it with double precision.
  void expectProduct(const Case &what) {
    auto columns = [](uint64_t stride, uint64_t count) { return (stride + padding) * count; };
    std::vector<float> a = digits(columns(what.transposeA ? k : m, what.transposeA ? m : k));
    std::vector<float> b = digits(columns(what.transposeB ? n : k, what.transposeB ? k : n));
    std::vector<float> out = digits(columns(m, n)), bias = digits(m);
    CUdeviceptr workspace = newMemory(1000), biasOnDevice = upload(bias, what.type);
    CUdeviceptr operands[] = {upload(a, what.type), upload(b, what.type), upload(out, what.type)};
    Handles h = describe(what, biasOnDevice);
    cublasLtMatmulHeuristicResult_t best;
    int found = 0;
    ASSERT_EQ(heuristic(h, best, found), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(best.workspaceSize, 1000u);
    float alpha = 1;
    auto at = [](CUdeviceptr address) { return reinterpret_cast<void *>(address); };
    EXPECT_EQ(lt->cublasLtMatmul(h.library, h.product, &alpha, at(operands[0]), h.a,
                                 at(operands[1]), h.b, &what.beta, at(operands[2]), h.out,
                                 at(operands[2]), h.out, &best.algo, at(workspace), 1000, stream),
              CUBLAS_STATUS_SUCCESS);
    std::vector<float> got = download(operands[2], out.size(), what.type);
    double tolerance = what.type == CUDA_R_32F ? 1e-5 : what.type == CUDA_R_16F ? 1e-3 : 8e-3;
    for (uint64_t i = 0; i < m; ++i)
      for (uint64_t j = 0; j < n; ++j) {
        double sum = what.beta * out[i + j * (m + padding)];
        for (uint64_t l = 0; l < k; ++l)
          sum += double(what.transposeA ? a[l + i * (k + padding)] : a[i + l * (m + padding)]) *
                 double(what.transposeB ? b[j + l * (n + padding)] : b[l + j * (k + padding)]);
        double expected = finish(what.epilogue, sum, bias[i]);
        EXPECT_NEAR(got[i + j * (m + padding)], expected, tolerance * (1 + std::abs(expected)))
            << i << ", " << j;
      }
    EXPECT_EQ(got[m], out[m]) << "between columns";
    EXPECT_TRUE(fake->complaints().empty()) << fake->complaints()[0];
    destroy(h);
  }

  static double finish(cublasLtEpilogue_t epilogue, double x, double bias) {
    auto gelu = [](double y) {
      return 0.5 * y * (1 + std::tanh(std::sqrt(2 / M_PI) * (y + 0.044715 * y * y * y)));
    };
    switch (epilogue) {
    case CUBLASLT_EPILOGUE_BIAS:
      return x + bias;
    case CUBLASLT_EPILOGUE_RELU:
      return std::max(x, 0.0);
    case CUBLASLT_EPILOGUE_RELU_BIAS:
      return std::max(x + bias, 0.0);
    case CUBLASLT_EPILOGUE_GELU:
      return gelu(x);
    case CUBLASLT_EPILOGUE_GELU_BIAS:
      return gelu(x + bias);
    default:
      return x;
    }
  }

  const runtime::cuda::LtApi *lt = nullptr;
  std::mt19937 random{5};
};

TEST_F(FakeLtTest, EveryTypeAndOrientation) {
  for (cudaDataType type : {CUDA_R_32F, CUDA_R_16BF, CUDA_R_16F})
    for (bool transposeA : {false, true})
      for (bool transposeB : {false, true})
        expectProduct({.type = type, .transposeA = transposeA, .transposeB = transposeB});
}

TEST_F(FakeLtTest, EveryEpilogue) {
  for (cublasLtEpilogue_t epilogue :
       {CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU_BIAS,
        CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_BIAS})
    for (float beta : {0.0f, 1.0f})
      expectProduct({.epilogue = epilogue, .beta = beta});
}

// Rows of fp8 on both sides, with a scale for each, or, e5m2 among them, one for all of either.
TEST_F(FakeLtTest, Fp8HasScales) {
  for (bool isOfRows : {true, false}) {
    constexpr uint64_t rows = 16, columns = 3, depth = 32;
    std::vector<uint8_t> a(rows * depth), b(columns * depth);
    for (uint8_t &byte : a)
      byte = floatToE4M3(digits(1)[0]);
    for (uint8_t &byte : b)
      byte = isOfRows ? floatToE4M3(digits(1)[0]) : floatToE5M2(digits(1)[0]);
    std::vector<float> aScales = digits(rows), bScales = digits(columns);
    auto uploadBytes = [&](const std::vector<uint8_t> &bytes) {
      CUdeviceptr address = newMemory(bytes.size());
      api->cuMemcpyHtoDAsync(address, bytes.data(), bytes.size(), stream);
      return address;
    };
    auto at = [](CUdeviceptr address) { return reinterpret_cast<void *>(address); };
    CUdeviceptr left = uploadBytes(a), right = uploadBytes(b), out = newMemory(rows * columns * 4);
    CUdeviceptr scales[] = {copyOf(aScales), copyOf(bScales)};
    Handles h = describe({.transposeA = true});
    for (cublasLtMatrixLayout_t layout : {h.a, h.b, h.out})
      lt->cublasLtMatrixLayoutDestroy(layout);
    lt->cublasLtMatrixLayoutCreate(&h.a, CUDA_R_8F_E4M3, depth, rows, depth);
    cudaDataType_t other = isOfRows ? CUDA_R_8F_E4M3 : CUDA_R_8F_E5M2;
    lt->cublasLtMatrixLayoutCreate(&h.b, other, depth, columns, depth);
    lt->cublasLtMatrixLayoutCreate(&h.out, CUDA_R_32F, rows, columns, rows);
    cublasLtMatmulHeuristicResult_t best;
    int found = 0;
    EXPECT_EQ(heuristic(h, best, found), CUBLAS_STATUS_NOT_SUPPORTED) << "without scales";
    auto set = [&](cublasLtMatmulDescAttributes_t attribute, auto value) {
      EXPECT_EQ(lt->cublasLtMatmulDescSetAttribute(h.product, attribute, &value, sizeof(value)),
                CUBLAS_STATUS_SUCCESS);
    };
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, at(scales[0]));
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, at(scales[1]));
    set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, int32_t(CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F));
    EXPECT_EQ(heuristic(h, best, found), CUBLAS_STATUS_NOT_SUPPORTED) << "scales of two kinds";
    set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, int32_t(CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F));
    if (!isOfRows) {
      EXPECT_EQ(heuristic(h, best, found), CUBLAS_STATUS_NOT_SUPPORTED) << "rows of e5m2";
      set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, int32_t(CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F));
      set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, int32_t(CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F));
    }
    float one = 1, zero = 0;
    EXPECT_EQ(lt->cublasLtMatmul(h.library, h.product, &one, at(left), h.a, at(right), h.b, &zero,
                                 at(out), h.out, at(out), h.out, nullptr, nullptr, 0, stream),
              CUBLAS_STATUS_SUCCESS);
    std::vector<float> got = read(out, rows * columns);
    for (uint64_t i = 0; i < rows; ++i)
      for (uint64_t j = 0; j < columns; ++j) {
        float sum = 0;
        for (uint64_t l = 0; l < depth; ++l)
          sum += e4m3ToFloat(a[i * depth + l]) *
                 (isOfRows ? e4m3ToFloat : e5m2ToFloat)(b[j * depth + l]);
        float scale = isOfRows ? aScales[i] * bScales[j] : aScales[0] * bScales[0];
        EXPECT_EQ(got[i + j * rows], sum * scale) << i << ", " << j;
      }
    EXPECT_TRUE(fake->complaints().empty()) << fake->complaints()[0];
    destroy(h);
  }
}

TEST_F(FakeLtTest, Tf32HasTenBits) {
  float fine = 1 + 1.0f / 4096; // a bit that TF32 does not have
  CUdeviceptr a = copyOf(std::vector<float>((m + padding) * k, fine));
  CUdeviceptr b = copyOf(std::vector<float>((k + padding) * n, 1.0f));
  CUdeviceptr out = newMemory((m + padding) * n * 4);
  for (auto [compute, expected] :
       {std::pair{CUBLAS_COMPUTE_32F, k * fine}, {CUBLAS_COMPUTE_32F_FAST_TF32, k * 1.0f}}) {
    Handles h = describe({.compute = compute});
    float one = 1, zero = 0;
    auto at = [](CUdeviceptr address) { return reinterpret_cast<void *>(address); };
    EXPECT_EQ(lt->cublasLtMatmul(h.library, h.product, &one, at(a), h.a, at(b), h.b, &zero, at(out),
                                 h.out, at(out), h.out, nullptr, nullptr, 0, stream),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(read(out, 1)[0], expected);
    destroy(h);
  }
}

TEST_F(FakeLtTest, WorkspaceIsOverwrittenAndMustSuffice) {
  CUdeviceptr room = copyOf(std::vector<float>(250, 1.0f));
  CUdeviceptr a = copyOf(std::vector<float>(200, 1.0f)), out = newMemory(800);
  Handles h = describe({});
  cublasLtMatmulHeuristicResult_t best;
  int found = 0;
  ASSERT_EQ(heuristic(h, best, found), CUBLAS_STATUS_SUCCESS);
  float one = 1, zero = 0;
  auto at = [](CUdeviceptr address) { return reinterpret_cast<void *>(address); };
  auto run = [&](size_t bytes) {
    return lt->cublasLtMatmul(h.library, h.product, &one, at(a), h.a, at(a), h.b, &zero, at(out),
                              h.out, at(out), h.out, &best.algo, at(room), bytes, stream);
  };
  EXPECT_EQ(run(999), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(run(1000), CUBLAS_STATUS_SUCCESS);
  EXPECT_TRUE(std::isnan(read(room, 250)[249]));
  destroy(h);
}

TEST_F(FakeLtTest, CheckedProductsReadWhatSomebodyWrote) {
  open({.checked = true});
  lt = *runtime::cuda::ltApi();
  expectProduct({}); // what is between columns nobody need write
  CUdeviceptr a = copyOf(std::vector<float>((m + padding) * k, 1.0f));
  CUdeviceptr b = newMemory((k + padding) * n * 4), out = newMemory((m + padding) * n * 4);
  Handles h = describe({});
  float one = 1, zero = 0;
  auto at = [](CUdeviceptr address) { return reinterpret_cast<void *>(address); };
  EXPECT_EQ(lt->cublasLtMatmul(h.library, h.product, &one, at(a), h.a, at(b), h.b, &zero, at(out),
                               h.out, at(out), h.out, nullptr, nullptr, 0, stream),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(api->cuStreamSynchronize(stream), CUDA_SUCCESS);
  ASSERT_EQ(fake->complaints().size(), 1u);
  EXPECT_NE(fake->complaints()[0].find("reads a matrix B"), std::string::npos);
  destroy(h);
}

TEST_F(FakeLtTest, RefusesWhatItCannotDo) {
  cublasLtMatmulHeuristicResult_t best;
  int found = 0;
  Handles h = describe({.compute = CUBLAS_COMPUTE_16F});
  EXPECT_EQ(heuristic(h, best, found), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(found, 0);
  destroy(h);
  h = describe({});
  EXPECT_EQ(lt->cublasLtMatmulAlgoGetHeuristic(h.library, h.product, h.a, h.a, h.out, h.out,
                                               h.preference, 1, &best, &found),
            CUBLAS_STATUS_INVALID_VALUE);
  fake->failCall("cublasLtMatmulAlgoGetHeuristic", CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(heuristic(h, best, found), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(heuristic(h, best, found), CUBLAS_STATUS_SUCCESS);
  destroy(h);
  EXPECT_GT(fake->statistics().handles, 0u);
}

} // namespace
