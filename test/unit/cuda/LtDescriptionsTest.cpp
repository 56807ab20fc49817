// The library itself makes the descriptions of products, which needs no GPU; what would compute
// stands in the test. So every attribute that Sinter sets is one that cuBLASLt knows, of the size
// that it wants, and says what was meant.
#include "runtime/Device/Cuda/LtGemm.h"
#include "test/cuda/FakeCuda.h"
#include "test/unit/runtime/TestExecutable.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <optional>

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::runtime::cuda;
using namespace sinter::runtime::testing;

namespace {

struct LayoutSeen {
  uint32_t type;
  uint64_t rows, columns;
  int64_t stride;
  bool operator==(const LayoutSeen &) const = default;
};

// What the library read of the descriptions that the heuristic was asked with.
struct Seen {
  int32_t first, second, biasType, scaleModes[2];
  void *scales[2];
  uint32_t epilogue;
  void *bias;
  LayoutSeen a, b, c, d;
  uint64_t workspace;
  uint32_t alignments[4], reductions;
  cublasComputeType_t compute;
} seen;

decltype(&cublasLtMatmulDescGetAttribute) getOfProduct;
decltype(&cublasLtMatmulPreferenceGetAttribute) getOfPreference;
decltype(&cublasLtMatrixLayoutGetAttribute) getOfLayout;

template <typename T>
void get(T &value, cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t attribute) {
  size_t written = 0;
  EXPECT_EQ(getOfProduct(product, attribute, &value, sizeof value, &written),
            CUBLAS_STATUS_SUCCESS);
}

LayoutSeen look(cublasLtMatrixLayout_t layout) {
  LayoutSeen found = {};
  size_t written = 0;
  auto get = [&](cublasLtMatrixLayoutAttribute_t attribute, auto &value) {
    EXPECT_EQ(getOfLayout(layout, attribute, &value, sizeof value, &written),
              CUBLAS_STATUS_SUCCESS);
  };
  get(CUBLASLT_MATRIX_LAYOUT_TYPE, found.type);
  get(CUBLASLT_MATRIX_LAYOUT_ROWS, found.rows);
  get(CUBLASLT_MATRIX_LAYOUT_COLS, found.columns);
  get(CUBLASLT_MATRIX_LAYOUT_LD, found.stride);
  return found;
}

cublasStatus_t choose(cublasLtHandle_t, cublasLtMatmulDesc_t product, cublasLtMatrixLayout_t a,
                      cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                      cublasLtMatmulPreference_t preference, int,
                      cublasLtMatmulHeuristicResult_t results[], int *found) {
  seen = {};
  get(seen.compute, product, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE);
  get(seen.first, product, CUBLASLT_MATMUL_DESC_TRANSA);
  get(seen.second, product, CUBLASLT_MATMUL_DESC_TRANSB);
  get(seen.epilogue, product, CUBLASLT_MATMUL_DESC_EPILOGUE);
  get(seen.bias, product, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
  get(seen.biasType, product, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
  get(seen.scaleModes[0], product, CUBLASLT_MATMUL_DESC_A_SCALE_MODE);
  get(seen.scaleModes[1], product, CUBLASLT_MATMUL_DESC_B_SCALE_MODE);
  get(seen.scales[0], product, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER);
  get(seen.scales[1], product, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER);
  seen.a = look(a), seen.b = look(b), seen.c = look(c), seen.d = look(d);
  auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto &value) {
    size_t written = 0;
    EXPECT_EQ(getOfPreference(preference, attribute, &value, sizeof value, &written),
              CUBLAS_STATUS_SUCCESS);
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, seen.workspace);
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, seen.reductions);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, seen.alignments[0]);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, seen.alignments[1]);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, seen.alignments[2]);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, seen.alignments[3]);
  results[0] = {};
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

