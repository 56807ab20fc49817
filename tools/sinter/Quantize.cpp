//===- Quantize.cpp - `sinter quantize`: a smaller model --------------------===//

#include "sinter/Quantize.h"
#include "runtime/Base/ByteSize.h"
#include "tools/sinter/Commands.h"
#include "tools/sinter/ModelFlags.h"
#include <memory>
#include <nlohmann/json.hpp>

using namespace sinter;
using namespace sinter::cli;

static void printObject(const Quantization &result) {
  auto layers = nlohmann::ordered_json::array();
  for (const QuantizedLayer &layer : result.layers) {
    nlohmann::ordered_json object = {
        {"name", layer.name}, {"quantized", !layer.isWide}, {"error", layer.error}};
    if (layer.loss)
      object["added_loss"] = *layer.loss;
    layers.push_back(object);
  }
  nlohmann::ordered_json object = {{"bytes_before", result.bytesBefore},
                                   {"bytes_after", result.bytesAfter},
                                   {"weights", result.weights},
                                   {"bits_per_weight", result.bitsPerWeight},
                                   {"perplexity_before", nullptr},
                                   {"perplexity_after", nullptr},
                                   {"decode_tokens_per_second_before", nullptr},
                                   {"decode_tokens_per_second_after", nullptr},
                                   {"layers", layers}};
  if (result.before && result.after) {
    object["perplexity_before"] = result.before->perplexity;
    object["perplexity_after"] = result.after->perplexity;
  }
  auto rate = [](const DecodeRate &decode) {
    return nlohmann::ordered_json{{"predicted", decode.predicted}, {"measured", decode.measured}};
  };
  if (result.rateBefore && result.rateAfter) {
    object["decode_tokens_per_second_before"] = rate(*result.rateBefore);
    object["decode_tokens_per_second_after"] = rate(*result.rateAfter);
  }
  printJson(object);
}

static void printTable(const Quantization &result, const QuantizeOptions &options) {
  size_t wide = 0;
  for (const QuantizedLayer &layer : result.layers) {
    wide += layer.isWide;
    if (layer.isWide)
      std::printf("%s stays as it is: its group adds %s to the loss, more than %s\n",
                  layer.name.c_str(), formatNumber(*layer.loss, 4).c_str(),
                  writeOption(*options.maxLoss).c_str());
  }
  Table table({"", "before", "after"});
  table.addRow(
      {"files of weights", formatBytes(result.bytesBefore), formatBytes(result.bytesAfter)});
  if (result.before && result.after)
    table.addRow({"perplexity", formatNumber(result.before->perplexity, 4),
                  formatNumber(result.after->perplexity, 4)});
  auto addRate = [&](const char *name, double DecodeRate::*rate) {
    table.addRow({name, formatNumber((*result.rateBefore).*rate, 1),
                  formatNumber((*result.rateAfter).*rate, 1)});
  };
  if (result.rateBefore && result.rateAfter) {
    addRate("decode, tokens/s", &DecodeRate::measured);
    addRate("predicted, tokens/s", &DecodeRate::predicted);
  }
  table.print();
  std::printf("%zu of %zu layers quantized, %s bits a weight with their scales\n",
              result.layers.size() - wide, result.layers.size(),
              formatNumber(result.bitsPerWeight, 3).c_str());
}

static Expected<void> runQuantize(const CommandOptions<QuantizeOptions> &options) {
  SINTER_TRY(Model model, Model::open(options.model, options.observer));
  SINTER_TRY(Quantization result, quantize(model, options));
  if (options.json)
    printObject(result);
  else
    printTable(result, options);
  return {};
}

static constexpr char kQuantizeFooter[] = R"(
DIR becomes a Hugging Face directory in the format of compressed-tensors, which Sinter and transformers
read. Layers are quantized one group after the other, a group being those of one input. Embeddings,
the head, norms and biases stay as they are. GPT-2's layers are stored as [out, in], which of the two
Sinter alone reads.)";

void sinter::cli::addQuantize(CLI::App &program) {
  CLI::App *command = addCommand(program, "quantize", "Makes a model of fewer bits");
  auto options = std::make_shared<CommandOptions<QuantizeOptions>>();
  addModel(*command, options->model);
  addRunFlags(*command, *options, options->json);
  for (const char *name : {"--grid", "--reduce", "--forbid-gather"}) // one process quantizes
    command->remove_option(command->get_option(name));
  addOptions<RunOptions>(*command, *options, {"batch"});
  QuantizeOptions &quantized = *options;
  QuantizeOptions::visitOwn(
      quantized, [&](const OptionInfo &info, auto &value) { addFlag(*command, info, value); });
  command->get_option("--scheme")->required();
  command->get_option("--out")->required();
  command->footer(kQuantizeFooter);
  command->callback([options] { finish(runQuantize(*options)); });
}
