#include "runtime/Format/ActionVerifier.h"
#include "runtime/Format/Actions.h"
#include "runtime/Format/KernelMarks.h"
#include "runtime/Format/PipelineStages.h"
#include <cmath>

namespace sinter::runtime {
namespace {

// What kernels and their launches may ask of a GPU; the driver knows the device's own limits.
constexpr uint64_t mostBlocks = (uint64_t(1) << 31) - 1;
// What a GPU's kernels may load and store at once.
constexpr uint64_t argumentAlignment = 16;
// Of what cuDNN reads and writes.
constexpr uint64_t attentionAlignment = 16;
// Of a product.
constexpr size_t mostPostOps = 16;
constexpr uint64_t fp8Multiple = 16; // elements that a library's rows of fp8 are multiples of

class ActionVerifier {
public:
  explicit ActionVerifier(VerifierScope &scope) : scope(scope) {}

  template <typename Holder> Expected<void> verify(const Holder &holder) const {
    if (!isKnownAction(holder.action_type()))
      return bad("is of no known kind");
    return visitAction(holder, [&](const auto &action) { return check(action); });
  }

private:
  VerifierScope &scope;

  tl::unexpected<Error> bad(const std::string &why) const { return scope.bad(why); }

  Expected<void> check(const fb::Launch &launch) const {
    if (!scope.executable.kernels() || launch.kernel() >= scope.executable.kernels()->size())
      return bad("launches kernel " + std::to_string(launch.kernel()) + ", which does not exist");
    if (launch.grid() > (scope.cpu ? largestExtent : mostBlocks))
      return bad("has a grid of " + std::to_string(launch.grid()) + " items");
    if (launch.slices() && !isAligned(launch.slices()))
      return bad("has slices that are not aligned");
    size_t slices = launch.slices() ? launch.slices()->size() : 0;
    size_t outputs = launch.outputs() ? launch.outputs()->size() : 0;
    if (outputs > slices)
      return bad("has more outputs than slices");
    for (flatbuffers::uoffset_t i = 0; i < slices; ++i)
      SINTER_CHECK(verifyArgument(*launch.slices()->Get(i), i, i >= slices - outputs));
    for (flatbuffers::uoffset_t i = 0; i < outputs; ++i)
      if (!isKnown(launch.outputs()->Get(i)))
        return bad("has an output of no known type");
    const fb::Kernel &kernel = *scope.executable.kernels()->Get(launch.kernel());
    if (describeLaunch(kernel, launch).getFingerprint() != kernel.fingerprint())
      return bad("launches kernel '" + kernel.name()->str().substr(0, 80) +
                 "' otherwise than it was made for");
    return {};
  }

  Expected<void> verifyArgument(const fb::Slice &slice, size_t index, bool written) const {
    std::string name = "slice " + std::to_string(index);
    SINTER_CHECK(written ? scope.verifyWritable(&slice, name.c_str())
                         : scope.verifySlice(&slice, name.c_str()));
    if (!scope.cpu && slice.offset() % argumentAlignment != 0)
      return bad(name + " is not aligned to " + std::to_string(argumentAlignment) + " bytes");
    return {};
  }

