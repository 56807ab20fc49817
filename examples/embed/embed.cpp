// Trains a model on the bytes of a text, then continues a prompt with it:
//
//   embed config.json book.txt DIR
//
// The library prints nothing. What goes wrong comes back as a value, in one line, that names an
// option by its id; how the work goes on is told by callbacks.

#include "sinter/Compile.h"
#include "sinter/Generate.h"
#include "sinter/Train.h"
#include <cstdio>

using namespace sinter;

static Expected<TrainResult> trainOn(const char *config, const char *text, const char *directory) {
  SINTER_TRY(Model model, Model::open(config));
  TrainOptions options;
  options.data.files = {text};
  options.out = directory;
  options.steps = 40;
  options.batch = 4;
  options.chunk = 32; // tokens of a row
  options.learningRate = 3e-3;
  options.resume = true; // a run that was stopped goes on
  double first = 0, last = 0;
  options.onStep = [&](const runtime::StepRecord &record) {
    (record.step == 0 ? first : last) = record.loss;
  };
  options.observer.onWarning = [](const Error &warning) {
    std::fprintf(stderr, "warning: %s\n", warning.message().c_str());
  };
  SINTER_TRY(TrainResult result, train(model, options));
  std::printf("%d steps, loss from %.2f to %.2f\n", int(result.steps), first, last);
  return result;
}

static Expected<Generated> continueText(const char *directory, const char *prompt) {
  SINTER_TRY(Model model, Model::open(directory));
  GenerateOptions options;
  options.prompt = prompt;
  options.maxNewTokens = 24;
  SINTER_TRY(LoadedModel loaded,
             loadForGeneration(model, RunOptions(), /*promptTokens=*/16, options.maxNewTokens));
  return generate(loaded, options, [](int32_t, const std::string &text) {
    std::fputs(text.c_str(), stdout);
    return true; // false would end it
  });
}

static Expected<void> run(char **arguments) {
  SINTER_CHECK(trainOn(arguments[1], arguments[2], arguments[3]));
  SINTER_TRY(Generated generated, continueText(arguments[3], "#include "));
  std::printf("\n%zu tokens\n", generated.ids.size());
  return {};
}

int main(int count, char **arguments) {
  Expected<void> result =
      count == 4 ? run(arguments) : fail("embed", "it takes a model, a text and a directory", "");
  if (!result)
    std::fprintf(stderr, "%s\n", result.error().message().c_str());
  return result ? 0 : 1;
}
