//===- AttentionCase.h - An attention to try a template with ----*- C++ -*-===//
#pragma once

#include "test/kernels/AttentionReference.h"
#include "test/kernels/HostTensor.h"
#include "test/kernels/TemplateManifest.h"

namespace sinter::kernels {

/// How query, key and value lie in memory.
enum class Packing {
  Apart,    ///< [b, t, h, d] each
  Columns,  ///< columns of one product [b, t, (h + 2 g) d]
  HeadMajor ///< key and value [b, g, s, d], as a cache may be
};

/// An attention, its random operands and how they lie in memory.
class AttentionCase {
public:
  struct Options {
    std::string element = "float", result = "float";
    std::string cache = ""; ///< of keys and values, if they have 8 bits, and scales; element if not
    AttentionProblem problem;
    Packing packing = Packing::Apart;
    bool hasStart = false, hasFirst = false, hasSlopes = false, plain = false;
  };

  AttentionCase(const Options &options, unsigned seed);

  /// Those that all attention templates have.
  Parameters getParameters() const;

  /// Those that the options ask for, in the order of the templates' arguments.
  std::vector<HostTensor *> getInputs();
  std::vector<HostTensor *> getOptionalInputs();

  Options options;
  AttentionProblem problem;
  /// Dense operands.
  std::vector<double> query, key, value;

private:
  struct Place {
    long long offset, batch, row, head;
  };
  /// Rounds rows to numbers of the cache's type times a scale each, which is returned.
  HostTensor quantize(std::vector<double> &rows, std::vector<double> &numbers) const;
  std::vector<double> pack(const std::vector<double> &dense, const Place &place, int length,
                           int heads, std::vector<double> memory) const;

  Place queryPlace, keyPlace, valuePlace;
  /// The operands' memory; one for all if they are columns of a product.
  std::vector<HostTensor> memories;
  std::vector<HostTensor> optional, scales;
};

/// Attentions by name: sizes that fill tiles and that do not, every option alone and all of them.
std::map<std::string, AttentionCase::Options> makeAttentionTrials();

/// Blocks of 128 queries or keys, of four warps and of eight: to be compiled for a full grid of
/// kLargeGrid blocks.
std::map<std::string, AttentionCase::Options> makeLargeAttentionTrials();
constexpr int kLargeGrid = 8;

/// Attentions of head sizes that products of warpgroups are for, with every option.
std::map<std::string, AttentionCase::Options> makeWarpgroupTrials();

/// The same in blocks of two warpgroups, for a full grid of kLargeGrid blocks.
std::map<std::string, AttentionCase::Options> makeLargeWarpgroupTrials();

/// Those that have it all, few enough to look at every access to memory.
std::map<std::string, AttentionCase::Options>
selectForChecking(std::map<std::string, AttentionCase::Options> trials);

} // namespace sinter::kernels
