//===- KernelBench.cpp - Generated kernels against the machine --------------===//
//
// Measures what the machine can do (multiply-adds in registers, reading memory), then the GEMM,
// attention and rows kernels that the compiler generates for it, each as a share of its limit. All
// on as many threads as the target has cores, or on `--threads=N`; work items are handed out as
// the runtime does, some at a time.
//
//===----------------------------------------------------------------------===//

#include "compiler/Analysis/KernelLayouts.h"
#include "mlir/AsmParser/AsmParser.h"
#include "tools/kernel-jit/KernelJit.h"
#include "llvm/Support/FormatVariadic.h"
#include <atomic>
#include <benchmark/benchmark.h>
#include <cstring>
#include <ctime>
#include <immintrin.h>
#include <map>
#include <random>
#include <sys/mman.h>
#include <thread>

using namespace mlir;
using namespace sinter;
using namespace sinter::jit;

namespace {

/// Threads that spin between runs, so that what is measured is kernels and not wake-ups.
class Crew {
public:
  explicit Crew(int count) : count(count) {
    for (int i = 1; i < count; ++i)
      threads.emplace_back([this, i] { serve(i); });
  }
  ~Crew() {
    stop = true;
    round.fetch_add(1);
    for (std::thread &thread : threads)
      thread.join();
  }
  /// Calls work(thread) on every thread and waits for all.
  void run(const std::function<void(int)> &work) {
    current = &work;
    busy = count - 1;
    round.fetch_add(1, std::memory_order_release);
    work(0);
    while (busy.load(std::memory_order_acquire) > 0)
      _mm_pause();
  }
  int size() const { return count; }

private:
  void serve(int thread) {
    for (int seen = 0;;) {
      while (round.load(std::memory_order_acquire) == seen)
        _mm_pause();
      ++seen;
      if (stop)
        return;
      (*current)(thread);
      busy.fetch_sub(1, std::memory_order_release);
    }
  }
  int count;
  std::atomic<int> round = 0, busy = 0;
  std::atomic<bool> stop = false;
  const std::function<void(int)> *current = nullptr;
  std::vector<std::thread> threads;
};

/// How many times a thread claims some of a kernel's work items.
constexpr int64_t kClaims = 8;

/// How many threads to run on; the target's cores unless the command line says `--threads=N`.
int threadCount = 0;

Crew &getCrew() {
  static Crew crew(threadCount > 0 ? threadCount : getHostTarget().getCores());
  return crew;
}

/// What a mapping of so many bytes takes: whole huge pages where it is as large as one.
size_t getMappedBytes(size_t bytes) {
  constexpr size_t huge = size_t(2) << 20;
  return llvm::alignTo(bytes, bytes < huge ? 4096 : huge);
}

/// Memory in huge pages where the system gives them, as the runtime's is.
void *allocate(size_t bytes) {
  size_t rounded = getMappedBytes(bytes);
  void *memory = mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(memory, rounded, MADV_HUGEPAGE);
  return memory;
}

//===----------------------------------------------------------------------===//
// Limits
//===----------------------------------------------------------------------===//

/// Seconds since some moment. One thread counts its own processor time, which programs beside this
/// one disturb less.
double now() {
  timespec time;
  clock_gettime(getCrew().size() == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// The best of some runs of `work`, in units a second.
double best(double units, llvm::function_ref<void()> work) {
  double rate = 0;
  for (int i = 0; i < 7; ++i) {
    double begin = now();
    work();
    rate = std::max(rate, units / (now() - begin));
  }
  return rate;
}

__attribute__((target("avx512f"))) float multiplyAdd512(int64_t turns) {
  __m512 sums[12], a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(0.001f);
  for (__m512 &sum : sums)
    sum = a;
  for (int64_t i = 0; i < turns; ++i)
    for (__m512 &sum : sums)
      sum = _mm512_fmadd_ps(sum, a, b);
  for (__m512 &sum : sums)
    b = _mm512_add_ps(b, sum);
  return _mm512_reduce_add_ps(b);
}

__attribute__((target("avx2,fma"))) float multiplyAdd256(int64_t turns) {
  __m256 sums[12], a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(0.001f);
  for (__m256 &sum : sums)
    sum = a;
  for (int64_t i = 0; i < turns; ++i)
    for (__m256 &sum : sums)
      sum = _mm256_fmadd_ps(sum, a, b);
  for (__m256 &sum : sums)
    b = _mm256_add_ps(b, sum);
  return b[0] + b[3] + b[7];
}

__attribute__((target("avx512f,avx512bf16"))) float multiplyAddPairs(int64_t turns) {
  __m512 sums[12] = {};
  __m512bh a = {};
  for (int64_t i = 0; i < turns; ++i)
    for (__m512 &sum : sums)
      asm volatile("vdpbf16ps %1, %1, %0" : "+v"(sum) : "v"(a));
  for (int i = 1; i < 12; ++i)
    sums[0] = _mm512_add_ps(sums[0], sums[i]);
  return _mm512_reduce_add_ps(sums[0]);
}

/// bf16 operations a second of all threads together; zero where there are no such instructions.
double getPairPeak() {
  static double peak = [] {
    constexpr int64_t turns = 4'000'000;
    if (!getHostTarget().hasFeature("avx512bf16"))
      return 0.0;
    return best(4.0 * 12 * 16 * turns * getCrew().size(), [&] {
      getCrew().run([&](int) { benchmark::DoNotOptimize(multiplyAddPairs(turns)); });
    });
  }();
  return peak;
}

/// f32 operations a second of all threads together.
double getPeak() {
  static double peak = [] {
    constexpr int64_t turns = 4'000'000;
    bool wide = getHostTarget().getVectorBits() == 512;
    return best(2.0 * 12 * (wide ? 16 : 8) * turns * getCrew().size(), [&] {
      getCrew().run([&](int) {
        benchmark::DoNotOptimize(wide ? multiplyAdd512(turns) : multiplyAdd256(turns));
      });
    });
  }();
  return peak;
}

__attribute__((target("avx2"))) uint64_t readAll(const char *data, size_t bytes) {
  __m256i sums[8] = {};
  for (size_t i = 0; i + 256 <= bytes; i += 256)
    for (int j = 0; j < 8; ++j)
      sums[j] = _mm256_xor_si256(
          sums[j], _mm256_loadu_si256(reinterpret_cast<const __m256i *>(data + i + 32 * j)));
  for (int j = 1; j < 8; ++j)
    sums[0] = _mm256_xor_si256(sums[0], sums[j]);
  return _mm256_extract_epi64(sums[0], 0) ^ _mm256_extract_epi64(sums[0], 2);
}

/// Bytes a second that all threads together read from memory.
double getReadBandwidth() {
  static double bandwidth = [] {
    constexpr size_t bytes = size_t(512) << 20;
    char *data = static_cast<char *>(allocate(bytes));
    memset(data, 1, bytes);
    size_t share = bytes / getCrew().size();
    double rate = best(bytes, [&] {
      getCrew().run([&](int i) { benchmark::DoNotOptimize(readAll(data + i * share, share)); });
    });
    munmap(data, getMappedBytes(bytes));
    return rate;
  }();
  return bandwidth;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Enough copies of a kernel's slices to miss every cache, or one to hit.
class Workload {
public:
  /// What an element of an operand is.
  using MakeValue = llvm::function_ref<double(size_t operand, int64_t element)>;

  Workload(const std::string &text, bool cold, MakeValue makeValue = nullptr)
      : jit(getContext(), text, getHostTarget()) {
    if (!jit.getError().empty())
      return;
    SmallVector<Type> types(jit.getKernel().getArgumentTypes());
    types.append(jit.getKernel().getResultTypes().begin(), jit.getKernel().getResultTypes().end());
    int64_t bytes = 0;
    for (Type type : types) {
      sizes.push_back(getStorageBytes(type));
      bytes += sizes.back();
    }
    int64_t copies = cold ? llvm::divideCeil(int64_t(256) << 20, bytes) : 1;
    for (int64_t copy = 0; copy < copies; ++copy)
      for (auto [operand, type] : llvm::enumerate(types))
        slices.emplace_back(makeValue ? make(type, operand, makeValue) : make(type));
    each = types.size();
  }

  Workload(const Workload &) = delete;
  ~Workload() {
    for (auto [i, memory] : llvm::enumerate(slices))
      munmap(memory, getMappedBytes(sizes[i % each]));
  }

  const std::string &getError() const { return jit.getError(); }

  /// Runs the kernel on the next copy.
  void run() {
    ArrayRef<void *> own = ArrayRef(slices).slice(next * each, each);
    next = (next + 1) % (slices.size() / each);
    std::atomic<int64_t> item = 0;
    int64_t grid = jit.getGrid(), claim = llvm::divideCeil(grid, kClaims * getCrew().size());
    getCrew().run([&](int) {
      for (int64_t i; (i = item.fetch_add(claim, std::memory_order_relaxed)) < grid;)
        jit.run(own, i, std::min(i + claim, grid));
    });
  }

private:
  /// Small numbers; integers are ids all over a vocabulary.
  void *make(Type type) {
    auto tensor = cast<RankedTensorType>(type);
    int64_t bytes = getStorageBytes(tensor);
    void *memory = allocate(bytes);
    if (tensor.getElementType().isF32())
      for (int64_t i = 0; i < bytes / 4; ++i)
        static_cast<float *>(memory)[i] = static_cast<float>(i % 7) * 0.01f;
    else if (tensor.getElementType().isBF16())
      for (int64_t i = 0; i < bytes / 2; ++i)
        static_cast<uint16_t *>(memory)[i] = static_cast<uint16_t>(0x3c00 + i % 7);
    else if (tensor.getElementType().isInteger(32))
      for (int64_t i = 0; i < bytes / 4; ++i)
        static_cast<int32_t *>(memory)[i] = static_cast<int32_t>(i * 7919 % 50257);
    else if (isa<Float8E4M3FNType>(tensor.getElementType()))
      // Of weights one in ten thousand is subnormal.
      for (int64_t i = 0; i < bytes; ++i)
        static_cast<uint8_t *>(memory)[i] = static_cast<uint8_t>(i % 2 << 7 | (0x40 + i % 61));
    else
      for (int64_t i = 0; i < bytes; ++i)
        static_cast<uint8_t *>(memory)[i] = static_cast<uint8_t>(i % 251);
    return memory;
  }

  static void *make(Type type, size_t operand, MakeValue makeValue) {
    auto tensor = cast<RankedTensorType>(type);
    void *memory = allocate(getStorageBytes(tensor));
    for (int64_t i = 0; i < tensor.getNumElements(); ++i)
      if (tensor.getElementType().isF32())
        static_cast<float *>(memory)[i] = static_cast<float>(makeValue(operand, i));
      else
        static_cast<int32_t *>(memory)[i] = static_cast<int32_t>(makeValue(operand, i));
    return memory;
  }

  KernelJit jit;
  std::vector<void *> slices;
  std::vector<size_t> sizes;
  size_t each = 0, next = 0;
};

/// Runs the work as often as the benchmark wants; the seconds of the fastest run.
double measure(benchmark::State &state, Workload &work) {
  work.run();
  double least = std::numeric_limits<double>::max();
  for (auto _ : state) {
    double begin = now();
    work.run();
    double seconds = now() - begin;
    least = std::min(least, seconds);
    state.SetIterationTime(seconds);
  }
  return least;
}

void setProductRates(benchmark::State &state, double seconds, double flops, bool pairs) {
  state.counters["GFLOP/s"] = flops / seconds * 1e-9;
  state.counters["of_f32_peak"] = flops / seconds / getPeak();
  if (pairs && getPairPeak() > 0)
    state.counters["of_bf16_peak"] = flops / seconds / getPairPeak();
}

/// What follows a product %p of {0} rows and {2} columns: further arguments, results, the body.
struct Epilogue {
  std::string arguments, results, body;
};

Epilogue makeEpilogue(StringRef name) {
  std::string type = "tensor<{0}x{2}xf32>";
  if (name == "gelu" || name == "forward") {
    std::string gelu = R"(%0 = sinter.broadcast %b {{dims = array<i64: 1>}
        : (tensor<{2}xf32>) -> tensor<{0}x{2}xf32>
      %1 = sinter.add %p, %0 : (tensor<{0}x{2}xf32>, tensor<{0}x{2}xf32>) -> tensor<{0}x{2}xf32>
      %2 = sinter.gelu %1 {{tanh} : (tensor<{0}x{2}xf32>) -> tensor<{0}x{2}xf32>
      )";
    // A forward pass of training keeps what the activation was computed from.
    if (name == "forward")
      return {", %b: tensor<{2}xf32>", "(" + type + ", " + type + ")",
              gelu + "return %1, %2 : " + type + ", " + type};
    return {", %b: tensor<{2}xf32>", type, gelu + "return %2 : " + type};
  }
  if (name == "add")
    return {", %r: " + type, type,
            "%0 = sinter.add %r, %p : (" + type + ", " + type + ") -> " + type +
                "\nreturn %0 : " + type};
  return {"", type, "return %p : " + type};
}

/// The panels that products of an element type read, as text.
std::string printPanels(const std::string &element) {
  Builder builder(&getContext());
  Type type = element == "bf16" ? Type(builder.getBF16Type()) : builder.getF32Type();
  std::string text;
  llvm::raw_string_ostream(text) << getPanels(type, getHostTarget());
  return text;
}

void runGemm(benchmark::State &state, const std::string &element, const std::string &name) {
  int64_t m = state.range(0), k = state.range(1), n = state.range(2);
  bool pairs = element == "bf16";
  Epilogue epilogue = makeEpilogue(name);
  std::string pattern = R"(
    #panels = {4}
    func.func private @kernel(%x: tensor<{0}x{1}x{3}>, %w: tensor<{1}x{2}x{3}, #panels>)" +
                        epilogue.arguments + R"()
        -> )" + epilogue.results +
                        R"( attributes {{sinter.kernel = "gemm"} {{
      %p = sinter.matmul %x, %w
        : (tensor<{0}x{1}x{3}>, tensor<{1}x{2}x{3}, #panels>) -> tensor<{0}x{2}xf32>
      )" + epilogue.body +
                        "\n}";
  // Few rows wait for weights that no cache holds; many have other work meanwhile.
  Workload work(llvm::formatv(pattern.c_str(), m, k, n, element, printPanels(element)),
                /*cold=*/m <= 64);
  if (!work.getError().empty())
    return state.SkipWithError(work.getError().c_str());
  double least = measure(state, work);
  double flops = 2.0 * m * k * n, bytes = double(k) * n * (pairs ? 2 : 4);
  setProductRates(state, least, flops, pairs);
  state.counters["GB/s"] = bytes / least * 1e-9;
  state.counters["of_bandwidth"] = bytes / least / getReadBandwidth();
}

/// Weight-only integers, a scale for each 32 of a column, or e4m3, one for each 128.
void runIntegers(benchmark::State &state, const std::string &element) {
  Type type = parseType(element, &getContext());
  int64_t m = state.range(0), k = state.range(1), n = state.range(2);
  int64_t group = type.isInteger() ? 32 : 128;
  PanelsAttr panels = getIntegerPanels(type, getHostTarget());
  std::string text = llvm::formatv(
      R"(
    #integers = #sinter.panels<width = {5}, interleave = {6}, depth = {7}>
    #scales = #sinter.panels<width = {5}, interleave = 1, depth = 1>
    func.func private @kernel(%x: tensor<{0}x{1}xf32>, %w: tensor<{1}x{2}x{3}, #integers>,
                              %s: tensor<{4}x{2}xf32, #scales>)
        -> tensor<{0}x{2}xf32> attributes {{sinter.kernel = "gemm"} {{
      %p = sinter.matmul %x, %w, %s
        : (tensor<{0}x{1}xf32>, tensor<{1}x{2}x{3}, #integers>, tensor<{4}x{2}xf32, #scales>)
        -> tensor<{0}x{2}xf32>
      return %p : tensor<{0}x{2}xf32>
    })",
      m, k, n, element, k / group, panels.getWidth(), panels.getInterleave(), panels.getDepth());
  Workload work(text, /*cold=*/m <= 16);
  if (!work.getError().empty())
    return state.SkipWithError(work.getError().c_str());
  double least = measure(state, work);
  double bytes = double(k) * n * type.getIntOrFloatBitWidth() / 8 + double(k) / group * n * 4;
  setProductRates(state, least, 2.0 * m * k * n, /*pairs=*/false);
  state.counters["GB/s"] = bytes / least * 1e-9;
  state.counters["of_bandwidth"] = bytes / least / getReadBandwidth();
}

/// The gradient of a weight: [k, m] transposed times [k, n], lhs as PackWeights leaves it.
void runGradient(benchmark::State &state, const std::string &element, const std::string &name) {
  int64_t m = state.range(0), k = state.range(1), n = state.range(2);
  bool pairs = element == "bf16";
  Epilogue epilogue = makeEpilogue(name);
  std::string pattern = R"(
    #panels = {4}
    func.func private @kernel(%x: tensor<{1}x{0}x{3}{5}>, %g: tensor<{1}x{2}x{3}, #panels>)" +
                        epilogue.arguments + R"()
        -> )" + epilogue.results +
                        R"( attributes {{sinter.kernel = "gemm"} {{
      %p = sinter.matmul %x, %g {{transpose_lhs}
        : (tensor<{1}x{0}x{3}{5}>, tensor<{1}x{2}x{3}, #panels>) -> tensor<{0}x{2}xf32>
      )" + epilogue.body +
                        "\n}";
  Workload work(llvm::formatv(pattern.c_str(), m, k, n, element, printPanels(element),
                              pairs ? ", #panels" : ""),
                /*cold=*/false);
  if (!work.getError().empty())
    return state.SkipWithError(work.getError().c_str());
  setProductRates(state, measure(state, work), 2.0 * m * k * n, pairs);
}

/// A right-hand side that the kernel makes panels of itself, a piece at a time.
void runDense(benchmark::State &state, bool transposed) {
  int64_t m = state.range(0), k = state.range(1), n = state.range(2);
  std::string rhs = llvm::formatv("tensor<{0}x{1}xf32>", transposed ? n : k, transposed ? k : n);
  Workload work(llvm::formatv(R"(
    func.func private @kernel(%x: tensor<{0}x{1}xf32>, %w: {3}) -> tensor<{0}x{2}xf32>
        attributes {{sinter.kernel = "gemm"} {{
      %p = sinter.matmul %x, %w {4}: (tensor<{0}x{1}xf32>, {3}) -> tensor<{0}x{2}xf32>
      return %p : tensor<{0}x{2}xf32>
    })",
                              m, k, n, rhs, transposed ? "{transpose_rhs} " : ""),
                /*cold=*/false);
  if (!work.getError().empty())
    return state.SkipWithError(work.getError().c_str());
  setProductRates(state, measure(state, work), 2.0 * m * k * n, /*pairs=*/false);
}

void runAttention(benchmark::State &state, const std::string &element) {
  int64_t length = state.range(0), maxSequence = state.range(1), heads = state.range(2),
          keyHeads = state.range(3), width = state.range(4);
  bool pairs = element == "bf16", hasScales = element == "i8" || element == "f8E4M3FN";
  std::string query = llvm::formatv("tensor<1x{0}x{1}x{2}xf32>", length, heads, width);
  std::string key =
      llvm::formatv("tensor<1x{0}x{1}x{2}x{3}, #sinter.key_panels<width = {4}, interleave = {5}>>",
                    maxSequence, keyHeads, width, element, hasScales ? 64 : 16, pairs ? 2 : 1);
  std::string value = llvm::formatv("tensor<1x{0}x{1}x{2}x{3}, #sinter.head_major>", maxSequence,
                                    keyHeads, width, element);
  std::string scales =
      llvm::formatv("tensor<1x{0}x{1}x1xf32, #sinter.head_major>", maxSequence, keyHeads);
  std::string text =
      llvm::formatv(R"(
    func.func private @kernel(%q: {0}, %k: {1}, %v: {2}{3}) -> {0}
        attributes {{sinter.kernel = "attention"} {{
      %0 = sinter.attention %q, %k, %v{4}
        {{scale = 0.125, {6}operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, {7}, {7}>}
        : ({0}, {1}, {2}{5}) -> {0}
      return %0 : {0}
    })",
                    query, key, value, hasScales ? ", %ks: " + scales + ", %vs: " + scales : "",
                    hasScales ? ", %ks, %vs" : "", hasScales ? ", " + scales + ", " + scales : "",
                    length > 1 ? "causal, " : "", hasScales ? 1 : 0);
  Workload work(text, /*cold=*/length == 1);
  if (!work.getError().empty())
    return state.SkipWithError(work.getError().c_str());
  double least = measure(state, work);
  double visible = length > 1 ? (length + 1) / 2.0 : maxSequence;
  double flops = 4.0 * length * visible * heads * width;
  double rowBytes = hasScales ? width + 4 : pairs ? 2 * width : 4 * width;
  double bytes = 2.0 * maxSequence * keyHeads * rowBytes;
  state.counters["GFLOP/s"] = flops / least * 1e-9;
  state.counters["of_f32_peak"] = flops / least / getPeak();
  state.counters["of_bandwidth"] = bytes / least / getReadBandwidth();
}

/// A kernel whose limit is memory: `bytes` are what it must move.
void runRows(benchmark::State &state, const std::string &text, double bytes) {
  Workload work(text, /*cold=*/true);
  if (!work.getError().empty())
    return state.SkipWithError(work.getError().c_str());
  double least = measure(state, work);
  state.counters["GB/s"] = bytes / least * 1e-9;
  state.counters["of_bandwidth"] = bytes / least / getReadBandwidth();
}

/// `body` computes the results `returned`; their types are `results`.
void addRows(const std::string &name, const std::string &arguments, const std::string &results,
             const std::string &body, const std::string &returned, double bytes) {
  std::string text = "func.func private @kernel(" + arguments + ") -> (" + results +
                     ") attributes {sinter.kernel = \"rows\"} {\n" + body + "\nreturn " + returned +
                     " : " + results + "\n}";
  benchmark::RegisterBenchmark(("rows/" + name).c_str(),
                               [=](benchmark::State &state) { runRows(state, text, bytes); })
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

void addTraining() {
  const std::string x = "tensor<1024x768xf32>", w = "tensor<768xf32>", p = "tensor<64x768xf32>";
  const double matrix = 4.0 * 1024 * 768;
  addRows("rms_norm_grad", "%x: " + x + ", %w: " + w + ", %g: " + x, x + ", " + p,
          "%0:2 = sinter.rms_norm_grad %x, %w, %g {blocks = 64 : i64, eps = 1.0e-5} : (" + x +
              ", " + w + ", " + x + ") -> (" + x + ", " + p + ")",
          "%0#0, %0#1", 3 * matrix);
  addRows("layer_norm_grad", "%x: " + x + ", %w: " + w + ", %g: " + x, x + ", " + p + ", " + p,
          "%0:3 = sinter.layer_norm_grad %x, %w, %g {blocks = 64 : i64, eps = 1.0e-5} : (" + x +
              ", " + w + ", " + x + ") -> (" + x + ", " + p + ", " + p + ")",
          "%0#0, %0#1, %0#2", 3 * matrix);
  const std::string l = "tensor<128x50257xf32>", n = "tensor<128xf32>", t = "tensor<128xi32>";
  const double logits = 4.0 * 128 * 50257;
  addRows("cross_entropy", "%x: " + l + ", %t: " + t, n,
          "%0 = sinter.cross_entropy %x, %t : (" + l + ", " + t + ") -> " + n, "%0", logits);
  addRows("cross_entropy_grad", "%x: " + l + ", %t: " + t + ", %g: " + n, l,
          "%0 = sinter.cross_entropy_grad %x, %t, %g : (" + l + ", " + t + ", " + n + ") -> " + l,
          "%0", 2 * logits);
  addRows("softmax", "%x: " + l, l,
          R"(%0 = sinter.reduce max %x : (tensor<128x50257xf32>) -> tensor<128xf32>
      %1 = sinter.broadcast %0 {dims = array<i64: 0>} : (tensor<128xf32>) -> tensor<128x50257xf32>
      %2 = sinter.sub %x, %1 : (tensor<128x50257xf32>, tensor<128x50257xf32>) -> tensor<128x50257xf32>
      %3 = sinter.exp %2 : (tensor<128x50257xf32>) -> tensor<128x50257xf32>
      %4 = sinter.reduce sum %3 : (tensor<128x50257xf32>) -> tensor<128xf32>
      %5 = sinter.broadcast %4 {dims = array<i64: 0>} : (tensor<128xf32>) -> tensor<128x50257xf32>
      %6 = sinter.div %3, %5 : (tensor<128x50257xf32>, tensor<128x50257xf32>) -> tensor<128x50257xf32>)",
          "%6", 2 * logits);
  const std::string i = "tensor<1024xi32>", table = "tensor<50257x768xf32>";
  addRows("embedding_grad", "%i: " + i + ", %g: " + x, table,
          "%0 = sinter.embedding_grad %i, %g {rows = 50257 : i64} : (" + i + ", " + x + ") -> " +
              table,
          "%0", 4.0 * 50257 * 768);
  addRows("embedding_grad_into", "%i: " + i + ", %g: " + x + ", %t: " + table, table,
          "%0 = sinter.embedding_grad %i, %g, %t {rows = 50257 : i64} : (" + i + ", " + x + ", " +
              table + ") -> " + table,
          "%0", 3 * matrix);
  for (const auto &[in, out, elements] :
       {std::tuple<std::string, std::string, double>{"64x16x3072", "64x3072", 64 * 16 * 3072},
        {"64x3072", "3072", 64 * 3072},
        {"1024x768", "768", 1024 * 768}})
    addRows("column_sum/" + in, "%x: tensor<" + in + "xf32>", "tensor<" + out + "xf32>",
            "%0 = sinter.column_sum %x : (tensor<" + in + "xf32>) -> tensor<" + out + "xf32>", "%0",
            4 * elements);
  addRows("dropout", "%x: " + x + ", %s: tensor<2xi32>", x,
          "%0 = sinter.dropout %x, %s {probability = 0.1, stream = 1 : i64} : (" + x +
              ", tensor<2xi32>) -> " + x,
          "%0", 2 * matrix);
}

/// Training's attention of dense rows, `batch` sequences: forward with its logsumexp, or the
/// gradients' five products, of which a causal mask leaves half.
void runTrainingAttention(benchmark::State &state, const std::string &element, bool gradient) {
  int64_t batch = state.range(0), length = state.range(1), heads = state.range(2),
          width = state.range(3);
  constexpr const char *forward = R"(
    func.func private @kernel(%q: {0}, %k: {0}, %v: {0}) -> ({2}, {1})
        attributes {{sinter.kernel = "attention"} {{
      %0:2 = sinter.attention %q, %k, %v
        {{scale = 0.125, causal, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>}
        : ({0}, {0}, {0}) -> ({2}, {1})
      return %0#0, %0#1 : {2}, {1}
    })";
  constexpr const char *backward = R"(
    func.func private @kernel(%q: {0}, %k: {0}, %v: {0}, %g: {0}, %l: {1}, %d: {1})
        -> ({2}, {2}, {2}) attributes {{sinter.kernel = "attention_grad"} {{
      %0:3 = sinter.attention_grad %q, %k, %v, %g, %l, %d
        {{scale = 0.125, causal, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>}
        : ({0}, {0}, {0}, {0}, {1}, {1}) -> ({2}, {2}, {2})
      return %0#0, %0#1, %0#2 : {2}, {2}, {2}
    })";
  auto rows = [&](const std::string &type) {
    return llvm::formatv("tensor<{0}x{1}x{2}x{3}x{4}>", batch, length, heads, width, type).str();
  };
  std::string sums = llvm::formatv("tensor<{0}x{1}x{2}xf32>", batch, length, heads);
  Workload work(llvm::formatv(gradient ? backward : forward, rows(element), sums, rows("f32")),
                /*cold=*/false);
  if (!work.getError().empty())
    return state.SkipWithError(work.getError().c_str());
  double products = gradient ? 5.0 : 2.0, visible = (length + 1) / 2.0;
  setProductRates(state, measure(state, work),
                  2.0 * products * batch * heads * length * visible * width,
                  /*pairs=*/false);
}

/// Drawing from one row of normal logits. Its floor is two readings of the row: weights are known
/// once the largest logit is.
void runSample(benchmark::State &state, int64_t vocabulary, std::array<double, 3> options) {
  constexpr const char *pattern = R"(
    func.func private @kernel(%l: tensor<1x{0}xf32>, %t: {1}, %k: {2}, %p: {1}, %s: tensor<1x2xi32>,
                              %b: {2}, %c: {2}) -> {2} attributes {{sinter.kernel = "rows"} {{
      %0 = sinter.sample %l, %t, %k, %p, %s, %b, %c
        : (tensor<1x{0}xf32>, {1}, {2}, {1}, tensor<1x2xi32>, {2}, {2}) -> {2}
      return %0 : {2}
    })";
  std::mt19937 engine;
  std::normal_distribution<double> normal(0, 3);
  Workload work(llvm::formatv(pattern, vocabulary, "tensor<1xf32>", "tensor<1xi32>"),
                /*cold=*/false, [&](size_t operand, int64_t) {
                  return operand == 0 ? normal(engine) : operand < 4 ? options[operand - 1] : 7;
                });
  if (!work.getError().empty())
    return state.SkipWithError(work.getError().c_str());
  double row = 4.0 * static_cast<double>(vocabulary);
  state.counters["readings"] = measure(state, work) / (row / getReadBandwidth());
}

void addSamples() {
  for (int64_t vocabulary : {4096, 50257, 151936})
    for (auto [name, options] :
         {std::pair<const char *, std::array<double, 3>>{"greedy", {0, 0, 1}},
          {"all", {1, 0, 1}},
          {"top_k", {0.8, 40, 1}},
          {"top_p", {1, 0, 0.9}},
          {"both", {0.8, 40, 0.9}},
          {"flat", {100, 0, 0.9}}})
      benchmark::RegisterBenchmark(
          ("sample/" + std::string(name) + "/" + std::to_string(vocabulary)).c_str(),
          [=](benchmark::State &state) { runSample(state, vocabulary, options); })
          ->UseManualTime()
          ->Unit(benchmark::kMicrosecond);
}

void addIntegers(const std::string &element) {
  auto *family =
      benchmark::RegisterBenchmark(("integers/" + element).c_str(),
                                   [=](benchmark::State &state) { runIntegers(state, element); });
  family->UseManualTime()->Unit(benchmark::kMicrosecond);
  for (int64_t m : {1, 2, 4, 8, 64, 512})
    for (auto [k, n] : {std::pair<int64_t, int64_t>{768, 3072}, {3072, 768}, {5632, 2048}})
      family->Args({m, k, n});
}

void addGemms(const std::string &element, const std::string &epilogue) {
  auto *family = benchmark::RegisterBenchmark(
      ("gemm/" + element + (epilogue.empty() ? "" : "/" + epilogue)).c_str(),
      [=](benchmark::State &state) { runGemm(state, element, epilogue); });
  family->UseManualTime()->Unit(benchmark::kMicrosecond);
  for (int64_t m : {1, 2, 4, 8, 16, 64, 512})
    for (auto [k, n] :
         {std::pair<int64_t, int64_t>{768, 2304}, {768, 768}, {768, 3072}, {3072, 768}})
      family->Args({m, k, n});
  for (auto [k, n] :
       {std::pair<int64_t, int64_t>{768, 2304}, {768, 768}, {768, 3072}, {3072, 768}, {2304, 768}})
    family->Args({1024, k, n});
  family->Args({1, 768, 50304});
  // Of a small model.
  for (auto [k, n] :
       {std::pair<int64_t, int64_t>{128, 384}, {128, 128}, {128, 512}, {512, 128}, {384, 128}})
    family->Args({768, k, n});
}

void addGradients(const std::string &element, const std::string &epilogue) {
  auto *family = benchmark::RegisterBenchmark(
      ("gradient/" + element + (epilogue.empty() ? "" : "/" + epilogue)).c_str(),
      [=](benchmark::State &state) { runGradient(state, element, epilogue); });
  family->UseManualTime()->Unit(benchmark::kMicrosecond);
  for (auto [m, n] : {std::pair<int64_t, int64_t>{768, 2304}, {768, 768}, {768, 3072}, {3072, 768}})
    family->Args({m, 1024, n});
  family->Args({50257, 256, 768});
  // Of a small model.
  for (auto [m, n] : {std::pair<int64_t, int64_t>{128, 384}, {128, 128}, {128, 512}, {512, 128}})
    family->Args({m, 768, n});
}

/// The products of a block of a loss with its vocabulary.
void addDense() {
  for (bool transposed : {true, false}) {
    auto *family =
        benchmark::RegisterBenchmark(transposed ? "dense/transposed" : "dense/rows",
                                     [=](benchmark::State &state) { runDense(state, transposed); });
    family->UseManualTime()->Unit(benchmark::kMicrosecond);
    family->Args({256, transposed ? 768 : 50257, transposed ? 50257 : 768});
  }
}

void addAttentions(const std::string &element) {
  auto *family =
      benchmark::RegisterBenchmark(("attention/" + element).c_str(),
                                   [=](benchmark::State &state) { runAttention(state, element); });
  family->UseManualTime()->Unit(benchmark::kMicrosecond);
  family->Args({512, 512, 12, 12, 64})->Args({512, 512, 16, 4, 128});
  family->Args({1, 512, 12, 12, 64})->Args({1, 2048, 32, 8, 128});
  family->Args({1, 32768, 12, 12, 64})->Args({1, 32768, 32, 4, 64});
}

void addTrainingAttention(const std::string &element, bool gradient) {
  std::string name = (gradient ? "attention_grad/" : "training_attention/") + element;
  auto *family = benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State &state) {
    runTrainingAttention(state, element, gradient);
  });
  family->UseManualTime()->Unit(benchmark::kMicrosecond);
  family->Args({4, 256, 12, 64})->Args({1, 1024, 12, 64})->Args({1, 1024, 16, 128});
  family->Args({12, 64, 4, 32});
}

} // namespace

int main(int argc, char **argv) {
  benchmark::Initialize(&argc, argv);
  if (argc == 2 && StringRef(argv[1]).starts_with("--threads=") &&
      !StringRef(argv[1]).drop_front(10).getAsInteger(10, threadCount))
    argc = 1;
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 1;
  printf("%s, %d threads: %.0f GFLOP/s f32, %.1f GB/s read\n", getHostTarget().getChip().data(),
         getCrew().size(), getPeak() * 1e-9, getReadBandwidth() * 1e-9);
  for (const char *element : {"f32", "bf16"}) {
    addGemms(element, "");
    addGradients(element, "");
    addGradients(element, "add");
    addAttentions(element);
  }
  addDense();
  for (const char *element : {"i8", "i4", "f8E4M3FN"})
    addIntegers(element);
  addAttentions("i8");
  addAttentions("f8E4M3FN");
  addGemms("f32", "gelu");
  addGemms("f32", "forward");
  addTraining();
  addSamples();
  for (const char *element : {"f32", "bf16"})
    for (bool gradient : {false, true})
      addTrainingAttention(element, gradient);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
