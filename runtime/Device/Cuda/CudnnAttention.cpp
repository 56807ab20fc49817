#include "runtime/Device/Cuda/CudnnAttention.h"
#include "runtime/Device/Cuda/CudnnApi.h"
#include "runtime/Device/Cuda/FindGpu.h"
#include <algorithm>
#include <cfloat>
#include <map>
#include <sstream>
#include <utility>
#include <vector>

namespace sinter::runtime::cuda {
namespace {

/// An object of the library's.
class Descriptor {
public:
  Descriptor() = default;
  /// A new one, without attributes; null where the library makes none.
  Descriptor(const CudnnApi &api, cudnnBackendDescriptorType_t type) : api(&api) {
    if (api.cudnnBackendCreateDescriptor(type, &handle) != CUDNN_STATUS_SUCCESS)
      handle = nullptr;
  }
  Descriptor(Descriptor &&other) noexcept
      : api(other.api), handle(std::exchange(other.handle, nullptr)) {}
  Descriptor &operator=(Descriptor &&other) noexcept {
    std::swap(api, other.api);
    std::swap(handle, other.handle);
    return *this;
  }
  ~Descriptor() {
    if (handle)
      api->cudnnBackendDestroyDescriptor(handle);
  }
  cudnnBackendDescriptor_t get() const { return handle; }

private:
  const CudnnApi *api = nullptr;
  cudnnBackendDescriptor_t handle = nullptr;
};

/// How the library calls the type of an attribute.
template <typename T> constexpr cudnnBackendAttributeType_t kType = CUDNN_TYPE_INT64;
template <> constexpr auto kType<int32_t> = CUDNN_TYPE_INT32;
template <> constexpr auto kType<bool> = CUDNN_TYPE_BOOLEAN;
template <> constexpr auto kType<void *> = CUDNN_TYPE_VOID_PTR;
template <> constexpr auto kType<cudnnDataType_t> = CUDNN_TYPE_DATA_TYPE;
template <> constexpr auto kType<cudnnPointwiseMode_t> = CUDNN_TYPE_POINTWISE_MODE;
template <> constexpr auto kType<cudnnBackendHeurMode_t> = CUDNN_TYPE_HEUR_MODE;
template <> constexpr auto kType<cudnnReduceTensorOp_t> = CUDNN_TYPE_REDUCTION_OPERATOR_TYPE;

/// A new object of the library's, whose attributes are set one after another. The first that is
/// refused is what finish() tells of.
class Maker {
public:
  Maker(const CudnnApi &api, cudnnBackendDescriptorType_t type)
      : api(api), made(api, type),
        status(made.get() ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_ALLOC_FAILED) {}
  template <typename T> Maker &set(cudnnBackendAttributeName_t name, const T &value) {
    return setAll(name, kType<T>, 1, &value);
  }
  template <typename T> Maker &set(cudnnBackendAttributeName_t name, const std::vector<T> &values) {
    return setAll(name, kType<T>, values.size(), values.data());
  }
  Maker &set(cudnnBackendAttributeName_t name, const std::string &text) {
    return setAll(name, CUDNN_TYPE_CHAR, text.size(), text.data());
  }
  Maker &set(cudnnBackendAttributeName_t name, const Descriptor &value) {
    cudnnBackendDescriptor_t handle = value.get();
    if (!handle && status == CUDNN_STATUS_SUCCESS)
      status = CUDNN_STATUS_BAD_PARAM; // it could not be made
    return setAll(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &handle);
  }
  Maker &set(cudnnBackendAttributeName_t name, const std::vector<Descriptor> &values) {
    std::vector<cudnnBackendDescriptor_t> handles;
    for (const Descriptor &value : values)
      handles.push_back(value.get());
    return setAll(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, handles.size(), handles.data());
  }
  Expected<Descriptor> finish() {
    if (status == CUDNN_STATUS_SUCCESS)
      status = api.cudnnBackendFinalize(made.get());
    if (status == CUDNN_STATUS_SUCCESS)
      return std::move(made);
    char words[256] = {};
    api.cudnnGetLastErrorString(words, sizeof(words) - 1);
    return fail("attention",
                std::string("cuDNN says ") + api.cudnnGetErrorString(status) +
                    (words[0] ? ", " : "") + words,
                "our own kernels compute it");
  }

private:
  Maker &setAll(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, size_t count,
                const void *values) {
    if (status == CUDNN_STATUS_SUCCESS)
      status =
          api.cudnnBackendSetAttribute(made.get(), name, type, static_cast<int64_t>(count), values);
    return *this;
  }

