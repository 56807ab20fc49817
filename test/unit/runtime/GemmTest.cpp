#include "runtime/Device/Cpu/Gemm.h"
#include "runtime/Device/Cpu/Features.h"
#include "runtime/Device/Cpu/Pack.h"
#include "test/unit/runtime/Matrices.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace sinter;
using namespace sinter::runtime;
using namespace sinter::runtime::testing;

namespace {

struct Strides {
  uint64_t lhsExtra = 0, outExtra = 0, operandExtra = 0;
};

// A product with its memory, computed by plain loops in double as well.
struct Product {
  Product(uint64_t m, uint64_t n, uint64_t k, DType dtype, DType outDtype,
          std::vector<PostOpKind> kinds = {}, Strides extra = {}, bool inPlace = false)
      : lhs(randomBuffer(m * (k + extra.lhsExtra), dtype, 1)),
        source(randomBuffer(k * n, dtype, 2)), rhs(Panels{k, n, dtype}.bytes()),
        out(m * (n + extra.outExtra) * sizeOf(outDtype)), inPlace(inPlace) {
    problem.m = m, problem.n = n, problem.k = k;
    problem.dtype = dtype, problem.outDtype = outDtype;
    problem.lhs = lhs.data(), problem.lhsStride = k + extra.lhsExtra;
    problem.rhs = rhs.data();
    problem.out = out.data(), problem.outStride = n + extra.outExtra;
    ThreadPool pool(1);
    PackSource packed{source.data(), dtype, n, n, false};
    pack(pool, {k, n, dtype}, std::span(&packed, 1), rhs.data());
    operands.reserve(kinds.size());
    for (PostOpKind kind : kinds) {
      GemmPostOp step{kind, outDtype, 0, nullptr};
      if (kind == PostOpKind::Bias) {
        step.dtype = DType::F32;
        operands.push_back(randomBuffer(n, DType::F32, 4));
        step.operand = operands.back().data();
      } else if (hasOperand(kind) && inPlace) {
        step.stride = problem.outStride;
        step.operand = out.data();
      } else if (hasOperand(kind)) {
        step.stride = problem.outStride + extra.operandExtra;
        operands.push_back(randomBuffer(m * step.stride, outDtype, 5));
        step.operand = operands.back().data();
      }
      problem.postOps.push_back(step);
    }
    reset();
    expected.resize(m * n);
    for (uint64_t i = 0; i < m; ++i)
      for (uint64_t j = 0; j < n; ++j)
        expected[i * n + j] = reference(i, j);
  }

  uint64_t outBytes() const { return problem.m * problem.outStride * sizeOf(problem.outDtype); }

  // Writes what the output holds before the product runs.
  void reset() {
    std::memset(out.data(), 0x7e, outBytes());
    if (inPlace)
      std::memcpy(out.data(),
                  randomBuffer(problem.m * problem.outStride, problem.outDtype, 3).data(),
                  outBytes());
  }

  double reference(uint64_t i, uint64_t j) {
    double sum = 0;
    for (uint64_t p = 0; p < problem.k; ++p)
      sum += double(loadAt(lhs.data(), i * problem.lhsStride + p, problem.dtype)) *
             loadAt(source.data(), p * problem.n + j, problem.dtype);
    for (const GemmPostOp &step : problem.postOps)
      switch (step.kind) {
      case PostOpKind::Bias:
        sum += loadAt(step.operand, j, step.dtype);
        break;
      case PostOpKind::Add:
        sum += loadAt(step.operand, i * step.stride + j, step.dtype);
        break;
      case PostOpKind::Multiply:
        sum *= loadAt(step.operand, i * step.stride + j, step.dtype);
        break;
      case PostOpKind::Gelu:
        sum = 0.5 * sum * (1 + std::erf(sum / std::sqrt(2.0)));
        break;
      case PostOpKind::GeluTanh:
        sum = 0.5 * sum * (1 + std::tanh(0.7978845608028654 * (sum + 0.044715 * sum * sum * sum)));
        break;
      case PostOpKind::Silu:
        sum = sum / (1 + std::exp(-sum));
        break;
      case PostOpKind::Relu:
        sum = std::max(sum, 0.0);
        break;
      }
    return sum;
  }

  // The relative error over the whole matrix, and that nothing outside of it was touched.
  void check() {
    double error = 0, norm = 0;
    for (uint64_t i = 0; i < problem.m; ++i)
      for (uint64_t j = 0; j < problem.n; ++j) {
        double want = expected[i * problem.n + j];
        double got = loadAt(out.data(), i * problem.outStride + j, problem.outDtype);
        error += (want - got) * (want - got);
        norm += want * want;
      }
    EXPECT_LE(std::sqrt(error),
              (problem.outDtype == DType::BF16 ? 4e-3 : 1e-6) * std::sqrt(norm) + 1e-6);
    size_t size = sizeOf(problem.outDtype);
    for (uint64_t i = 0; !inPlace && i < problem.m; ++i)
      for (uint64_t b = problem.n * size; b < problem.outStride * size; ++b)
        ASSERT_EQ(out.data()[i * problem.outStride * size + b], std::byte(0x7e));
  }

  std::vector<std::byte> run(unsigned threads, bool useLibrary = true) {
    ThreadPool pool(threads);
    GemmLibrary library(threads, useLibrary);
    Gemm gemm = library.bind(problem);
    // Of processors without instructions on bf16 the library leaves most products in it to us.
    bool isNarrow = problem.dtype == DType::BF16 || problem.outDtype == DType::BF16;
    if (!isNarrow || hasCpuFeature("avx512bf16")) {
      EXPECT_EQ(gemm.usesLibrary(), useLibrary && hasCpuFeature("avx512bw"));
    }
    reset();
    gemm.run(pool);
    return {out.data(), out.data() + outBytes()};
  }

