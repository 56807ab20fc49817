#include "runtime/Device/Cuda/LtGemm.h"
#include "runtime/Format/Actions.h"
#include <array>
#include <sstream>
#include <string_view>

namespace sinter::runtime::cuda {
namespace {

constexpr int candidateCount = 8;

cudaDataType_t typeOf(fb::DType dtype) {
  switch (dtype) {
  case fb::DType::BF16:
    return CUDA_R_16BF;
  case fb::DType::F16:
    return CUDA_R_16F;
  case fb::DType::E4M3:
    return CUDA_R_8F_E4M3;
  case fb::DType::E5M2:
    return CUDA_R_8F_E5M2;
  default: // all others the verifier refuses
    return CUDA_R_32F;
  }
}

// The largest power of two, up to 256, that an address is a multiple of.
uint32_t alignmentOf(CUdeviceptr address) {
  uint32_t alignment = 256;
  while (address % alignment != 0)
    alignment /= 2;
  return alignment;
}

// Sums of parts are added in f32: where the result is of 16 bits, a scheme that keeps parts in the
// result's type would round each of them.
uint32_t reductionsFor(fb::DType result) {
  return result == fb::DType::F32 ? CUBLASLT_REDUCTION_SCHEME_MASK
                                  : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
}

// "8192 x 768 x 3072"
std::string sizesOf(const fb::Gemm &gemm) {
  return std::to_string(gemm.m()) + " x " + std::to_string(gemm.n()) + " x " +
         std::to_string(gemm.k());
}

} // namespace

LtLibrary::~LtLibrary() {
  if (handle)
    api->cublasLtDestroy(handle);
}

Expected<void> LtLibrary::check(cublasStatus_t status, const std::string &what) const {
  if (status == CUBLAS_STATUS_SUCCESS)
    return {};
  return fail(what, std::string("cuBLASLt says ") + api->cublasLtGetStatusString(status),
              "install the cuBLAS that belongs to the driver");
}

Expected<void> LtLibrary::open() {
  if (handle)
    return {};
  SINTER_TRY(api, ltApi());
  return check(api->cublasLtCreate(&handle), "matrix products on " + context.getName());
}

std::string LtLibrary::describe(const fb::Gemm &gemm) const {
  std::ostringstream text;
  text << "cuBLASLt " << api->cublasLtGetVersion() << ": " << gemm.m() << ' ' << gemm.n() << ' '
       << gemm.k() << ' ' << int(gemm.dtype()) << ' ' << int(gemm.out_dtype()) << ' '
       << gemm.lhs_stride() << ' ' << gemm.rhs_stride() << ' ' << gemm.out_stride() << ' '
       << gemm.rhs_transposed() << ' ' << gemm.lhs_transposed() << ' ' << gemm.tf32() << ' '
       << int(gemm.rhs_dtype().value_or(gemm.dtype())) << ' ' << hasOneScale(gemm) << ' '
       << (gemm.workspace() ? gemm.workspace()->bytes() : 0);
  if (gemm.post_ops())
    for (const fb::PostOp *step : *gemm.post_ops())
      text << ' ' << int(step->kind()) << ' ' << int(step->dtype()) << ' ' << step->stride();
  return text.str();
}

Expected<LtGemm> LtLibrary::bind(const fb::Gemm &gemm, const Address &address, Tuner *tuner) {
  SINTER_CHECK(open());
  LtGemm result(*this);
  SINTER_CHECK(result.describe(gemm, address));
  SINTER_CHECK(result.describeEpilogue(gemm, address));
  std::string problem = describe(gemm);
  for (CUdeviceptr operand : {result.rhs, result.lhs, result.addend, result.out})
    problem += ' ' + std::to_string(alignmentOf(operand));
  SINTER_CHECK(choose(result, sizesOf(gemm), problem, tuner));
  return result;
}

Expected<void> LtLibrary::choose(LtGemm &gemm, const std::string &sizes, const std::string &problem,
                                 Tuner *tuner) {
  cublasLtMatmulPreference_t preference = nullptr;
  SINTER_CHECK(check(api->cublasLtMatmulPreferenceCreate(&preference), "a product"));
  auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto &value) {
    return check(
        api->cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value)),
        "a product");
  };
  uint64_t workspace = gemm.workspaceBytes;
  Expected<void> ready = prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace);
  if (ready)
    ready = prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, gemm.reductions);
  const std::pair<cublasLtMatmulPreferenceAttributes_t, CUdeviceptr> operands[] = {
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, gemm.rhs},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, gemm.lhs},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, gemm.addend},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, gemm.out}};
  for (const auto &[attribute, address] : operands)
    if (ready)
      ready = prefer(attribute, alignmentOf(address));
  std::array<cublasLtMatmulHeuristicResult_t, candidateCount> candidates = {};
  int found = 0;
  if (ready)
    ready = check(
        api->cublasLtMatmulAlgoGetHeuristic(handle, gemm.product, gemm.rhsLayout, gemm.lhsLayout,
                                            gemm.addLayout, gemm.outLayout, preference,
                                            tuner ? candidateCount : 1, candidates.data(), &found),
        "a product of " + problem);
  api->cublasLtMatmulPreferenceDestroy(preference);
  SINTER_CHECK(std::move(ready));
  if (found == 0)
    return fail("a product of " + problem, "cuBLASLt has no algorithm for it", "report this");
  size_t best = 0;
  if (tuner) {
    SINTER_TRY(best,
               tune(gemm, sizes, problem, std::span(candidates).first(size_t(found)), *tuner));
  }
  gemm.algorithm = candidates[best].algo;
  return {};
}

