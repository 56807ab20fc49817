#include "runtime/Device/Cpu/Rates.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <sched.h>
#include <sys/mman.h>
#include <thread>
#include <vector>

namespace sinter::runtime {
namespace {

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

#if defined(__x86_64__)

// Loops are written out: what is measured is these instructions, whatever a compiler would make of
// a formula. Twelve sums hide the latency of two units (at most 5 cycles on either) and leave
// registers of the AVX2 file for the factors, 12 and 13. All registers are zero, which no operation
// slows down.
constexpr uint64_t sums = 12;

// clang-format off
#define SINTER_EACH(numbers, line) ".irp n," numbers "\n\t" line "\n\t.endr\n\t"
#define SINTER_SUMS "0,1,2,3,4,5,6,7,8,9,10,11"
#define SINTER_LOOP(clear, body, end)                                                              \
  asm volatile(SINTER_EACH(SINTER_SUMS ",12,13", clear)                                            \
               "1:\n\t" body "dec %0\n\tjnz 1b\n\t" end                                            \
               : "+r"(times) : : "cc", SINTER_REGISTERS)
#define SINTER_REGISTERS                                                                           \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",         \
  "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"
#define SINTER_CLEAR "vxorps %%xmm\\n, %%xmm\\n, %%xmm\\n"

// Half of them products of pairs, half of them sums. `vex` is "v" where instructions have a third
// operand, `third`.
#define SINTER_EACH_BYTES(name, vex, kind, third, numbers)                                         \
  SINTER_EACH(numbers, vex name " %%" kind "12, " third "%%" kind "\\n")
#define SINTER_PAIRS(clear, vex, kind, third, end)                                                 \
  SINTER_LOOP(clear, SINTER_EACH_BYTES("pmaddwd", vex, kind, third, "0,1,2,3,4,5")                 \
              SINTER_EACH_BYTES("paddd", vex, kind, third, "6,7,8,9,10,11"), end)
// Eight products and sums of 16 bits, and what adds those to one of 32.
#define SINTER_NIBBLES(clear, vex, kind, third, end)                                               \
  SINTER_LOOP(clear, SINTER_EACH_BYTES("pmaddubsw", vex, kind, third, "0,1,2,3,4,5,6,7")           \
              SINTER_EACH_BYTES("paddw", vex, kind, third, "8,9,10,11,8,9,10,11")                  \
              SINTER_EACH_BYTES("pmaddwd", vex, kind, third, "14")                                 \
              SINTER_EACH_BYTES("paddd", vex, kind, third, "15"), end)
#define SINTER_BY_WIDTH(loop)                                                                      \
  switch (set.vectorBytes) {                                                                       \
  case 64: loop(SINTER_CLEAR, "v", "zmm", "%%zmm13, ", "vzeroupper"); break;                       \
  case 32: loop(SINTER_CLEAR, "v", "ymm", "%%ymm13, ", "vzeroupper"); break;                       \
  default: loop("xorps %%xmm\\n, %%xmm\\n", "", "xmm", "", "");                                    \
  }

#define SINTER_TILES(multiply)                                                                     \
  asm volatile("ldtilecfg %1\n\t"                                                                  \
               "1:\n\t" multiply " %%tmm6, %%tmm4, %%tmm0\n\t"                                     \
               multiply " %%tmm7, %%tmm4, %%tmm1\n\t" multiply " %%tmm6, %%tmm5, %%tmm2\n\t"       \
               multiply " %%tmm7, %%tmm5, %%tmm3\n\t"                                              \
               "dec %0\n\tjnz 1b\n\ttilerelease"                                                   \
               : "+r"(times) : "m"(shapes) : "cc")

/// Runs `times` loops of products of tiles, of bf16 or of bytes, and returns the operations: four
/// tiles of 16 x 16 sums, of as many products each as 64 bytes have elements.
double multiplyTiles(bool bytes, uint64_t times) {
  constexpr uint64_t tiles = 4, edge = 16, rowBytes = 64;
  struct {
    uint8_t palette = 1, start = 0, unused[14] = {};
    uint16_t bytes[16] = {};
    uint8_t rows[16] = {};
  } shapes;
  std::fill_n(shapes.bytes, 2 * tiles, rowBytes);
  std::fill_n(shapes.rows, 2 * tiles, edge);
  double operations = double(times) * tiles * 2 * edge * edge * (bytes ? rowBytes : rowBytes / 2);
  // Tiles are zero when they have been shaped.
  if (bytes)
    SINTER_TILES("tdpbssd");
  else
    SINTER_TILES("tdpbf16ps");
  return operations;
}

/// Runs `times` loops of multiply-adds of bytes by integers of `bits` and returns the operations.
double multiplyAddBytes(const InstructionSet &set, int bits, uint64_t times) {
  double operations = double(times) * 2 * set.vectorBytes; // of an instruction on each byte
  if (set.byteDot && set.vectorBytes == 64) {
    SINTER_LOOP(SINTER_CLEAR, SINTER_EACH(SINTER_SUMS, "vpdpbusd %%zmm12, %%zmm13, %%zmm\\n"),
                "vzeroupper");
    return sums * operations;
  }
  if (set.byteDot) { // the older encoding, of AVX-VNNI
    SINTER_LOOP(SINTER_CLEAR,
                SINTER_EACH(SINTER_SUMS, "%{vex%} vpdpbusd %%ymm12, %%ymm13, %%ymm\\n"),
                "vzeroupper");
    return sums * operations;
  }
  if (bits == 4) {
    SINTER_BY_WIDTH(SINTER_NIBBLES)
    return 8 * operations;
  }
  SINTER_BY_WIDTH(SINTER_PAIRS)
  return 6 * operations / 2; // each takes two bytes of the vector's
}

/// Runs `times` loops of multiply-adds and returns the operations that they are.
double multiplyAdd(const InstructionSet &set, DType dtype, uint64_t times) {
  if (set.tileDot && (dtype == DType::BF16 || dtype == DType::I8))
    return multiplyTiles(dtype == DType::I8, times);
  if (dtype == DType::I8 || dtype == DType::I4)
    return multiplyAddBytes(set, dtype == DType::I4 ? 4 : 8, times);
  double operations = double(times) * sums * 2 * (set.vectorBytes / 4);
  if (dtype == DType::BF16 && set.pairDot) {
    SINTER_LOOP(SINTER_CLEAR, SINTER_EACH(SINTER_SUMS, "vdpbf16ps %%zmm12, %%zmm13, %%zmm\\n"),
                "vzeroupper");
    return 2 * operations;
  }
  switch (set.vectorBytes) {
  case 64:
    SINTER_LOOP(SINTER_CLEAR, SINTER_EACH(SINTER_SUMS, "vfmadd231ps %%zmm12, %%zmm13, %%zmm\\n"),
                "vzeroupper");
    return operations;
  case 32:
    SINTER_LOOP(SINTER_CLEAR, SINTER_EACH(SINTER_SUMS, "vfmadd231ps %%ymm12, %%ymm13, %%ymm\\n"),
                "vzeroupper");
    return operations;
  default:
    // Half of them products, half of them sums, in any order: both units may be busy.
    SINTER_LOOP("xorps %%xmm\\n, %%xmm\\n",
                SINTER_EACH("0,1,2,3,4,5", "mulps %%xmm12, %%xmm\\n")
                SINTER_EACH("6,7,8,9,10,11", "addps %%xmm13, %%xmm\\n"), "");
    return operations / 2;
  }
}

#define SINTER_LOADS(move, kind, bytes, end)                                                       \
  asm volatile("1:\n\t" SINTER_EACH("0,1,2,3,4,5,6,7", move " " bytes "*\\n(%0), %%" kind "\\n")   \
               "add $8*" bytes ", %0\n\tcmp %1, %0\n\tjb 1b\n\t" end                               \
               : "+r"(from) : "r"(to) : "cc", "memory", SINTER_REGISTERS)

/// Loads [from, to), whose length is a multiple of 512.
void load(const InstructionSet &set, const std::byte *from, const std::byte *to) {
  switch (set.vectorBytes) {
  case 64:
    SINTER_LOADS("vmovaps", "zmm", "64", "vzeroupper");
    break;
  case 32:
    SINTER_LOADS("vmovaps", "ymm", "32", "vzeroupper");
    break;
  default:
    SINTER_LOADS("movaps", "xmm", "16", "");
  }
}
// clang-format on

#else

// Vectors that any compiler for any processor knows how to make.
typedef float Vector __attribute__((vector_size(16)));
constexpr uint64_t sums = 8;

double multiplyAdd(const InstructionSet &, DType, uint64_t times) {
  Vector results[sums] = {}, x = {}, y = {};
  asm volatile("" : "+w"(x), "+w"(y));
  for (uint64_t i = 0; i < times; ++i)
    for (Vector &result : results)
      result += x * y;
  for (Vector &result : results)
    asm volatile("" : "+w"(result));
  return double(times) * sums * 2 * 4;
}

void load(const InstructionSet &, const std::byte *begin, const std::byte *end) {
  for (; begin < end; begin += sizeof(Vector))
    asm volatile("" ::"w"(*reinterpret_cast<const Vector *>(begin)));
}

#endif

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// What a thread did in a window, and when.
struct Window {
  double begin = 0, end = 0, done = 0;
};

/// Windows of each thread, in all of which every thread calls `work(thread)` once, which returns
/// what it did. Threads have a processor each, and a window begins when all have come.
template <typename Fn>
std::vector<std::vector<Window>> runWindows(unsigned threads, double seconds, Fn &work) {
  constexpr uint64_t most = uint64_t(1) << 14;
  std::vector<int> processors = usableProcessors();
  std::vector<std::vector<Window>> windows(threads);
  std::atomic<uint64_t> arrived = 0;
  std::atomic<bool> over = false;
  auto run = [&](unsigned thread) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processors[thread], &set);
    sched_setaffinity(0, sizeof(set), &set); // refused, it only takes longer
    double until = now() + seconds;
    for (uint64_t window = 0; window < most; ++window) {
      ++arrived;
      do
        over = over || now() > until;
      while (!over && arrived < (window + 1) * threads);
      if (over)
        return;
      double begin = now(), done = work(thread);
      windows[thread].push_back({begin, now(), done});
    }
  };
  std::vector<std::jthread> others;
  for (unsigned thread = 0; thread < threads; ++thread)
    others.emplace_back(run, thread);
  others.clear();
  return windows;
}

