//===- ModelSpec.h - What a decoder computes, as data -----------*- C++ -*-===//
//
// A ModelSpec says everything that a decoder-only transformer computes and nothing of the family it
// comes from. Families differ in three ways: in the numbers and choices of their config.json, in
// the names of their checkpoint tensors, and in how these are stored (transposed, fused). A mapping
// per family (Families/) turns all three into data, so one builder emits the graph of any of them:
//
//   h = [norm](embedding(tokens) * embeddingScale [+ learned position])
//   for each layer:
//     Pre        h = h + attention(norm(h));            h = h + mlp(norm(h))
//     Output     h = h + norm(attention(h));            h = h + norm(mlp(h))
//     PrePost    h = h + norm(attention(norm(h)));      h = h + norm(mlp(norm(h)))
//     Post       h = norm(h + attention(h));            h = norm(h + mlp(h))
//     parallel   h = h + attention(norm(h)) + mlp(norm(h))     (the norms may be one and the same)
//   logits = softcap(head([norm](h) * logitScale))
//
// where what a block adds to h is scaled by residualScale. In layers with experts, of which the
// router gives each token the k likeliest,
//
//   mlp(x) = sum over the chosen e of p[e] * down_e(activation(gate_e(x)) * up_e(x))
//            [+ [sigmoid(sharedGate(x)) *] the shared expert's mlp(x)]
//
// (where experts have a width of their own, output(the sum for input(x)) in the sum's place)
// with p the softmax, or the sigmoids, of router(x), normalized over the chosen ones if the model
// says so (RoutingSpec). With latent attention (LatentAttentionSpec) keys and values are products
// of a vector a token that is shorter than all of them, and so is what a cache keeps. With linear
// attention (LinearAttentionSpec) a layer keeps a matrix a head, however many tokens there were;
// with a convolution in attention's place (ConvolutionSpec) the last few tokens.
// Where layers have inputs of their own (LayerInputsSpec), each ends with
//
//   h = h + norm(projection(activation(gate(h)) * input));   h = scale * h
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontends/Spec/Rotary.h"
#include "runtime/Base/Error.h"
#include "runtime/Base/Initializer.h"
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

enum class Activation { Gelu, GeluTanh, Silu, Relu, Relu2, Xielu };
enum class NormKind { LayerNorm, RmsNorm };
enum class NormPlace { Pre, Output, PrePost, Post };
enum class PositionKind { None, Learned, Rotary, Alibi };
/// What lets a layer's tokens see others.
enum class MixerKind { Attention, LinearAttention, StateSpace, Convolution };

/// Where the rows of a logical weight [out, in] (or of a bias [out]) lie in a checkpoint tensor.
/// The tensor's output dimension, of `tensorOut` entries, may be shared by several weights: entry
/// i of this one is entry (i / count) * stride + begin + i % count of the tensor.
///
///   whole                       groups 1, begin 0, count out
///   concatenated (Phi-3, GPT-2) groups 1, begin after the weights before it
///   per head (GPT-NeoX)         groups heads, count head_dim, stride 3 * head_dim
///   per expert (Granite-MoE)    matrices experts, begin after the experts before it
struct WeightRef {
  enum class Layout {
    OutIn, ///< [out, in], torch's Linear
    InOut, ///< [in, out], GPT-2's Conv1D
  };
  std::string tensor = {};
  Layout layout = Layout::OutIn;
  int64_t tensorOut = 0;
  int64_t begin = 0;
  int64_t count = 0;
  int64_t groups = 1;
  int64_t stride = 0;
  /// The tensor is [matrices, tensorOut / matrices, in], or the last two the other way round, and
  /// a bias [matrices, tensorOut / matrices]; 0: a matrix, a vector.
  int64_t matrices = 0;

  bool isWhole() const { return groups == 1 && begin == 0 && count == tensorOut; }
};