Expected<size_t> LtLibrary::tune(const LtGemm &gemm, const std::string &sizes, std::string problem,
                                 std::span<const cublasLtMatmulHeuristicResult_t> candidates,
                                 Tuner &tuner) {
  std::vector<Tuner::Alternative> alternatives;
  for (const cublasLtMatmulHeuristicResult_t &candidate : candidates) {
    alternatives.push_back(
        {"algorithm " + std::to_string(alternatives.size()) + " of cuBLASLt for " + sizes, [&] {
           return check(candidate.state == CUBLAS_STATUS_SUCCESS
                            ? gemm.call(candidate.algo, context.getStream())
                            : candidate.state,
                        "a product");
         }});
    problem.append(reinterpret_cast<const char *>(&candidate.algo), sizeof(candidate.algo));
  }
  return tuner.choose(problem, alternatives);
}

Expected<void> LtGemm::describe(const fb::Gemm &gemm, const LtLibrary::Address &address) {
  const LtApi &api = *library->api;
  auto check = [&](cublasStatus_t status) { return library->check(status, "a product"); };
  auto layout = [&](cublasLtMatrixLayout_t &made, fb::DType dtype, uint64_t rows, uint64_t columns,
                    uint64_t stride) {
    return check(api.cublasLtMatrixLayoutCreate(&made, typeOf(dtype), rows, columns,
                                                static_cast<int64_t>(stride)));
  };
  auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto &value) {
    return check(api.cublasLtMatmulDescSetAttribute(product, attribute, &value, sizeof(value)));
  };
  uint64_t m = gemm.m(), n = gemm.n(), k = gemm.k();
  bool tf32 = gemm.dtype() == fb::DType::F32 && gemm.tf32();
  SINTER_CHECK(check(api.cublasLtMatmulDescCreate(
      &product, tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F)));
  bool rhsTransposed = gemm.rhs_transposed();
  cublasOperation_t first = rhsTransposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  cublasOperation_t second = gemm.lhs_transposed() ? CUBLAS_OP_T : CUBLAS_OP_N;
  reductions = reductionsFor(gemm.out_dtype());
  SINTER_CHECK(set(CUBLASLT_MATMUL_DESC_TRANSA, first));
  SINTER_CHECK(set(CUBLASLT_MATMUL_DESC_TRANSB, second));
  SINTER_CHECK(layout(rhsLayout, gemm.rhs_dtype().value_or(gemm.dtype()), rhsTransposed ? k : n,
                      rhsTransposed ? n : k, gemm.rhs_stride()));
  SINTER_CHECK(layout(lhsLayout, gemm.dtype(), gemm.lhs_transposed() ? m : k,
                      gemm.lhs_transposed() ? k : m, gemm.lhs_stride()));
  SINTER_CHECK(layout(outLayout, gemm.out_dtype(), n, m, gemm.out_stride()));
  rhs = address(*gemm.rhs());
  lhs = address(*gemm.lhs());
  out = address(*gemm.out());
  if (gemm.lhs_scales()) {
    const int32_t mode = hasOneScale(gemm) ? CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F
                                           : CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
    SINTER_CHECK(set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, mode));
    SINTER_CHECK(set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, mode));
    SINTER_CHECK(set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, toPointer(address(*gemm.rhs_scales()))));
    SINTER_CHECK(set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, toPointer(address(*gemm.lhs_scales()))));
  }
  if (const fb::Slice *room = gemm.workspace(); room && room->bytes() != 0) {
    workspace = address(*room);
    workspaceBytes = room->bytes();
  }
  return {};
}