  // As cuBLASLt multiplies.
  Expected<void> check(const fb::Gemm &gemm) const {
    if (scope.cpu)
      return bad("is a product of a library, which is for GPUs");
    bool isFp8 = isOfFp8(gemm);
    if (gemm.rhs_dtype() &&
        (!isFp8 || !isFp8Type(*gemm.rhs_dtype()) ||
         (gemm.dtype() == fb::DType::E5M2 && *gemm.rhs_dtype() == fb::DType::E5M2)))
      return bad("is a product of two types that is not of E4M3 by E5M2");
    if (gemm.dtype() == fb::DType::E5M2 && !gemm.rhs_dtype())
      return bad("is a product of E5M2 by E5M2, which no library has");
    if ((!scope.isComputeType(gemm.dtype()) && !isFp8) || !scope.isComputeType(gemm.out_dtype()))
      return bad(std::string("is a product of types other than ") + scope.getComputeTypes());
    SINTER_CHECK(verifyOperands(gemm));
    SINTER_CHECK(scope.verifyWritable(gemm.out(), "out"));
    SINTER_CHECK(scope.verifyMatrix(gemm.out(), "out", gemm.m(), gemm.n(), gemm.out_stride(),
                                    gemm.out_dtype()));
    if (overlap(*gemm.out(), *gemm.lhs()) || overlap(*gemm.out(), *gemm.rhs()))
      return bad("out overlaps what is still read");
    if (isFp8) {
      SINTER_CHECK(verifyScales(gemm));
    } else if (gemm.lhs_scales() || gemm.rhs_scales()) {
      return bad("has scales, which are for products of E4M3 and E5M2");
    }
    if (gemm.post_ops() && gemm.post_ops()->size() > mostPostOps)
      return bad("has an epilogue of " + std::to_string(gemm.post_ops()->size()) + " steps");
    for (const fb::PostOp *step : each(gemm.post_ops())) {
      if (step->kind() > fb::PostOpKind::MAX)
        return bad("has an epilogue of no known kind");
      bool wide = step->kind() == fb::PostOpKind::Add || step->kind() == fb::PostOpKind::Multiply;
      if (!wide && step->kind() != fb::PostOpKind::Bias)
        continue;
      if (!scope.isComputeType(step->dtype()))
        return bad(std::string("has an epilogue's operand of a type other than ") +
                   scope.getComputeTypes());
      SINTER_CHECK(scope.verifyMatrix(step->operand(), "an epilogue's operand", wide ? gemm.m() : 1,
                                      gemm.n(), wide ? step->stride() : gemm.n(), step->dtype()));
      bool same = wide && step->operand()->offset() == gemm.out()->offset() &&
                  step->stride() == gemm.out_stride() && step->dtype() == gemm.out_dtype();
      if (overlap(*gemm.out(), *step->operand()) && !same)
        return bad("out overlaps an epilogue's operand without being the same matrix");
    }
    return verifyLibraryEpilogue(gemm);
  }

  static bool isFp8Type(fb::DType dtype) {
    return dtype == fb::DType::E4M3 || dtype == fb::DType::E5M2;
  }
  static bool isOfFp8(const fb::Gemm &gemm) { return isFp8Type(gemm.dtype()); }

  Expected<void> verifyOperands(const fb::Gemm &gemm) const {
    bool left = gemm.lhs_transposed(), right = gemm.rhs_transposed();
    SINTER_CHECK(scope.verifyMatrix(gemm.lhs(), "lhs", left ? gemm.k() : gemm.m(),
                                    left ? gemm.m() : gemm.k(), gemm.lhs_stride(), gemm.dtype()));
    SINTER_CHECK(scope.verifyMatrix(gemm.rhs(), "rhs", right ? gemm.n() : gemm.k(),
                                    right ? gemm.k() : gemm.n(), gemm.rhs_stride(),
                                    gemm.rhs_dtype().value_or(gemm.dtype())));
    if (!gemm.workspace())
      return {};
    SINTER_CHECK(scope.verifyWritable(gemm.workspace(), "workspace"));
    if (gemm.workspace()->space() != fb::Space::Arena || gemm.workspace()->offset() % 256 != 0)
      return bad("workspace is not in the arena, or not aligned to 256 bytes");
    for (const fb::Slice *other : {gemm.lhs(), gemm.rhs(), gemm.out()})
      if (other && overlap(*gemm.workspace(), *other))
        return bad("workspace overlaps an operand");
    return {};
  }

