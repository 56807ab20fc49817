#include "test/kernels/TemplateManifest.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

using namespace sinter;
using namespace sinter::kernels;
using Json = nlohmann::json;

static std::string valueOf(const KernelTemplate::Parameter &parameter, const Parameters &values) {
  auto found = values.find(parameter.name);
  return found == values.end() ? parameter.initial : found->second;
}

bool KernelTemplate::hasArgument(const Argument &argument, const Parameters &values) const {
  if (argument.when.empty())
    return true;
  for (const Parameter &parameter : parameters)
    if (parameter.name == argument.when) {
      std::string value = valueOf(parameter, values);
      return value != "false" && value != "0" && value != "0.0" && value != "void";
    }
  return false;
}

Expected<std::string> KernelTemplate::makeKernel(const std::string &kernel,
                                                 const Parameters &values) const {
  std::set<std::string> known;
  std::ostringstream out;
  out << "struct " << kernel << "_parameters {\n";
  for (const Parameter &parameter : parameters) {
    known.insert(parameter.name);
    std::string value = valueOf(parameter, values);
    if (value.empty())
      return fail(kernel, "no value for parameter " + parameter.name + " of " + name,
                  "add it to the instance");
    if (parameter.type == "typename")
      out << "  using " << parameter.name << " = " << value << ";\n";
    else
      out << "  static constexpr " << parameter.type << " " << parameter.name << " = " << value
          << ";\n";
  }
  for (const auto &[parameter, value] : values)
    if (!known.contains(parameter))
      return fail(kernel, name + " has no parameter " + parameter, "see Templates.json");
  out << "};\n";

  std::string instance = "<" + kernel + "_parameters>";
  std::ostringstream declared, passed;
  for (const Argument &argument : arguments) {
    passed << (passed.tellp() ? ", " : "");
    if (!hasArgument(argument, values)) {
      passed << "nullptr";
      continue;
    }
    std::string type =
        known.contains(argument.type) ? kernel + "_parameters::" + argument.type : argument.type;
    int count = argument.times.empty() ? 1 : std::stoi(values.at(argument.times));
    for (int i = 0; i < count; ++i) {
      std::string place = argument.name + (argument.times.empty() ? "" : std::to_string(i));
      declared << (declared.tellp() ? ", " : "") << (argument.isWritten ? "" : "const ") << type
               << (argument.isWritten ? " *" : " *__restrict__ ") << place;
      passed << (i > 0 ? ", " : "") << place;
    }
  }
  out << "constexpr int " << kernel << "_block = sinter::" << name << "_block" << instance
      << "();\n";
  out << "extern \"C\" __global__ void __launch_bounds__(" << kernel << "_block) " << kernel << "("
      << declared.str() << ") {\n  sinter::" << name << instance << "(" << passed.str()
      << ");\n}\n";
  out << "extern \"C\" __global__ void " << kernel << "_launch(long long *shape) {\n";
  int position = 0;
  for (const char *part : {"_grid", "_block", "_shared"})
    out << "  shape[" << position++ << "] = sinter::" << name << part << instance << "();\n";
  out << "}\n";
  return out.str();
}

Expected<std::string> KernelTemplate::makeInstance(const TemplateInstance &instance) const {
  SINTER_TRY(std::string source, makeKernel(instance.name, instance.parameters));
  auto expect = [&](const char *part, int64_t value) {
    source += "static_assert(sinter::" + name + part + "<" + instance.name +
              "_parameters>() == " + std::to_string(value) + ", \"" + instance.name + part +
              "\");\n";
  };
  expect("_grid", instance.grid);
  expect("_block", instance.block);
  expect("_shared", instance.shared);
  return source;
}

static std::string toExpression(const Json &value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

static void addParameters(KernelTemplate &to, const Json &list) {
  for (const Json &parameter : list) {
    to.parameters.push_back(
        {parameter.at("name"),
         parameter.at("type"),
         parameter.contains("default") ? toExpression(parameter["default"]) : "",
         {}});
    if (parameter.contains("candidates"))
      for (const Json &candidate : parameter["candidates"])
        to.parameters.back().candidates.push_back(toExpression(candidate));
  }
}

static KernelTemplate readTemplate(const std::string &name, const Json &json, const Json &groups) {
  KernelTemplate result;
  result.name = name;
  result.header = json.at("header");
  if (json.contains("group"))
    addParameters(result, groups.at(json["group"].get<std::string>()));
  addParameters(result, json.at("parameters"));
  for (const Json &argument : json.at("arguments"))
    result.arguments.push_back({argument.at("name"), argument.at("type"),
                                argument.value("when", ""), argument.value("times", ""),
                                argument.value("written", false)});
  for (const auto &[instanceName, instance] : json.at("instances").items()) {
    TemplateInstance read{instanceName,
                          {},
                          instance.at("grid"),
                          instance.at("block"),
                          instance.at("shared"),
                          instance.value("only", std::vector<std::string>()),
                          instance.at("registers"),
                          instance.value("stack", 0),
                          instance.value("spills", 0)};
    for (const auto &[parameter, value] : instance.at("parameters").items())
      read.parameters[parameter] = toExpression(value);
    result.instances.push_back(std::move(read));
  }
  return result;
}

Expected<TemplateManifest> TemplateManifest::read(const std::filesystem::path &path) {
  std::ifstream file(path);
  if (!file)
    return fail(path.string(), "cannot be read", "check the path");
  TemplateManifest manifest;
  try {
    Json document = Json::parse(file);
    for (const auto &[name, json] : document.at("templates").items())
      manifest.templates[name] = readTemplate(name, json, document.at("parameterGroups"));
  } catch (const Json::exception &error) {
    return fail(path.string(), error.what(), "see what its neighbours look like");
  }
  return manifest;
}