/// y[out] = x[in] . weight [+ bias].
struct LinearSpec {
  std::string name; ///< within its layer, for locations: "self_attn.q_proj"
  int64_t in = 0;
  int64_t out = 0;
  WeightRef weight;
  std::optional<WeightRef> bias = {};
  double scale = 1; ///< of what it gives
};

/// A norm's parameters; kind, epsilon and unit offset are the model's.
struct NormSpec {
  std::string name;        ///< within its layer, for locations: "input_layernorm"
  std::string weight = {}; ///< the tensor, [size], or empty: a factor of 1
  std::string bias = {};   ///< the tensor, [size], or empty
  int64_t size = 0;
  int64_t heads = 0; ///< that have weights of their own: `weight` is [heads, size]; 0: all have one
  std::vector<std::string> weightsOfHeads = {}; ///< tensors [size] of a head each, if not in one
};

/// How a router chooses, with s = softmax(router(x)) or sigmoid(router(x)): of s + bias the k
/// largest, in groups of experts the k largest of the best groups; their weights are those of s.
struct RoutingSpec {
  enum class GroupScore { Largest, TwoLargest }; ///< of s + bias; the sum of two
  bool usesSigmoid = false;
  bool normalizes = false;  ///< the chosen ones' weights add up to 1 ...
  double sumOffset = 1e-20; ///< of sigmoids, is added to the sum that they are divided by
  double scale = 1;         ///< ... or to this
  bool hasBias = false;
  int64_t groups = 1, groupsPerToken = 1;
  GroupScore groupScore = GroupScore::Largest;
  bool scalesInput = false; ///< an expert's input is scaled by its weight, not what it gives
};

/// A layer's experts, of which each token goes through a few.
struct ExpertsSpec {
  struct Expert {
    LinearSpec gate, up, down; ///< `gate` is empty where the model's MLPs have none

    /// Those that there are.
    std::vector<const LinearSpec *> getLinears() const;
  };
  LinearSpec router; ///< a number an expert
  /// The tensor where RoutingSpec has one, which is not trained: [experts], or [1, experts].
  std::string routerBias;
  bool biasIsRow = false;
  std::vector<Expert> experts;
  std::string scales;                   ///< the tensor [experts] of a factor an expert, or empty
  std::optional<LinearSpec> sharedGate; ///< one number, the factor of the shared expert
  /// To the experts' own width, and of what all that were chosen give back to the layer's.
  std::optional<LinearSpec> input, output;
  /// Where there are these, router and experts take what their block begins with, each by a norm of
  /// its own, and norms are behind experts and the shared one. The router's is an RMS norm whose
  /// factor is the weight / sqrt(hidden size).
  std::optional<NormSpec> routerNorm, norm, postNorm, sharedPostNorm;

  /// The shape of the router's bias among `count` experts.
  std::vector<int64_t> getBiasShape(int64_t count) const {
    return biasIsRow ? std::vector<int64_t>{1, count} : std::vector<int64_t>{count};
  }
};

/// Keys and values of all heads as products of one vector a token (DeepSeek-V2, 2024, section 2.1):
///
///   c, r = norm(down_c(x)), rotary(down_r(x))          c: [latentSize], r: [rotarySize]
///   k_h = [up_k,h(c), r],  v_h = up_v,h(c)             of each head h
///   q_h = [plain_h, rotary(turned_h)]                  of query(x), or query(norm(queryDown(x)))
///
/// A cache keeps c and r. A head's scores are (up_k,h^T plain_h) . c + turned_h . r, and its result
/// up_v,h of the weighted sum of c: nothing is made of a cached row.
struct LatentAttentionSpec {
  std::optional<LinearSpec> queryDown;
  std::optional<NormSpec> queryDownNorm;
  LinearSpec down; ///< to c and r
  NormSpec latentNorm;
  LinearSpec up; ///< of each head its plain part of the key, then its value
};

/// What a layer takes of its own input (LayerInputsSpec): gate to, and projection from, its size.
struct LayerInputSpec {
  LinearSpec gate, projection;
  NormSpec norm;
};

