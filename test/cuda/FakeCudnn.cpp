//===- FakeCudnn.cpp - Graphs of operations behind cuDNN's table ----------===//
//
// The library recognizes attention in a graph of operations; this one does what the operations say,
// one after another, in double precision. So what is right here is what the graph means, and not
// what somebody who wrote it had in mind.
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/HalfFloat.h"
#include "runtime/Device/Cuda/CudnnApi.h"
#include "test/cuda/FakeDevice.h"
#include "test/simt/Arena.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>

using namespace sinter;
using namespace sinter::fake;

namespace {

/// What every call begins with.
struct CudnnCall : LibraryCall {
  explicit CudnnCall(const char *name) : LibraryCall(name, CUDNN_STATUS_EXECUTION_FAILED) {}
};
#define SINTER_CUDNN_CALL(name)                                                                    \
  CudnnCall call(#name);                                                                           \
  if (call.error)                                                                                  \
  return static_cast<cudnnStatus_t>(call.error)

/// A descriptor: its attributes as they were set. Others that it names are shared with it, as the
/// library's are, which may be destroyed before it.
struct Object {
  struct Value {
    std::vector<std::byte> bytes;
    std::vector<std::shared_ptr<const Object>> objects;
  };
  cudnnBackendDescriptorType_t type;
  bool finalized = false;
  std::map<cudnnBackendAttributeName_t, Value> values;

  template <typename T> std::vector<T> all(cudnnBackendAttributeName_t name) const {
    auto found = values.find(name);
    if (found == values.end())
      return {};
    std::vector<T> result(found->second.bytes.size() / sizeof(T));
    if (!result.empty())
      memcpy(result.data(), found->second.bytes.data(), result.size() * sizeof(T));
    return result;
  }
  template <typename T> T get(cudnnBackendAttributeName_t name, T otherwise = {}) const {
    std::vector<T> values = all<T>(name);
    return values.empty() ? otherwise : values.front();
  }
  const Object *object(cudnnBackendAttributeName_t name) const {
    auto found = values.find(name);
    return found == values.end() || found->second.objects.empty()
               ? nullptr
               : found->second.objects.front().get();
  }
};

/// What a caller's handle stands for.
struct Handle {
  std::shared_ptr<Object> object;
};
struct Library {
  CUstream stream = nullptr;
};

Object &objectOf(cudnnBackendDescriptor_t handle) { return *static_cast<Handle *>(handle)->object; }

size_t bytesOfAttribute(cudnnBackendAttributeType_t type) {
  switch (type) {
  case CUDNN_TYPE_INT64:
  case CUDNN_TYPE_VOID_PTR:
    return 8;
  case CUDNN_TYPE_BOOLEAN:
  case CUDNN_TYPE_CHAR:
    return 1;
  default:
    return 4;
  }
}

/// The wrong engine, which the heuristic proposes first, and the right one.
constexpr int64_t careless = 0, careful = 1;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

using Shape = std::vector<int64_t>;

/// A tensor's description, read from its descriptor.
struct Tensor {
  int64_t id;
  cudnnDataType_t type;
  Shape shape, strides;
  bool isVirtual, isNumber;

  explicit Tensor(const Object &from)
      : id(from.get<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID)),
        type(from.get<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE)),
        shape(from.all<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS)),
        strides(from.all<int64_t>(CUDNN_ATTR_TENSOR_STRIDES)),
        isVirtual(from.get<char>(CUDNN_ATTR_TENSOR_IS_VIRTUAL)),
        isNumber(from.get<char>(CUDNN_ATTR_TENSOR_IS_BY_VALUE)) {}

  size_t elementBytes() const {
    return type == CUDNN_DATA_BFLOAT16 || type == CUDNN_DATA_HALF ? 2 : 4;
  }
  size_t count() const {
    size_t product = 1;
    for (int64_t extent : shape)
      product *= size_t(extent);
    return product;
  }
  size_t extentBytes() const {
    int64_t last = 0;
    for (size_t i = 0; i < shape.size(); ++i)
      last += (shape[i] - 1) * strides[i];
    return size_t(last + 1) * elementBytes();
  }
  /// Calls `visit(dense index, index in memory)` for every element.
  template <typename Visit> void forEach(Visit visit) const {
    for (size_t i = 0, end = count(); i < end; ++i) {
      size_t rest = i;
      int64_t place = 0;
      for (size_t axis = shape.size(); axis-- > 0; rest /= size_t(shape[axis]))
        place += int64_t(rest % size_t(shape[axis])) * strides[axis];
      visit(i, place);
    }
  }
};

