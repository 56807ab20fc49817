#include "frontends/Quantized/QuantizedTensors.h"
#include "frontends/Quantized/QuantizedWeight.h"
#include "frontends/Quantized/StoredMatrix.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

namespace sinter {
namespace {

using Element = StoredMatrix::Element;
using Format = WeightScheme::Format;
using Scales = WeightScheme::Scales;

constexpr uint8_t awqOrder[8] = {0, 4, 1, 5, 2, 6, 3, 7};

constexpr int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t wordsFor(int64_t codes, int64_t bits) { return ceilDiv(codes * bits, wordBits); }

/// The sizes of a matrix of scales.
struct ScaleSizes {
  int64_t rows = 1, columns = 1, rowGroup = 1, columnGroup = 1;
};

/// The layers of one model.
class Joiner {
public:
  Joiner(const QuantizationConfig &config, std::vector<Tensor> stored, std::string_view source)
      : config(config), stored(std::move(stored)), source(source) {
    for (const Tensor &tensor : this->stored)
      byName.emplace(tensor.name, &tensor);
  }

  Expected<std::vector<Tensor>> join() {
    for (const Tensor &tensor : stored)
      if (std::optional<std::string> layer = findLayer(tensor))
        SINTER_CHECK(joinLayer(*layer, tensor));
    std::vector<Tensor> result;
    for (Tensor &tensor : stored)
      if (!used.contains(&tensor))
        result.push_back(std::move(tensor));
    std::ranges::move(joined, std::back_inserter(result));
    return result;
  }

private:
  /// The layer whose codes a tensor holds.
  std::optional<std::string> findLayer(const Tensor &tensor) const {
    auto before = [&](std::string_view ending) {
      return tensor.name.ends_with(ending)
                 ? std::optional(tensor.name.substr(0, tensor.name.size() - ending.size()))
                 : std::nullopt;
    };
    if (config.method == QuantizationMethod::Mxfp4)
      return before("_blocks");
    if (config.method == QuantizationMethod::Awq || config.method == QuantizationMethod::Gptq)
      return before(".qweight");
    if (tensor.dtypeName == "I8" || tensor.dtypeName == "F8_E4M3")
      return before(".weight");
    return before(".weight_packed");
  }

  Expected<void> joinLayer(const std::string &layer, const Tensor &codes) {
    used.insert(&codes);
    auto made = [&]() -> Expected<QuantizedWeight> {
      if (config.method == QuantizationMethod::Mxfp4)
        return joinMxfp4(layer, codes);
      if (codes.shape.size() != 2 || codes.shape[0] < 1 || codes.shape[1] < 1)
        return mistake(codes, "it is no matrix");
      switch (config.method) {
      case QuantizationMethod::CompressedTensors:
        return joinCompressed(layer, codes);
      case QuantizationMethod::Fp8:
        return joinFp8(layer, codes);
      case QuantizationMethod::Awq:
        return joinAwq(layer, codes);
      case QuantizationMethod::Gptq:
        return joinGptq(layer, codes);
      case QuantizationMethod::Mxfp4:
        break;
      }
      return mistake(codes, "its method is not known");
    };
    SINTER_TRY(QuantizedWeight weight, made());
    Tensor tensor;
    bool isOfExperts = config.method == QuantizationMethod::Mxfp4;
    tensor.name = isOfExperts ? layer : layer + ".weight";
    if (byName.contains(tensor.name) && byName.at(tensor.name) != &codes)
      return mistake(codes, "the layer has a '" + tensor.name + "', too");
    tensor.dtype = DType::F32;
    tensor.dtypeName =
        weight.codes.element == Element::E4M3 ? "fp8" : "int" + std::to_string(weight.codes.bits);
    tensor.shape = {weight.codes.rows, weight.codes.columns};
    if (isOfExperts)
      tensor.shape = {weight.matrices, weight.codes.columns, weight.codes.rows / weight.matrices};
    else if (weight.isTransposed)
      std::swap(tensor.shape[0], tensor.shape[1]);
    tensor.data = codes.data;
    tensor.file = codes.file;
    tensor.offset = codes.offset;
    tensor.decoder = weight.getDecoder();
    tensor.integers = weight.getIntegers();
    joined.push_back(std::move(tensor));
    return {};
  }

  //===------------------------------------------------------------------===//
  // Tensors of a layer
  //===------------------------------------------------------------------===//