/// The best rate of windows through which all threads worked: one that loses its processor spoils
/// its window. Windows are run for `seconds`, and again up to `patience` until there are some
/// that count; without them the rate is what one thread did at best, times their number.
template <typename Fn> Rate findBestRate(unsigned threads, RateTime time, Fn &&work) {
  constexpr double skew = 0.1;            // of a window's length that its threads may begin apart
  const int enough = threads > 1 ? 4 : 1; // one thread is all of them
  int whole = 0;
  double best = 0, alone = 0;
  for (double end = now() + std::max(time.seconds, time.patience);
       whole < enough && (alone == 0 || now() < end);) {
    std::vector<std::vector<Window>> windows = runWindows(threads, time.seconds, work);
    size_t count = SIZE_MAX;
    for (const std::vector<Window> &list : windows) {
      count = std::min(count, list.size());
      for (const Window &window : list)
        alone = std::max(alone, window.done / (window.end - window.begin));
    }
    for (size_t i = 0; i < count; ++i) {
      double begin = windows[0][i].begin, latest = begin, end = 0, done = 0;
      for (const std::vector<Window> &list : windows) {
        begin = std::min(begin, list[i].begin);
        latest = std::max(latest, list[i].begin);
        end = std::max(end, list[i].end);
        done += list[i].done;
      }
      if (latest - begin > skew * (end - begin))
        continue;
      ++whole;
      best = std::max(best, done / (end - begin));
    }
  }
  return whole >= enough ? Rate{best, true} : Rate{threads * alone, false};
}