double load(cudnnDataType_t type, const void *data, int64_t index) {
  switch (type) {
  case CUDNN_DATA_BFLOAT16:
    return bf16ToFloat(static_cast<const uint16_t *>(data)[index]);
  case CUDNN_DATA_HALF:
    return f16ToFloat(static_cast<const uint16_t *>(data)[index]);
  case CUDNN_DATA_INT32:
    return static_cast<const int32_t *>(data)[index];
  default:
    return static_cast<const float *>(data)[index];
  }
}

void store(cudnnDataType_t type, void *data, int64_t index, double value) {
  switch (type) {
  case CUDNN_DATA_BFLOAT16:
    static_cast<uint16_t *>(data)[index] = floatToBf16(float(value));
    return;
  case CUDNN_DATA_HALF:
    static_cast<uint16_t *>(data)[index] = floatToF16(float(value));
    return;
  default:
    static_cast<float *>(data)[index] = float(value);
  }
}

/// A tensor's elements, dense.
struct Values {
  Shape shape;
  std::vector<double> elements;

  /// The element that `index` of a tensor of `shape` meets: an axis of one element is repeated.
  double at(const Shape &of, size_t index) const {
    size_t place = 0, step = 1;
    for (size_t axis = shape.size(); axis-- > 0; index /= size_t(of[axis])) {
      if (shape[axis] != 1)
        place += index % size_t(of[axis]) * step;
      step *= size_t(shape[axis]);
    }
    return elements[place];
  }
};

size_t coordinate(const Shape &shape, size_t index, size_t wanted) {
  for (size_t axis = shape.size() - 1; axis > wanted; --axis)
    index /= size_t(shape[axis]);
  return index % size_t(shape[wanted]);
}

std::optional<double> apply(cudnnPointwiseMode_t mode, double x, double b, double t) {
  switch (mode) {
  case CUDNN_POINTWISE_ADD:
    return x + b;
  case CUDNN_POINTWISE_SUB:
    return x - b;
  case CUDNN_POINTWISE_MUL:
    return x * b;
  case CUDNN_POINTWISE_DIV:
    return x / b;
  case CUDNN_POINTWISE_EXP:
    return std::exp(x);
  case CUDNN_POINTWISE_LOG:
    return std::log(x);
  case CUDNN_POINTWISE_CMP_GE:
    return x >= b;
  case CUDNN_POINTWISE_CMP_GT:
    return x > b;
  case CUDNN_POINTWISE_BINARY_SELECT:
    return t != 0 ? x : b;
  default:
    return std::nullopt;
  }
}

/// Does the operations of a graph.
class Execution {
public:
  explicit Execution(const std::map<int64_t, void *> &memory) : memory(memory) {}

  void run(const Object &graph) {
    for (const auto &op : graph.values.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).objects)
      switch (op->type) {
      case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
        multiply(*op);
        break;
      case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
        reduce(*op);
        break;
      default:
        pointwise(*op);
        break;
      }
  }