  tl::unexpected<Error> mistake(const Tensor &tensor, const std::string &why) const {
    return fail(std::string(source) + ": tensor '" + tensor.name + "'", why,
                "download the model again");
  }

  const Tensor *find(const std::string &name) {
    auto found = byName.find(name);
    if (found == byName.end())
      return nullptr;
    used.insert(found->second);
    return found->second;
  }

  Expected<const Tensor *> get(const std::string &name) {
    if (const Tensor *tensor = find(name))
      return tensor;
    return fail(std::string(source) + ": tensor '" + name + "'", "the weights do not hold it",
                "download the model again");
  }

  /// A matrix of floats or of I8, [rows, columns] or, where it is transposed, [columns, rows]; a
  /// single row or column may be stored with fewer dimensions.
  Expected<StoredMatrix> readMatrix(const Tensor &tensor, int64_t rows, int64_t columns,
                                    bool isTransposed = false) const {
    constexpr std::pair<std::string_view, Element> elements[] = {{"F32", Element::F32},
                                                                 {"F16", Element::F16},
                                                                 {"BF16", Element::BF16},
                                                                 {"I8", Element::I8},
                                                                 {"F8_E4M3", Element::E4M3}};
    const auto *element =
        std::ranges::find(elements, tensor.dtypeName, &std::pair<std::string_view, Element>::first);
    if (element == std::end(elements))
      return mistake(tensor, "its type is " + tensor.dtypeName);
    auto isNotOne = [](int64_t extent) { return extent != 1; };
    std::vector<int64_t> wanted = {isTransposed ? columns : rows, isTransposed ? rows : columns};
    std::vector<int64_t> given, plain;
    std::ranges::copy_if(tensor.shape, std::back_inserter(given), isNotOne);
    std::ranges::copy_if(wanted, std::back_inserter(plain), isNotOne);
    if (given != plain)
      return mistake(tensor, "its shape does not fit the layer's " + std::to_string(wanted[0]) +
                                 " x " + std::to_string(wanted[1]));
    StoredMatrix matrix{
        .data = tensor.data, .rows = rows, .columns = columns, .element = element->second};
    matrix.rowStride = isTransposed ? 1 : columns;
    matrix.columnStride = isTransposed ? rows : 1;
    return matrix;
  }

  /// Scales of fp8 are so few that they can be looked at when the files are opened.
  Expected<void> checkFinite(const Tensor &tensor, const StoredMatrix &scales) const {
    std::vector<float> row(static_cast<size_t>(scales.columns));
    for (int64_t i = 0; i < scales.rows; ++i) {
      scales.read(i, 1, row.data());
      if (!std::ranges::all_of(row, [](float scale) { return std::isfinite(scale); }))
        return mistake(tensor, "it holds a scale that is not finite");
    }
    return {};
  }

  /// Codes in words: a tensor of I32 in this shape.
  Expected<StoredMatrix> readWords(const Tensor &tensor, int64_t firstExtent, int64_t lastExtent,
                                   int64_t rows, int64_t columns, int64_t bits) const {
    if (tensor.dtypeName != "I32")
      return mistake(tensor, "its type is " + tensor.dtypeName + ", expected I32");
    if (tensor.shape != std::vector<int64_t>{firstExtent, lastExtent})
      return mistake(tensor, "its shape does not fit the layer's " + std::to_string(rows) + " x " +
                                 std::to_string(columns) + " codes of " + std::to_string(bits) +
                                 " bits");
    return StoredMatrix{.data = tensor.data,
                        .rows = rows,
                        .columns = columns,
                        .element = Element::Bits,
                        .bits = static_cast<int>(bits)};
  }

  //===------------------------------------------------------------------===//
  // compressed-tensors
  //===------------------------------------------------------------------===//

  static ScaleSizes sizeScales(const WeightScheme &scheme, int64_t rows, int64_t columns) {
    switch (scheme.scales) {
    case Scales::Tensor:
      return {1, 1, rows, columns};
    case Scales::Channel:
      return {rows, 1, 1, columns};
    case Scales::Group: {
      int64_t group = scheme.groupSize ? scheme.groupSize : columns;
      return {rows, ceilDiv(columns, group), 1, group};
    }
    case Scales::Block:
      return {ceilDiv(rows, scheme.blockRows), ceilDiv(columns, scheme.blockColumns),
              scheme.blockRows, scheme.blockColumns};
    }
    return {};
  }

