// Runs an executable that `sinter compile` wrote, with no compiler on the machine:
//
//   embed-runtime model.sinter ID...

#include "sinter/Generate.h"
#include <cstdio>
#include <cstdlib>

using namespace sinter;

static Expected<void> run(const char *path, int count, char **ids) {
  SINTER_TRY(LoadedModel model, LoadedModel::open(path));
  GenerateOptions options;
  for (int i = 0; i < count; ++i)
    options.tokens.push_back(std::atoi(ids[i]));
  SINTER_TRY(Generated generated, generate(model, options));
  for (int32_t id : generated.ids)
    std::printf("%d\n", id);
  return {};
}

int main(int count, char **arguments) {
  if (count < 3)
    return 1;
  Expected<void> result = run(arguments[1], count - 2, arguments + 2);
  if (!result)
    std::fprintf(stderr, "%s\n", result.error().message().c_str());
  return result ? 0 : 1;
}