private:
  /// lhs [.., m, k] . rhs [.., k, n]; heads of lhs share those of rhs.
  void multiply(const Object &op) {
    const Values &a = read(op, CUDNN_ATTR_OPERATION_MATMUL_ADESC);
    const Values &b = read(op, CUDNN_ATTR_OPERATION_MATMUL_BDESC);
    size_t batch = size_t(a.shape[0]), heads = size_t(a.shape[1]), keyHeads = size_t(b.shape[1]);
    size_t m = size_t(a.shape[2]), k = size_t(a.shape[3]), n = size_t(b.shape[3]);
    Values out{{a.shape[0], a.shape[1], a.shape[2], b.shape[3]}, {}};
    for (size_t i = 0; i < batch * heads; ++i) {
      size_t other = i / heads * keyHeads + i % heads / (heads / keyHeads);
      for (size_t row = 0; row < m; ++row)
        for (size_t column = 0; column < n; ++column) {
          double sum = 0;
          for (size_t at = 0; at < k; ++at)
            sum += a.elements[(i * m + row) * k + at] * b.elements[(other * k + at) * n + column];
          out.elements.push_back(sum);
        }
    }
    write(op, CUDNN_ATTR_OPERATION_MATMUL_CDESC, std::move(out));
  }

  /// Over the last axis.
  void reduce(const Object &op) {
    const Values &x = read(op, CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
    bool adds =
        op.object(CUDNN_ATTR_OPERATION_REDUCTION_DESC)
            ->get<cudnnReduceTensorOp_t>(CUDNN_ATTR_REDUCTION_OPERATOR) == CUDNN_REDUCE_TENSOR_ADD;
    size_t width = size_t(x.shape.back());
    Values out{x.shape, {}};
    out.shape.back() = 1;
    for (size_t row = 0; row < x.elements.size(); row += width) {
      double result = adds ? 0 : -std::numeric_limits<double>::infinity();
      for (size_t i = row; i < row + width; ++i)
        result = adds ? result + x.elements[i] : std::max(result, x.elements[i]);
      out.elements.push_back(result);
    }
    write(op, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, std::move(out));
  }

  void pointwise(const Object &op) {
    const Object &function = *op.object(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    auto mode = function.get<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
    Tensor y(*op.object(CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
    auto operand = [&](cudnnBackendAttributeName_t name) {
      return op.object(name) ? &read(op, name) : nullptr;
    };
    const Values *x = operand(CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
    const Values *b = operand(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
    const Values *t = operand(CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
    Values out{y.shape, {}};
    for (size_t i = 0; i < y.count(); ++i) {
      auto of = [&](const Values *values) { return values ? values->at(y.shape, i) : 0; };
      std::optional<double> result =
          mode == CUDNN_POINTWISE_GEN_INDEX
              ? double(coordinate(y.shape, i,
                                  size_t(function.get<int64_t>(CUDNN_ATTR_POINTWISE_AXIS))))
              : apply(mode, of(x), of(b), of(t));
      if (!result)
        return device().complain("cuDNN's fake has no function " + std::to_string(mode));
      out.elements.push_back(*result);
    }
    write(op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, std::move(out));
  }

  const Values &read(const Object &op, cudnnBackendAttributeName_t name) {
    Tensor tensor(*op.object(name));
    auto [known, isNew] = values.try_emplace(tensor.id);
    Values &found = known->second;
    if (!isNew || tensor.isVirtual)
      return found;
    const void *data = memory.at(tensor.id);
    found.shape = tensor.shape;
    found.elements.resize(tensor.count());
    bool missing = false;
    tensor.forEach([&](size_t i, int64_t place) {
      found.elements[i] = load(tensor.type, data, place);
      missing = missing ||
                (!tensor.isNumber && device().options.checked &&
                 simt::Arena::instance().hasUninitialised(static_cast<const std::byte *>(data) +
                                                              size_t(place) * tensor.elementBytes(),
                                                          tensor.elementBytes()));
    });
    if (missing)
      device().complain("cudnnBackendExecute reads elements that nobody has written");
    return found;
  }

  void write(const Object &op, cudnnBackendAttributeName_t name, Values result) {
    Tensor tensor(*op.object(name));
    if (result.shape != tensor.shape)
      device().complain("an operation of cuDNN has a result of another shape");
    if (tensor.isVirtual) {
      // What products read is rounded to their elements.
      if (tensor.elementBytes() == 2)
        for (double &element : result.elements) {
          uint16_t rounded;
          store(tensor.type, &rounded, 0, element);
          element = load(tensor.type, &rounded, 0);
        }
      values[tensor.id] = std::move(result);
      return;
    }
    void *data = memory.at(tensor.id);
    tensor.forEach([&](size_t i, int64_t place) {
      store(tensor.type, data, place, result.elements[i]);
      simt::Arena::instance().markInitialised(static_cast<std::byte *>(data) +
                                                  size_t(place) * tensor.elementBytes(),
                                              tensor.elementBytes());
    });
  }

  const std::map<int64_t, void *> &memory;
  std::map<int64_t, Values> values;
};

/// The tensors of a graph that are memory of the device, and whether it writes them.
std::vector<std::pair<Tensor, bool>> memoryOf(const Object &graph) {
  std::vector<std::pair<Tensor, bool>> found;
  for (const auto &op : graph.values.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).objects)
    for (const auto &[name, value] : op->values)
      for (const auto &object : value.objects)
        if (object->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR)
          if (Tensor tensor(*object); !tensor.isVirtual && !tensor.isNumber)
            found.push_back({tensor, name == CUDNN_ATTR_OPERATION_MATMUL_CDESC ||
                                         name == CUDNN_ATTR_OPERATION_POINTWISE_YDESC});
  return found;
}

const Object &graphOf(const Object &plan) {
  return *plan.object(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)
              ->object(CUDNN_ATTR_ENGINECFG_ENGINE)
              ->object(CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
}

/// An engine for a graph.
std::shared_ptr<Object> engineFor(const std::shared_ptr<const Object> &graph, int64_t index) {
  auto engine = std::make_shared<Object>(Object{CUDNN_BACKEND_ENGINE_DESCRIPTOR, true, {}});
  engine->values[CUDNN_ATTR_ENGINE_OPERATION_GRAPH].objects = {graph};
  auto *bytes = reinterpret_cast<const std::byte *>(&index);
  engine->values[CUDNN_ATTR_ENGINE_GLOBAL_INDEX].bytes.assign(bytes, bytes + sizeof(index));
  return engine;
}

} // namespace

namespace sinter::fake::dnn {

size_t cudnnGetVersion() { return 91900; }
const char *cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
  case CUDNN_STATUS_NOT_SUPPORTED:
    return "CUDNN_STATUS_NOT_SUPPORTED";
  case CUDNN_STATUS_NOT_INITIALIZED:
    return "CUDNN_STATUS_NOT_INITIALIZED";
  default:
    return "CUDNN_STATUS_INTERNAL_ERROR";
  }
}
void cudnnGetLastErrorString(char *text, size_t size) {
  if (size)
    *text = 0;
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle) {
  SINTER_CUDNN_CALL(cudnnCreate);
  *handle = reinterpret_cast<cudnnHandle_t>(new Library);
  ++device().counts.handles;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  CudnnCall call("cudnnDestroy");
  delete reinterpret_cast<Library *>(handle);
  --device().counts.handles;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  SINTER_CUDNN_CALL(cudnnSetStream);
  reinterpret_cast<Library *>(handle)->stream = stream;
  return device().stream(stream) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t *descriptor) {
  SINTER_CUDNN_CALL(cudnnBackendCreateDescriptor);
  *descriptor = new Handle{std::make_shared<Object>(Object{type, false, {}})};
  ++device().counts.handles;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  CudnnCall call("cudnnBackendDestroyDescriptor");
  delete static_cast<Handle *>(descriptor);
  --device().counts.handles;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void *values) {
  SINTER_CUDNN_CALL(cudnnBackendSetAttribute);
  Object &object = objectOf(descriptor);
  if (object.finalized || count < 1 || !values)
    return CUDNN_STATUS_BAD_PARAM;
  Object::Value &value = object.values[name];
  value = {};
  if (type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    auto *bytes = static_cast<const std::byte *>(values);
    value.bytes.assign(bytes, bytes + size_t(count) * bytesOfAttribute(type));
    return CUDNN_STATUS_SUCCESS;
  }
  for (int64_t i = 0; i < count; ++i) {
    auto *other = static_cast<Handle *>(static_cast<const cudnnBackendDescriptor_t *>(values)[i]);
    if (!other->object->finalized)
      return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
    value.objects.push_back(other->object);
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  SINTER_CUDNN_CALL(cudnnBackendFinalize);
  Object &object = objectOf(descriptor);
  if (object.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)
    for (const auto &[tensor, written] : memoryOf(graphOf(object)))
      for (size_t axis = 0; axis < tensor.shape.size(); ++axis)
        // As the library has it, of heads.
        if (tensor.elementBytes() == 2 && tensor.strides[axis] == 1 && tensor.shape[axis] % 8 != 0)
          return CUDNN_STATUS_NOT_SUPPORTED;
  object.finalized = true;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, int64_t room, int64_t *count,
                                       void *out) {
  SINTER_CUDNN_CALL(cudnnBackendGetAttribute);
  Object &object = objectOf(descriptor);
  auto fill = [](cudnnBackendDescriptor_t into, std::shared_ptr<Object> with) {
    static_cast<Handle *>(into)->object = std::move(with);
  };
  switch (name) {
  case CUDNN_ATTR_ENGINEHEUR_RESULTS: {
    // One more than there are.
    *count = room ? 2 : 3;
    for (int64_t i = 0; i < std::min<int64_t>(room, 2); ++i) {
      auto config = std::make_shared<Object>(Object{CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, true, {}});
      config->values[CUDNN_ATTR_ENGINECFG_ENGINE].objects = {
          engineFor(object.values[CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH].objects.front(), i)};
      fill(static_cast<cudnnBackendDescriptor_t *>(out)[i], std::move(config));
    }
    return CUDNN_STATUS_SUCCESS;
  }
  case CUDNN_ATTR_ENGINECFG_ENGINE:
    *count = 1;
    fill(*static_cast<cudnnBackendDescriptor_t *>(out),
         std::make_shared<Object>(*object.object(name)));
    return CUDNN_STATUS_SUCCESS;
  case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE: {
    auto *notes = static_cast<cudnnBackendNumericalNote_t *>(out);
    *count = 0;
    notes[(*count)++] = CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
    if (object.get<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX) == careless)
      notes[(*count)++] = CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
    return CUDNN_STATUS_SUCCESS;
  }
  case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
    *count = 1;
    *static_cast<int64_t *>(out) = int64_t(device().options.attentionWorkspace);
    return CUDNN_STATUS_SUCCESS;
  default:
    return CUDNN_STATUS_NOT_SUPPORTED;
  }
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t planHandle,
                                  cudnnBackendDescriptor_t packHandle) {
  SINTER_CUDNN_CALL(cudnnBackendExecute);
  const std::shared_ptr<Object> plan = static_cast<Handle *>(planHandle)->object;
  const Object &pack = objectOf(packHandle);
  FakeStream *stream = device().stream(reinterpret_cast<Library *>(handle)->stream);
  if (!stream || !plan->finalized || !pack.finalized)
    return CUDNN_STATUS_BAD_PARAM;
  const Object &engine =
      *plan->object(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)->object(CUDNN_ATTR_ENGINECFG_ENGINE);
  if (engine.get<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX) != careful)
    device().complain("an attention whose bits differ from run to run");

  std::map<int64_t, void *> memory;
  std::vector<int64_t> ids = pack.all<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  std::vector<void *> pointers = pack.all<void *>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  for (size_t i = 0; i < ids.size(); ++i)
    memory[ids[i]] = pointers[i];
  void *workspace = pack.get<void *>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  size_t workspaceBytes = device().options.attentionWorkspace;

  std::vector<Access> accesses;
  auto touch = [&](const void *data, size_t bytes, bool writes) {
    auto begin = reinterpret_cast<CUdeviceptr>(data);
    accesses.push_back({begin, begin + bytes, writes});
    return device().owns(begin, bytes) && begin % 16 == 0;
  };
  bool sound = workspaceBytes == 0 || touch(workspace, workspaceBytes, true);
  for (const auto &[tensor, written] : memoryOf(graphOf(*plan)))
    sound = sound && memory.contains(tensor.id) &&
            touch(memory[tensor.id], tensor.extentBytes(), written);
  if (!sound) {
    device().complain("cudnnBackendExecute was given memory that is not allocated or not aligned");
    return CUDNN_STATUS_BAD_PARAM;
  }
  CUresult result = device().submit(*stream, {"an attention", std::move(accesses), [=] {
                                                ++device().counts.attentions;
                                                if (workspaceBytes)
                                                  memset(workspace, 0xFF, workspaceBytes);
                                                Execution(memory).run(graphOf(*plan));
                                              }});
  return result == CUDA_SUCCESS ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

} // namespace sinter::fake::dnn

void sinter::fake::installCudnn(bool fakes) {
#define SINTER_FAKE_CUDNN(name) .name = &dnn::name,
  static const runtime::cuda::CudnnApi table = {SINTER_CUDNN_FUNCTIONS(SINTER_FAKE_CUDNN)};
  runtime::cuda::installCudnnApi(fakes ? &table : nullptr);
}