  /// The scheme of a layer: the one that its tensors are of. Which layers a group of the config is
  /// for is written as patterns of names, and their tensors say it as well.
  Expected<const WeightScheme *> chooseScheme(const Tensor &codes, const Tensor &scales,
                                              int64_t rows, int64_t columns, bool hasZeros) const {
    const WeightScheme *chosen = nullptr;
    auto fits = [&](const WeightScheme &scheme) {
      Format format = codes.dtypeName == "I8"    ? Format::Int
                      : codes.dtypeName == "I32" ? Format::Packed
                                                 : Format::Float;
      ScaleSizes sizes = sizeScales(scheme, rows, columns);
      return scheme.format == format && scheme.isSymmetric != hasZeros &&
             (format != Format::Packed || codes.shape[1] == wordsFor(columns, scheme.bits)) &&
             readMatrix(scales, sizes.rows, sizes.columns);
    };
    for (const WeightScheme &scheme : config.schemes) {
      if (!fits(scheme))
        continue;
      if (chosen &&
          (chosen->bits != scheme.bits || chosen->scales != scheme.scales ||
           chosen->isOfConv1D != scheme.isOfConv1D || chosen->roundsRows != scheme.roundsRows))
        return mistake(codes, "several of config_groups fit it");
      chosen = &scheme;
    }
    if (!chosen)
      return mistake(codes, "it and its scales are as none of config_groups says");
    return chosen;
  }

  /// The extents that `X.weight_shape` holds.
  Expected<std::pair<int64_t, int64_t>> readShape(const Tensor &tensor) const {
    bool isWide = tensor.dtype == DType::I64;
    if ((!isWide && tensor.dtype != DType::I32) || tensor.shape != std::vector<int64_t>{2})
      return mistake(tensor, "it is not two whole numbers");
    int64_t extents[2] = {};
    for (int i = 0; i < 2; ++i) {
      int32_t narrow = 0;
      if (isWide)
        std::memcpy(&extents[i], tensor.data.data() + 8 * i, 8);
      else
        std::memcpy(&narrow, tensor.data.data() + 4 * i, 4);
      if (!isWide)
        extents[i] = narrow;
      if (extents[i] < 1 || extents[i] > INT32_MAX)
        return mistake(tensor, "it holds " + std::to_string(extents[i]) + ", which is no extent");
    }
    return std::pair(extents[0], extents[1]);
  }

  Expected<QuantizedWeight> joinCompressed(const std::string &layer, const Tensor &codes) {
    int64_t rows = codes.shape[0], columns = codes.shape[1];
    bool isPacked = codes.name.ends_with("_packed");
    if (isPacked) {
      SINTER_TRY(const Tensor *shape, get(layer + ".weight_shape"));
      SINTER_TRY(auto extents, readShape(*shape));
      columns = extents.second;
      if (extents.first != rows)
        return mistake(*shape, "it does not fit '" + codes.name + "'");
    }
    SINTER_TRY(const Tensor *scales, get(layer + ".weight_scale"));
    const Tensor *zeros = find(layer + ".weight_zero_point");
    const Tensor *order = find(layer + ".weight_g_idx");
    for (const char *ofActivations : {".input_scale", ".input_zero_point"})
      find(layer + ofActivations);
    SINTER_TRY(const WeightScheme *scheme,
               chooseScheme(codes, *scales, rows, columns, zeros != nullptr));
    ScaleSizes sizes = sizeScales(*scheme, rows, columns);
    QuantizedWeight weight;
    weight.rowGroup = sizes.rowGroup;
    weight.columnGroup = sizes.columnGroup;
    weight.isTransposed = scheme->isOfConv1D;
    weight.roundsRows = scheme->roundsRows;
    SINTER_TRY(weight.scales, readMatrix(*scales, sizes.rows, sizes.columns));
    if (!isPacked) {
      SINTER_TRY(weight.codes, readMatrix(codes, rows, columns));
      if (weight.codes.element == Element::E4M3)
        SINTER_CHECK(checkFinite(*scales, weight.scales));
      if (zeros) {
        SINTER_TRY(weight.zeros, readMatrix(*zeros, sizes.rows, sizes.columns));
      }
      return weight;
    }
    int64_t bits = scheme->bits;
    int offset = 1 << (bits - 1);
    SINTER_TRY(weight.codes, readWords(codes, rows, codes.shape[1], rows, columns, bits));
    weight.codes.rowStride = codes.shape[1];
    weight.codes.offset = offset;
    if (zeros && zeros->dtypeName == "I32") {
      SINTER_TRY(weight.zeros, readWords(*zeros, wordsFor(sizes.rows, bits), sizes.columns,
                                         sizes.rows, sizes.columns, bits));
      weight.zeros->rowStride = sizes.columns;
      weight.zeros->isPackedByRows = true;
      weight.zeros->offset = offset;
    } else if (zeros) {
      SINTER_TRY(weight.zeros, readMatrix(*zeros, sizes.rows, sizes.columns));
    }
    if (order) {
      SINTER_TRY(weight.groupOf, readOrder(*order, columns, sizes.columns, sizes.columnGroup));
    }
    return weight;
  }