/// Memory that has been written, in huge pages where the system has them.
class Pages {
public:
  explicit Pages(uint64_t bytes)
      : bytes(bytes), data(static_cast<std::byte *>(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    if (data == MAP_FAILED)
      return;
    ::madvise(data, bytes, MADV_HUGEPAGE);
    std::memset(data, 0, bytes);
  }
  ~Pages() {
    if (data != MAP_FAILED)
      ::munmap(data, bytes);
  }
  Pages(const Pages &) = delete;
  Pages &operator=(const Pages &) = delete;

  const std::byte *get() const { return data == MAP_FAILED ? nullptr : data; }

private:
  uint64_t bytes;
  std::byte *data;
};

} // namespace

//===----------------------------------------------------------------------===//
// Rates
//===----------------------------------------------------------------------===//

/// Threads that can work at a time: more than there are processors do no more.
static unsigned countWorkers(unsigned threads) {
  return std::min<unsigned>(std::max(threads, 1u), unsigned(usableProcessors().size()));
}

Rate measureMultiplyAdds(unsigned threads, const InstructionSet &set, DType dtype, RateTime time) {
  constexpr uint64_t times = 5000; // a window is some 10 us
  return findBestRate(countWorkers(threads), time,
                      [&](unsigned) { return multiplyAdd(set, dtype, times); });
}

constexpr uint64_t bytesOfLoads = 8 * 64; // of a round of load()

/// Loads of threads that each stay with a part of `part` bytes, which its own caches may hold,
/// `stretch` of them after the other, as often as makes a window.
static Rate measureParts(unsigned threads, const InstructionSet &set, const std::byte *data,
                         uint64_t part, uint64_t stretch, RateTime time) {
  constexpr uint64_t shortest = 1 << 18; // loaded by a thread between two looks at the clock
  uint64_t rounds = (shortest + stretch - 1) / stretch;
  struct alignas(64) Position {
    uint64_t next = 0;
  };
  std::vector<Position> positions(threads);
  return findBestRate(threads, time, [&](unsigned thread) {
    uint64_t &next = positions[thread].next;
    const std::byte *begin = data + thread * part + next;
    next = next + 2 * stretch <= part ? next + stretch : 0;
    for (uint64_t i = 0; i < rounds; ++i)
      load(set, begin, begin + stretch);
    return double(rounds * stretch);
  });
}

Rate measureLoads(unsigned threads, const InstructionSet &set, uint64_t bytes, RateTime time) {
  threads = countWorkers(threads);
  constexpr uint64_t longest = 2 << 20; // of a window
  uint64_t part = std::max(bytes / threads / bytesOfLoads, uint64_t(1)) * bytesOfLoads;
  Pages pages(part * threads);
  if (!pages.get())
    return {};
  return measureParts(threads, set, pages.get(), part, std::min(part, longest), time);
}

Rate measureLoads(unsigned threads, const InstructionSet &set, std::span<const std::byte> memory,
                  RateTime time) {
  threads = countWorkers(threads);
  uint64_t part = memory.size() / threads / bytesOfLoads * bytesOfLoads;
  return part == 0 ? Rate{} : measureParts(threads, set, memory.data(), part, part, time);
}

} // namespace sinter::runtime
