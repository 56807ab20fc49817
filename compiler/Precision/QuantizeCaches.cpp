#include "compiler/Analysis/QuantizedStates.h"
#include "compiler/Precision/Passes.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace sinter {
#define GEN_PASS_DEF_QUANTIZECACHESPASS
#include "compiler/Precision/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {
/// An attention reads a cache as its keys, or as its values.
struct Read {
  AttentionOp attention;
  bool isKey;

  MutableOperandRange getScales() {
    return isKey ? attention.getKeyScalesMutable() : attention.getValueScalesMutable();
  }
  Value getRows() { return isKey ? attention.getKey() : attention.getValue(); }
};

/// A cache in one entry: the state, what appends to it, and what reads it.
struct CacheUses {
  BlockArgument state;
  SmallVector<CacheAppendOp> appends;
  SmallVector<Read> reads;
  bool hasOther = false;

  explicit CacheUses(BlockArgument state) : state(state) { collect(state); }

private:
  void collect(Value value) {
    for (OpOperand &use : value.getUses()) {
      auto attention = dyn_cast<AttentionOp>(use.getOwner());
      auto append = dyn_cast<CacheAppendOp>(use.getOwner());
      // sinter.quantize takes rows of f32 and narrower ones; what is computed in f64 stays wide.
      if (append && &use == &append.getCacheMutable() &&
          !getElementTypeOrSelf(append.getRows()).isF64()) {
        appends.push_back(append);
        collect(append.getResult());
      } else if (attention &&
                 (&use == &attention.getKeyMutable() || &use == &attention.getValueMutable())) {
        reads.push_back({attention, &use == &attention.getKeyMutable()});
      } else if (!use.getOwner()->hasTrait<OpTrait::IsTerminator>()) {
        hasOther = true;
      }
    }
  }
};

struct QuantizeCachesPass : sinter::impl::QuantizeCachesPassBase<QuantizeCachesPass> {
  using QuantizeCachesPassBase::QuantizeCachesPassBase;