  //===------------------------------------------------------------------===//
  // fp8, AWQ, GPTQ, MXFP4
  //===------------------------------------------------------------------===//

  Expected<QuantizedWeight> joinFp8(const std::string &layer, const Tensor &codes) {
    if (codes.dtypeName != "F8_E4M3")
      return mistake(codes, "its type is " + codes.dtypeName + ", expected F8_E4M3");
    const Tensor *scales = find(layer + ".weight_scale_inv");
    if (!scales) {
      SINTER_TRY(scales, get(layer + ".weight_scale"));
    }
    find(layer + ".input_scale");
    ScaleSizes sizes = sizeScales(config.schemes.front(), codes.shape[0], codes.shape[1]);
    QuantizedWeight weight;
    weight.rowGroup = sizes.rowGroup;
    weight.columnGroup = sizes.columnGroup;
    SINTER_TRY(weight.codes, readMatrix(codes, codes.shape[0], codes.shape[1]));
    SINTER_TRY(weight.scales, readMatrix(*scales, sizes.rows, sizes.columns));
    SINTER_CHECK(checkFinite(*scales, weight.scales));
    return weight;
  }

  /// `qweight` [in, out / 8], `qzeros` [in / group, out / 8], `scales` [in / group, out]; eight
  /// outputs of a word in the order of AutoAWQ's awq/utils/packing_utils.py.
  Expected<QuantizedWeight> joinAwq(const std::string &layer, const Tensor &codes) {
    const WeightScheme &scheme = config.schemes.front();
    int64_t columns = codes.shape[0], words = codes.shape[1];
    int64_t rows = words * wordBits / scheme.bits;
    ScaleSizes sizes = sizeScales(scheme, rows, columns);
    SINTER_TRY(const Tensor *zeros, get(layer + ".qzeros"));
    SINTER_TRY(const Tensor *scales, get(layer + ".scales"));
    QuantizedWeight weight;
    weight.columnGroup = sizes.columnGroup;
    SINTER_TRY(weight.codes, readWords(codes, columns, words, rows, columns, scheme.bits));
    SINTER_TRY(weight.zeros,
               readWords(*zeros, sizes.columns, words, rows, sizes.columns, scheme.bits));
    for (StoredMatrix *matrix : {&weight.codes, &*weight.zeros}) {
      matrix->rowStride = 1;
      matrix->columnStride = words;
      matrix->isPackedByRows = true;
      matrix->order = awqOrder;
    }
    SINTER_TRY(weight.scales, readMatrix(*scales, rows, sizes.columns, /*isTransposed=*/true));
    return weight;
  }

  /// `qweight` [in * bits / 32, out], `qzeros` [groups, out * bits / 32], `scales` [groups, out]
  /// and `g_idx` [in], the group of each input, as AutoGPTQ's qlinear_torch.py packs them. Its
  /// first version stores zero points less one.
  Expected<QuantizedWeight> joinGptq(const std::string &layer, const Tensor &codes) {
    const WeightScheme &scheme = config.schemes.front();
    int64_t rows = codes.shape[1], bits = scheme.bits;
    const Tensor *order = find(layer + ".g_idx");
    int64_t columns =
        order && order->shape.size() == 1 ? order->shape[0] : codes.shape[0] * wordBits / bits;
    if (columns < 1 || columns > INT32_MAX)
      return mistake(codes, "it has " + std::to_string(columns) + " inputs");
    ScaleSizes sizes = sizeScales(scheme, rows, columns);
    SINTER_TRY(const Tensor *zeros, get(layer + ".qzeros"));
    SINTER_TRY(const Tensor *scales, get(layer + ".scales"));
    QuantizedWeight weight;
    weight.columnGroup = sizes.columnGroup;
    SINTER_TRY(weight.codes, readWords(codes, wordsFor(columns, bits), rows, rows, columns, bits));
    weight.codes.rowStride = 1;
    weight.codes.columnStride = rows;
    SINTER_TRY(weight.zeros,
               readWords(*zeros, sizes.columns, wordsFor(rows, bits), rows, sizes.columns, bits));
    weight.zeros->rowStride = 1;
    weight.zeros->columnStride = wordsFor(rows, bits);
    weight.zeros->isPackedByRows = true;
    weight.zeros->offset = config.storesZeroLessOne ? -1 : 0;
    SINTER_TRY(weight.scales, readMatrix(*scales, rows, sizes.columns, /*isTransposed=*/true));
    if (order) {
      SINTER_TRY(weight.groupOf, readOrder(*order, columns, sizes.columns, sizes.columnGroup));
    }
    return weight;
  }

