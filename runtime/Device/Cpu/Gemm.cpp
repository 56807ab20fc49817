#include "runtime/Device/Cpu/Gemm.h"
#include "runtime/Device/Cpu/Features.h"
#include "runtime/Device/Cpu/GemmEpilogue.h"
#include "runtime/Device/Cpu/Panels.h"
#include <algorithm>
#include <cassert>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <oneapi/dnnl/dnnl.h>

namespace sinter::runtime {
namespace {

void require(dnnl_status_t status) {
  assert(status == dnnl_success && "oneDNN refused a call that cannot fail");
  (void)status;
}

// Keeps the library to the instructions of assumedCpu; it listens only before it is first used.
void limitLibrary() {
  if (Expected<std::string> cpu = assumedCpu(); !cpu || cpu->empty())
    return;
  static const dnnl_status_t limited =
      dnnl_set_max_cpu_isa(hasCpuFeature("avx512bf16") ? dnnl_cpu_isa_avx512_core_bf16
                           : hasCpuFeature("avx512f")  ? dnnl_cpu_isa_avx512_core
                                                       : dnnl_cpu_isa_avx2);
  require(limited);
}

// Makes OpenMP code of the library run on the calling thread alone, as long as this lives. The
// functions are looked up because the library may have been built with another kind of threads.
class SerialOpenMp {
public:
  SerialOpenMp() {
    if (setThreads && getThreads) {
      before = getThreads();
      setThreads(1);
    }
  }
  ~SerialOpenMp() {
    if (before > 1)
      setThreads(before);
  }

private:
  static inline void (*const setThreads)(int) =
      reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  static inline int (*const getThreads)() =
      reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
  int before = 1;
};

template <auto Destroy> struct Deleter {
  template <typename T> void operator()(T *object) const { Destroy(object); }
};
using Memory = std::unique_ptr<dnnl_memory, Deleter<dnnl_memory_destroy>>;
using Primitive = std::unique_ptr<dnnl_primitive, Deleter<dnnl_primitive_destroy>>;

dnnl_data_type_t libraryType(DType type) { return type == DType::BF16 ? dnnl_bf16 : dnnl_f32; }

dnnl_memory_desc_t dense(uint64_t rows, uint64_t columns, DType type) {
  dnnl_memory_desc_t result;
  dnnl_dim_t dims[] = {static_cast<dnnl_dim_t>(rows), static_cast<dnnl_dim_t>(columns)};
  require(dnnl_memory_desc_init_by_tag(&result, 2, dims, libraryType(type), dnnl_ab));
  return result;
}

dnnl_memory_desc_t panels(uint64_t k, uint64_t n, DType type) {
  dnnl_memory_desc_t result;
  dnnl_dim_t dims[] = {static_cast<dnnl_dim_t>(k), static_cast<dnnl_dim_t>(n)};
  require(dnnl_memory_desc_init_by_tag(&result, 2, dims, libraryType(type),
                                       type == DType::BF16 ? dnnl_BA16a64b2a : dnnl_BA16a64b));
  assert(dnnl_memory_desc_get_size(&result) == Panels({k, n, type}).bytes());
  return result;
}

// What a step is to the library; Sum is an Add whose operand is the output itself.
enum class Native : uint8_t { Bias, BinaryBias, Gelu, GeluTanh, Silu, Relu, Add, Multiply, Sum };

// A kernel's identity: its extents, types and steps (kind and operand type).
struct KernelKey {
  uint64_t m, n, k;
  DType dtype, outDtype;
  std::vector<std::pair<Native, DType>> steps;
  auto operator<=>(const KernelKey &) const = default;
};

// One of the library's primitives with each thread's arguments, whose addresses are set before
// every call.
struct Kernel {
  struct Arguments {
    Memory lhs, out, scratch;
    std::vector<Memory> operands; // of the steps that have one, in their order
    std::vector<dnnl_exec_arg_t> list;
    size_t weights = 0; // position in `list`
  };
  Primitive primitive; // null where the library has no fast kernel
  uint64_t scratchBytes = 0;
  std::vector<Arguments> threads;
};

uint64_t roundUp(uint64_t value, uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

bool isWide(PostOpKind kind) { return kind == PostOpKind::Add || kind == PostOpKind::Multiply; }

// An Add whose operand is what the product overwrites.
bool isInPlace(const GemmPostOp &step, const GemmProblem &problem) {
  return step.kind == PostOpKind::Add && step.operand == problem.out &&
         step.stride == problem.outStride && step.dtype == problem.outDtype;
}

Native nativeStep(const GemmProblem &problem, size_t index) {
  const GemmPostOp &step = problem.postOps[index];
  switch (step.kind) {
  case PostOpKind::Bias:
    return index == 0 ? Native::Bias : Native::BinaryBias;
  case PostOpKind::Gelu:
    return Native::Gelu;
  case PostOpKind::GeluTanh:
    return Native::GeluTanh;
  case PostOpKind::Silu:
    return Native::Silu;
  case PostOpKind::Relu:
    return Native::Relu;
  case PostOpKind::Add:
    return isInPlace(step, problem) ? Native::Sum : Native::Add;
  case PostOpKind::Multiply:
    return Native::Multiply;
  }
  return Native::Relu;
}

} // namespace

struct GemmLibrary::State {
  bool useLibrary;
  dnnl_engine_t engine = nullptr;
  std::vector<dnnl_stream_t> streams;
  std::map<KernelKey, Kernel> kernels;