  // Rows of both sides as cuBLASLt wants them, and a scale for each of both or for all of both.
  Expected<void> verifyScales(const fb::Gemm &gemm) const {
    if (gemm.lhs_transposed() || !gemm.rhs_transposed() || gemm.k() % fp8Multiple != 0 ||
        gemm.n() % fp8Multiple != 0 || gemm.lhs_stride() % fp8Multiple != 0 ||
        gemm.rhs_stride() % fp8Multiple != 0)
      return bad("is a product of fp8 whose rows are not multiples of 16");
    const std::pair<const fb::Slice *, uint64_t> sides[] = {{gemm.lhs_scales(), gemm.m()},
                                                            {gemm.rhs_scales(), gemm.n()}};
    bool isOfTensors = hasOneScale(gemm);
    if (!isOfTensors && gemm.rhs_dtype())
      return bad("is a product of two types with scales of rows");
    for (auto [scales, rows] : sides) {
      uint64_t count = isOfTensors ? 1 : rows;
      SINTER_CHECK(scope.verifyMatrix(scales, "a scale", 1, count, count, fb::DType::F32));
      if (overlap(*gemm.out(), *scales) ||
          (gemm.workspace() && overlap(*gemm.workspace(), *scales)))
        return bad("a scale overlaps what is written");
    }
    return {};
  }

  // One bias and one addend of the result's type, in any order, then at most one function.
  Expected<void> verifyLibraryEpilogue(const fb::Gemm &gemm) const {
    unsigned biases = 0, sums = 0, functions = 0;
    for (const fb::PostOp *step : each(gemm.post_ops())) {
      bool operand = step->kind() == fb::PostOpKind::Bias || step->kind() == fb::PostOpKind::Add;
      bool function =
          step->kind() == fb::PostOpKind::GeluTanh || step->kind() == fb::PostOpKind::Relu;
      bool fits = functions == 0 && (operand || function) &&
                  (!operand || step->dtype() == gemm.out_dtype());
      biases += step->kind() == fb::PostOpKind::Bias;
      sums += step->kind() == fb::PostOpKind::Add;
      functions += function;
      // Of fp8 the library has no function, and a bias of 16 bits alone.
      if (isOfFp8(gemm))
        fits &=
            step->kind() == fb::PostOpKind::Add || (operand && gemm.out_dtype() != fb::DType::F32);
      if (!fits || biases > 1 || sums > 1)
        return bad("has an epilogue that is not for GPUs");
      if (operand && gemm.workspace() && overlap(*gemm.workspace(), *step->operand()))
        return bad("workspace overlaps an operand");
    }
    return {};
  }

  // Whether a tensor [batch, rows, heads, size] with these strides lies in its slice.
  Expected<void> verifyHeads(const fb::Slice *slice, const fb::HeadStrides *strides,
                             const char *name, const fb::Attention &attention, uint64_t rows,
                             uint64_t heads) const {
    SINTER_CHECK(scope.verifySlice(slice, name));
    if (!strides)
      return bad(std::string(name) + " has no strides");
    uint64_t elements = attention.head_size();
    const std::pair<uint64_t, uint64_t> axes[] = {
        {attention.batch(), strides->batch()}, {rows, strides->row()}, {heads, strides->head()}};
    for (auto [extent, stride] : axes) {
      std::optional<uint64_t> before = boundedProduct(extent - 1, stride);
      if (!before || stride > largestExtent)
        return bad(std::string(name) + " has impossible strides");
      elements += *before;
    }
    std::optional<uint64_t> bytes =
        boundedProduct(elements, sizeOf(static_cast<DType>(attention.dtype())));
    if (!bytes || *bytes > slice->bytes())
      return bad(std::string(name) + " is too small for its strides");
    if (slice->offset() % attentionAlignment != 0)
      return bad(std::string(name) + " is not aligned to 16 bytes");
    return {};
  }

