//===- FakeLt.cpp - Matrix products behind cuBLASLt's table ---------------===//
#include "test/cuda/FakeDevice.h"
#include "test/cuda/PlainProduct.h"

#include "test/simt/Arena.h"

#include <cstring>
#include <cublasLt.h>

using namespace sinter;
using namespace sinter::fake;

namespace {

struct Description {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  cublasOperation_t a = CUBLAS_OP_N, b = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void *bias = nullptr;
  int biasType = -1; ///< the result's
  const void *aScales = nullptr, *bScales = nullptr;
  int aScaleMode = 0, bScaleMode = 0;
};
struct Layout {
  cudaDataType_t type;
  uint64_t rows, columns;
  int64_t stride;
};
struct Preference {
  uint64_t workspaceBytes = 0;
};
/// What the opaque words of an algorithm hold.
struct Algorithm {
  char magic[8];
  uint64_t number;
  uint64_t workspaceBytes;
};
constexpr char ltMagic[8] = {'f', 'a', 'k', 'e', ' ', 'l', 't', 0};
constexpr uint64_t algorithmCount = 3;
/// What the first algorithm uses of the workspace if it gets that much.
constexpr uint64_t wantedWorkspace = 1 << 20;

/// What every call begins with.
struct LtCall : LibraryCall {
  explicit LtCall(const char *name) : LibraryCall(name, CUBLAS_STATUS_EXECUTION_FAILED) {}
};
#define SINTER_LT_CALL(name)                                                                       \
  LtCall call(#name);                                                                              \
  if (call.error)                                                                                  \
  return static_cast<cublasStatus_t>(call.error)

template <typename Object, typename Handle> cublasStatus_t create(Handle *handle, Object object) {
  *handle = reinterpret_cast<Handle>(new Object(std::move(object)));
  ++device().counts.handles;
  return CUBLAS_STATUS_SUCCESS;
}
template <typename Object, typename Handle> cublasStatus_t destroy(Handle handle) {
  delete reinterpret_cast<Object *>(handle);
  --device().counts.handles;
  return CUBLAS_STATUS_SUCCESS;
}

/// Sets `value` from an attribute's bytes, which must be as many.
template <typename Value> cublasStatus_t set(Value &value, const void *bytes, size_t size) {
  if (size != sizeof(Value))
    return CUBLAS_STATUS_INVALID_VALUE;
  memcpy(&value, bytes, size);
  return CUBLAS_STATUS_SUCCESS;
}

bool elementOf(int type, Element &element) {
  switch (type) {
  case CUDA_R_32F:
    element = Element::F32;
    return true;
  case CUDA_R_16BF:
    element = Element::Bf16;
    return true;
  case CUDA_R_16F:
    element = Element::F16;
    return true;
  case CUDA_R_8F_E4M3:
    element = Element::E4M3;
    return true;
  case CUDA_R_8F_E5M2:
    element = Element::E5M2;
    return true;
  default:
    return false;
  }
}

bool matrixOf(const void *layout, Matrix &matrix) {
  auto &from = *static_cast<const Layout *>(layout);
  if (from.stride <= 0)
    return false;
  matrix.rows = from.rows;
  matrix.columns = from.columns;
  matrix.stride = uint64_t(from.stride);
  return elementOf(from.type, matrix.element);
}

/// What the descriptors say, as a product; not supported where the library or this fake has no
/// such.
cublasStatus_t productOf(const void *what, const void *a, const void *b, const void *add,
                         const void *out, Product &product) {
  auto &description = *static_cast<const Description *>(what);
  bool f32 = description.compute == CUBLAS_COMPUTE_32F;
  product.tf32 = description.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  if ((!f32 && !product.tf32) || description.scale != CUDA_R_32F)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  product.transposeA = description.a == CUBLAS_OP_T;
  product.transposeB = description.b == CUBLAS_OP_T;
  if (!matrixOf(a, product.a) || !matrixOf(b, product.b) || !matrixOf(add, product.add) ||
      !matrixOf(out, product.out))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  // Products of fp8: of rows on both sides, in multiples of 16 bytes, not of e5m2 on both; with one
  // scale for all of either, or, as compute capability 9.0 has them, of e4m3 with a scale for each
  // row.
  if (isFp8(product.a.element)) {
    auto &options = device().options;
    bool isOfRows = description.aScaleMode == CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
    bool hasMode = isOfRows ? options.major == 9 && options.minor == 0 &&
                                  product.a.element == Element::E4M3 &&
                                  product.b.element == Element::E4M3
                            : description.aScaleMode == CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F &&
                                  std::pair(options.major, options.minor) >= std::pair(8, 9);
    bool isAligned = product.a.rows % 16 == 0 && product.a.stride % 16 == 0 &&
                     product.b.stride % 16 == 0 && product.out.rows % 16 == 0;
    if (!product.transposeA || product.transposeB || !isAligned || isFp8(product.out.element) ||
        description.aScaleMode != description.bScaleMode || !hasMode || !description.aScales ||
        !description.bScales ||
        (product.a.element == Element::E5M2 && product.b.element == Element::E5M2))
      return CUBLAS_STATUS_NOT_SUPPORTED;
    product.hasScales = true;
    product.scalesAreOfRows = isOfRows;
  } else if (description.aScales || description.bScales) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  switch (description.epilogue) {
  case CUBLASLT_EPILOGUE_DEFAULT:
  case CUBLASLT_EPILOGUE_BIAS:
    break;
  case CUBLASLT_EPILOGUE_RELU:
  case CUBLASLT_EPILOGUE_RELU_BIAS:
    product.activation = Activation::Relu;
    break;
  case CUBLASLT_EPILOGUE_GELU:
  case CUBLASLT_EPILOGUE_GELU_BIAS:
    product.activation = Activation::Gelu;
    break;
  default:
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  product.hasBias = description.epilogue == CUBLASLT_EPILOGUE_BIAS ||
                    description.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS ||
                    description.epilogue == CUBLASLT_EPILOGUE_GELU_BIAS;
  product.bias = product.out.element;
  if (description.biasType >= 0 && !elementOf(description.biasType, product.bias))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  return product.consistent() ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

/// Calls `visit` with the bytes of each column.
template <typename Visit> void forEachColumn(const Matrix &matrix, const void *data, Visit visit) {
  for (uint64_t column = 0; column < matrix.columns; ++column)
    visit(static_cast<const std::byte *>(data) + column * matrix.stride * bytesOf(matrix.element),
          matrix.rows * bytesOf(matrix.element));
}

/// In checked mode an operand is read as a kernel reads: somebody must have written it.
void requireInitialised(const char *operand, const Matrix &matrix, const void *data) {
  if (!device().options.checked)
    return;
  bool missing = false;
  forEachColumn(matrix, data, [&](const std::byte *bytes, size_t count) {
    missing = missing || simt::Arena::instance().hasUninitialised(bytes, count);
  });
  if (missing)
    device().complain(std::string("cublasLtMatmul reads ") + operand +
                      " of which nobody has written some elements");
}

/// The range of a matrix that the device must own.
Access accessOf(const void *data, uint64_t bytes, bool writes) {
  auto begin = reinterpret_cast<CUdeviceptr>(data);
  return {begin, begin + bytes, writes};
}

} // namespace

namespace sinter::fake::lt {

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  SINTER_LT_CALL(cublasLtCreate);
  return create(handle, 0);
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  LtCall call("cublasLtDestroy");
  return destroy<int>(handle);
}
size_t cublasLtGetVersion() { return 130000; }
const char *cublasLtGetStatusString(cublasStatus_t status) {
  switch (status) {
  case CUBLAS_STATUS_SUCCESS:
    return "CUBLAS_STATUS_SUCCESS";
  case CUBLAS_STATUS_NOT_INITIALIZED:
    return "CUBLAS_STATUS_NOT_INITIALIZED";
  case CUBLAS_STATUS_INVALID_VALUE:
    return "CUBLAS_STATUS_INVALID_VALUE";
  case CUBLAS_STATUS_EXECUTION_FAILED:
    return "CUBLAS_STATUS_EXECUTION_FAILED";
  case CUBLAS_STATUS_NOT_SUPPORTED:
    return "CUBLAS_STATUS_NOT_SUPPORTED";
  default:
    return "an unknown status of cuBLAS";
  }
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *handle, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  SINTER_LT_CALL(cublasLtMatmulDescCreate);
  return create(handle, Description{compute, scale});
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t handle) {
  LtCall call("cublasLtMatmulDescDestroy");
  return destroy<Description>(handle);
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t handle,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void *bytes, size_t size) {
  SINTER_LT_CALL(cublasLtMatmulDescSetAttribute);
  auto &description = *reinterpret_cast<Description *>(handle);
  switch (attribute) {
  case CUBLASLT_MATMUL_DESC_TRANSA:
    return set(description.a, bytes, size);
  case CUBLASLT_MATMUL_DESC_TRANSB:
    return set(description.b, bytes, size);
  case CUBLASLT_MATMUL_DESC_EPILOGUE:
    return set(description.epilogue, bytes, size);
  case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
    return set(description.bias, bytes, size);
  case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
    return set(description.biasType, bytes, size);
  case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER:
    return set(description.aScales, bytes, size);
  case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER:
    return set(description.bScales, bytes, size);
  case CUBLASLT_MATMUL_DESC_A_SCALE_MODE:
    return set(description.aScaleMode, bytes, size);
  case CUBLASLT_MATMUL_DESC_B_SCALE_MODE:
    return set(description.bScaleMode, bytes, size);
  default:
    return CUBLAS_STATUS_INVALID_VALUE;
  }
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *handle, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t stride) {
  SINTER_LT_CALL(cublasLtMatrixLayoutCreate);
  return create(handle, Layout{type, rows, columns, stride});
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t handle) {
  LtCall call("cublasLtMatrixLayoutDestroy");
  return destroy<Layout>(handle);
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *handle) {
  SINTER_LT_CALL(cublasLtMatmulPreferenceCreate);
  return create(handle, Preference());
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t handle) {
  LtCall call("cublasLtMatmulPreferenceDestroy");
  return destroy<Preference>(handle);
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t handle,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void *bytes, size_t size) {
  SINTER_LT_CALL(cublasLtMatmulPreferenceSetAttribute);
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
    return set(reinterpret_cast<Preference *>(handle)->workspaceBytes, bytes, size);
  return CUBLAS_STATUS_SUCCESS; // alignment makes no difference here
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, cublasLtMatmulDesc_t what, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
    cublasLtMatrixLayout_t add, cublasLtMatrixLayout_t out, cublasLtMatmulPreference_t preference,
    int requested, cublasLtMatmulHeuristicResult_t *results, int *found) {
  SINTER_LT_CALL(cublasLtMatmulAlgoGetHeuristic);
  *found = 0;
  Product product;
  if (cublasStatus_t status = productOf(what, a, b, add, out, product))
    return status;
  uint64_t workspace = reinterpret_cast<Preference *>(preference)->workspaceBytes;
  for (; *found < requested && uint64_t(*found) < algorithmCount; ++*found) {
    Algorithm algorithm{{}, uint64_t(*found), 0};
    memcpy(algorithm.magic, ltMagic, sizeof(ltMagic));
    // The first one makes use of all that it may have.
    if (*found == 0)
      algorithm.workspaceBytes = std::min(workspace, wantedWorkspace);
    cublasLtMatmulHeuristicResult_t &result = results[*found];
    memset(&result, 0, sizeof(result));
    static_assert(sizeof(algorithm) <= sizeof(result.algo));
    memcpy(&result.algo, &algorithm, sizeof(algorithm));
    result.workspaceSize = algorithm.workspaceBytes;
    result.state = CUBLAS_STATUS_SUCCESS;
    result.wavesCount = 1;
  }
  return *found ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t what, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t aLayout, const void *b,
                              cublasLtMatrixLayout_t bLayout, const void *beta, const void *add,
                              cublasLtMatrixLayout_t addLayout, void *out,
                              cublasLtMatrixLayout_t outLayout, const cublasLtMatmulAlgo_t *algo,
                              void *workspace, size_t workspaceBytes, cudaStream_t on) {
  SINTER_LT_CALL(cublasLtMatmul);
  FakeStream *stream = device().stream(on);
  Product product;
  if (cublasStatus_t status = productOf(what, aLayout, bLayout, addLayout, outLayout, product))
    return status;
  Algorithm algorithm{};
  if (algo)
    memcpy(&algorithm, algo, sizeof(algorithm));
  if (!stream || (algo && memcmp(algorithm.magic, ltMagic, sizeof(ltMagic)) != 0) ||
      algorithm.workspaceBytes > workspaceBytes ||
      reinterpret_cast<uintptr_t>(workspace) % 256 != 0)
    return CUBLAS_STATUS_INVALID_VALUE;
  product.alpha = *static_cast<const float *>(alpha);
  product.beta = *static_cast<const float *>(beta);
  const auto &description = *reinterpret_cast<Description *>(what);
  const void *bias = description.bias;
  const auto *aScales = static_cast<const float *>(description.aScales);
  const auto *bScales = static_cast<const float *>(description.bScales);
  std::vector<Access> accesses = {accessOf(a, product.a.bytes(), false),
                                  accessOf(b, product.b.bytes(), false),
                                  accessOf(out, product.out.bytes(), true)};
  if (product.beta != 0)
    accesses.push_back(accessOf(add, product.add.bytes(), false));
  if (product.hasBias)
    accesses.push_back(accessOf(bias, product.out.rows * bytesOf(product.bias), false));
  if (product.hasScales) {
    bool isOfRows = product.scalesAreOfRows;
    accesses.push_back(accessOf(aScales, (isOfRows ? product.out.rows : 1) * sizeof(float), false));
    accesses.push_back(
        accessOf(bScales, (isOfRows ? product.out.columns : 1) * sizeof(float), false));
  }
  if (algorithm.workspaceBytes)
    accesses.push_back(accessOf(workspace, algorithm.workspaceBytes, true));
  for (const Access &access : accesses)
    if (!device().owns(access.begin, access.end - access.begin)) {
      device().complain("cublasLtMatmul was given memory that is not allocated");
      return CUBLAS_STATUS_INVALID_VALUE;
    }
  for (const Access &access : accesses)
    if (&access != &accesses[2] && access.begin < accesses[2].end &&
        accesses[2].begin < access.end && reinterpret_cast<CUdeviceptr>(add) != access.begin)
      device().complain("cublasLtMatmul was given a result that overlaps with an operand");
  CUresult result = device().submit(
      *stream, {"a product", std::move(accesses), [=] {
                  ++device().counts.products;
                  requireInitialised("a matrix A", product.a, a);
                  requireInitialised("a matrix B", product.b, b);
                  if (product.beta != 0)
                    requireInitialised("a matrix C", product.add, add);
                  product.run(a, b, add, bias, out, aScales, bScales);
                  forEachColumn(product.out, out, [](const std::byte *bytes, size_t count) {
                    simt::Arena::instance().markInitialised(bytes, count);
                  });
                  if (algorithm.workspaceBytes)
                    memset(workspace, 0xFF, algorithm.workspaceBytes);
                }});
  return result == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

} // namespace sinter::fake::lt

const std::vector<NamedFunction> &sinter::fake::ltFunctions() {
#define SINTER_FAKE_LT(name) namedFunction<decltype(::name)>(SINTER_FAKE_NAME(name), &lt::name)
  static const std::vector<NamedFunction> functions = {
      SINTER_FAKE_LT(cublasLtCreate),
      SINTER_FAKE_LT(cublasLtDestroy),
      SINTER_FAKE_LT(cublasLtGetVersion),
      SINTER_FAKE_LT(cublasLtGetStatusString),
      SINTER_FAKE_LT(cublasLtMatmulDescCreate),
      SINTER_FAKE_LT(cublasLtMatmulDescDestroy),
      SINTER_FAKE_LT(cublasLtMatmulDescSetAttribute),
      SINTER_FAKE_LT(cublasLtMatrixLayoutCreate),
      SINTER_FAKE_LT(cublasLtMatrixLayoutDestroy),
      SINTER_FAKE_LT(cublasLtMatmulPreferenceCreate),
      SINTER_FAKE_LT(cublasLtMatmulPreferenceDestroy),
      SINTER_FAKE_LT(cublasLtMatmulPreferenceSetAttribute),
      SINTER_FAKE_LT(cublasLtMatmulAlgoGetHeuristic),
      SINTER_FAKE_LT(cublasLtMatmul),
  };
  return functions;
}