/// A vector of `size` elements a token and layer (PLE, per-layer embeddings, of Gemma 3n): with e
/// the embedding of the token, of d elements, and t its row of a second table,
///
///   input = (norm(projection(e) / sqrt(d)) + sqrt(size) * t) / sqrt(2)
struct LayerInputsSpec {
  int64_t size = 0;
  int64_t rows = 0;          ///< of the table, at least the vocabulary's
  std::string embedding;     ///< the tensor [rows, layers * size]
  std::string embeddingName; ///< for locations
  LinearSpec projection;     ///< to layers * size
  NormSpec norm;             ///< of each layer's part
};

/// Linear attention by the gated delta rule (Yang et al., "Gated Delta Networks", 2025). A layer
/// has heads of keys and, as many or a multiple of them, heads of values:
///
///   q, k, v = activation(convolution(query(x), key(x), value(x)))     each channel by itself
///   q, k    = q / |q|, k / |k|                                        of each head
///   y       = linear_attention(q, k, v, decay, beta)                  sinter.linear_attention
///     decay = -exp(logDecay) * softplus(decay(x) + decayBias)         a number a value head
///     beta  = sigmoid(beta(x))
///   mixed   = norm(y) * silu(gate(x))                                 of each value head
struct LinearAttentionSpec {
  LinearSpec query, key, value, gate, beta, decay;
  /// Tensors: [channels, 1, width], of query's, key's and value's channels; numbers of each head.
  std::string convolution, logDecay, decayBias;
  NormSpec norm; ///< of a value head; its factor is the weight, whatever the model's others are
};

/// A state space (Mamba-2: Dao and Gu, "Transformers are SSMs", 2024). A layer has heads of values
/// and, as many or a part of them, groups that share keys (B in the paper) and queries (C):
///
///   v, k, q = silu(convolution(value(x), key(x), query(x)))           each channel by itself
///   step    = softplus(step(x) + stepBias), within the model's limits, a number a head
///   y       = linear_attention(q, k, v, -exp(logDecay) step, step)    which only adds
///   mixed   = output(norm((y + skip v) * silu(gate(x))))              of each group's values
struct StateSpaceSpec {
  std::string path; ///< within its layer, for locations: "mamba"
  LinearSpec gate, value, key, query, step, output;
  /// Tensors: [channels, 1, width] and [channels], or empty, of value's, key's and query's
  /// channels; numbers of each head.
  std::string convolution, convolutionBias, logDecay, stepBias, skip;
  std::optional<NormSpec> norm; ///< of all values
  bool normsBeforeGate = false; ///< mixed = norm(y + skip v) * silu(gate(x))
};

/// A short convolution between two gates (LFM2: Liquid AI, "LFM2 Technical Report", 2025):
///
///   y = output(gate(x)) * convolution(input(x) * value(x)))         each channel by itself
struct ConvolutionSpec {
  LinearSpec input, gate, value;
  std::string weight; ///< the tensor [channels, 1, width]
  std::string bias;   ///< the tensor [channels], or empty
};

/// The numbers of an activation that is trained (Huang et al., "Deriving Activation Functions Using
/// Integration", 2024): with p = softplus(positive), n = beta + softplus(negative),
///
///   xielu(x) = p x^2 + beta x                         where x > 0
///            = n (e^x - 1 - x) + beta x               elsewhere
struct XieluSpec {
  std::string positive, negative; ///< tensors [1]
  static constexpr double beta = 0.5;
};

struct LayerSpec {
  std::string path;           ///< "model.layers.3", for locations
  int64_t parameterGroup = 0; ///< layers of one group use the same tensors
  int64_t window = 0;         ///< a query sees itself and the window - 1 keys before it; 0: all
  double queryScale = 1;      ///< scores are queryScale * (q . k)
  /// Which of the model's rotaries turns Q and K; nothing: the layer knows no positions.
  std::optional<size_t> rotary = 0;
  int64_t headDim = 0, kvHeads = 0, mlpSize = 0; ///< 0: the model's
  /// The earlier layer whose keys and values are used, which alone has a cache; `key` and `value`
  /// are empty then.
  std::optional<size_t> cacheOf;
  bool valuesAreKeys = false; ///< before norms and positions; `value` is empty then

