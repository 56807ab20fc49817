#include "compiler/Executable/Serialize.h"
#include "compiler/Executable/MemoryReport.h"
#include "compiler/Executable/PlanHtml.h"
#include "compiler/Memory/Passes.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/Format/Executable.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace mlir;
using namespace sinter;

namespace {

constexpr const char *kPlan = R"mlir(
!panels = tensor<8x24xf32, #sinter.panels<width = 64, interleave = 1, depth = 16>>
!keys = tensor<1x2x1x8xf32, #sinter.key_panels<width = 16, interleave = 1>>
plan.parameter "w" : tensor<16x8xf32> mean 0.0 deviation 0.5
plan.parameter "v" : tensor<8xf32> mean 1.0 deviation 0.0
plan.constant 0 dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
plan.constant 64 dense<5> : tensor<2xi32>
plan.program @preprocess {
  %w = plan.slice checkpoint[0, 512] "w" : tensor<16x8xf32>
  %v = plan.slice checkpoint[0, 32] "v" : tensor<8xf32>
  %half = plan.slice checkpoint[256, 256] "w"
  %p = plan.slice parameter[0, 4096] "p0" : !panels
  plan.pack(%w, %half) -> (%p) {k = 8, n = 24, dtype = f32, width = 64, interleave = 1, depth = 16,
    label = "pack",
    source_layouts = [#plan.pack_source<dtype = f32, n = 16, stride = 8, transposed = true>,
                      #plan.pack_source<dtype = f32, n = 8, stride = 8, transposed = true>]}
  %q = plan.slice parameter[4096, 32] "p1" : tensor<8xf32>
  plan.copy(%v) -> (%q)
}
plan.program @decode {
  %x = plan.slice input[0, 32] "x" : tensor<1x8xf32>
  %n = plan.slice input[64, 4] "count" : tensor<1xi32>
  %y = plan.slice output[0, 96] "logits" : tensor<1x24xf32>
  %p = plan.slice parameter[0, 4096] "p0" : !panels
  %q = plan.slice parameter[4096, 32] "p1" : tensor<8xf32>
  %k = plan.slice state[0, 512] "k_cache.0" : !keys
  %v = plan.slice state[512, 64] "v_cache.0" : tensor<1x2x1x8xf32, #sinter.head_major>
  %c = plan.slice constant[64, 8] : tensor<2xi32>
  %h = plan.alloc 32
  %b = plan.alloc 96
  plan.launch @norm grid 7 (%x, %q) -> (%h) {label = "rms_norm",
    layer = "model.layers.0", flops = 10, narrow_flops = 8, byte_flops = 1, nibble_flops = 2,
    bytes = 96, shared_bytes = 64,
    private_bytes = 32, predicted_ns = 5,
    output_types = [f32]}
  plan.launch @append grid 1 (%k, %h, %n, %c) -> (%k) {label = "cache_append"}
  plan.fill 3 -> (%b)
  plan.launch @head grid 1 (%h, %p, %b) -> (%y) {label = "matmul+silu+add", layer = "lm_head"}
}
)mlir";

class SerializeTest : public ::testing::Test {
protected:
  SerializeTest() {
    context.loadDialect<plan::PlanDialect, SinterDialect>();
    module = parseSourceString<ModuleOp>(kPlan, &context);
    PassManager manager(&context);
    buildMemoryPipeline(manager);
    EXPECT_TRUE(module && succeeded(manager.run(*module)));
    code.image.resize(256, std::byte(0xc3));
    code.offsets = {{"append", 64}, {"head", 192}, {"norm", 128}};
  }

  std::shared_ptr<const runtime::Executable> load() {
    auto bytes = serialize(*module, code, contents);
    EXPECT_TRUE(bytes) << bytes.error().message();
    auto executable = runtime::Executable::fromFlatbuffer(*bytes, "test");
    EXPECT_TRUE(executable) << executable.error().message();
    return executable.value_or(nullptr);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  MachineCode code;
  ExecutableContents contents;
};

TEST_F(SerializeTest, RuntimeBelievesIt) { ASSERT_TRUE(load()); }

TEST_F(SerializeTest, Spaces) {
  auto executable = load();
  ASSERT_TRUE(executable);
  const fb::Executable &root = executable->getRoot();
  EXPECT_EQ(root.parameter_bytes(), 4096u + 64u);
  EXPECT_EQ(root.state_bytes(), 512u + 64u);
  ASSERT_EQ(root.constants()->size(), 128u);
  EXPECT_EQ(reinterpret_cast<const float *>(root.constants()->data())[2], 3.0f);
  // A splat is written out.
  EXPECT_EQ(reinterpret_cast<const int32_t *>(root.constants()->data() + 64)[1], 5);
  const fb::Program *decode = executable->program("decode");
  EXPECT_EQ(decode->input_bytes(), 128u);
  EXPECT_EQ(decode->output_bytes(), 128u);
  EXPECT_EQ(decode->arena_bytes(), 192u);
  EXPECT_EQ(decode->arena_lower_bound(), 192u);
}

TEST_F(SerializeTest, Bindings) {
  auto executable = load();
  ASSERT_TRUE(executable);
  const fb::Executable &root = executable->getRoot();
  ASSERT_EQ(root.checkpoint()->size(), 2u);
  EXPECT_EQ(root.checkpoint()->Get(0)->name()->str(), "w");
  EXPECT_EQ(root.checkpoint()->Get(0)->shape()->Get(1), 8);
  ASSERT_EQ(root.states()->size(), 2u);
  // A padded layout has no shape but its storage; one without padding keeps its own.
  EXPECT_EQ(root.states()->Get(0)->shape()->size(), 1u);
  EXPECT_EQ(root.states()->Get(0)->shape()->Get(0), 128);
  EXPECT_EQ(root.states()->Get(1)->shape()->size(), 4u);
  const fb::Program *decode = executable->program("decode");
  ASSERT_EQ(decode->inputs()->size(), 2u);
  EXPECT_EQ(decode->inputs()->Get(1)->dtype(), fb::DType::I32);
  EXPECT_EQ(decode->outputs()->Get(0)->name()->str(), "logits");
}

TEST_F(SerializeTest, Commands) {
  auto executable = load();
  ASSERT_TRUE(executable);
  const auto &commands = *executable->program("decode")->commands();
  ASSERT_EQ(commands.size(), 4u);
  EXPECT_EQ(commands[0]->layer()->str(), "model.layers.0");
  EXPECT_EQ(commands[0]->predicted_ns(), 5u);
  EXPECT_EQ(commands[0]->narrow_flops(), 8u);
  EXPECT_EQ(commands[0]->byte_flops(), 1u);
  EXPECT_EQ(commands[0]->nibble_flops(), 2u);
  EXPECT_EQ(commands[0]->shared_bytes(), 64u);
  EXPECT_EQ(commands[0]->private_bytes(), 32u);
  const fb::Launch *norm = commands[0]->action_as_Launch();
  ASSERT_TRUE(norm);
  EXPECT_EQ(executable->getRoot().kernels()->Get(norm->kernel())->name()->str(), "norm");
  EXPECT_EQ(norm->grid(), 7u);
  ASSERT_EQ(norm->slices()->size(), 3u);
  EXPECT_EQ(norm->slices()->Get(1)->space(), fb::Space::Parameter);
  EXPECT_EQ(norm->slices()->Get(1)->offset(), 4096u);
  ASSERT_EQ(norm->outputs()->size(), 1u);
  EXPECT_EQ(norm->outputs()->Get(0), fb::DType::F32);
  EXPECT_EQ(commands[2]->action_as_Fill()->value(), 3);
  const fb::Pack *pack = executable->program("preprocess")->commands()->Get(0)->action_as_Pack();
  ASSERT_EQ(pack->sources()->size(), 2u);
  EXPECT_EQ(pack->sources()->Get(1)->slice()->offset(), 256u);
  EXPECT_EQ(pack->sources()->Get(1)->slice()->index(), 0u);
}

TEST_F(SerializeTest, WhatIsCarriedAlong) {
  contents.metadata = {{"vocab_size", "24"}};
  contents.attachments = {{"tokenizer.json", "{}"}};
  contents.weightFiles = {{"model.safetensors", 12, "ff"}};
  contents.seed = 42;
  code.cpuFeatures = {"sse2"};
  auto executable = load();
  ASSERT_TRUE(executable);
  EXPECT_EQ(executable->metadata("vocab_size"), "24");
  EXPECT_EQ(executable->attachment("tokenizer.json")->size(), 2u);
  EXPECT_EQ(executable->getRoot().weight_files()->Get(0)->hash()->str(), "ff");
  EXPECT_EQ(executable->getRoot().seed(), 42u);
  EXPECT_EQ(executable->getRoot().code()->size(), 256u + 8u); // its hash behind it
}

TEST_F(SerializeTest, TensorsBeginAsTheyAreDeclared) {
  auto executable = load();
  ASSERT_TRUE(executable);
  const auto *tensors = executable->getRoot().checkpoint();
  EXPECT_EQ(tensors->Get(0)->deviation(), 0.5);
  EXPECT_EQ(tensors->Get(1)->mean(), 1);
  // A state of a declared name is trained, and begins as the checkpoint's tensor.
  OpBuilder builder = OpBuilder::atBlockBegin(module->getBody());
  auto type = RankedTensorType::get({1, 2, 1, 8}, builder.getF32Type());
  plan::ParameterOp::create(builder, module->getLoc(), "v_cache.0", type, llvm::APFloat(0.0),
                            llvm::APFloat(0.25));
  executable = load();
  ASSERT_TRUE(executable);
  tensors = executable->getRoot().checkpoint();
  ASSERT_EQ(tensors->size(), 3u);
  EXPECT_EQ(tensors->Get(2)->name()->str(), "v_cache.0");
  EXPECT_EQ(tensors->Get(2)->deviation(), 0.25);
  EXPECT_EQ(tensors->Get(2)->shape()->size(), 4u);
}

TEST_F(SerializeTest, TensorsThatAreNotDeclaredAreDefects) {
  (*module->getOps<plan::ParameterOp>().begin()).erase();
  auto bytes = serialize(*module, code, contents);
  ASSERT_FALSE(bytes);
  EXPECT_TRUE(bytes.error().defect);
  EXPECT_EQ(bytes.error().message(),
            "tensor 'w': it is read but not declared; report this as a defect");
}

TEST_F(SerializeTest, MetadataOfTheModuleGoAlong) {
  Builder builder(&context);
  auto add = [&](StringRef key, StringRef value) {
    return builder.getNamedAttr(key, builder.getStringAttr(value));
  };
  (*module)->setAttr(SinterDialect::kMetadata,
                     builder.getDictionaryAttr({add("vocab_size", "24"), add("batch", "2")}));
  contents.metadata["batch"] = "1";
  auto executable = load();
  ASSERT_TRUE(executable);
  EXPECT_EQ(executable->metadata("vocab_size"), "24");
  EXPECT_EQ(executable->metadata("batch"), "1");
}

TEST_F(SerializeTest, EqualInputGivesEqualBytes) {
  EXPECT_EQ(*serialize(*module, code, contents), *serialize(*module, code, contents));
}

// Offsets of an attention's operands are those of slices of their own.
TEST_F(SerializeTest, Attention) {
  module = parseSourceString<ModuleOp>(R"mlir(
plan.program @logits {
  %x = plan.slice input[64, 256] "x" : tensor<4x32xbf16>
  %y = plan.slice output[0, 128] "y" : tensor<4x16xbf16>
  %l = plan.alloc 32
  %w = plan.alloc 256
  plan.attention(%x, %x, %x) workspace(%w) -> (%y, %l) {batch = 1, length = 4, keys = 4, heads = 2,
    key_heads = 1, head_size = 8, dtype = bf16, out_dtype = bf16, scale = 0.5 : f32, causal,
    window = 3, query_layout = array<i64: 0, 128, 32, 8>, key_layout = array<i64: 16, 128, 32, 8>,
    value_layout = array<i64: 24, 128, 32, 8>}
}
)mlir",
                                       &context);
  PassManager manager(&context);
  buildMemoryPipeline(manager);
  ASSERT_TRUE(module && succeeded(manager.run(*module)));
  CudaCode cuda;
  cuda.target = "cuda:sm_90";
  auto bytes = serialize(*module, cuda, contents);
  ASSERT_TRUE(bytes) << bytes.error().message();
  auto executable = runtime::Executable::fromFlatbuffer(*bytes, "test");
  ASSERT_TRUE(executable) << executable.error().message();
  const fb::Attention *attention =
      (*executable)->program("logits")->commands()->Get(0)->action_as_Attention();
  ASSERT_TRUE(attention);
  EXPECT_EQ(attention->key()->offset(), 64u + 32u);
  EXPECT_EQ(attention->key()->bytes(), 256u - 32u);
  EXPECT_EQ(attention->value()->offset(), 64u + 48u);
  EXPECT_EQ(attention->value_strides()->row(), 32u);
  EXPECT_EQ(attention->key_heads(), 1u);
  EXPECT_EQ(attention->scale(), 0.5f);
  EXPECT_TRUE(attention->causal());
  EXPECT_EQ(attention->window(), 3u);
  EXPECT_EQ(attention->logsumexp()->bytes(), 32u);
  EXPECT_EQ(attention->workspace()->bytes(), 256u);
}

TEST_F(SerializeTest, Alternatives) {
  module = parseSourceString<ModuleOp>(R"mlir(
plan.program @decode {
  %x = plan.slice input[0, 32] "x" : tensor<8xf32>
  %y = plan.slice output[0, 32] "y" : tensor<8xf32>
  plan.alternatives {
    plan.launch @norm grid 2 (%x) -> (%y) {label = "norm", layer = "l0", flops = 7}
  } or {
    plan.launch @append grid 4 (%x) -> (%y)
  } or {
    plan.copy(%x) -> (%y)
  }
}
)mlir",
                                       &context);
  PassManager manager(&context);
  buildMemoryPipeline(manager);
  ASSERT_TRUE(module && succeeded(manager.run(*module)));
  CudaCode cuda;
  cuda.target = "cuda:sm_90";
  cuda.programs = {{"source", {}, {{"append", 32}, {"norm", 64}}}};
  cuda.cubins.resize(1);
  cuda.tune = true;
  auto bytes = serialize(*module, cuda, contents);
  ASSERT_TRUE(bytes) << bytes.error().message();
  auto executable = runtime::Executable::fromFlatbuffer(*bytes, "test");
  ASSERT_TRUE(executable) << executable.error().message();
  EXPECT_TRUE((*executable)->getRoot().tune());
  const auto &commands = *(*executable)->program("decode")->commands();
  ASSERT_EQ(commands.size(), 1u);
  EXPECT_EQ(commands[0]->label()->str(), "norm");
  EXPECT_EQ(commands[0]->flops(), 7u);
  EXPECT_EQ(commands[0]->action_as_Launch()->grid(), 2u);
  ASSERT_EQ(commands[0]->alternatives()->size(), 2u);
  EXPECT_EQ(commands[0]->alternatives()->Get(0)->action_as_Launch()->grid(), 4u);
  EXPECT_TRUE(commands[0]->alternatives()->Get(1)->action_as_Copy());
  cuda.programs[0].kernels.erase(cuda.programs[0].kernels.begin());
  bytes = serialize(*module, cuda, contents);
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().what, "kernel append");
}