  const CudnnApi &api;
  Descriptor made;
  cudnnStatus_t status;
};

using Shape = std::vector<int64_t>;

cudnnDataType_t cudnnType(fb::DType dtype) {
  switch (dtype) {
  case fb::DType::BF16:
    return CUDNN_DATA_BFLOAT16;
  case fb::DType::F16:
    return CUDNN_DATA_HALF;
  default:
    return CUDNN_DATA_FLOAT;
  }
}

/// The tensors that are memory or, from Scale on, numbers.
enum Id : int64_t { Query = 1, Key, Value, Out, Logsumexp, Scale, Lowest, Window, FirstVirtual };

/// Writes the graph of attention, operation by operation.
class Graph {
public:
  Graph(const CudnnApi &api, const CudnnProblem &problem) : api(api), problem(problem) {}

  Expected<Descriptor> build() {
    const CudnnProblem &p = problem;
    Shape scores{p.batch, p.heads, p.length, p.keys}, rows{p.batch, p.heads, p.length, 1};
    auto strided = [](const CudnnProblem::Strides &s) { return Shape{s[0], s[2], s[1], 1}; };
    Shape keyStrides = strided(p.key);
    std::swap(keyStrides[2], keyStrides[3]);
    cudnnDataType_t element = cudnnType(p.dtype);
    size_t query =
        memory(Query, element, {p.batch, p.heads, p.length, p.headSize}, strided(p.query));
    size_t key = memory(Key, element, {p.batch, p.keyHeads, p.headSize, p.keys}, keyStrides);
    size_t value =
        memory(Value, element, {p.batch, p.keyHeads, p.keys, p.headSize}, strided(p.value));
    size_t out = memory(Out, cudnnType(p.outDtype), {p.batch, p.heads, p.length, p.headSize},
                        {p.length * p.heads * p.headSize, p.headSize, p.heads * p.headSize, 1});

    size_t s = multiply(query, key, inside(scores));
    s = pointwise(CUDNN_POINTWISE_MUL, {s, number(Scale, CUDNN_DATA_FLOAT)}, inside(scores));
    if (p.causal || p.window) {
      size_t lowest = number(Lowest, CUDNN_DATA_FLOAT);
      if (p.causal) {
        size_t row = index(s, scores, 2), column = index(s, scores, 3);
        s = select(s, lowest, CUDNN_POINTWISE_CMP_GE, row, column, scores);
      }
      if (p.window) {
        size_t row = index(s, scores, 2), column = index(s, scores, 3);
        size_t shifted = pointwise(CUDNN_POINTWISE_ADD, {column, number(Window, CUDNN_DATA_INT32)},
                                   inside(scores, CUDNN_DATA_INT32), CUDNN_DATA_INT32);
        s = select(s, lowest, CUDNN_POINTWISE_CMP_GT, shifted, row, scores);
      }
    }
    size_t largest = reduce(CUDNN_REDUCE_TENSOR_MAX, s, inside(rows));
    s = pointwise(CUDNN_POINTWISE_SUB, {s, largest}, inside(scores));
    s = pointwise(CUDNN_POINTWISE_EXP, {s}, inside(scores));
    size_t sum = reduce(CUDNN_REDUCE_TENSOR_ADD, s, inside(rows));
    // The library does not know the graph without it.
    size_t log = pointwise(CUDNN_POINTWISE_LOG, {sum}, inside(rows));
    pointwise(CUDNN_POINTWISE_ADD, {largest, log},
              p.logsumexp
                  ? memory(Logsumexp, CUDNN_DATA_FLOAT, rows, {p.length * p.heads, 1, p.heads, 1})
                  : inside(rows));
    size_t weights = pointwise(CUDNN_POINTWISE_DIV, {s, sum}, inside(scores, element));
    multiply(weights, value, out);
    if (error)
      return tl::unexpected(*error);
    return Maker(api, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)
        .set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations)
        .finish();
  }

private:
  /// A tensor; they are told apart by their number.
  size_t tensor(int64_t id, cudnnDataType_t type, const Shape &shape, const Shape &strides,
                bool isVirtual, bool isNumber) {
    tensors.push_back(keep(Maker(api, CUDNN_BACKEND_TENSOR_DESCRIPTOR)
                               .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id)
                               .set(CUDNN_ATTR_TENSOR_DATA_TYPE, type)
                               .set(CUDNN_ATTR_TENSOR_DIMENSIONS, shape)
                               .set(CUDNN_ATTR_TENSOR_STRIDES, strides)
                               .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, int64_t(16))
                               .set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, isVirtual)
                               .set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, isNumber)
                               .finish()));
    return tensors.size() - 1;
  }
  size_t memory(Id id, cudnnDataType_t type, const Shape &shape, const Shape &strides) {
    return tensor(id, type, shape, strides, false, false);
  }
  size_t number(Id id, cudnnDataType_t type) {
    return tensor(id, type, {1, 1, 1, 1}, {1, 1, 1, 1}, false, true);
  }
  size_t inside(const Shape &shape, cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    Shape strides(shape.size(), 1);
    for (size_t i = shape.size() - 1; i > 0; --i)
      strides[i - 1] = strides[i] * shape[i];
    return tensor(nextVirtual++, type, shape, strides, true, false);
  }

  size_t multiply(size_t lhs, size_t rhs, size_t out) {
    Descriptor product = keep(Maker(api, CUDNN_BACKEND_MATMUL_DESCRIPTOR)
                                  .set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT)
                                  .finish());
    operations.push_back(keep(Maker(api, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR)
                                  .set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, tensors[lhs])
                                  .set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, tensors[rhs])
                                  .set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, tensors[out])
                                  .set(CUDNN_ATTR_OPERATION_MATMUL_DESC, product)
                                  .finish()));
    return out;
  }
  size_t reduce(cudnnReduceTensorOp_t op, size_t in, size_t out) {
    Descriptor reduction = keep(Maker(api, CUDNN_BACKEND_REDUCTION_DESCRIPTOR)
                                    .set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT)
                                    .set(CUDNN_ATTR_REDUCTION_OPERATOR, op)
                                    .finish());
    operations.push_back(keep(Maker(api, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR)
                                  .set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, tensors[in])
                                  .set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, tensors[out])
                                  .set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, reduction)
                                  .finish()));
    return out;
  }
  size_t pointwise(cudnnPointwiseMode_t mode, std::initializer_list<size_t> in, size_t out,
                   cudnnDataType_t computes = CUDNN_DATA_FLOAT, int64_t axis = -1) {
    Maker function(api, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    function.set(CUDNN_ATTR_POINTWISE_MODE, mode).set(CUDNN_ATTR_POINTWISE_MATH_PREC, computes);
    if (axis >= 0)
      function.set(CUDNN_ATTR_POINTWISE_AXIS, axis);
    Descriptor made = keep(function.finish());
    Maker operation(api, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, made)
        .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, tensors[out]);
    const cudnnBackendAttributeName_t operands[] = {CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
                                                    CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                                                    CUDNN_ATTR_OPERATION_POINTWISE_TDESC};
    for (size_t i = 0; i < in.size(); ++i)
      operation.set(operands[i], tensors[in.begin()[i]]);
    operations.push_back(keep(operation.finish()));
    return out;
  }
  /// The number of each element's row or column.
  size_t index(size_t scores, const Shape &shape, int64_t axis) {
    return pointwise(CUDNN_POINTWISE_GEN_INDEX, {scores}, inside(shape, CUDNN_DATA_INT32),
                     CUDNN_DATA_FLOAT, axis);
  }
  /// The scores where one index compares so with another, the number elsewhere.
  size_t select(size_t scores, size_t elsewhere, cudnnPointwiseMode_t compare, size_t left,
                size_t right, const Shape &shape) {
    size_t visible =
        pointwise(compare, {left, right}, inside(shape, CUDNN_DATA_BOOLEAN), CUDNN_DATA_BOOLEAN);
    return pointwise(CUDNN_POINTWISE_BINARY_SELECT, {scores, elsewhere, visible}, inside(shape));
  }

  /// What was made; the first error is kept for the end.
  Descriptor keep(Expected<Descriptor> made) {
    if (made)
      return std::move(*made);
    if (!error)
      error = made.error();
    return {};
  }

  const CudnnApi &api;
  const CudnnProblem &problem;
  int64_t nextVirtual = FirstVirtual;
  std::vector<Descriptor> tensors, operations;
  std::optional<Error> error;
};

