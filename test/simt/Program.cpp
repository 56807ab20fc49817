//===- Program.cpp - CUDA C++ compiled for the emulator -------------------===//
#include "test/simt/Program.h"

#include "runtime/Base/ContentHash.h"
#include "test/simt/Command.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <dlfcn.h>
#include <fstream>
#include <mutex>
#include <regex>
#include <unistd.h>

using namespace sinter;
using namespace sinter::simt;
namespace fs = std::filesystem;

namespace {

/// What turns CUDA C++ into host code, of every source. Device code reads memory through pointers
/// of other types, so aliasing is never strict. Checked mode must see every access as the source
/// has it: no vectorisation, no access dropped because another follows. The other mode has the
/// shapes of tests to run, for which most kernels take less time than they took to be compiled: it
/// spends none on vectors or on loops that the source wants unrolled for a GPU.
std::vector<std::string> commonFlags(bool isChecked) {
  std::vector<std::string> words = {"-std=c++20",
                                    "-fPIC",
                                    "-march=x86-64-v3",
                                    "-fno-strict-aliasing",
                                    "-fno-exceptions",
                                    "-fno-optimize-sibling-calls",
                                    "-fno-rtti",
                                    "-w",
                                    "-O1",
                                    "-fno-vectorize",
                                    "-fno-slp-vectorize",
                                    "-DSINTER_SIMT",
                                    std::string("-I") + SINTER_SIMT_ROOT,
                                    std::string("-isystem") + SINTER_SIMT_CUDA_INCLUDE};
  std::vector<std::string> checked = {"-gline-tables-only",
                                      "-fsanitize=thread",
                                      "-fno-sanitize-link-runtime",
                                      "-fno-sanitize-thread-func-entry-exit",
                                      "-mllvm",
                                      "-tsan-instrument-read-before-write"};
  std::vector<std::string> fast = {"-fno-unroll-loops", "-mllvm", "-pragma-unroll-threshold=0"};
  const auto &mode = isChecked ? checked : fast;
  words.insert(words.end(), mode.begin(), mode.end());
  return words;
}

/// Of one source, in the order in which the compiler takes them.
std::vector<std::string> flags(const CompileOptions &options) {
  std::vector<std::string> words = commonFlags(options.checked);
  for (const fs::path &include : options.includes)
    words.push_back("-I" + include.string());
  for (const std::string &define : options.defines)
    words.push_back("-D" + define);
  return words;
}

/// Adds the headers of a folder to the hash.
void addHeaders(ContentHash &hash, const fs::path &folder) {
  std::vector<fs::path> headers;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".h" || entry.path().extension() == ".cuh")
      headers.push_back(entry.path());
  std::sort(headers.begin(), headers.end());
  for (const fs::path &header : headers) {
    std::ifstream file(header, std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(file)), {});
    hash.add(header.filename().string() + '\0' + text);
  }
}

std::string hashOf(std::string_view source, const CompileOptions &options,
                   const std::vector<std::string> &words) {
  ContentHash hash;
  hash.add(Program::toolchain());
  for (const std::string &word : words)
    hash.add(word + '\0');
  hash.add(options.name + '\0');
  for (const fs::path &include : options.includes)
    addHeaders(hash, include);
  hash.add(source);
  return hash.hex();
}

/// What a kernel's signature is known by in the object.
std::string signatureOf(const std::string &kernel) { return "sinter_simt_signature_" + kernel; }

/// The source with blanks for its comments.
std::string withoutComments(std::string_view source) {
  std::string text;
  for (size_t at = 0; at < source.size();) {
    std::string_view two = source.substr(at, 2), end = two == "//" ? "\n" : "*/";
    if (two == "//" || two == "/*") {
      size_t stop = source.find(end, at + 2);
      at = stop == std::string_view::npos ? source.size() : stop + end.size();
      text += ' ';
    } else {
      text += source[at++];
    }
  }
  return text;
}

/// The names of the kernels that the source defines.
std::vector<std::string> kernelNames(std::string_view source) {
  static const std::regex head(
      R"(extern\s+"C"\s+__global__\s+void\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?(\w+)\s*\()");
  constexpr size_t longest = 400; // a regular expression must not see more than it needs
  std::string text = withoutComments(source);
  std::vector<std::string> names;
  for (size_t at = 0; (at = text.find("extern", at)) != std::string::npos; ++at) {
    std::string start = text.substr(at, longest);
    std::smatch match;
    if (std::regex_search(start, match, head, std::regex_constants::match_continuous) &&
        std::find(names.begin(), names.end(), match[1].str()) == names.end())
      names.push_back(match[1].str());
  }
  return names;
}

/// Appended to the source: what arguments each kernel takes, which a launch must give.
std::string signatures(std::string_view source) {
  std::string text = R"(
template <class... Pointees> struct sinter_simt_pointees {
  static constexpr bool written[] = {!__is_const(Pointees)..., false};
};
template <class... Pointees>
constexpr sinter::simt::Signature sinter_simt_signature(void (*)(Pointees *...)) {
  return {sizeof...(Pointees), sinter_simt_pointees<Pointees...>::written};
}
)";
  for (const std::string &name : kernelNames(source))
    text += "extern \"C\" const sinter::simt::Signature " + signatureOf(name) +
            " = sinter_simt_signature(&" + name + ");\n";
  return text;
}

/// The line of the compiler's output that says what is wrong.
std::string firstError(const std::string &output) {
  size_t at = output.find("error: ");
  if (at == std::string::npos)
    return output.substr(0, output.find('\n'));
  size_t start = output.rfind('\n', at) + 1;
  return output.substr(start, output.find('\n', at) - start);
}

