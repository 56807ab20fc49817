//===- TemplateManifest.h - Templates.json and its kernels ------*- C++ -*-===//
#pragma once

#include "runtime/Base/Error.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace sinter::kernels {

/// Values of a template's parameters by name, as C++ expressions ("float", "128", "heads * 64").
using Parameters = std::map<std::string, std::string>;

/// A kernel that the manifest promises something of.
struct TemplateInstance {
  std::string name;
  Parameters parameters;
  int64_t grid, block, shared;
  std::vector<std::string> only; ///< the architectures that it is for; empty: any
  int64_t registers;             ///< at the most, on any architecture
  int64_t stack;                 ///< bytes of local memory, at the most
  int64_t spills; ///< bytes of stores, and of loads: what ptxas prefers to fewer blocks at a time
};

struct KernelTemplate {
  struct Parameter {
    std::string name;
    std::string type;                    ///< of the constant; "typename" for a type
    std::string initial;                 ///< where an instance says nothing; empty if it must
    std::vector<std::string> candidates; ///< what a device may choose among, if any
  };
  struct Argument {
    std::string name;
    std::string type; ///< "float", or the name of a parameter
    std::string when; ///< the parameter without which it is not there, or empty
    /// The parameter that says how many there are, of which each has its number behind the name; or
    /// empty: one.
    std::string times;
    bool isWritten;
  };

  std::string name, header;
  std::vector<Parameter> parameters;
  std::vector<Argument> arguments;
  std::vector<TemplateInstance> instances;

  /// Whether the kernel of these parameters has an argument.
  bool hasArgument(const Argument &argument, const Parameters &values) const;

  /// The source of kernel `name`, without the header's #include; and of `<name>_launch`, which
  /// writes its grid, block and bytes of shared memory (three int64).
  Expected<std::string> makeKernel(const std::string &kernel, const Parameters &values) const;

  /// The kernel of an instance, with assertions that it is launched as the manifest says.
  Expected<std::string> makeInstance(const TemplateInstance &instance) const;
};

/// The templates of kernels_templates/cuda/Templates.json by name.
class TemplateManifest {
public:
  static Expected<TemplateManifest> read(const std::filesystem::path &path);

  const std::map<std::string, KernelTemplate> &getTemplates() const { return templates; }

private:
  std::map<std::string, KernelTemplate> templates;
};

} // namespace sinter::kernels