/// A plan of the library's, with the workspace that it needs.
struct Plan {
  Descriptor graph, gpu, plan;
  int64_t workspaceBytes = 0;
};

bool isDeterministic(const CudnnApi &api, const Descriptor &config) {
  Descriptor engine(api, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t handle = engine.get();
  cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
  int64_t count = 0;
  if (!handle ||
      api.cudnnBackendGetAttribute(config.get(), CUDNN_ATTR_ENGINECFG_ENGINE,
                                   CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count,
                                   &handle) != CUDNN_STATUS_SUCCESS ||
      api.cudnnBackendGetAttribute(handle, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                   CUDNN_TYPE_NUMERICAL_NOTE, std::size(notes), &count,
                                   notes) != CUDNN_STATUS_SUCCESS)
    return false;
  auto *end = notes + std::min<int64_t>(count, std::size(notes));
  return std::find(notes, end, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) == end;
}

/// What the heuristic proposes, the best first.
std::vector<Descriptor> proposalsOf(const CudnnApi &api, const Descriptor &heuristic) {
  auto get = [&](std::vector<cudnnBackendDescriptor_t> &into) {
    int64_t count = 0;
    api.cudnnBackendGetAttribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<int64_t>(into.size()),
                                 &count, into.empty() ? nullptr : into.data());
    return static_cast<size_t>(count);
  };
  std::vector<cudnnBackendDescriptor_t> handles;
  std::vector<Descriptor> proposals;
  for (size_t i = 0, count = get(handles); i < count; ++i)
    if (Descriptor made(api, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR); made.get()) {
      handles.push_back(made.get());
      proposals.push_back(std::move(made));
    }
  // It may know fewer than it said.
  if (!handles.empty())
    proposals.resize(std::min(proposals.size(), get(handles)));
  return proposals;
}

