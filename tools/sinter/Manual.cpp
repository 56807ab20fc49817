//===- Manual.cpp - `sinter manual`: docs/options.md ------------------------===//

#include "tools/sinter/Commands.h"
#include <cstdio>

using namespace sinter::cli;

/// An option as an item of a list: "- `--seq T`: tokens of a row (default: 512)".
static void print(const CLI::Option &option, bool isPositional) {
  std::string name = option.get_name(isPositional, /*all_options=*/true);
  std::string type = option.get_type_name();
  if (!isPositional && !type.empty())
    name += " " + type.substr(0, type.find(':'));
  std::string text = option.get_description();
  if (std::string value = option.get_default_str(); !value.empty())
    text += " (default: " + value + ")";
  std::printf("- `%s`: %s\n", name.c_str(), text.c_str());
}

static void print(const CLI::App &command) {
  std::printf("\n## sinter %s\n\n%s.\n", command.get_name().c_str(),
              command.get_description().c_str());
  for (const std::string &group : command.get_groups()) {
    auto options = command.get_options([&](const CLI::Option *option) {
      return option->get_group() == group && option->get_name() != "--help";
    });
    if (group.empty() || options.empty())
      continue;
    std::printf("\n**%s**\n\n", group.c_str());
    for (bool isPositional : {true, false})
      for (const CLI::Option *option : options)
        if (option->get_positional() == isPositional)
          print(*option, isPositional);
  }
}

void sinter::cli::addManual(CLI::App &program) {
  CLI::App *manual = addCommand(program, "manual", "Prints docs/options.md");
  manual->group(""); // not in help
  manual->callback([&program] {
    std::printf("# Options\n\nEvery command and its options, as `sinter COMMAND --help` has them. "
                "Made by `sinter manual`;\n`sinter manual > docs/options.md` makes it anew.\n");
    for (const CLI::App *command :
         program.get_subcommands([](CLI::App *app) { return !app->get_group().empty(); }))
      print(*command);
  });
}
