#include "frontends/Graph/BuildGraph.h"
#include "compiler/Import/Passes.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

using namespace sinter;

namespace {

ModelSpec spec(const char *type, const std::string &extra = "") {
  auto spec = parseModelSpec(std::string(R"({"model_type": ")") + type +
                                 R"(", "vocab_size": 50, "hidden_size": 32,
      "intermediate_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4,
      "num_key_value_heads": 2)" +
                                 extra + "}",
                             "config.json");
  EXPECT_TRUE(spec) << spec.error().message();
  return *spec;
}

class BuildGraph : public testing::Test {
protected:
  mlir::OwningOpRef<mlir::ModuleOp> build(const ModelSpec &spec, const GraphOptions &options) {
    auto module = buildGraph(context, spec, options);
    EXPECT_TRUE(module) << module.error().message();
    EXPECT_TRUE(mlir::succeeded(mlir::verify(**module)));
    return std::move(*module);
  }

  std::string errorOf(const ModelSpec &spec, const GraphOptions &options) {
    auto module = buildGraph(context, spec, options);
    return module ? "" : module.error().message();
  }

  mlir::MLIRContext context;
};

TEST_F(BuildGraph, PassesTheGateOfImport) {
  GraphOptions options;
  options.entries = {"prefill", "decode", "logits"};
  options.chunk = 8;
  options.batch = 2;
  options.maxSequence = 16;
  auto module = build(spec("llama"), options);
  mlir::PassManager passes(&context);
  passes.addPass(createVerifyImportPass());
  EXPECT_TRUE(mlir::succeeded(passes.run(*module)));
  auto decode = module->lookupSymbol<mlir::func::FuncOp>("decode");
  ASSERT_TRUE(decode);
  auto type = [&](llvm::ArrayRef<int64_t> shape) {
    return mlir::RankedTensorType::get(shape, mlir::Float32Type::get(&context));
  };
  EXPECT_EQ(decode.getResultTypes()[0],
            mlir::RankedTensorType::get({2}, mlir::IntegerType::get(&context, 32)));
  EXPECT_EQ(module->lookupSymbol<mlir::func::FuncOp>("logits").getResultTypes()[0],
            type({2, 8, 50}));
  unsigned caches = 0;
  for (unsigned i = 0; i < decode.getNumArguments(); ++i)
    if (decode.getArgAttr(i, SinterDialect::kState)) {
      EXPECT_EQ(decode.getArgumentTypes()[i], type({2, 16, 2, 8}));
      ++caches;
    }
  EXPECT_EQ(caches, 6u);
}

TEST_F(BuildGraph, LocatesOpsInTheModelsTerms) {
  auto module = build(spec("llama"), {});
  std::set<std::string> names;
  module->walk([&](mlir::Operation *op) {
    if (auto name = mlir::dyn_cast<mlir::NameLoc>(op->getLoc()))
      names.insert(name.getName().str());
  });
  for (const char *name :
       {"model.embed_tokens", "model.layers.2.self_attn.q_proj", "model.layers.2.self_attn",
        "model.layers.1.mlp.down_proj", "model.layers.0.input_layernorm", "model.norm", "lm_head"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST_F(BuildGraph, KeepsTheCheckpointsTypes) {
  GraphOptions options;
  options.parameterTypes["model.norm.weight"] = DType::F16;
  auto module = build(spec("llama"), options);
  auto decode = module->lookupSymbol<mlir::func::FuncOp>("decode");
  unsigned found = 0;
  for (unsigned i = 0; i < decode.getNumArguments(); ++i) {
    mlir::Type element =
        mlir::cast<mlir::RankedTensorType>(decode.getArgumentTypes()[i]).getElementType();
    auto parameter = decode.getArgAttrOfType<mlir::StringAttr>(i, SinterDialect::kParameter);
    if (parameter && parameter.getValue() == "model.norm.weight" && element.isF16())
      ++found;
  }
  EXPECT_EQ(found, 1u);
}

TEST_F(BuildGraph, UsesEachParameterOfSharedLayersOnce) {
  auto module = build(spec("sinter", R"(, "share_layers": 3)"), {});
  auto decode = module->lookupSymbol<mlir::func::FuncOp>("decode");
  unsigned parameters = 0, states = 0;
  for (unsigned i = 0; i < decode.getNumArguments(); ++i) {
    parameters += decode.getArgAttr(i, SinterDialect::kParameter) != nullptr;
    states += decode.getArgAttr(i, SinterDialect::kState) != nullptr;
  }
  EXPECT_EQ(parameters, 2u + 9);
  EXPECT_EQ(states, 2u * 3);
}

TEST_F(BuildGraph, GramsAreOfEachInputOfALayer) {
  GraphOptions options;
  options.entries = {"gram_1"};
  auto module = build(spec("llama"), options);
  auto function = module->lookupSymbol<mlir::func::FuncOp>("gram_1");
  std::map<std::string, int64_t> sizes;
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (auto name = function.getResultAttrOfType<mlir::StringAttr>(i, SinterDialect::kOutput)) {
      auto type = mlir::cast<mlir::RankedTensorType>(function.getResultTypes()[i]);
      EXPECT_EQ(type.getDimSize(0), type.getDimSize(1));
      sizes[name.str()] = type.getDimSize(0);
    }
  std::string layer = "gram.model.layers.1.";
  EXPECT_EQ(sizes, (std::map<std::string, int64_t>{{layer + "self_attn.q_proj.weight", 32},
                                                   {layer + "self_attn.o_proj.weight", 32},
                                                   {layer + "mlp.gate_proj.weight", 32},
                                                   {layer + "mlp.down_proj.weight", 48}}));
  options.entries = {"gram_3"}; // there are three layers
  EXPECT_NE(errorOf(spec("llama"), options).find("gram_3: is not an entry"), std::string::npos)
      << errorOf(spec("llama"), options);
}

TEST_F(BuildGraph, RefusesOptionsThatCannotBe) {
  GraphOptions options;
  options.chunk = 0;
  EXPECT_NE(errorOf(spec("llama"), options).find("chunk: it is 0"), std::string::npos);
  options = {};
  options.maxSequence = 100;
  EXPECT_NE(errorOf(spec("llama"), options).find("128 tokens do not fit a cache of 100"),
            std::string::npos);
  options = {};
  options.entries = {"encode"};
  EXPECT_NE(errorOf(spec("llama"), options).find("`entry` encode"), std::string::npos);
  options = {};
  options.parameterTypes["model.norm.weight"] = DType::I32;
  EXPECT_NE(errorOf(spec("llama"), options).find("tensor 'model.norm.weight': dtype I32"),
            std::string::npos);
  options = {};
  options.maxSequence = 4096;
  EXPECT_NE(errorOf(spec("sinter", R"(, "position_embedding_type": "learned")"), options)
                .find("embeddings for 2048 positions"),
            std::string::npos);
}

} // namespace