/// `gpu`: the properties of the GPU; empty for the first that is visible.
Expected<Plan> makePlan(const CudnnApi &api, const CudnnProblem &problem, const std::string &gpu) {
  Plan result;
  SINTER_TRY(result.graph, Graph(api, problem).build());
  Maker device(api, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  if (gpu.empty())
    device.set(CUDNN_ATTR_DEVICEPROP_DEVICE_ID, int32_t(0));
  else
    device.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, gpu);
  SINTER_TRY(result.gpu, device.finish());
  SINTER_TRY(Descriptor heuristic, Maker(api, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR)
                                       .set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, result.graph)
                                       .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_HEUR_MODE_A)
                                       .set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, result.gpu)
                                       .finish());
  Error last{"attention", "cuDNN has no engine for it", "our own kernels compute it"};
  for (const Descriptor &proposal : proposalsOf(api, heuristic)) {
    if (!isDeterministic(api, proposal))
      continue;
    Expected<Descriptor> plan = Maker(api, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)
                                    .set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, proposal)
                                    .set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, result.gpu)
                                    .finish();
    if (!plan) {
      last = plan.error();
      continue;
    }
    result.plan = std::move(*plan);
    int64_t count = 0;
    if (api.cudnnBackendGetAttribute(result.plan.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                     CUDNN_TYPE_INT64, 1, &count,
                                     &result.workspaceBytes) == CUDNN_STATUS_SUCCESS)
      return result;
  }
  return tl::unexpected(last);
}

