//===- BuildGraph.h - From a ModelSpec to a graph ---------------*- C++ -*-===//
#pragma once

#include "frontends/Spec/ModelSpec.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "runtime/Base/DType.h"
#include "runtime/Weights/IntegerFormat.h"
#include <map>

namespace sinter {

/// How the entries that end in a loss are built.
struct TrainingGraph {
  bool documentMask = false;     ///< an input `first` says which keys a query may see at all
  double dropout = 0;            ///< of embeddings, attention weights and residual branches
  double zLoss = 0;              ///< times the squared log-partition function of each token
  double routerLoss = 0;         ///< times RouterLoss, in a training step
  bool lossScale = false;        ///< an input `loss_scale` multiplies all gradients
  int64_t heldLogits = 16 << 20; ///< logits that a loss holds at a time, if they are 128 rows
};

/// The sizes that a graph is built for.
struct GraphOptions {
  int64_t batch = 1;          ///< slots
  int64_t chunk = 128;        ///< tokens of a slot in one step of `prefill` and `logits`
  int64_t maxSequence = 1024; ///< positions of a slot's KV cache
  /// The positions that will be used, for rotary types whose frequencies depend on the length of
  /// the sequence (Rotary.h); 0: max_sequence.
  int64_t ropeLength = 0;
  /// Of prefill, decode, logits, gram_<layer>, train_step and evaluate.
  std::vector<std::string> entries = {"prefill", "decode"};
  bool penalties = false; ///< prefill and decode take them
  TrainingGraph training;
  std::map<std::string, DType> parameterTypes; ///< of the checkpoint's tensors; F32 where absent
  /// Of the tensors that products read as integers `[out, in]` with scales (not in training).
  std::map<std::string, IntegerFormat> integerFormats;
};

/// The graph of a decoder, with one function an entry:
///
///   prefill  tokens [batch, chunk] -> token [batch], what follows each slot's last valid token
///   decode   tokens [batch, 1]     -> token [batch]
///   logits   tokens [batch, chunk] -> logits [batch, chunk, vocab]
///   gram_3   tokens [batch, chunk] -> gram.<tensor> [in, in], x^T x of all rows that go into the
///            products of layer 3, by the weight of the first product of each such x
///
///   train_step, evaluate  tokens, targets [batch, chunk] -> loss, a number
///
/// The loss is the sum of the targets' negative log-likelihoods, times the input `loss_weight`: one
/// over the number of targets gives their mean. A target outside of the vocabulary is ignored. The
/// routers' loss is added times `routerLoss`, `loss_weight` and the number of tokens. Of
/// train_step, Autodiff makes a whole training step. Parameters of both are in f32.
///
/// The others take `start` [batch] (positions already in each slot's cache) and `count` [batch]
/// (valid tokens of this step), and update the states `k_cache.<layer>` and `v_cache.<layer>`, each
/// [batch, maxSequence, kv heads, head size], or with latent attention `latent_cache.<layer>`
/// [batch, maxSequence, 1, latent size + rotary size]. Layers that use the keys and values of
/// others have none; of those behind the last layer that has them, prefill computes the last valid
/// row of each slot alone. Layers with linear attention have the states `recurrent.<layer>` [batch,
/// value heads, key size, value size] and, of what their convolutions see of the tokens before,
/// `q_window.<layer>`, `k_window.<layer>` and `v_window.<layer>` [batch, width - 1, channels];
/// layers with a convolution `conv_window.<layer>`.
/// prefill and decode draw the token by `temperature`, `top_k`, `top_p`, `min_p` [batch] and `seed`
/// [batch, 2] (SampleOp), of logits l or, with penalties, of those of `penalty_factor` f and
/// `penalty_offset` o [batch, vocab]: max(l, 0) / f + min(l, 0) * f - o. Everything is computed in
/// f32; the Precision phase changes that. Fails where the options cannot be: sizes below 1, a chunk
/// above max_sequence, more positions than a learned embedding has, unknown entries, parameters
/// that are not F32, F16 or BF16.
Expected<mlir::OwningOpRef<mlir::ModuleOp>>
buildGraph(mlir::MLIRContext &context, const ModelSpec &spec, const GraphOptions &options);

} // namespace sinter