  /// `X_blocks` [experts, out, in / 32, 16], two codes a byte, the lower half first, and `X_scales`
  /// [experts, out, in / 32] of e8m0, as transformers' integrations/mxfp4.py reads them.
  Expected<QuantizedWeight> joinMxfp4(const std::string &layer, const Tensor &codes) {
    constexpr int64_t group = 32, groupBytes = 16, wordsOfGroup = group * 4 / wordBits;
    const std::vector<int64_t> &shape = codes.shape;
    if (codes.dtype != DType::U8 || shape.size() != 4 || shape.back() != groupBytes ||
        std::ranges::find(shape, 0) != shape.end())
      return mistake(codes, "it is no U8 [experts, outputs, groups, 16]");
    SINTER_TRY(const Tensor *scales, get(layer + "_scales"));
    if (scales->dtype != DType::U8 ||
        scales->shape != std::vector<int64_t>{shape[0], shape[1], shape[2]})
      return mistake(*scales, "it is no U8 of the groups of '" + codes.name + "'");
    QuantizedWeight weight;
    int64_t rows = shape[0] * shape[1], groups = shape[2];
    weight.columnGroup = group;
    weight.isTransposed = true;
    weight.matrices = shape[0];
    weight.codes = {.data = codes.data,
                    .rows = rows,
                    .columns = groups * group,
                    .element = Element::Bits,
                    .rowStride = groups * wordsOfGroup,
                    .bits = 4,
                    .values = &twiceE2M1};
    weight.scales = {.data = scales->data,
                     .rows = rows,
                     .columns = groups,
                     .element = Element::HalfE8M0,
                     .rowStride = groups};
    return weight;
  }

  /// The group of each column; null where they are in order, or the file leaves them out (-1).
  Expected<std::shared_ptr<const std::vector<uint32_t>>>
  readOrder(const Tensor &tensor, int64_t columns, int64_t groups, int64_t columnGroup) const {
    if (tensor.dtype != DType::I32 || tensor.shape != std::vector<int64_t>{columns})
      return mistake(tensor,
                     "it is not a whole number for each of " + std::to_string(columns) + " inputs");
    std::vector<uint32_t> groupOf(static_cast<size_t>(columns));
    std::memcpy(groupOf.data(), tensor.data.data(), tensor.data.size());
    bool isAbsent = groupOf.front() == UINT32_MAX, isOrdered = true;
    for (int64_t i = 0; i < columns && !isAbsent; ++i) {
      if (groupOf[i] >= groups)
        return mistake(tensor, "it holds " + std::to_string(static_cast<int32_t>(groupOf[i])) +
                                   ", there are " + std::to_string(groups) + " groups");
      isOrdered &= groupOf[i] == i / columnGroup;
    }
    if (isAbsent || isOrdered)
      return nullptr;
    return std::make_shared<const std::vector<uint32_t>>(std::move(groupOf));
  }

  const QuantizationConfig &config;
  std::vector<Tensor> stored;
  std::string_view source;
  std::map<std::string_view, const Tensor *> byName;
  std::set<const Tensor *> used;
  std::vector<Tensor> joined;
};

} // namespace

Expected<std::vector<Tensor>> joinQuantizedTensors(const QuantizationConfig &config,
                                                   std::vector<Tensor> stored,
                                                   std::string_view source) {
  return Joiner(config, std::move(stored), source).join();
}

} // namespace sinter