/// A GPU's properties as the library writes them. What the heuristics ask for is of the data sheets
/// of the GPUs that the compiler describes by these capabilities; the rest is equal for all.
std::string propertiesOf(Capability capability) {
  struct Gpu {
    int major;
    const char *name;
    int multiprocessors, sharedBytes, l2Bytes;
    long long memoryBytes;
    int clock, memoryClock;
  };
  static constexpr Gpu gpus[] = {
      {8, "NVIDIA A100", 108, 166912, 41943040, 85899345920, 1410000, 1593000},
      {9, "NVIDIA H200", 132, 232448, 52428800, 150121545728, 1980000, 3201000},
      {10, "NVIDIA B200", 148, 232448, 132120576, 192265846784, 1965000, 3996000},
      {12, "NVIDIA RTX 5090", 170, 101376, 100663296, 34190917632, 2407000, 14001000},
  };
  const Gpu *gpu = std::find_if(std::begin(gpus), std::end(gpus) - 1,
                                [&](const Gpu &known) { return known.major >= capability.major; });
  std::ostringstream text;
  text << "{\"deviceName\":\"" << gpu->name << "\",\"deviceVer\":" << 100 * gpu->major
       << ",\"driverVer\":13000,\"cudaDeviceId\":0,\"pciDeviceId\":0,\"isTccDriver\":0"
       << ",\"supportCoopLaunch\":1,\"multiProcessorCount\":" << gpu->multiprocessors
       << ",\"warpSize\":32,\"regsPerBlock\":65536,\"maxRegistersPerSM\":65536"
       << ",\"maxCtasPerSM\":32,\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":2048"
       << ",\"maxBlockSize\":[1024,1024,64],\"maxGridSize\":[2147483647,65535,65535]"
       << ",\"maxSharedMemoryPerBlock\":49152,\"maxSharedMemoryPerBlockOptin\":" << gpu->sharedBytes
       << ",\"reservedSharedMemoryPerBlock\":1024,\"l2CacheSize\":" << gpu->l2Bytes
       << ",\"totalGlobalMem\":" << gpu->memoryBytes << ",\"smClockRateKHz\":" << gpu->clock
       << ",\"memClockRateKHz\":" << gpu->memoryClock << "}";
  return text.str();
}

CudnnProblem problemOf(const fb::Attention &attention) {
  auto number = [](uint64_t value) { return static_cast<int64_t>(value); };
  auto strides = [&](const fb::HeadStrides &of) {
    return CudnnProblem::Strides{number(of.batch()), number(of.row()), number(of.head())};
  };
  return {attention.dtype(),
          attention.out_dtype(),
          number(attention.batch()),
          number(attention.length()),
          number(attention.keys()),
          number(attention.heads()),
          number(attention.key_heads()),
          number(attention.head_size()),
          strides(*attention.query_strides()),
          strides(*attention.key_strides()),
          strides(*attention.value_strides()),
          attention.scale(),
          attention.causal(),
          number(attention.window()),
          attention.logsumexp() != nullptr};
}

} // namespace