  std::optional<NormSpec> attentionNorm;     ///< before attention (Pre, PrePost) ...
  std::optional<NormSpec> attentionPostNorm; ///< ... and after it (Output, PrePost, Post)
  LinearSpec query, key, value, output;
  /// The tensor of a score a head that takes a part of the weights and gives nothing, or empty.
  std::string sinks;
  std::optional<LatentAttentionSpec> latent;  ///< in place of key and value
  MixerKind mixer = MixerKind::Attention;     ///< in place of query, key and value ...
  std::optional<LinearAttentionSpec> linear;  ///< ... linear attention
  std::optional<StateSpaceSpec> stateSpace;   ///< ... a state space, or one beside attention
  std::optional<ConvolutionSpec> convolution; ///< ... or a convolution
  std::optional<LinearSpec> attentionGate;    ///< what heads give is scaled by its sigmoid
  /// Norms before positions, of the model's headNormKind: over each head, or over all of them where
  /// that is their size.
  std::optional<NormSpec> queryNorm, keyNorm;
  std::optional<NormSpec> valueNorm; ///< likewise an RMS norm over each head
  std::optional<NormSpec> mlpNorm;   ///< empty where parallel residuals share one norm
  std::optional<NormSpec> mlpPostNorm;
  std::optional<LinearSpec> gate; ///< mlp(x) = down(activation(gate(x)) * up(x)), or
  LinearSpec up, down;            ///< mlp(x) = down(activation(up(x)))
  std::optional<XieluSpec> xielu; ///< of the activation, where it is that
  bool endsWithMixer = false;     ///< has neither an MLP nor experts
  bool isSparse = false;          ///< has experts; gate, up and down are the shared one's, if any
  std::optional<ExpertsSpec> experts;
  std::optional<LayerInputSpec> input;
  std::string scale; ///< the tensor [1] by which all is multiplied, which is not trained, or empty

  bool isLinear() const { return mixer == MixerKind::LinearAttention; }
  bool isStateSpace() const { return mixer == MixerKind::StateSpace; }
  bool isConvolution() const { return mixer == MixerKind::Convolution; }

  /// Whether there are up and down: layers with experts may have none beside them.
  bool hasMlp() const { return up.out != 0; }

  /// What every token goes through: all but experts, in the order of use.
  std::vector<const LinearSpec *> getLinears() const;
};

/// A checkpoint tensor that a model needs.
struct ParameterInfo {
  std::string name;
  std::vector<int64_t> shape;
  Initializer initializer;
  bool isFixed = false; ///< training leaves it as it is
};

/// The number of elements of some tensors.
uint64_t countElements(const std::vector<ParameterInfo> &parameters);

/// Factors of what products give, by their places in a layer (Falcon-H1).
struct ProductScales {
  double query = 1, key = 1, value = 1, attention = 1, mlpGate = 1, mlp = 1;
  double gate = 1, states = 1, keys = 1, queries = 1, steps = 1,
         stateSpace = 1; ///< of state spaces
};