  // As cuDNN attends.
  Expected<void> check(const fb::Attention &attention) const {
    if (scope.cpu)
      return bad("is an attention of a library, which is for GPUs");
    fb::DType dtype = attention.dtype(), outDtype = attention.out_dtype();
    if ((dtype != fb::DType::BF16 && dtype != fb::DType::F16) ||
        (outDtype != dtype && outDtype != fb::DType::F32))
      return bad("is an attention of types other than bf16 and f16");
    for (uint64_t extent : {attention.batch(), attention.length(), attention.keys(),
                            attention.heads(), attention.key_heads(), attention.head_size()})
      if (extent == 0 || extent > mostBlocks)
        return bad("is an attention of " + std::to_string(extent) + " of something");
    if (attention.heads() % attention.key_heads() != 0)
      return bad("has heads that are no multiple of the keys' heads");
    if (attention.window() > mostBlocks || !std::isfinite(attention.scale()))
      return bad("has no possible window and scale");
    SINTER_CHECK(verifyHeads(attention.query(), attention.query_strides(), "query", attention,
                             attention.length(), attention.heads()));
    SINTER_CHECK(verifyHeads(attention.key(), attention.key_strides(), "key", attention,
                             attention.keys(), attention.key_heads()));
    SINTER_CHECK(verifyHeads(attention.value(), attention.value_strides(), "value", attention,
                             attention.keys(), attention.key_heads()));
    std::optional<uint64_t> rows =
        boundedProduct(boundedProduct(attention.batch(), attention.length()), attention.heads());
    SINTER_CHECK(verifyAttentionResult(attention.out(), "out", attention,
                                       boundedProduct(rows, attention.head_size()), outDtype));
    if (attention.logsumexp()) {
      SINTER_CHECK(verifyAttentionResult(attention.logsumexp(), "logsumexp", attention, rows,
                                         fb::DType::F32));
      if (overlap(*attention.out(), *attention.logsumexp()))
        return bad("out overlaps logsumexp");
    }
    const fb::Slice *workspace = attention.workspace();
    if (!workspace)
      return {};
    SINTER_CHECK(scope.verifyWritable(workspace, "workspace"));
    if (workspace->space() != fb::Space::Arena || workspace->offset() % 256 != 0)
      return bad("workspace is not in the arena, or not aligned to 256 bytes");
    for (const fb::Slice *other : {attention.query(), attention.key(), attention.value(),
                                   attention.out(), attention.logsumexp()})
      if (other && overlap(*workspace, *other))
        return bad("workspace overlaps an operand");
    return {};
  }

  Expected<void> verifyAttentionResult(const fb::Slice *slice, const char *name,
                                       const fb::Attention &attention,
                                       std::optional<uint64_t> elements, fb::DType dtype) const {
    SINTER_CHECK(scope.verifyWritable(slice, name));
    std::optional<uint64_t> bytes = boundedProduct(elements, sizeOf(static_cast<DType>(dtype)));
    if (!bytes || slice->bytes() != *bytes || slice->offset() % attentionAlignment != 0)
      return bad(std::string(name) +
                 " has not the attention's size, or is not aligned to 16 bytes");
    for (const fb::Slice *read : {attention.query(), attention.key(), attention.value()})
      if (overlap(*slice, *read))
        return bad(std::string(name) + " overlaps what is still read");
    return {};
  }

  Expected<void> check(const fb::Pack &pack) const {
    if (!scope.cpu)
      return bad("packs, which is not for GPUs");
    bool integers = pack.dtype() == fb::DType::I8 || pack.dtype() == fb::DType::I4;
    PackedRhs layout = panelsOf(pack);
    bool isF16 = layout.isScales && layout.dtype == DType::F16;
    if (!integers && !scope.isComputeType(pack.dtype()) && !isF16)
      return bad("packs into a type other than f32, bf16, i8 and i4, and f16 of scales");
    if ((layout.width != 16 && layout.width != 32 && layout.width != 64) ||
        (integers && layout.together != 2 && layout.together != 4) ||
        (layout.dtype == DType::I4 && (layout.together != 4 || !layout.isWeightOnly)) ||
        (!layout.values.empty() && (layout.dtype != DType::I4 || layout.values.size() != 16)) ||
        pack.interleave() != layout.getInterleave() || pack.depth() != layout.getDepth())
      return bad("asks for panels of an unknown layout");
    SINTER_CHECK(scope.verifyWritable(pack.out(), "out"));
    SINTER_CHECK(scope.verifyPackedRhs(pack.out(), "out", layout));
    uint64_t columns = 0;
    for (const fb::PackSource *source : each(pack.sources())) {
      bool isInteger = source->dtype() == fb::DType::I8;
      if (integers != isInteger)
        return bad("packs integers and others together");
      if (!isInteger && !scope.isComputeType(source->dtype()) && source->dtype() != fb::DType::F16)
        return bad("packs a source of a type other than f32, bf16 and f16");
      if (layout.isHalfScales() && source->dtype() != pack.dtype())
        return bad("packs scales of 16 bits from another type");
      if (source->n() == 0 || source->n() > pack.n() - columns)
        return bad("has sources with more columns than it packs");
      columns += source->n();
      bool transposed = source->transposed();
      SINTER_CHECK(scope.verifyMatrix(source->slice(), "a source",
                                      transposed ? source->n() : pack.k(),
                                      transposed ? pack.k() : source->n(), source->stride(),
                                      source->dtype(), /*aligned=*/false));
      if (overlap(*source->slice(), *pack.out()))
        return bad("out overlaps a source");
    }
    if (columns != pack.n())
      return bad("has sources with " + std::to_string(columns) + " of its " +
                 std::to_string(pack.n()) + " columns");
    return {};
  }