Expected<uint64_t> findCudnnWorkspace(const CudnnProblem &problem, Capability capability) {
  SINTER_TRY(const CudnnApi *api, cudnnApi());
  Expected<GpuInfo> gpu = findGpu();
  bool isHere = gpu && gpu->capability.major == capability.major;
  SINTER_TRY(Plan plan, makePlan(*api, problem, isHere ? "" : propertiesOf(capability)));
  return static_cast<uint64_t>(plan.workspaceBytes);
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

struct CudnnLibrary::State {
  explicit State(const CudaContext &context) : context(context) {}
  ~State() {
    if (handle)
      api->cudnnDestroy(handle);
  }

  Expected<void> check(cudnnStatus_t status) const {
    if (status == CUDNN_STATUS_SUCCESS)
      return {};
    return fail("attention", std::string("cuDNN says ") + api->cudnnGetErrorString(status),
                "install the cuDNN that belongs to the driver");
  }

  Expected<void> open() {
    if (handle)
      return {};
    SINTER_TRY(api, cudnnApi());
    return check(api->cudnnCreate(&handle));
  }

  const CudaContext &context;
  const CudnnApi *api = nullptr;
  cudnnHandle_t handle = nullptr;
  std::map<CudnnProblem, Expected<Plan>> plans; ///< layers share theirs
};

struct CudnnAttention::State {
  const CudnnLibrary::State *library;
  const Plan *plan;
  Descriptor memory;
  // Numbers that the library reads from here when it is called.
  float scale, lowest = -FLT_MAX;
  int32_t window;
};

CudnnAttention::CudnnAttention(std::unique_ptr<State> state) : state(std::move(state)) {}
CudnnAttention::CudnnAttention(CudnnAttention &&) noexcept = default;
CudnnAttention::~CudnnAttention() = default;

Expected<void> CudnnAttention::enqueue(CUstream stream) const {
  const CudnnLibrary::State &library = *state->library;
  SINTER_CHECK(library.check(library.api->cudnnSetStream(library.handle, stream)));
  return library.check(library.api->cudnnBackendExecute(library.handle, state->plan->plan.get(),
                                                        state->memory.get()));
}

CudnnLibrary::CudnnLibrary(const CudaContext &context) : state(std::make_unique<State>(context)) {}
CudnnLibrary::~CudnnLibrary() = default;

std::string CudnnLibrary::describe(const fb::Attention &attention) const {
  const CudnnProblem p = problemOf(attention);
  std::ostringstream text;
  text << "cuDNN " << (state->api ? state->api->cudnnGetVersion() : 0) << ": " << int(p.dtype)
       << ' ' << int(p.outDtype);
  for (int64_t size : {p.batch, p.length, p.keys, p.heads, p.keyHeads, p.headSize, p.window})
    text << ' ' << size;
  for (const CudnnProblem::Strides &strides : {p.query, p.key, p.value})
    for (int64_t stride : strides)
      text << ' ' << stride;
  text << ' ' << p.causal << ' ' << p.logsumexp;
  return text.str();
}

Expected<CudnnAttention> CudnnLibrary::bind(const fb::Attention &attention,
                                            const Address &address) {
  Expected<CudnnAttention> bound = tryBind(attention, address);
  if (!bound && !refused)
    refused = bound.error();
  return bound;
}

Expected<CudnnAttention> CudnnLibrary::tryBind(const fb::Attention &attention,
                                               const Address &address) {
  SINTER_CHECK(state->open());
  const CudnnApi &api = *state->api;
  CudnnProblem problem = problemOf(attention);
  auto known = state->plans.find(problem);
  if (known == state->plans.end())
    known = state->plans.emplace(problem, makePlan(api, problem, "")).first;
  if (!known->second)
    return tl::unexpected(known->second.error());
  const Plan &plan = *known->second;
  uint64_t room = attention.workspace() ? attention.workspace()->bytes() : 0;
  if (static_cast<uint64_t>(plan.workspaceBytes) > room)
    return fail("attention",
                "cuDNN wants a workspace of " + std::to_string(plan.workspaceBytes) +
                    " bytes, the executable has " + std::to_string(room),
                "our own kernels compute it");
  auto bound = std::make_unique<CudnnAttention::State>();
  bound->library = state.get();
  bound->plan = &plan;
  bound->scale = problem.scale;
  bound->window = static_cast<int32_t>(problem.window);
  auto pointer = [&](const fb::Slice *slice) {
    return slice ? toPointer(address(*slice)) : nullptr;
  };
  std::vector<int64_t> ids{Query, Key, Value, Out, Scale};
  std::vector<void *> pointers{pointer(attention.query()), pointer(attention.key()),
                               pointer(attention.value()), pointer(attention.out()), &bound->scale};
  auto add = [&](bool needed, Id id, void *where) {
    if (needed) {
      ids.push_back(id);
      pointers.push_back(where);
    }
  };
  add(problem.logsumexp, Logsumexp, pointer(attention.logsumexp()));
  add(problem.causal || problem.window != 0, Lowest, &bound->lowest);
  add(problem.window != 0, Window, &bound->window);
  SINTER_TRY(bound->memory,
             Maker(api, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
                 .set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids)
                 .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, pointers)
                 .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, pointer(attention.workspace()))
                 .finish());
  return CudnnAttention(std::move(bound));
}

} // namespace sinter::runtime::cuda