  void runOnOperation() override {
    if (cacheType != "int8" && cacheType != "fp8") {
      getOperation().emitError("expected a type of caches int8 or fp8, got ")
          << cacheType.getValue();
      return signalPassFailure();
    }
    byte = cacheType == "int8" ? Type(IntegerType::get(&getContext(), 8))
                               : Type(Float8E4M3FNType::get(&getContext()));
    llvm::MapVector<StringAttr, SmallVector<CacheUses>> caches = findCaches();
    for (auto &[name, entries] : caches) {
      for (CacheUses &uses : entries)
        quantize(name, uses);
      remark::passed(entries.front().state.getLoc(),
                     remark::RemarkOpts::name("CacheQuantized").category("sinter-precision"))
          << llvm::formatv("{0} is held in {1} with a scale a token and head", name.getValue(),
                           cacheType.getValue())
                 .str();
    }
  }

private:
  /// States that an attention of each entry reads and nothing else does.
  llvm::MapVector<StringAttr, SmallVector<CacheUses>> findCaches() {
    llvm::MapVector<StringAttr, SmallVector<CacheUses>> caches;
    llvm::DenseMap<Operation *, std::pair<StringAttr, StringAttr>> names; // of keys and values
    for (auto entry : getOperation().getOps<func::FuncOp>())
      if (entry->hasAttr(SinterDialect::kEntry))
        for (BlockArgument argument : entry.getArguments())
          if (auto name = entry.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                             SinterDialect::kState)) {
            CacheUses uses(argument);
            for (Read &read : uses.reads)
              (read.isKey ? names[read.attention].first : names[read.attention].second) = name;
            caches[name].push_back(std::move(uses));
          }
    auto isCache = [&](StringAttr name) {
      auto found = caches.find(name);
      return found != caches.end() &&
             llvm::all_of(found->second,
                          [&](const CacheUses &uses) {
                            return !uses.hasOther && !uses.appends.empty() &&
                                   llvm::all_of(uses.reads, [&](const Read &read) {
                                     auto [key, value] = names.lookup(read.attention);
                                     return caches.contains(key) && caches.contains(value);
                                   });
                          }) &&
             llvm::any_of(found->second, [](const CacheUses &uses) { return !uses.reads.empty(); });
    };
    // Of an attention both caches are quantized or none is: each that stays may make others stay.
    for (bool changed = true; changed;) {
      changed = false;
      for (StringAttr name : llvm::map_to_vector(caches, [](auto &cache) { return cache.first; })) {
        if (isCache(name))
          continue;
        const CacheUses &uses = caches.find(name)->second.front();
        if (!uses.reads.empty())
          remark::missed(uses.state.getLoc(),
                         remark::RemarkOpts::name("CacheNotQuantized").category("sinter-precision"))
              << llvm::formatv("{0} stays as it is: it, or the other cache of an attention, is "
                               "read by something else",
                               name.getValue())
                     .str();
        caches.erase(name);
        changed = true;
      }
    }
    return caches;
  }

  /// Makes a state two: numbers of 8 bits in its place, scales as the entry's last one.
  void quantize(StringAttr name, CacheUses &uses) {
    auto entry = cast<func::FuncOp>(uses.state.getOwner()->getParentOp());
    Operation *terminator = entry.front().getTerminator();
    auto type = cast<RankedTensorType>(uses.state.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape.back() = 1;
    OpBuilder builder(entry);
    auto scalesName = builder.getStringAttr(name.getValue() + kScalesSuffix);
    NamedAttrList attributes(entry.getArgAttrDict(uses.state.getArgNumber()));
    attributes.set(SinterDialect::kState, scalesName);
    if (attributes.get(SinterDialect::kDonated))
      attributes.set(SinterDialect::kDonated,
                     builder.getI64IntegerAttr(terminator->getNumOperands()));
    if (failed(entry.insertArgument(entry.getNumArguments(),
                                    RankedTensorType::get(shape, builder.getF32Type()),
                                    attributes.getDictionary(&getContext()), uses.state.getLoc())))
      return signalPassFailure();
    llvm::DenseMap<Value, Value> scales{{uses.state, entry.getArguments().back()}};
    uses.state.setType(type.clone(byte));
    for (CacheAppendOp append : uses.appends) {
      builder.setInsertionPoint(append);
      auto rows = cast<RankedTensorType>(append.getRows().getType());
      shape = llvm::to_vector(rows.getShape());
      shape.back() = 1;
      auto quantized =
          QuantizeOp::create(builder, append.getLoc(), rows.clone(byte),
                             RankedTensorType::get(shape, builder.getF32Type()), append.getRows());
      append.getRowsMutable().assign(quantized.getRounded());
      Value before = scales.lookup(append.getCache());
      append.getResult().setType(type.clone(byte));
      builder.setInsertionPointAfter(append);
      scales[append.getResult()] =
          CacheAppendOp::create(builder, append.getLoc(), before.getType(), before,
                                quantized.getScales(), append.getStart(), append.getCount());
    }
    for (Read &read : uses.reads)
      read.getScales().assign(scales.lookup(read.getRows()));
    addResult(entry, uses, scalesName, scales);
  }

  /// The scales' new value, of what the entry returns as the state's.
  void addResult(func::FuncOp entry, CacheUses &uses, StringAttr name,
                 const llvm::DenseMap<Value, Value> &scales) {
    Operation *terminator = entry.front().getTerminator();
    for (unsigned i = 0, count = terminator->getNumOperands(); i < count; ++i) {
      Value value = terminator->getOperand(i);
      auto state = scales.find(value);
      if (state == scales.end())
        continue;
      Value next = state->second;
      NamedAttrList attributes(entry.getResultAttrDict(i));
      attributes.set(SinterDialect::kState, name);
      terminator->insertOperands(count, next);
      (void)entry.insertResult(count, next.getType(), attributes.getDictionary(&getContext()));
      break;
    }
    entry.setFunctionType(FunctionType::get(&getContext(),
                                            llvm::to_vector(entry.front().getArgumentTypes()),
                                            llvm::to_vector(terminator->getOperandTypes())));
  }

  Type byte;
};
} // namespace