class LtDescriptionsTest : public ::testing::Test {
protected:
  void SetUp() override {
    auto library = ltApi();
    if (!library)
      GTEST_SKIP() << library.error().message();
    const char *names[] = {"libcublasLt.so.13", "libcublasLt.so.12"};
    void *handle = *openLibrary(names, "");
    getOfProduct =
        reinterpret_cast<decltype(getOfProduct)>(::dlsym(handle, "cublasLtMatmulDescGetAttribute"));
    getOfPreference = reinterpret_cast<decltype(getOfPreference)>(
        ::dlsym(handle, "cublasLtMatmulPreferenceGetAttribute"));
    getOfLayout = reinterpret_cast<decltype(getOfLayout)>(
        ::dlsym(handle, "cublasLtMatrixLayoutGetAttribute"));
    table = **library;
    gpu.emplace(); // with products of its own, in place of which come the library's
    table.cublasLtCreate = [](cublasLtHandle_t *made) {
      *made = reinterpret_cast<cublasLtHandle_t>(&seen);
      return CUBLAS_STATUS_SUCCESS;
    };
    table.cublasLtDestroy = [](cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; };
    table.cublasLtMatmulAlgoGetHeuristic = choose;
    installLtApi(&table);
  }

  // Binds a product; offsets into spaces are its addresses.
  void bind(const GemmParts &parts) {
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(Offset<fb::Gemm>(gemm(parts).make(builder).o));
    auto context = std::move(*CudaContext::open());
    LtLibrary library(*context);
    auto bound = library.bind(
        *flatbuffers::GetRoot<fb::Gemm>(builder.GetBufferPointer()),
        [](const fb::Slice &slice) { return CUdeviceptr(slice.offset()); }, nullptr);
    ASSERT_TRUE(bound) << bound.error().message();
  }

  std::optional<fake::FakeCuda> gpu;
  LtApi table;
};

TEST_F(LtDescriptionsTest, RowsAreTheLibrarysColumns) {
  GemmParts parts;
  parts.m = 5, parts.n = 7, parts.k = 6;
  parts.lhs = slice(fb::Space::Arena, 512, 1), parts.rhs = slice(fb::Space::Arena, 32, 1);
  parts.out = slice(fb::Space::Arena, 1024 + 64, 1);
  parts.lhsStride = 10, parts.rhsStride = 11, parts.outStride = 12;
  parts.rhsTransposed = false;
  parts.workspace = slice(fb::Space::Arena, 8192, 4096);
  bind(parts);
  EXPECT_EQ(seen.workspace, 4096u);
  const uint32_t alignments[] = {32, 256, 64, 64}; // at most 256 is of interest
  EXPECT_TRUE(std::ranges::equal(seen.alignments, alignments));
  EXPECT_EQ(seen.first, CUBLAS_OP_N);
  EXPECT_EQ(seen.second, CUBLAS_OP_N);
  EXPECT_EQ(seen.epilogue, uint32_t(CUBLASLT_EPILOGUE_DEFAULT));
  EXPECT_EQ(seen.a, (LayoutSeen{CUDA_R_32F, 7, 6, 11}));
  EXPECT_EQ(seen.b, (LayoutSeen{CUDA_R_32F, 6, 5, 10}));
  EXPECT_EQ(seen.c, (LayoutSeen{CUDA_R_32F, 7, 5, 12}));
  EXPECT_EQ(seen.d, seen.c);
}