TEST_F(SerializeTest, KernelWithoutCodeIsADefect) {
  code.offsets.erase("norm");
  auto bytes = serialize(*module, code, contents);
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().what, "kernel norm");
  EXPECT_TRUE(bytes.error().defect);
}

TEST_F(SerializeTest, MemoryReport) {
  auto report = nlohmann::json::parse(makeMemoryReport(*module, 256), nullptr, false);
  ASSERT_TRUE(report.is_object());
  EXPECT_EQ(report["spaces"]["parameter"], 4160);
  EXPECT_EQ(report["spaces"]["arena"], 192);
  EXPECT_EQ(report["resident_bytes"], 4160 + 576 + 192 + 128 + 128 + 128 + 256);
  EXPECT_EQ(report["planned_bytes"], report["resident_bytes"]);
  EXPECT_EQ(report["checkpoint_bytes"], 544);
  EXPECT_EQ(report["largest"][0]["owner"], "w + w");
  const auto &decode = report["programs"][1];
  EXPECT_EQ(decode["peak_command"], 2);
  EXPECT_EQ(decode["live_at_peak_bytes"], 192);
  EXPECT_EQ(decode["live_at_peak"], nlohmann::json({0, 1}));
  EXPECT_EQ(decode["buffers"][0]["label"], "rms_norm");
  EXPECT_EQ(decode["buffers"][0]["last"], 3);
}

