#include "test/unit/cuda/TestProducts.h"
#include "runtime/Base/HalfFloat.h"
#include "test/unit/cuda/TestDriver.h"
#include <cassert>
#include <cmath>
#include <cstring>
#include <map>

namespace sinter::runtime::cuda::testing {
namespace {

TestProducts *installed = nullptr;

struct Layout {
  cudaDataType type;
  uint64_t rows, columns;
  int64_t stride;

  float load(const void *data, uint64_t row, uint64_t column) const {
    return loadAt(data, column * uint64_t(stride) + row);
  }
  float loadAt(const void *data, uint64_t at) const {
    if (type == CUDA_R_32F)
      return static_cast<const float *>(data)[at];
    uint16_t bits = static_cast<const uint16_t *>(data)[at];
    return type == CUDA_R_16BF ? bf16ToFloat(bits) : f16ToFloat(bits);
  }
  void store(void *data, uint64_t row, uint64_t column, float value) const {
    uint64_t at = column * uint64_t(stride) + row;
    if (type == CUDA_R_32F)
      static_cast<float *>(data)[at] = value;
    else
      static_cast<uint16_t *>(data)[at] =
          type == CUDA_R_16BF ? floatToBf16(value) : floatToF16(value);
  }
};

struct Description {
  cublasOperation_t first = CUBLAS_OP_N, second = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void *bias = nullptr;
  cudaDataType biasType = CUDA_R_32F;
};

struct Preference {
  std::map<int, uint32_t> alignments;
};

const Layout &at(cublasLtMatrixLayout_t layout) { return *reinterpret_cast<Layout *>(layout); }
Description &at(cublasLtMatmulDesc_t product) { return *reinterpret_cast<Description *>(product); }

float apply(cublasLtEpilogue_t epilogue, float x) {
  if (epilogue == CUBLASLT_EPILOGUE_RELU || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS)
    return std::max(x, 0.0f);
  if (epilogue == CUBLASLT_EPILOGUE_GELU || epilogue == CUBLASLT_EPILOGUE_GELU_BIAS)
    return 0.5f * x * (1 + std::tanh(0.7978845608f * (x + 0.044715f * x * x * x)));
  return x;
}

bool hasBias(cublasLtEpilogue_t epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_BIAS || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS ||
         epilogue == CUBLASLT_EPILOGUE_GELU_BIAS;
}

void multiply(const Description &product, const void *a, const Layout &aLayout, const void *b,
              const Layout &bLayout, float beta, const void *c, const Layout &cLayout, void *d,
              const Layout &dLayout) {
  bool aTransposed = product.first == CUBLAS_OP_T, bTransposed = product.second == CUBLAS_OP_T;
  uint64_t depth = aTransposed ? aLayout.rows : aLayout.columns;
  Layout bias{product.biasType, dLayout.rows, 1, int64_t(dLayout.rows)};
  for (uint64_t column = 0; column < dLayout.columns; ++column)
    for (uint64_t row = 0; row < dLayout.rows; ++row) {
      float sum = beta == 0 ? 0 : beta * cLayout.load(c, row, column);
      for (uint64_t k = 0; k < depth; ++k)
        sum += (aTransposed ? aLayout.load(a, k, row) : aLayout.load(a, row, k)) *
               (bTransposed ? bLayout.load(b, column, k) : bLayout.load(b, k, column));
      if (hasBias(product.epilogue))
        sum += bias.loadAt(product.bias, row);
      dLayout.store(d, row, column, apply(product.epilogue, sum));
    }
}

cublasLtMatmulHeuristicResult_t resultOf(int algorithm) {
  cublasLtMatmulHeuristicResult_t result = {};
  std::memset(&result.algo, 0, sizeof(result.algo));
  result.algo.data[0] = uint64_t(algorithm);
  result.state = CUBLAS_STATUS_SUCCESS;
  return result;
}

} // namespace

TestProducts &TestProducts::get() {
  assert(installed);
  return *installed;
}

TestProducts::TestProducts() {
  assert(!installed);
  installed = this;
  table.cublasLtCreate = [](cublasLtHandle_t *handle) {
    ++get().handles;
    *handle = reinterpret_cast<cublasLtHandle_t>(installed);
    return CUBLAS_STATUS_SUCCESS;
  };
  table.cublasLtDestroy = [](cublasLtHandle_t) {
    --get().handles;
    return CUBLAS_STATUS_SUCCESS;
  };
  table.cublasLtGetVersion = []() -> size_t { return 130000; };
  table.cublasLtGetStatusString = [](cublasStatus_t) { return "not supported"; };
  table.cublasLtMatmulDescCreate = [](cublasLtMatmulDesc_t *product, cublasComputeType_t,
                                      cudaDataType_t) {
    ++get().descriptions;
    *product = reinterpret_cast<cublasLtMatmulDesc_t>(new Description);
    return CUBLAS_STATUS_SUCCESS;
  };
  table.cublasLtMatmulDescDestroy = [](cublasLtMatmulDesc_t product) {
    --get().descriptions;
    delete &at(product);
    return CUBLAS_STATUS_SUCCESS;
  };
  table.cublasLtMatmulDescSetAttribute = [](cublasLtMatmulDesc_t product,
                                            cublasLtMatmulDescAttributes_t attribute,
                                            const void *value, size_t bytes) {
    Description &set = at(product);
    auto take = [&](auto &field) {
      assert(bytes == sizeof(field));
      std::memcpy(&field, value, sizeof(field));
      return CUBLAS_STATUS_SUCCESS;
    };
    switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return take(set.first);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return take(set.second);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return take(set.epilogue);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return take(set.bias);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      return take(set.biasType);
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
    }
  };
  table.cublasLtMatrixLayoutCreate = [](cublasLtMatrixLayout_t *layout, cudaDataType type,
                                        uint64_t rows, uint64_t columns, int64_t stride) {
    if (uint64_t(stride) < rows)
      return CUBLAS_STATUS_INVALID_VALUE;
    ++get().descriptions;
    *layout = reinterpret_cast<cublasLtMatrixLayout_t>(new Layout{type, rows, columns, stride});
    return CUBLAS_STATUS_SUCCESS;
  };
  table.cublasLtMatrixLayoutDestroy = [](cublasLtMatrixLayout_t layout) {
    --get().descriptions;
    delete reinterpret_cast<Layout *>(layout);
    return CUBLAS_STATUS_SUCCESS;
  };
  table.cublasLtMatmulPreferenceCreate = [](cublasLtMatmulPreference_t *preference) {
    *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
    return CUBLAS_STATUS_SUCCESS;
  };
  table.cublasLtMatmulPreferenceDestroy = [](cublasLtMatmulPreference_t preference) {
    delete reinterpret_cast<Preference *>(preference);
    return CUBLAS_STATUS_SUCCESS;
  };
  table.cublasLtMatmulPreferenceSetAttribute = [](cublasLtMatmulPreference_t preference,
                                                  cublasLtMatmulPreferenceAttributes_t attribute,
                                                  const void *value, size_t bytes) {
    if (attribute != CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) {
      assert(bytes == sizeof(uint32_t));
      std::memcpy(&reinterpret_cast<Preference *>(preference)->alignments[int(attribute)], value,
                  bytes);
    }
    return CUBLAS_STATUS_SUCCESS;
  };
  table.cublasLtMatmulAlgoGetHeuristic =
      [](cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
         cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatmulPreference_t preference,
         int wanted, cublasLtMatmulHeuristicResult_t *results, int *found) {
        TestProducts &products = get();
        products.asked = wanted;
        products.alignments.clear();
        for (auto [attribute, bytes] : reinterpret_cast<Preference *>(preference)->alignments)
          products.alignments.push_back(bytes);
        *found = std::min(wanted, products.algorithms);
        for (int i = 0; i < *found; ++i)
          results[i] = resultOf(i + 1);
        return CUBLAS_STATUS_SUCCESS;
      };
  table.cublasLtMatmulAlgoCheck = [](cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                     cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                     cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t *algorithm,
                                     cublasLtMatmulHeuristicResult_t *result) {
    if (algorithm->data[0] == 0 || algorithm->data[0] > uint64_t(get().algorithms))
      return CUBLAS_STATUS_NOT_SUPPORTED;
    *result = resultOf(int(algorithm->data[0]));
    return CUBLAS_STATUS_SUCCESS;
  };
  table.cublasLtMatmul = [](cublasLtHandle_t, cublasLtMatmulDesc_t product, const void *alpha,
                            const void *a, cublasLtMatrixLayout_t aLayout, const void *b,
                            cublasLtMatrixLayout_t bLayout, const void *beta, const void *c,
                            cublasLtMatrixLayout_t cLayout, void *d, cublasLtMatrixLayout_t dLayout,
                            const cublasLtMatmulAlgo_t *algorithm, void *, size_t, cudaStream_t) {
    assert(*static_cast<const float *>(alpha) == 1);
    int number = int(algorithm->data[0]);
    // Scalars are read at the call, matrices when the stream comes to it.
    TestDriver::get().enqueue([=, factor = *static_cast<const float *>(beta)] {
      get().ran.push_back(number);
      multiply(at(product), a, at(aLayout), b, at(bLayout), factor, c, at(cLayout), d, at(dLayout));
    });
    return CUBLAS_STATUS_SUCCESS;
  };
  installLtApi(&table);
}

TestProducts::~TestProducts() {
  installLtApi(nullptr);
  installed = nullptr;
}

} // namespace sinter::runtime::cuda::testing
