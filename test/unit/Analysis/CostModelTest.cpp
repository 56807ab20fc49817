#include "compiler/Analysis/CostModel.h"
#include "compiler/Analysis/LibraryGemm.h"
#include "compiler/Analysis/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace sinter;

namespace {
constexpr llvm::StringLiteral kPanels = "#sinter.panels<width = 64, interleave = 1, depth = 16>";

class CostModelTest : public testing::Test {
protected:
  CostModelTest() {
    context.loadDialect<SinterDialect, func::FuncDialect>();
    target = *parseTarget(&context, "cpu:x86-64-v4", 2);
  }

  /// The ops of a function whose body is `text`.
  llvm::SetVector<Operation *> parse(const std::string &arguments, const std::string &text) {
    module = parseSourceString<ModuleOp>(
        "func.func @f(" + arguments + ") {\n" + text + "\nreturn\n}", ParserConfig(&context));
    llvm::SetVector<Operation *> ops;
    EXPECT_TRUE(module);
    if (module)
      for (Operation &op : (*module->getOps<func::FuncOp>().begin()).front().without_terminator())
        ops.insert(&op);
    return ops;
  }

  MLIRContext context;
  TargetAttr target;
  OwningOpRef<ModuleOp> module;
};

TEST_F(CostModelTest, ChargesArithmeticOrTraffic) {
  CostModel costs(target);
  std::string type = "tensor<1024x1024xf32>";
  auto ops = parse("%x: " + type + ", %w: " + type,
                   "%0 = sinter.matmul %x, %w : (" + type + ", " + type + ") -> " + type);
  Cost cost = costs.getCost(ops[0]);
  EXPECT_EQ(cost.flops, 2.0 * 1024 * 1024 * 1024);
  EXPECT_EQ(cost.bytes, 3.0 * 1024 * 1024 * 4);
  // Bound by arithmetic: between the peak and twice what it takes.
  EXPECT_GT(cost.ns, cost.flops / target.getGflopsF32());
  EXPECT_LT(cost.ns, 2 * cost.flops / target.getGflopsF32());
  EXPECT_EQ(cost.narrowFlops, 0);

  ops =
      parse("%x: tensor<1x1024xf32>, %w: " + type,
            "%0 = sinter.matmul %x, %w : (tensor<1x1024xf32>, " + type + ") -> tensor<1x1024xf32>");
  cost = costs.getCost(ops[0]);
  // Bound by reading the weight.
  EXPECT_NEAR(cost.ns, cost.bytes / target.getMemoryGbs() + target.getLaunchNs(), 0.1 * cost.ns);
}

TEST_F(CostModelTest, SaysWhereBytesLie) {
  CostModel costs(target); // caches of 1 MiB for each of two cores, and 16 MiB
  auto cost = [&](const std::string &arguments, int64_t rows) {
    std::string type = "tensor<" + std::to_string(rows) + "x1024xf32>";
    return costs.getCost(
        parse("%x: " + type + arguments, "%0 = sinter.exp %x : (" + type + ") -> " + type)[0]);
  };
  Cost small = cost("", 256), middle = cost("", 2048), large = cost("", 8192);
  EXPECT_EQ(small.privateBytes, small.bytes);
  EXPECT_EQ(small.sharedBytes, 0);
  // An argument comes from memory, as all that was touched since the last step passed by.
  EXPECT_EQ(middle.sharedBytes, middle.bytes / 2);
  EXPECT_EQ(middle.privateBytes, 0);
  EXPECT_EQ(large.sharedBytes + large.privateBytes, 0);
}

TEST_F(CostModelTest, NarrowIsWhatIsNotWidenedFirst) {
  auto narrow = [&](TargetAttr of, const std::string &element) {
    std::string type = "tensor<64x64x" + element + ">", wide = "tensor<64x64xf32>";
    Cost cost = CostModel(of).getCost(
        parse("%x: " + type + ", %w: " + type,
              "%0 = sinter.matmul %x, %w : (" + type + ", " + type + ") -> " + wide)[0]);
    EXPECT_GT(cost.flops, 0);
    return cost.narrowFlops / cost.flops;
  };
  TargetAttr gpu = *parseTarget(&context, "cuda:sm_90", 0);
  EXPECT_EQ(narrow(target, "f32"), 0);
  EXPECT_EQ(narrow(target, "bf16"), 1);
  // A processor widens f16; a GPU has units for it.
  EXPECT_EQ(narrow(target, "f16"), 0);
  EXPECT_EQ(narrow(gpu, "f16"), 1);
}

TEST_F(CostModelTest, ProductsOfBytesAreToldByWhatTheyMultiply) {
  // Rows of one element by weights of another.
  auto cost = [&](TargetAttr of, int64_t rows, const std::string &element,
                  const std::string &weight) {
    std::string type = "tensor<" + std::to_string(rows) + "x64x" + element + ">",
                result = "tensor<" + std::to_string(rows) + "x32xf32>",
                weights = "tensor<64x32x" + weight + ">", scales = "tensor<1x32xf32>",
                ofRows = "tensor<" + std::to_string(rows) + "x1xf32>";
    bool narrow = element == "i8" || element == "f8E4M3FN";
    return CostModel(of).getCost(parse(
        "%x: " + type + ", %w: " + weights + ", %s: " + scales + ", %r: " + ofRows,
        "%0 = sinter.matmul %x, %w, %s " + std::string(narrow ? "rows %r " : "") + ": (" + type +
            ", " + weights + ", " + scales + (narrow ? ", " + ofRows : "") + ") -> " + result)[0]);
  };
  auto expect = [&](const Cost &found, double byteFlops, double nibbleFlops) {
    EXPECT_EQ(found.byteFlops, byteFlops);
    EXPECT_EQ(found.nibbleFlops, nibbleFlops);
    EXPECT_EQ(found.narrowFlops, 0);
    EXPECT_GE(found.flops, byteFlops + nibbleFlops);
  };
  TargetAttr gpu = *parseTarget(&context, "cuda:sm_90", 0);
  for (TargetAttr of : {target, gpu}) {
    expect(cost(of, 16, "i8", "i8"), 2.0 * 16 * 64 * 32, 0);
    expect(cost(of, 1, "i8", "i4"), 0, 2.0 * 64 * 32);
    expect(cost(of, 16, "f32", "i8"), 0, 0);
  }
  // A processor makes few rows fixed point and has no products of fp8.
  expect(cost(target, 1, "f32", "i8"), 2.0 * 64 * 32, 0);
  expect(cost(target, 3, "f32", "i4"), 0, 2.0 * 3 * 64 * 32);
  expect(cost(gpu, 1, "f32", "i8"), 0, 0);
  expect(cost(gpu, 16, "f8E4M3FN", "f8E4M3FN"), 2.0 * 16 * 64 * 32, 0);
}

TEST_F(CostModelTest, BytesAreMultipliedAsTheInstructionsAllow) {
  auto times = [&](const char *name, int64_t bits) {
    TargetAttr of = *parseTarget(&context, name, 2);
    return getGflopsOfBytes(of, bits) / static_cast<double>(of.getGflopsF32());
  };
  EXPECT_EQ(times("cpu:x86-64-v3", 8), 2); // widened to 16 bits
  EXPECT_EQ(times("cpu:x86-64-v3", 4), 4);
  EXPECT_EQ(times("cpu:x86-64-v4", 8), 2);
  EXPECT_EQ(times("cpu:cooperlake", 8), 4); // VNNI
  EXPECT_EQ(times("cpu:cooperlake", 4), 4);
  TargetAttr gpu = *parseTarget(&context, "cuda:sm_80", 0);
  EXPECT_EQ(getGflopsOfBytes(gpu, 8), 2.0 * static_cast<double>(gpu.getGflopsBf16()));
}

TEST_F(CostModelTest, AFusedLookupReadsTheLinesThatItsRowsLieIn) {
  CostModel costs(target);
  std::string table = "tensor<64x50000xf32, " + kPanels.str() + ">", rows = "tensor<1x4x64xf32>";
  auto ops = parse("%t: " + table + ", %i: tensor<1x4xi32>",
                   "%0 = sinter.embedding %t, %i {transpose_table} : (" + table +
                       ", tensor<1x4xi32>) -> " + rows + "\n%1 = sinter.exp %0 : (" + rows +
                       ") -> " + rows);
  // The ids, a line for each of 4 x 64 words, and the result: what is looked up stays inside.
  EXPECT_EQ(costs.getFusedCost(ops).bytes, 4 * 4 + 4 * 64 * 64 + 4 * 64 * 4);
}

TEST_F(CostModelTest, KeepsWhatStaysInsideOutOfMemory) {
  CostModel costs(target);
  std::string type = "tensor<64x1024xf32>";
  auto ops = parse("%x: " + type, "%0 = sinter.exp %x : (" + type + ") -> " + type +
                                      "\n%1 = sinter.mul %0, %x : (" + type + ", " + type +
                                      ") -> " + type);
  Cost together = costs.getFusedCost(ops), apart = costs.getCost(ops[0]);
  apart += costs.getCost(ops[1]);
  double tensor = 64 * 1024 * 4;
  EXPECT_EQ(apart.bytes, 5 * tensor);
  // x is read once and the product is written; the exponentials are neither.
  EXPECT_EQ(together.bytes, 2 * tensor);
  EXPECT_EQ(together.flops, apart.flops);
  EXPECT_LT(together.ns, apart.ns - target.getLaunchNs() / 2.0);
}

TEST_F(CostModelTest, SumsOfDifferentBlocksHaveOneWorkItem) {
  CostModel costs(*parseTarget(&context, "cuda:sm_90", 0));
  std::string arguments = "%x: tensor<512x16x768xf32>, %y: tensor<512x2x768xf32>, "
                          "%z: tensor<1024x768xf32>";
  std::string first = "%0 = sinter.column_sum %x : (tensor<512x16x768xf32>) -> tensor<512x768xf32>";
  std::string alike = "%1 = sinter.column_sum %y : (tensor<512x2x768xf32>) -> tensor<512x768xf32>";
  std::string other = "%1 = sinter.column_sum %z : (tensor<1024x768xf32>) -> tensor<768xf32>";
  double together = costs.getFusedCost(parse(arguments, first + "\n" + alike)).ns;
  // One multiprocessor does the work of all.
  EXPECT_GT(costs.getFusedCost(parse(arguments, other + "\n" + first)).ns, 10 * together);
}

TEST_F(CostModelTest, ChargesAReductionThatEveryRowRepeats) {
  CostModel costs(target);
  std::string rows = "tensor<8192xf32>", all = "tensor<8192x64xf32>";
  std::string sum = "%0 = sinter.reduce sum %s : (" + rows + ") -> tensor<f32>\n";
  auto spread = [&](const std::string &value, const std::string &type, const std::string &dims) {
    return "%b = sinter.broadcast " + value + " {dims = array<i64" + dims + ">} : (" + type +
           ") -> " + all + "\n%m = sinter.mul %x, %b : (" + all + ", " + all + ") -> " + all;
  };
  std::string arguments = "%s: " + rows + ", %x: " + all;
  Cost repeated = costs.getFusedCost(parse(arguments, sum + spread("%0", "tensor<f32>", "")));
  double additions = 8192.0 * 8192.0;
  EXPECT_GT(repeated.ns, additions / target.getGflopsF32());
  // The number itself spread over its row, and one number of each row, are computed once.
  Cost once = costs.getFusedCost(
      parse("%s: " + rows,
            sum + "%b = sinter.broadcast %0 {dims = array<i64>} : (tensor<f32>) -> " + rows +
                "\n%m = sinter.mul %s, %b : (" + rows + ", " + rows + ") -> " + rows));
  EXPECT_LT(once.ns, repeated.ns / 100);
  Cost ofRows =
      costs.getFusedCost(parse("%x: " + all, "%0 = sinter.reduce sum %x : (" + all + ") -> " +
                                                 rows + "\n" + spread("%0", rows, ": 0")));
  EXPECT_LT(ofRows.ns, repeated.ns / 10);
}

TEST_F(CostModelTest, WithoutInstructionsOnBf16ItsProductsAreSlower) {
  auto predict = [&](const char *processor, const std::string &element) {
    CostModel costs(*parseTarget(&context, processor, 2));
    std::string type = "tensor<512x1024x" + element + ">",
                square = "tensor<1024x1024x" + element + ">";
    auto ops =
        parse("%x: " + type + ", %w: " + square,
              "%0 = sinter.matmul %x, %w : (" + type + ", " + square + ") -> tensor<512x1024xf32>");
    return costs.getCost(ops[0]).ns;
  };
  double ratio = predict("cpu:x86-64-v3", "bf16") / predict("cpu:x86-64-v3", "f32");
  EXPECT_GT(ratio, 1.4);
  EXPECT_LT(ratio, 1.6);
  EXPECT_LT(predict("cpu:znver4", "bf16"), predict("cpu:znver4", "f32"));
}

TEST_F(CostModelTest, CollectivesOfGpusTakeWhatTheirLinksDo) {
  auto predict = [&](const std::string &of, const std::string &collective) {
    module =
        parseSourceString<ModuleOp>("module attributes {sinter.grid = #sinter.grid<data = 8>} {\n"
                                    "func.func @f(%x: tensor<8x1024x1024xf32>) {\n%0 = sinter." +
                                        collective + "\nreturn\n}\n}",
                                    ParserConfig(&context));
    EXPECT_TRUE(module);
    Operation &op = (*module->getOps<func::FuncOp>().begin()).front().front();
    return CostModel(*parseTarget(&context, of, 2)).getCost(&op);
  };
  const std::string exchange =
      "all_to_all [\"data\"] %x : (tensor<8x1024x1024xf32>) -> tensor<8x1024x1024xf32>";
  // Seven of eight parts are sent, of 4 MiB each.
  double sent = 7 * 4 * 1024 * 1024;
  TargetAttr gpu = *parseTarget(&context, "cuda:sm_90", 0);
  EXPECT_DOUBLE_EQ(predict("cuda:sm_90", exchange).ns, sent / 360 + gpu.getLaunchNs());
  EXPECT_GT(predict("cuda:sm_120", exchange).ns, 6 * predict("cuda:sm_90", exchange).ns);
  // What is not sent, and what processes of one machine send, moves through memory.
  Cost kept = predict("cuda:sm_90", "all_slice [\"data\"] %x : (tensor<8x1024x1024xf32>) -> "
                                    "tensor<1024x1024xf32>");
  EXPECT_LT(kept.ns, 2 * kept.bytes / gpu.getMemoryGbs() + gpu.getLaunchNs());
  Cost copied = predict("cpu:x86-64-v4", exchange);
  EXPECT_DOUBLE_EQ(copied.ns, copied.bytes / target.getMemoryGbs() + target.getLaunchNs());
}

TEST_F(CostModelTest, ReadsOnlyTheRowsOfATable) {
  CostModel costs(target);
  auto ops = parse("%t: tensor<50000x64xf32>, %i: tensor<1x4xi32>",
                   "%0 = sinter.embedding %t, %i : (tensor<50000x64xf32>, tensor<1x4xi32>) -> "
                   "tensor<1x4x64xf32>");
  EXPECT_LT(costs.getCost(ops[0]).bytes, 3 * 4 * 64 * 4);
}

// Of 128 matrices those of eight rows at the most, from memory: a token's experts.
TEST_F(CostModelTest, ReadsTheMatricesOfGroupsWithRows) {
  for (const char *name : {"cpu:x86-64-v4", "cuda:sm_90"}) {
    TargetAttr machine = *parseTarget(&context, name, 2);
    auto ops =
        parse("%x: tensor<8x2048xbf16>, %w: tensor<128x1536x2048xbf16>, %o: tensor<129xi32>",
              "%0 = sinter.grouped_matmul %x, %w, %o {transpose_rhs} : (tensor<8x2048xbf16>, "
              "tensor<128x1536x2048xbf16>, tensor<129xi32>) -> tensor<8x1536xf32>");
    Cost cost = CostModel(machine).getCost(ops[0]);
    double matrices = 8.0 * 1536 * 2048 * 2;
    EXPECT_EQ(cost.bytes, matrices + 8 * 2048 * 2 + 8 * 1536 * 4 + 129 * 4);
    EXPECT_GE(cost.ns, matrices / machine.getMemoryGbs());
    EXPECT_LE(cost.ns, 1.1 * matrices / machine.getMemoryGbs() + machine.getLaunchNs());
    EXPECT_EQ(cost.narrowFlops, 2.0 * 8 * 1536 * 2048);
  }
}

TEST_F(CostModelTest, ReadsALineForEachWordOfARowInPanels) {
  auto ops = parse("%t: tensor<64x50000xf32, " + kPanels.str() + ">, %i: tensor<1x4xi32>",
                   "%0 = sinter.embedding %t, %i {transpose_table} : (tensor<64x50000xf32, " +
                       kPanels.str() + ">, tensor<1x4xi32>) -> tensor<1x4x64xf32>");
  EXPECT_EQ(cast<CostOpInterface>(ops[0]).getBytes(), 4 * 64 * 64 + 4 * 64 * 4 + 4 * 4);
}

TEST_F(CostModelTest, GivesAliasesAndConstantsNoCost) {
  CostModel costs(target);
  auto ops =
      parse("%x: tensor<4x8xf32>", "%0 = sinter.reshape %x : (tensor<4x8xf32>) -> tensor<32xf32>\n"
                                   "%1 = sinter.constant dense<1.0> : tensor<32xf32>");
  EXPECT_EQ(costs.getFusedCost(ops).ns, 0);
  EXPECT_TRUE(isAlias(ops[0]));
  EXPECT_TRUE(isSplatConstant(ops[1]));
}

TEST_F(CostModelTest, MatchesPostOpsInOrder) {
  std::string right = "tensor<8x16xf32>", type = "tensor<4x16xf32>";
  auto ops = parse("%x: tensor<4x8xf32>, %w: " + right + ", %b: tensor<16xf32>, %h: " + type,
                   "%0 = sinter.matmul %x, %w : (tensor<4x8xf32>, " + right + ") -> " + type +
                       "\n%1 = sinter.broadcast %b {dims = array<i64: 1>} : (tensor<16xf32>) -> " +
                       type + "\n%2 = sinter.add %1, %0 : (" + type + ", " + type + ") -> " + type +
                       "\n%3 = sinter.silu %2 : (" + type + ") -> " + type +
                       "\n%4 = sinter.mul %h, %3 : (" + type + ", " + type + ") -> " + type);
  auto gemm = matchLibraryGemm(ops);
  ASSERT_TRUE(gemm);
  ASSERT_EQ(gemm->postOps.size(), 3u);
  EXPECT_EQ(gemm->postOps[0].kind, plan::PostOpKind::Bias);
  EXPECT_EQ(gemm->postOps[1].kind, plan::PostOpKind::Silu);
  EXPECT_EQ(gemm->postOps[2].kind, plan::PostOpKind::Multiply);
  EXPECT_EQ(gemm->result, ops[4]->getResult(0));
}

TEST_F(CostModelTest, RefusesEpiloguesThatAreNoChain) {
  std::string right = "tensor<8x16xf32>", type = "tensor<4x16xf32>";
  std::string matmul = "%0 = sinter.matmul %x, %w : (tensor<4x8xf32>, " + right + ") -> " + type;
  std::string arguments = "%x: tensor<4x8xf32>, %w: " + right;
  EXPECT_TRUE(matchLibraryGemm(parse(arguments, matmul)));
  // The product is needed twice, or by an op that is no post-op.
  EXPECT_FALSE(matchLibraryGemm(parse(arguments, matmul + "\n%1 = sinter.mul %0, %0 : (" + type +
                                                     ", " + type + ") -> " + type)));
  EXPECT_FALSE(matchLibraryGemm(
      parse(arguments, matmul + "\n%1 = sinter.exp %0 : (" + type + ") -> " + type)));
  // A right-hand side in panels is a processor's, which has no library.
  std::string panels = "tensor<8x16xf32, " + kPanels.str() + ">";
  EXPECT_FALSE(matchLibraryGemm(
      parse("%x: tensor<4x8xf32>, %w: " + panels,
            "%0 = sinter.matmul %x, %w : (tensor<4x8xf32>, " + panels + ") -> " + type)));
}

TEST_F(CostModelTest, AGpusLibraryDoesLessThanItsKernelsForFewRows) {
  // relu after a sum, and a function after that, of rows rows.
  auto match = [&](const std::string &rows, const std::string &function) {
    std::string type = "tensor<" + rows + "x16xf32>", two = type + ", " + type;
    return matchLibraryGemm(
        parse("%x: tensor<" + rows + "x8xbf16>, %w: tensor<8x16xbf16>, %r: " + type,
              "%0 = sinter.matmul %x, %w : (tensor<" + rows + "x8xbf16>, tensor<8x16xbf16>) -> " +
                  type + "\n%1 = sinter.add %0, %r : (" + two + ") -> " + type + "\n%2 = sinter." +
                  function + " %1 : (" + type + ") -> " + type));
  };
  auto relu = match("64", "relu");
  ASSERT_TRUE(relu);
  EXPECT_TRUE(relu->fitsLibrary());
  EXPECT_FALSE(match("64", "silu"));
  auto few = match("4", "silu");
  ASSERT_TRUE(few);
  EXPECT_FALSE(few->fitsLibrary());
}

TEST_F(CostModelTest, RefusesUnknownTargets) {
  EXPECT_FALSE(parseTarget(&context, "", 0));
  EXPECT_FALSE(parseTarget(&context, "cpu:", 0));
  EXPECT_FALSE(parseTarget(&context, "cuda", 0));
  EXPECT_FALSE(parseTarget(&context, "cpu:i386", 0));
  TargetAttr host = *parseTarget(&context, "cpu", 3);
  EXPECT_EQ(host.getCores(), 3);
}
} // namespace