TEST_F(SerializeTest, PreprocessingCanBeThePeak) {
  for (auto program : module->getOps<plan::ProgramOp>())
    if (program.getSymName() == "preprocess")
      program.setArenaBytes(100000);
  auto report = nlohmann::json::parse(makeMemoryReport(*module, 0), nullptr, false);
  EXPECT_EQ(report["planned_bytes"], 4160 + 128 + 100000);
}

TEST_F(SerializeTest, PlanHtmlHoldsTheReportAndNothingFromOutside) {
  auto page = renderPlanHtml(makeMemoryReport(*module, 0), "tiny <model>");
  ASSERT_TRUE(page) << page.error().message();
  EXPECT_NE(page->find("tiny &lt;model&gt;"), std::string::npos);
  EXPECT_NE(page->find("\"live_at_peak\""), std::string::npos);
  for (const char *outside : {"src=", "href=", "@import", "fetch("})
    EXPECT_EQ(page->find(outside), std::string::npos) << outside;
}

TEST(PlanHtml, ReportThatIsNoneIsRefused) {
  for (const char *text : {"", "{", "[]", "{}", "{\"programs\": 3}"})
    EXPECT_FALSE(renderPlanHtml(text, "x")) << text;
}

TEST(PlanHtml, TextCannotLeaveTheScript) {
  auto page = renderPlanHtml(
      R"({"spaces": {}, "largest": [{"owner": "</script><b>"}], "programs": []})", "x");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->find("</script><b>"), std::string::npos);
}

} // namespace