Expected<void> LtGemm::describeEpilogue(const fb::Gemm &gemm, const LtLibrary::Address &address) {
  const LtApi &api = *library->api;
  auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto &value) {
    return library->check(
        api.cublasLtMatmulDescSetAttribute(product, attribute, &value, sizeof(value)), "a product");
  };
  addend = out;
  uint64_t addStride = gemm.out_stride();
  bool bias = false, gelu = false, relu = false;
  if (gemm.post_ops())
    for (const fb::PostOp *step : *gemm.post_ops())
      switch (step->kind()) {
      case fb::PostOpKind::Bias:
        bias = true;
        SINTER_CHECK(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, toPointer(address(*step->operand()))));
        SINTER_CHECK(set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, typeOf(step->dtype())));
        break;
      case fb::PostOpKind::Add:
        beta = 1;
        addend = address(*step->operand());
        addStride = step->stride();
        break;
      case fb::PostOpKind::GeluTanh:
        gelu = true;
        break;
      case fb::PostOpKind::Relu:
        relu = true;
        break;
      default: // the verifier refuses the others
        break;
      }
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  if (gelu)
    epilogue = bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
  else if (relu)
    epilogue = bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
  else if (bias)
    epilogue = CUBLASLT_EPILOGUE_BIAS;
  SINTER_CHECK(set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue));
  return library->check(api.cublasLtMatrixLayoutCreate(&addLayout, typeOf(gemm.out_dtype()),
                                                       gemm.n(), gemm.m(),
                                                       static_cast<int64_t>(addStride)),
                        "a product");
}

LtGemm::LtGemm(LtGemm &&other) noexcept
    : library(other.library), product(std::exchange(other.product, nullptr)),
      rhsLayout(std::exchange(other.rhsLayout, nullptr)),
      lhsLayout(std::exchange(other.lhsLayout, nullptr)),
      addLayout(std::exchange(other.addLayout, nullptr)),
      outLayout(std::exchange(other.outLayout, nullptr)), rhs(other.rhs), lhs(other.lhs),
      addend(other.addend), out(other.out), workspace(other.workspace),
      workspaceBytes(other.workspaceBytes), reductions(other.reductions), beta(other.beta),
      algorithm(other.algorithm) {}

LtGemm::~LtGemm() {
  for (cublasLtMatrixLayout_t layout : {rhsLayout, lhsLayout, addLayout, outLayout})
    if (layout)
      library->api->cublasLtMatrixLayoutDestroy(layout);
  if (product)
    library->api->cublasLtMatmulDescDestroy(product);
}

cublasStatus_t LtGemm::call(const cublasLtMatmulAlgo_t &with, CUstream stream) const {
  float alpha = 1;
  return library->api->cublasLtMatmul(library->handle, product, &alpha, toPointer(rhs), rhsLayout,
                                      toPointer(lhs), lhsLayout, &beta, toPointer(addend),
                                      addLayout, toPointer(out), outLayout, &with,
                                      toPointer(workspace), workspaceBytes, stream);
}

Expected<void> LtGemm::enqueue(CUstream stream) const {
  return library->check(call(algorithm, stream), "a product");
}

} // namespace sinter::runtime::cuda