TEST_F(LtDescriptionsTest, NothingIsRoundedUnlessThePlanSaysSo) {
  for (fb::DType type : {fb::DType::F32, fb::DType::BF16})
    for (fb::DType result : {fb::DType::F32, fb::DType::BF16})
      for (bool tf32 : {false, true}) {
        GemmParts parts;
        parts.m = parts.n = parts.k = 8, parts.rhsStride = 8;
        parts.rhsTransposed = false;
        parts.dtype = type, parts.outDtype = result, parts.tf32 = tf32;
        bind(parts);
        EXPECT_EQ(seen.compute, tf32 && type == fb::DType::F32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                               : CUBLAS_COMPUTE_32F);
        EXPECT_EQ(seen.reductions, result == fb::DType::F32
                                       ? uint32_t(CUBLASLT_REDUCTION_SCHEME_MASK)
                                       : uint32_t(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
      }
}

TEST_F(LtDescriptionsTest, RowsOfFp8HaveScales) {
  GemmParts parts;
  parts.m = 5, parts.n = 16, parts.k = 32;
  parts.dtype = fb::DType::E4M3, parts.outDtype = fb::DType::BF16;
  parts.rhsTransposed = true, parts.rhsStride = 32;
  parts.lhs = slice(fb::Space::Arena, 256, 1), parts.rhs = slice(fb::Space::Arena, 512, 1);
  parts.out = slice(fb::Space::Arena, 1024, 1);
  parts.lhsScales = slice(fb::Space::Arena, 2048, 20);
  parts.rhsScales = slice(fb::Space::Arena, 4096, 64);
  bind(parts);
  EXPECT_EQ(seen.a, (LayoutSeen{CUDA_R_8F_E4M3, 32, 16, 32}));
  EXPECT_EQ(seen.b, (LayoutSeen{CUDA_R_8F_E4M3, 32, 5, 32}));
  EXPECT_EQ(seen.d, (LayoutSeen{CUDA_R_16BF, 16, 5, 16}));
  for (int32_t mode : seen.scaleModes)
    EXPECT_EQ(mode, CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F);
  EXPECT_EQ(seen.scales[0], reinterpret_cast<void *>(4096));
  EXPECT_EQ(seen.scales[1], reinterpret_cast<void *>(2048));
}

TEST_F(LtDescriptionsTest, GradientsHaveOneScale) {
  GemmParts parts;
  parts.m = 5, parts.n = 16, parts.k = 32;
  parts.dtype = fb::DType::E5M2, parts.rhsDtype = fb::DType::E4M3;
  parts.rhsTransposed = true, parts.rhsStride = 32;
  parts.lhs = slice(fb::Space::Arena, 256, 1), parts.rhs = slice(fb::Space::Arena, 512, 1);
  parts.out = slice(fb::Space::Arena, 1024, 1);
  parts.lhsScales = slice(fb::Space::Arena, 2048, 4);
  parts.rhsScales = slice(fb::Space::Arena, 4096, 4);
  bind(parts);
  EXPECT_EQ(seen.a, (LayoutSeen{CUDA_R_8F_E4M3, 32, 16, 32}));
  EXPECT_EQ(seen.b, (LayoutSeen{CUDA_R_8F_E5M2, 32, 5, 32}));
  for (int32_t mode : seen.scaleModes)
    EXPECT_EQ(mode, CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F);
  EXPECT_EQ(seen.scales[0], reinterpret_cast<void *>(4096));
  EXPECT_EQ(seen.scales[1], reinterpret_cast<void *>(2048));
}

TEST_F(LtDescriptionsTest, TransposedOperandsWithAnEpilogue) {
  GemmParts parts;
  parts.m = 5, parts.n = 7, parts.k = 6;
  parts.dtype = fb::DType::BF16, parts.outDtype = fb::DType::F16;
  parts.lhs = slice(fb::Space::Arena, 256, 1), parts.rhs = slice(fb::Space::Arena, 512, 1);
  parts.out = slice(fb::Space::Arena, 1024, 1);
  parts.lhsStride = 10, parts.rhsStride = 11, parts.outStride = 12;
  parts.rhsTransposed = true, parts.lhsTransposed = true;
  parts.steps = {{fb::PostOpKind::Bias, slice(fb::Space::Arena, 2048, 1), fb::DType::F16, 0},
                 {fb::PostOpKind::Add, slice(fb::Space::Arena, 4096, 1), fb::DType::F16, 9},
                 {fb::PostOpKind::GeluTanh, slice(fb::Space::Arena, 0, 0), fb::DType::F32, 0}};
  bind(parts);
  EXPECT_EQ(seen.first, CUBLAS_OP_T);
  EXPECT_EQ(seen.second, CUBLAS_OP_T);
  EXPECT_EQ(seen.epilogue, uint32_t(CUBLASLT_EPILOGUE_GELU_BIAS));
  EXPECT_EQ(seen.bias, reinterpret_cast<void *>(2048));
  EXPECT_EQ(seen.biasType, CUDA_R_16F);
  EXPECT_EQ(seen.a, (LayoutSeen{CUDA_R_16BF, 6, 7, 11}));
  EXPECT_EQ(seen.b, (LayoutSeen{CUDA_R_16BF, 5, 6, 10}));
  EXPECT_EQ(seen.c, (LayoutSeen{CUDA_R_16F, 7, 5, 9}));
  EXPECT_EQ(seen.d, (LayoutSeen{CUDA_R_16F, 7, 5, 12}));
}

} // namespace