/// The name of a file that nobody else writes to, which becomes `result` when it is whole: others
/// may be making the same, and the last one to rename wins.
fs::path makeTemporaryName(const fs::path &result) {
  static std::atomic<unsigned> count = 0;
  return result.string() + "." + std::to_string(getpid()) + "." + std::to_string(count++);
}

/// Renames what was `made` to `result`.
Expected<void> publish(const fs::path &made, const fs::path &result) {
  std::error_code error;
  fs::rename(made, result, error);
  if (error)
    return fail(result.string(), error.message(), "name a folder that can be written to");
  return {};
}

/// Runs the compiler on `source`, which errors call `name`.
Expected<void> runCompiler(std::vector<std::string> words, const fs::path &source,
                           const fs::path &result, const std::string &name) {
  words.insert(words.begin(), SINTER_SIMT_COMPILER);
  words.insert(words.end(), {source.string(), "-o", result.string()});
  CommandResult compiled = runCommand(words);
  if (compiled.status != 0)
    return fail(name, firstError(compiled.output), "correct the kernel's source");
  return {};
}

/// The prelude, precompiled: to read it takes longer than to compile most kernels.
Expected<fs::path> buildPrelude(const CompileOptions &options) {
  std::vector<std::string> words = commonFlags(options.checked);
  // Templates that the prelude's functions instantiate (<cmath>'s special functions, which nobody
  // calls) are instantiated here, not in every source. The name says what is in it; times of
  // headers, which a checkout changes, do not.
  words.insert(words.end(), {"-fpch-instantiate-templates", "-Xclang", "-fno-pch-timestamp", "-x",
                             "c++-header"});
  ContentHash hash;
  hash.add(Program::toolchain());
  for (const std::string &word : words)
    hash.add(word + '\0');
  fs::path prelude = options.cache / ("prelude-" + hash.hex() + ".pch");
  if (fs::exists(prelude))
    return prelude;
  fs::path made = makeTemporaryName(prelude);
  SINTER_CHECK(runCompiler(words, std::string(SINTER_SIMT_ROOT) + "/test/simt/KernelPrelude.h",
                           made, "KernelPrelude.h"));
  SINTER_CHECK(publish(made, prelude));
  return prelude;
}

} // namespace

std::string Program::whyNot() {
  if (std::string_view(SINTER_SIMT_COMPILER).empty())
    return "kernels are compiled for the emulator by clang, and there was none at configure time";
  if (std::string_view(SINTER_SIMT_CUDA_INCLUDE).empty())
    return "kernels need cuda_bf16.h of a CUDA toolkit, and there was none at configure time";
  return "";
}

std::string Program::toolchain() {
  ContentHash hash;
  hash.add(SINTER_SIMT_COMPILER);
  addHeaders(hash, fs::path(SINTER_SIMT_ROOT) / "test/simt");
  return hash.hex();
}

Expected<fs::path> Program::build(std::string_view source, const CompileOptions &options) {
  if (std::string reason = whyNot(); !reason.empty())
    return fail(options.name, reason, "install it and configure again");
  std::vector<std::string> words = flags(options);
  fs::path stem = options.cache / hashOf(source, options, words);
  fs::path object = stem.string() + ".so";
  // Ranks that are threads come with the same source at the same time: one of them compiles it.
  static std::array<std::mutex, 64> building;
  std::lock_guard lock(building[fs::hash_value(stem) % building.size()]);
  if (fs::exists(object))
    return object;
  std::error_code error;
  fs::create_directories(options.cache, error);
  if (error)
    return fail(options.cache.string(), error.message(), "name a folder that can be written to");
  SINTER_TRY(fs::path prelude, buildPrelude(options));
  fs::path text = makeTemporaryName(stem.string() + ".cu"), code = text.string() + ".o";
  std::ofstream(text) << "#line 1 \"" << options.name << "\"\n" << source << signatures(source);
  // The compiler does not link: its driver would run it, and the linker, as programs of their own,
  // which takes half as long again as a small kernel. The program that loads the object has all
  // that it refers to.
  words.insert(words.end(), {"-c", "-x", "c++", "-include-pch", prelude.string()});
  Expected<void> compiled = runCompiler(words, text, code, options.name);
  fs::remove(text, error);
  SINTER_CHECK(compiled);
  fs::path made = makeTemporaryName(object);
  CommandResult linked =
      runCommand({SINTER_SIMT_LINKER, "-shared", code.string(), "-o", made.string()});
  fs::remove(code, error);
  if (linked.status != 0)
    return fail(options.name, linked.output, "configure the build again");
  SINTER_CHECK(publish(made, object));
  return object;
}

Expected<Program> Program::load(const fs::path &object) {
  void *handle = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return fail(object.string(), dlerror(), "compile it again");
  return Program(handle);
}

Expected<Program> Program::compile(std::string_view source, const CompileOptions &options) {
  SINTER_TRY(fs::path object, build(source, options));
  return load(object);
}

Expected<Kernel> Program::kernel(const std::string &name) const {
  void *symbol = dlsym(handle, name.c_str());
  void *signature = dlsym(handle, signatureOf(name).c_str());
  if (!symbol || !signature)
    return fail(name, "the program has no such kernel", "declare it extern \"C\" __global__ void");
  return Kernel(name, reinterpret_cast<Kernel::Function>(symbol),
                *static_cast<const Signature *>(signature));
}