struct ModelSpec {
  std::string modelType; ///< for messages and metadata only: nothing may depend on it
  int64_t vocabSize = 0;
  int64_t hiddenSize = 0;
  int64_t heads = 0;
  int64_t kvHeads = 0;
  int64_t headDim = 0;
  int64_t mlpSize = 0;
  /// Latent attention: of c, of r, and of a head's value; 0: there is none. headDim is that of q.
  int64_t latentSize = 0, rotarySize = 0, valueSize = 0;
  int64_t queryLatentSize = 0; ///< 0: queries are products of x
  double latentNormEps = 1e-6; ///< of the norms of latent vectors
  /// Linear attention and state spaces: heads, of keys and queries (groups) and of values, their
  /// widths, and the tokens that a convolution sees.
  int64_t linearKeyHeads = 0, linearValueHeads = 0, linearKeySize = 0, linearValueSize = 0;
  int64_t convolutionWidth = 0; ///< ... or a convolution that is the mixer
  bool convolutionBias = false; ///< of the latter, and of its products, and of state spaces
  bool stateSpaceBias = false;  ///< of state spaces' products
  bool stateSpaceNorm = true;
  bool normsBeforeGate = false;              ///< in state spaces
  double leastStep = 0, mostStep = HUGE_VAL; ///< of state spaces
  /// Of Qwen3-Next: Q, K and V are one tensor and the gate another, all heads of each together.
  bool splitsProjections = false;
  bool gatesHeads = false; ///< layers of the spec's own form have an attentionGate
  int64_t maxPositions = 0;

  Activation activation = Activation::Silu;
  bool gatedMlp = true;
  /// Where mlpLimit is not 0, gate and up are clamped, gate only from above, and
  /// mlp(x) = down((clamp(up(x)) + 1) * g * sigmoid(gateSlope * g)), g = clamp(gate(x)).
  double mlpLimit = 0, gateSlope = 1;

  int64_t expertCount = 0, expertsPerToken = 0, expertSize = 0; ///< of layers that are sparse
  int64_t expertWidth = 0; ///< of what experts take and give; 0: hiddenSize
  RoutingSpec routing;
  bool stacksExperts = false;   ///< all experts' gates are one tensor, and ups, and downs
  int64_t sharedExpertSize = 0; ///< 0: none
  bool sharedExpertGate = false;
  bool expertNorms = false, routerNorm = false, expertScales = false; ///< of ExpertsSpec
  double routerLoss =
      0; ///< what training adds as many times of a loss that spreads tokens over experts

  NormKind normKind = NormKind::RmsNorm;
  NormPlace normPlace = NormPlace::Pre;
  double normEps = 1e-5;
  bool normUnitOffset = false; ///< the norm's factor is 1 + weight
  bool normWeights = true;     ///< false: it is 1
  bool normsEmbedding = false; ///< the layers begin with a norm of the embedding
  bool parallelResidual = false;
  bool sharedParallelNorm = false;           ///< one norm feeds attention and MLP
  bool valueNorm = false;                    ///< RMS norms of V, without weights
  bool queryKeyNorm = false;                 ///< norms of Q and K ...
  NormKind headNormKind = NormKind::RmsNorm; ///< ... of this kind, with `normEps`
  bool headNormWeights = false;              ///< ... and a weight a head
  bool wholeQueryKeyNorm = false;            ///< ... over all heads instead of each
  bool normsRotatedHeads = false;            ///< ... behind their rotation instead of before it

  bool qkvBias = false, outputBias = false, mlpBias = false, headBias = false;

  PositionKind positions = PositionKind::Rotary;
  std::vector<RotarySpec> rotaries; ///< the kinds of them that layers have, where Rotary
  std::string positionEmbedding;  ///< tensor [maxPositions + positionOffset, hidden], where Learned
  int64_t positionOffset = 0;     ///< row of position 0
  double alibiExponent = 8;       ///< of a half: the slope of the last head, where Alibi
  std::vector<float> alibiSlopes; ///< of the heads, where Alibi

  double embeddingScale = 1, residualScale = 1, logitScale = 1;
  ProductScales productScales;
  /// Of embeddings of another width than layers have, and back to it before the head.
  int64_t embeddingSize = 0; ///< 0: hiddenSize
  std::optional<LinearSpec> embeddingProjection, headProjection;
  bool layerScales = false;    ///< layers have scales
  bool attentionSinks = false; ///< a score a head more, of no key
  double clipQkv = 0; ///< Q, K and V, normed, stay within [-clipQkv, clipQkv]; 0: they do not
  int64_t attentionChunk = 0;  ///< tokens beyond which some layers do not see all; 0: none
  double attentionSoftCap = 0; ///< scores = cap * tanh(scores / cap); 0: none
  double logitSoftCap = 0;     ///< the same on logits
  bool tiedEmbeddings = false; ///< head.weight is the embedding