  // A thread's scratch: the library's, then a lhs block made dense, then an f32 output block.
  struct Scratch {
    std::unique_ptr<std::byte[], Deleter<std::free>> bytes;
    uint64_t size = 0;
  };
  std::vector<Scratch> scratch;

  Kernel &kernel(const KernelKey &key);
  Kernel make(const KernelKey &key);
  void reserve(uint64_t bytes);
};

struct Gemm::Impl {
  GemmLibrary::State *library;
  GemmProblem problem;
  GemmTile tile;
  bool direct;        // the library writes out itself
  size_t nativeSteps; // how many leading steps the library does
  uint64_t rowTiles, columnTiles;
  Kernel *kernels[2][2] = {};      // [last row tile][last column tile]
  std::vector<Memory> weights;     // one per column tile
  uint64_t lhsOffset, blockOffset; // in a thread's scratch

  void runTile(uint64_t index, unsigned thread) const;
};

Kernel GemmLibrary::State::make(const KernelKey &key) {
  Kernel kernel;
  if (!useLibrary)
    return kernel;
  SerialOpenMp serial;
  dnnl_memory_desc_t lhs = dense(key.m, key.k, key.dtype);
  dnnl_memory_desc_t rhs = panels(key.k, key.n, key.dtype);
  dnnl_memory_desc_t out = dense(key.m, key.n, key.outDtype);
  std::vector<dnnl_memory_desc_t> operands;
  std::vector<int> argumentIds;

  dnnl_post_ops_t steps;
  require(dnnl_post_ops_create(&steps));
  bool hasBias = false;
  int position = 0;
  for (auto [kind, type] : key.steps) {
    auto eltwise = [&](dnnl_alg_kind_t algorithm, float alpha = 0) {
      require(dnnl_post_ops_append_eltwise(steps, 1, algorithm, alpha, 0));
    };
    auto binary = [&](dnnl_alg_kind_t algorithm, uint64_t rows) {
      operands.push_back(dense(rows, key.n, type));
      argumentIds.push_back(DNNL_ARG_ATTR_MULTIPLE_POST_OP(position) | DNNL_ARG_SRC_1);
      require(dnnl_post_ops_append_binary(steps, algorithm, &operands.back()));
    };
    switch (kind) {
    case Native::Bias: // not a post-op to the library
      operands.push_back(dense(1, key.n, type));
      argumentIds.push_back(DNNL_ARG_BIAS);
      hasBias = true;
      continue;
    case Native::BinaryBias:
      binary(dnnl_binary_add, 1);
      break;
    case Native::Add:
      binary(dnnl_binary_add, key.m);
      break;
    case Native::Multiply:
      binary(dnnl_binary_mul, key.m);
      break;
    case Native::Sum:
      require(dnnl_post_ops_append_sum(steps, 1));
      break;
    case Native::Gelu:
      eltwise(dnnl_eltwise_gelu_erf);
      break;
    case Native::GeluTanh:
      eltwise(dnnl_eltwise_gelu_tanh);
      break;
    case Native::Silu:
      eltwise(dnnl_eltwise_swish, 1);
      break;
    case Native::Relu:
      eltwise(dnnl_eltwise_relu);
      break;
    }
    ++position;
  }

  dnnl_primitive_attr_t attributes;
  require(dnnl_primitive_attr_create(&attributes));
  require(dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user));
  require(dnnl_primitive_attr_set_post_ops(attributes, steps));
  dnnl_matmul_desc_t description;
  require(
      dnnl_matmul_desc_init(&description, &lhs, &rhs, hasBias ? &operands.front() : nullptr, &out));
  dnnl_primitive_desc_t chosen = nullptr;
  bool accepted = dnnl_primitive_desc_create(&chosen, &description, attributes, engine, nullptr) ==
                  dnnl_success;
  dnnl_primitive_attr_destroy(attributes);
  dnnl_post_ops_destroy(steps);
  if (!accepted)
    return kernel;
  const char *name = "";
  require(dnnl_primitive_desc_query(chosen, dnnl_query_impl_info_str, 0, &name));
  // Anything else reads the panels element by element, thousands of times slower.
  dnnl_primitive_t primitive = nullptr;
  if (std::strncmp(name, "brg", 3) == 0 &&
      dnnl_primitive_create(&primitive, chosen) == dnnl_success) {
    kernel.primitive.reset(primitive);
    const dnnl_memory_desc_t *scratchpad =
        dnnl_primitive_desc_query_md(chosen, dnnl_query_scratchpad_md, 0);
    kernel.scratchBytes = dnnl_memory_desc_get_size(scratchpad);
    auto memory = [&](const dnnl_memory_desc_t &desc) {
      dnnl_memory_t result;
      require(dnnl_memory_create(&result, &desc, engine, DNNL_MEMORY_NONE));
      return Memory(result);
    };
    for (size_t thread = 0; thread < streams.size(); ++thread) {
      Kernel::Arguments arguments;
      arguments.lhs = memory(lhs);
      arguments.out = memory(out);
      arguments.scratch = memory(*scratchpad);
      arguments.list = {{DNNL_ARG_SRC, arguments.lhs.get()},
                        {DNNL_ARG_DST, arguments.out.get()},
                        {DNNL_ARG_SCRATCHPAD, arguments.scratch.get()}};
      for (size_t i = 0; i < operands.size(); ++i) {
        arguments.operands.push_back(memory(operands[i]));
        arguments.list.push_back({argumentIds[i], arguments.operands.back().get()});
      }
      arguments.weights = arguments.list.size();
      arguments.list.push_back({DNNL_ARG_WEIGHTS, nullptr});
      kernel.threads.push_back(std::move(arguments));
    }
  }
  dnnl_primitive_desc_destroy(chosen);
  return kernel;
}

Kernel &GemmLibrary::State::kernel(const KernelKey &key) {
  auto found = kernels.find(key);
  if (found == kernels.end())
    found = kernels.emplace(key, make(key)).first;
  return found->second;
}

void GemmLibrary::State::reserve(uint64_t bytes) {
  bytes = roundUp(bytes, 64);
  for (Scratch &thread : scratch)
    if (thread.size < bytes) {
      thread.bytes.reset(static_cast<std::byte *>(std::aligned_alloc(64, bytes)));
      thread.size = bytes;
    }
}

GemmLibrary::GemmLibrary(unsigned threads, bool useLibrary) : state(std::make_unique<State>()) {
  state->useLibrary = useLibrary;
  state->scratch.resize(threads);
  limitLibrary();
  require(dnnl_engine_create(&state->engine, dnnl_cpu, 0));
  state->streams.resize(threads);
  for (dnnl_stream_t &stream : state->streams)
    require(dnnl_stream_create(&stream, state->engine, dnnl_stream_default_flags));
}

GemmLibrary::~GemmLibrary() {
  state->kernels.clear();
  for (dnnl_stream_t stream : state->streams)
    dnnl_stream_destroy(stream);
  dnnl_engine_destroy(state->engine);
}

uint64_t GemmLibrary::scratchBytes() const {
  uint64_t total = 0;
  for (const State::Scratch &thread : state->scratch)
    total += thread.size;
  return total;
}

// True if the library can write the tiles straight to the output: they are dense there, and so are
// the operands of the same shape.
static bool isDense(const GemmProblem &problem, const GemmTile &tile) {
  auto dense = [&](uint64_t stride) {
    return problem.m == 1 || (stride == problem.n && tile.n >= problem.n);
  };
  // An Add to the output itself is the library's sum; anything else that reads what the library
  // overwrites, it may overwrite too early.
  size_t sums = 0;
  for (const GemmPostOp &step : problem.postOps) {
    if (isWide(step.kind) && !dense(step.stride))
      return false;
    if (step.operand == problem.out && (!isInPlace(step, problem) || ++sums > 1))
      return false;
  }
  return dense(problem.outStride);
}

// Tiles of up to 128 rows and 4 panels: larger ones fall out of the second-level cache, smaller
// ones use the weights that they read too little. Among the widths, the one that two threads finish
// first, by a model of a tile's time: two because an even split suits any even number of threads.
GemmTile chooseTile(const GemmProblem &problem) {
  constexpr double flopsPerNs = 200, bytesPerNs = 15, callNs = 800;
  constexpr uint64_t rowsAtMost = 128, panelsAtMost = 4;
  constexpr double efficiency[panelsAtMost] = {0.90, 0.96, 0.98, 1.0};
  uint64_t rowTiles = (problem.m + rowsAtMost - 1) / rowsAtMost;
  GemmTile tile;
  tile.m = (problem.m + rowTiles - 1) / rowTiles;
  uint64_t panelCount = Panels{problem.k, problem.n, problem.dtype}.count();
  double panelNs = std::max(2.0 * double(tile.m * Panels::width * problem.k) / flopsPerNs,
                            double(Panels::width * problem.k * sizeOf(problem.dtype)) / bytesPerNs);
  double best = 0;
  for (uint64_t width = panelsAtMost; width >= 1; --width) {
    uint64_t tiles = rowTiles * ((panelCount + width - 1) / width);
    double tileNs = panelNs * double(std::min(width, panelCount)) / efficiency[width - 1] + callNs;
    double time = double((tiles + 1) / 2) * tileNs;
    if (tile.n == 0 || time < best) {
      best = time;
      tile.n = std::min(width, panelCount) * Panels::width;
    }
  }
  return tile;
}

Gemm GemmLibrary::bind(const GemmProblem &problem) {
  auto impl = std::make_unique<Gemm::Impl>();
  impl->library = state.get();
  impl->problem = problem;
  impl->tile = chooseTile(problem);
  GemmTile &tile = impl->tile;
  const std::vector<GemmPostOp> &steps = problem.postOps;

  auto fits = [&](bool direct) {
    return [&, direct](const GemmPostOp &step) { return !isWide(step.kind) || direct; };
  };
  auto build = [&](bool direct) {
    impl->direct = direct;
    auto end = std::find_if_not(steps.begin(), steps.end(), fits(direct));
    impl->nativeSteps = static_cast<size_t>(end - steps.begin());
    impl->rowTiles = (problem.m + tile.m - 1) / tile.m;
    impl->columnTiles = (problem.n + tile.n - 1) / tile.n;
    for (int lastRow = 0; lastRow < 2; ++lastRow)
      for (int lastColumn = 0; lastColumn < 2; ++lastColumn) {
        KernelKey key;
        key.m = lastRow ? problem.m - (impl->rowTiles - 1) * tile.m : tile.m;
        key.n = lastColumn ? problem.n - (impl->columnTiles - 1) * tile.n : tile.n;
        key.k = problem.k;
        key.dtype = problem.dtype;
        key.outDtype = direct ? problem.outDtype : DType::F32;
        for (size_t i = 0; i < impl->nativeSteps; ++i)
          key.steps.emplace_back(nativeStep(problem, i),
                                 hasOperand(steps[i].kind) ? steps[i].dtype : DType::F32);
        bool needed = (lastRow || impl->rowTiles > 1) && (lastColumn || impl->columnTiles > 1);
        impl->kernels[lastRow][lastColumn] = needed ? &state->kernel(key) : nullptr;
        if (needed && !impl->kernels[lastRow][lastColumn]->primitive)
          return false;
      }
    return true;
  };
  bool native = build(isDense(problem, tile)) || (impl->direct && build(false));
  if (!native) {
    impl->nativeSteps = 0;
    for (auto &row : impl->kernels)
      for (Kernel *&kernel : row)
        kernel = nullptr;
  }

  uint64_t scratch = 0;
  for (auto &row : impl->kernels)
    for (Kernel *kernel : row)
      if (kernel)
        scratch = std::max(scratch, kernel->scratchBytes);
  impl->lhsOffset = roundUp(scratch, 64);
  bool copiesLhs = native && problem.lhsStride != problem.k && problem.m > 1;
  impl->blockOffset =
      impl->lhsOffset + (copiesLhs ? roundUp(tile.m * problem.k * sizeOf(problem.dtype), 64) : 0);
  state->reserve(impl->blockOffset + (impl->direct ? 0 : tile.m * tile.n * sizeof(float)));

  if (native) {
    Panels layout{problem.k, problem.n, problem.dtype};
    for (uint64_t i = 0; i < impl->columnTiles; ++i) {
      uint64_t column = i * tile.n;
      dnnl_memory_desc_t desc =
          panels(problem.k, std::min(tile.n, problem.n - column), problem.dtype);
      dnnl_memory_t memory;
      require(dnnl_memory_create(&memory, &desc, state->engine,
                                 static_cast<std::byte *>(problem.rhs) +
                                     column / Panels::width * layout.panelBytes()));
      impl->weights.emplace_back(memory);
    }
  }
  return Gemm(std::move(impl));
}

void Gemm::Impl::runTile(uint64_t index, unsigned thread) const {
  // Neighbouring tiles share their columns of the weights.
  uint64_t rowTile = index % rowTiles, columnTile = index / rowTiles;
  uint64_t row = rowTile * tile.m, rows = std::min(tile.m, problem.m - row);
  uint64_t column = columnTile * tile.n, columns = std::min(tile.n, problem.n - column);
  size_t elementBytes = sizeOf(problem.dtype);
  std::byte *scratch = library->scratch[thread].bytes.get();
  auto *block = reinterpret_cast<float *>(scratch + blockOffset);
  auto at = [](const void *base, uint64_t element, DType type) {
    return static_cast<std::byte *>(const_cast<void *>(base)) + element * sizeOf(type);
  };
  std::byte *lhs = at(problem.lhs, row * problem.lhsStride, problem.dtype);

  const Kernel *kernel = kernels[rowTile + 1 == rowTiles][columnTile + 1 == columnTiles];
  if (!kernel) {
    Panels layout{problem.k, problem.n, problem.dtype};
    multiplyPlain(block, lhs, problem.lhsStride,
                  at(problem.rhs, 0, problem.dtype) + column / Panels::width * layout.panelBytes(),
                  rows, columns, problem.k, problem.dtype);
  } else {
    if (blockOffset != lhsOffset) {
      uint64_t rowBytes = problem.k * elementBytes;
      for (uint64_t i = 0; i < rows; ++i)
        std::memcpy(scratch + lhsOffset + i * rowBytes, lhs + i * problem.lhsStride * elementBytes,
                    rowBytes);
      lhs = scratch + lhsOffset;
    }
    // The arguments belong to this thread alone, so they may be set through the const kernel.
    auto &arguments = const_cast<Kernel::Arguments &>(kernel->threads[thread]);
    void *out = direct ? at(problem.out, row * problem.outStride + column, problem.outDtype)
                       : static_cast<void *>(block);
    dnnl_memory_set_data_handle(arguments.lhs.get(), lhs);
    dnnl_memory_set_data_handle(arguments.out.get(), out);
    dnnl_memory_set_data_handle(arguments.scratch.get(), scratch);
    size_t operand = 0;
    for (size_t i = 0; i < nativeSteps; ++i) {
      const GemmPostOp &step = problem.postOps[i];
      if (!hasOperand(step.kind) || isInPlace(step, problem))
        continue;
      uint64_t first = isWide(step.kind) ? row * step.stride + column : column;
      dnnl_memory_set_data_handle(arguments.operands[operand++].get(),
                                  at(step.operand, first, step.dtype));
    }
    arguments.list[arguments.weights].memory = weights[columnTile].get();
    require(dnnl_primitive_execute(kernel->primitive.get(), library->streams[thread],
                                   static_cast<int>(arguments.list.size()), arguments.list.data()));
  }
  if (!direct)
    applyEpilogue(block, row, rows, column, columns,
                  std::span(problem.postOps).subspan(nativeSteps), problem.out, problem.outStride,
                  problem.outDtype);
}

Gemm::Gemm(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Gemm::Gemm(Gemm &&) noexcept = default;
Gemm::~Gemm() = default;

bool Gemm::usesLibrary() const { return !impl->weights.empty(); }

void Gemm::run(ThreadPool &pool) const {
  pool.run(impl->rowTiles * impl->columnTiles, 1, [this](uint64_t begin, uint64_t end) {
    SerialOpenMp serial;
    unsigned thread = ThreadPool::threadIndex();
    for (uint64_t i = begin; i < end; ++i)
      impl->runTile(i, thread);
  });
}

} // namespace sinter::runtime