  Expected<void> check(const fb::Copy &copy) const {
    SINTER_CHECK(scope.verifySlice(copy.source(), "source"));
    SINTER_CHECK(scope.verifyWritable(copy.out(), "out"));
    if (copy.source()->bytes() != copy.out()->bytes())
      return bad("copies between slices of different sizes");
    if (overlap(*copy.source(), *copy.out()))
      return bad("copies between slices that overlap");
    return {};
  }

  Expected<void> check(const fb::Fill &fill) const {
    return scope.verifyWritable(fill.out(), "out");
  }

  Expected<void> check(const fb::Collective &collective) const {
    if (collective.kind() > fb::CollectiveKind::MAX)
      return bad("is a collective of no known kind");
    SINTER_TRY(uint64_t ranks, scope.countRanks(collective.axes()));
    SINTER_CHECK(scope.verifySlice(collective.source(), "source"));
    SINTER_CHECK(scope.verifyWritable(collective.out(), "out"));
    if (overlap(*collective.source(), *collective.out()))
      return bad("moves a slice to one that overlaps it");
    uint64_t source = collective.source()->bytes(), out = collective.out()->bytes();
    switch (collective.kind()) {
    case fb::CollectiveKind::AllGather:
      if (out / ranks != source || out % ranks != 0)
        return bad("gathers slices of sizes that do not fit " + std::to_string(ranks) + " ranks");
      return {};
    case fb::CollectiveKind::AllToAll:
      if (source != out || out % ranks != 0)
        return bad("exchanges slices of sizes that do not fit " + std::to_string(ranks) + " ranks");
      return {};
    case fb::CollectiveKind::AllSlice:
      if (source / ranks != out || source % ranks != 0)
        return bad("takes a part of a size that does not fit " + std::to_string(ranks) + " ranks");
      return {};
    case fb::CollectiveKind::AllReduce:
      if (!isSummed(collective.dtype()) || source != out ||
          out % sizeOf(static_cast<DType>(collective.dtype())) != 0)
        return bad("adds slices of another type than f32 and f64, or of unlike sizes");
      return {};
    }
    return {};
  }

  Expected<void> check(const fb::Send &send) const {
    SINTER_CHECK(verifyOther(send.stage()));
    return scope.verifySlice(send.source(), "source");
  }

  Expected<void> check(const fb::Receive &receive) const {
    SINTER_CHECK(verifyOther(receive.stage()));
    return scope.verifyWritable(receive.out(), "out");
  }

  /// Another stage than the program's; its ranks may be the same.
  Expected<void> verifyOther(uint32_t stage) const {
    if (!scope.program || stage >= countStages(scope.executable) || stage == scope.program->stage())
      return bad("is between ranks of stage " + std::to_string(stage) +
                 ", which is not there or their own");
    return {};
  }

  static bool isSummed(fb::DType type) { return type == fb::DType::F32 || type == fb::DType::F64; }
};

} // namespace

Expected<void> verifyActions(VerifierScope &scope) {
  ActionVerifier verifier(scope);
  SINTER_CHECK(verifier.verify(*scope.command));
  for (const fb::Alternative *alternative : each(scope.command->alternatives()))
    SINTER_CHECK(verifier.verify(*alternative));
  return {};
}

} // namespace sinter::runtime