  std::string embedding;                            ///< tensor [vocab, hidden]
  std::string embeddingName, positionEmbeddingName; ///< for locations: "model.embed_tokens"
  std::optional<NormSpec> embeddingNorm, finalNorm;
  std::optional<LayerInputsSpec> layerInputs;
  LinearSpec head;
  std::vector<LayerSpec> layers;

  double initializerRange = 0.02;
  std::vector<int64_t> bosIds, eosIds;
  /// Keys of generation_config.json that change even a greedy text, and that nothing looks at, with
  /// commas; empty: none.
  std::string unusedSampling;
  std::optional<int64_t> paddingId; ///< the token whose embedding training leaves alone
  /// Tensors that checkpoints of the family carry and that are not parameters: name endings.
  std::vector<std::string> surplusEndings;
  /// The same, whole layers: name beginnings.
  std::vector<std::string> surplusBeginnings;

  int64_t getEmbeddingSize() const { return embeddingSize ? embeddingSize : hiddenSize; }

  /// The sizes of a layer.
  int64_t getHeadDim(const LayerSpec &layer) const {
    return layer.headDim ? layer.headDim : headDim;
  }
  int64_t getKvHeads(const LayerSpec &layer) const {
    return layer.kvHeads ? layer.kvHeads : kvHeads;
  }
  int64_t getMlpSize(const LayerSpec &layer) const {
    return layer.mlpSize ? layer.mlpSize : mlpSize;
  }

  /// Every checkpoint tensor that the model needs, once, in the order of use, with its shape.
  std::vector<ParameterInfo> getParameters() const;

  /// The number of elements of all parameters.
  int64_t getParameterCount() const;

  /// True for the names of tensors that a checkpoint may hold beyond parameters(): causal masks,
  /// inverse frequencies, the head of a model that ties it.
  bool isKnownSurplus(std::string_view name) const;

  /// True where any layer has experts.
  bool hasExperts() const;

  /// True where any layer has linear attention or a state space.
  bool hasLinearAttention() const;

  /// True where any layer sees less than everything before it.
  bool hasSlidingWindow() const;

  /// The rotary positions whose frequencies depend on how long a sequence is; null where none do.
  const RotarySpec *findStretchedRotary() const;
};

/// Reads a config.json, of a model of several parts its decoder's; `sourceName` names it in errors.
/// Fails, with the key named, on an unknown `model_type`, a key that is missing, of the wrong type,
/// out of range or not known to be harmless, and on sizes that cannot be.
Expected<ModelSpec> parseModelSpec(std::string_view jsonText, std::string_view sourceName);

/// The keys of a config.json that its family reads, without those that are null, and their values
/// as JSON: two descriptions with the same ones are of one model. @pre parseModelSpec accepts the
/// text
std::map<std::string, std::string> listModelKeys(std::string_view jsonText);

/// The text of a directory's `config.json`, of the file itself where `path` is one, or what a GGUF
/// file has in its place; of a model of several parts, that of its decoder.
Expected<std::string> readModelConfig(const std::filesystem::path &path);

/// Reads what readModelConfig() gives and, of a directory, the end-of-sequence ids of a
/// `generation_config.json` beside it.
Expected<ModelSpec> loadModelSpec(const std::filesystem::path &path);

/// The model types that parseModelSpec accepts, sorted.
std::vector<std::string> knownModelTypes();

/// The slope of each head: scores += slope * (key position - query position). As in the ALiBi
/// paper for powers of two; otherwise those of the power of two below, then every second one of
/// the power above.
std::vector<float> getAlibiSlopes(int64_t heads);

} // namespace sinter