  Buffer lhs, source, rhs, out;
  bool inPlace;
  std::vector<Buffer> operands;
  std::vector<double> expected;
  GemmProblem problem;
};

using enum PostOpKind;

TEST(GemmTest, OddShapes) {
  for (DType dtype : {DType::F32, DType::BF16})
    for (uint64_t m : {1, 2, 5, 31, 33, 65, 130})
      for (uint64_t n : {1, 16, 63, 64, 65, 200})
        for (uint64_t k : {1, 3, 16, 33, 100}) {
          SCOPED_TRACE(::testing::Message() << m << "x" << n << "x" << k << " " << nameOf(dtype));
          Product product(m, n, k, dtype, dtype);
          product.run(2);
          product.check();
        }
}

TEST(GemmTest, WideAndDeep) {
  for (DType dtype : {DType::F32, DType::BF16}) {
    Product wide(3, 1000, 300, dtype, DType::F32);
    wide.run(2);
    wide.check();
    Product deep(40, 70, 2000, dtype, DType::F32);
    deep.run(2);
    deep.check();
  }
}

TEST(GemmTest, PostOps) {
  const std::vector<std::vector<PostOpKind>> lists = {
      {Bias},           {Gelu},
      {GeluTanh},       {Silu},
      {Relu},           {Add},
      {Multiply},       {Bias, Gelu},
      {Bias, Add},      {Silu, Multiply},
      {Add, GeluTanh},  {Bias, GeluTanh, Multiply, Add},
      {Gelu, Bias},     {Add, Bias},
      {Multiply, Silu}, {Add, Relu, Gelu},
  };
  for (bool useLibrary : {true, false})
    for (DType dtype : {DType::F32, DType::BF16})
      for (DType outDtype : {DType::F32, DType::BF16})
        for (uint64_t m : {1, 7, 40})
          for (uint64_t outExtra : {0, 24})
            for (size_t i = 0; i < lists.size(); ++i) {
              SCOPED_TRACE(::testing::Message()
                           << "list " << i << " m " << m << " extra " << outExtra << " "
                           << nameOf(dtype) << " " << nameOf(outDtype) << " " << useLibrary);
              Product product(m, 150, 70, dtype, outDtype, lists[i], {.outExtra = outExtra});
              product.run(2, useLibrary);
              product.check();
            }
}

TEST(GemmTest, OperandsInPlace) {
  for (bool useLibrary : {true, false})
    for (DType dtype : {DType::F32, DType::BF16})
      for (uint64_t m : {1, 5, 70})
        for (uint64_t outExtra : {0, 10}) {
          SCOPED_TRACE(::testing::Message() << m << " " << outExtra << " " << nameOf(dtype));
          Strides extra{.outExtra = outExtra};
          Product product(m, 130, 50, dtype, dtype, {Bias, Add}, extra, true);
          product.run(2, useLibrary);
          product.check();
          for (uint64_t k : {50, 2000}) {
            Product after(m, 60, k, dtype, dtype, {Silu, Multiply, Add}, extra, true);
            after.run(2, useLibrary);
            after.check();
          }
        }
}

TEST(GemmTest, StridedOperands) {
  for (DType dtype : {DType::F32, DType::BF16})
    for (uint64_t m : {1, 5, 70}) {
      Product product(m, 130, 50, dtype, dtype, {Multiply}, {14, 0, 6});
      product.run(2);
      product.check();
    }
}

TEST(GemmTest, PlainLoopsAgree) {
  for (DType dtype : {DType::F32, DType::BF16})
    for (uint64_t m : {1, 3, 70})
      for (uint64_t n : {5, 64, 300}) {
        Product product(m, n, 37, dtype, DType::F32, {}, {5, 3, 0});
        product.run(2, false);
        product.check();
      }
}

TEST(GemmTest, BitsDoNotDependOnTheThreads) {
  for (DType dtype : {DType::F32, DType::BF16})
    for (uint64_t m : {1, 9, 150}) {
      Product product(m, 700, 200, dtype, dtype, {Bias, Gelu, Add});
      std::vector<std::byte> one = product.run(1);
      for (unsigned threads : {2, 3, 7})
        EXPECT_EQ(one, product.run(threads));
    }
}

TEST(GemmTest, TilesCoverTheProblem) {
  for (uint64_t m : {1, 31, 64, 100, 128, 129, 512, 1000})
    for (uint64_t n : {1, 64, 65, 384, 768, 2304, 50257})
      for (uint64_t k : {16, 768}) {
        GemmProblem problem;
        problem.m = m, problem.n = n, problem.k = k;
        GemmTile tile = chooseTile(problem);
        EXPECT_GE(tile.m, 1u);
        EXPECT_LE(tile.m, 128u);
        EXPECT_EQ(tile.n % 64, 0u);
        EXPECT_GE(tile.n, 64u);
        EXPECT_LE(tile.n, 256u);
      }
}

TEST(GemmTest, ScratchIsCounted) {
  GemmLibrary library(2);
  EXPECT_EQ(library.scratchBytes(), 0u);
  Product product(64, 100, 20, DType::F32, DType::F32, {}, {.outExtra = 8});
  Gemm gemm = library.bind(product.problem);
  EXPECT_GE(library.scratchBytes(), 2u * 64 * 64 * 4);
}

} // namespace
