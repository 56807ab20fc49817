//===- CacheCommand.cpp - `sinter cache`: what is kept between runs ---------===//

#include "runtime/Base/CacheFolder.h"
#include "tools/cli/Output.h"
#include "tools/sinter/Commands.h"
#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

using namespace sinter;
using namespace sinter::cli;

namespace {
struct CacheOptions {
  bool list = false, clear = false, json = false;
};
} // namespace

/// Hours since a file was used.
static double getAge(const CacheFile &file) {
  return std::chrono::duration<double, std::ratio<3600>>(
             std::filesystem::file_time_type::clock::now() - file.used)
      .count();
}

static nlohmann::json describe(const std::vector<CacheFile> &files) {
  nlohmann::json list = nlohmann::json::array();
  for (const CacheFile &file : files)
    list.push_back({{"kind", nameOf(file.kind)},
                    {"path", file.path.string()},
                    {"bytes", file.bytes},
                    {"hours_unused", getAge(file)}});
  return list;
}

static uint64_t sumBytes(const std::vector<CacheFile> &files) {
  uint64_t bytes = 0;
  for (const CacheFile &file : files)
    bytes += file.bytes;
  return bytes;
}

static void printTable(const std::vector<CacheFile> &files) {
  Table table({"file", "what", "size", "hours unused"}, 2);
  for (const CacheFile &file : files)
    table.addRow({file.path.filename().string(), std::string(nameOf(file.kind)),
                  formatBytes(file.bytes), formatNumber(getAge(file), 1)});
  table.print();
}

static Expected<void> runCache(const CacheOptions &options) {
  SINTER_TRY(Cache cache, Cache::standard());
  std::vector<CacheFile> removed;
  if (options.clear)
    removed = cache.trim(0);
  std::vector<CacheFile> files = cache.list();
  std::ranges::reverse(files);
  if (options.json) {
    nlohmann::json report = {{"folder", cache.getFolder().string()},
                             {"limit_bytes", cache.getLimit()},
                             {"bytes", sumBytes(files)},
                             {"files", files.size()}};
    if (options.list)
      report["list"] = describe(files);
    if (options.clear)
      report["removed"] = describe(removed);
    printJson(report);
    return {};
  }
  if (options.clear)
    std::printf("removed %zu files, %s\n", removed.size(), formatBytes(sumBytes(removed)).c_str());
  if (options.list)
    printTable(files);
  if (cache.getFolder().empty())
    std::printf("nothing is kept: %s\n",
                cache.getLimit() == 0 ? "SINTER_CACHE_LIMIT is 0" : "there is no folder for it");
  else
    std::printf("%s: %zu files, %s of at most %s (SINTER_CACHE_LIMIT)\n",
                cache.getFolder().string().c_str(), files.size(),
                formatBytes(sumBytes(files)).c_str(), formatBytes(cache.getLimit()).c_str());
  return {};
}

void sinter::cli::addCache(CLI::App &program) {
  CLI::App *command = addCommand(
      program, "cache",
      "What is kept between runs: compiled executables, code of kernels, a GPU's kernels and "
      "tuning");
  auto options = std::make_shared<CacheOptions>();
  command->add_flag("--list", options->list, "every file, the one used last first");
  command->add_flag("--clear", options->clear, "remove all of them");
  command->add_flag("--json", options->json, "print one machine-readable object");
  command->footer(R"(
What can be made again is kept in $SINTER_CACHE_DIR, else $XDG_CACHE_HOME/sinter, else
~/.cache/sinter: executables of a request, machine code of a processor's kernels, whatever
executable they are of, and kernels of a GPU. Beyond $SINTER_CACHE_LIMIT (a size, as 500MB; 4GiB
where it is not set, 0 keeps nothing) what was not used for longest goes.)");
  command->callback([options] { finish(runCache(*options)); });
}
