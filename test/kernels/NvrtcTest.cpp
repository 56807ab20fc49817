// Every instance of the manifest, through NVRTC for sm_80 and sm_90a, and for later architectures
// those that are for them only and the one of each template that takes the most registers: that it
// compiles, and with what the manifest promises. This needs no GPU.
#include "runtime/Device/Cuda/Nvrtc.h"
#include "test/kernels/TemplateManifest.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace sinter;
using namespace sinter::kernels;
using namespace sinter::runtime;

static const std::filesystem::path kTemplates = SINTER_KERNEL_TEMPLATES;

static const TemplateManifest &getManifest() {
  static Expected<TemplateManifest> manifest =
      TemplateManifest::read(kTemplates / "Templates.json");
  if (!manifest) {
    std::fprintf(stderr, "%s\n", manifest.error().message().c_str());
    std::abort();
  }
  return *manifest;
}

static std::map<std::string, std::string> readHeaders() {
  std::map<std::string, std::string> headers;
  for (const auto &entry : std::filesystem::directory_iterator(kTemplates))
    if (entry.path().extension() == ".cuh") {
      std::ostringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      headers[entry.path().filename().string()] = text.str();
    }
  return headers;
}

/// Whether ptxas has waited for products of warpgroups one by one, since it could not tell that
/// their registers are left alone: "Potential Performance Loss: wgmma.mma_async instructions are
/// serialized due to ...".
static bool saysSerialized(const std::string &log) {
  return log.find("wgmma.mma_async instructions are serialized") != std::string::npos;
}

namespace {
struct TemplatesTest : testing::TestWithParam<std::tuple<std::string, std::string>> {
  static std::vector<std::string> getNames() {
    std::vector<std::string> names;
    for (const auto &[name, kernel] : getManifest().getTemplates())
      names.push_back(name);
    return names;
  }
};
} // namespace

/// What is compiled of a template for an architecture.
static std::vector<TemplateInstance> selectInstances(const KernelTemplate &kernel,
                                                     const std::string &architecture) {
  std::vector<TemplateInstance> instances = kernel.instances;
  std::erase_if(instances, [&](const TemplateInstance &instance) {
    return !instance.only.empty() &&
           std::ranges::find(instance.only, architecture) == instance.only.end();
  });
  if (architecture == "sm_80" || architecture == "sm_90a" || instances.empty())
    return instances;
  std::string heaviest =
      std::ranges::max_element(instances, {}, &TemplateInstance::registers)->name;
  std::erase_if(instances, [&](const TemplateInstance &instance) {
    return instance.only.empty() && instance.name != heaviest;
  });
  return instances;
}

TEST_P(TemplatesTest, CompileToWhatTheManifestPromises) {
  if (auto version = cuda::nvrtcVersion(); !version)
    GTEST_SKIP() << version.error().message();
  const auto &[name, architecture] = GetParam();
  const KernelTemplate &kernel = getManifest().getTemplates().at(name);
  ASSERT_FALSE(kernel.instances.empty());
  cuda::CudaSource source;
  source.name = name + ".cu";
  source.headers = readHeaders();
  source.source = "#include \"" + kernel.header + "\"\n";
  std::vector<TemplateInstance> instances = selectInstances(kernel, architecture);
  for (const TemplateInstance &instance : instances) {
    auto text = kernel.makeInstance(instance);
    ASSERT_TRUE(text) << text.error().message();
    source.source += *text;
  }
  auto compiled = cuda::compileCuda(source, architecture);
  ASSERT_TRUE(compiled) << compiled.error().message();
  EXPECT_FALSE(saysSerialized(compiled->log)) << compiled->log;
  for (const TemplateInstance &instance : instances) {
    SCOPED_TRACE(instance.name);
    const cuda::KernelResources *resources = compiled->find(instance.name);
    ASSERT_TRUE(resources) << compiled->log;
    EXPECT_LE(resources->spillStoreBytes, instance.spills);
    EXPECT_LE(resources->spillLoadBytes, instance.spills);
    EXPECT_LE(resources->stackBytes, instance.stack);
    EXPECT_LE(resources->registers, instance.registers);
    EXPECT_LE(resources->sharedBytes, 48u * 1024);
  }
}

// What a device may choose is compiled and held to its registers, too.
TEST(CandidatesTest, EveryCandidateHasAnInstance) {
  size_t count = 0;
  for (const auto &[name, kernel] : getManifest().getTemplates())
    for (const KernelTemplate::Parameter &parameter : kernel.parameters)
      for (const std::string &candidate : parameter.candidates) {
        ++count;
        auto has = [&](const TemplateInstance &instance) {
          auto given = instance.parameters.find(parameter.name);
          return given != instance.parameters.end() && given->second == candidate;
        };
        EXPECT_TRUE(std::ranges::any_of(kernel.instances, has))
            << name << ": " << parameter.name << " = " << candidate;
      }
  EXPECT_GT(count, 0u);
}

// That the line is found: a kernel that reads accumulators before it waits for them.
TEST(PtxasTest, SaysWhatItSerializes) {
  if (auto version = cuda::nvrtcVersion(); !version)
    GTEST_SKIP() << version.error().message();
  for (bool waits : {true, false}) {
    cuda::CudaSource source;
    source.name = "early.cu";
    source.headers = readHeaders();
    source.source = R"(
#include "warpgroup.cuh"
using namespace sinter;
extern "C" __global__ void early(float *out) {
  const __nv_bfloat16 *tile = dynamic_shared_for_wgmma<__nv_bfloat16>();
  float d[8][4] = {};
  for (int i = 0; i < 10; ++i) {
    wgmma_fence(d);
    wgmma_rows<__nv_bfloat16, true>(d, wgmma_matrix(tile), wgmma_matrix(tile + 64 * 64));
    wgmma_commit();
)" + std::string(waits ? "    wgmma_wait<0>(d);\n" : "") +
                    R"(    for (int j = 0; j < 8; ++j)
      out[i * 1024 + threadIdx.x * 8 + j] = d[j][0];
    wgmma_wait<0>(d);
  }
}
)";
    auto compiled = cuda::compileCuda(source, "sm_90a");
    ASSERT_TRUE(compiled) << compiled.error().message();
    EXPECT_EQ(saysSerialized(compiled->log), !waits) << compiled->log;
  }
}

INSTANTIATE_TEST_SUITE_P(Manifest, TemplatesTest,
                         testing::Combine(testing::ValuesIn(TemplatesTest::getNames()),
                                          testing::Values("sm_80", "sm_90a", "sm_100", "sm_120")),
                         [](const auto &info) {
                           return std::get<0>(info.param) + "_" + std::get<1>(info.param);
                         });
