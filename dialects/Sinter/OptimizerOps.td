//===- OptimizerOps.td - Updates of parameters --------------*- tablegen -*-===//
//
// One op updates one parameter with all of its state, in place, so that each is read and written
// once a step. Hyperparameters are attributes; what changes from step to step (learning rate,
// bias corrections, the factor of clipping and unscaling) comes in as scalars.
//
// What is computed is computed in the parameter's element type. State may be held in bf16 beside a
// parameter of f32: it is widened first, and what is computed of it is used for the parameter before
// it is rounded. Momenta are rounded to nearest even. Second moments change by less than half of
// bf16's last place in most steps, which would never be added to them, so they are rounded by
// sinter.stochastic_round: right on average.
//
//===----------------------------------------------------------------------===//
#ifndef SINTER_OPTIMIZER_OPS
#define SINTER_OPTIMIZER_OPS

include "dialects/Sinter/SinterAttributes.td"

/// Runs alone: fused with another update it would be a kernel that no other layer shares.
class Sinter_OptimizerOp<string mnemonic, list<Trait> traits = []>
    : Sinter_ReferenceOp<mnemonic, !listconcat(traits,
        [DeclareOpInterfaceMethods<ComposedOpInterface>,
         DeclareOpInterfaceMethods<InPlaceOpInterface>, Sinter_Shardable])> {
  let hasVerifier = 1;
  let extraClassDefinition = [{
    ::sinter::FusionRole $cppClass::getFusionRole() { return ::sinter::FusionRole::Opaque; }
  }];
}

def AdamWOp : Sinter_OptimizerOp<"adamw", [
    AllTypesMatch<["parameter", "gradient", "next_parameter"]>,
    AllTypesMatch<["m", "v", "next_m", "next_v"]>,
    AllTypesMatch<["scale", "learning_rate", "bias_correction1", "bias_correction2"]>]> {
  let summary = "one step of Adam with decoupled weight decay";
  let description = [{
    Loshchilov, Hutter, "Decoupled weight decay regularization", 2019, algorithm 2. With
    `g = scale * gradient`:

    ```
    m' = beta1 m + (1 - beta1) g
    v' = beta2 v + (1 - beta2) g^2
    p' = p - learning_rate (m'/bias_correction1 / (sqrt(v'/bias_correction2) + eps) + weight_decay p)
    ```

    If scale is not finite, the results are the operands: a step that overflowed changes nothing.
    `cleared`, where it is asked for, is zeros in the gradient's place: an accumulator starts anew.
    Where m and v are of bf16, `random` is the seed and the tag that v' is rounded with.

    C1: scalars have rank 0 and the parameter's element type.
    C2: betas lie in [0, 1), eps and weight_decay are not negative.
    C3: cleared has the gradient's type. C4: m and v have the parameter's type or, of a parameter of
    f32, its shape and bf16. C5: random is two tensors `[2]` where m and v do not have the
    parameter's type, and nothing where they do.

    ```mlir
    %next:3 = sinter.adamw %p, %g, %m, %v, %scale, %rate, %c1, %c2, %seed, %tag
        {beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1}
      : (tensor<8xf32>, tensor<8xf32>, tensor<8xbf16>, tensor<8xbf16>, tensor<f32>, tensor<f32>,
         tensor<f32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>)
      -> (tensor<8xf32>, tensor<8xbf16>, tensor<8xbf16>)
    ```
  }];
  let arguments = (ins Sinter_FloatTensor:$parameter, Sinter_FloatTensor:$gradient,
                       Sinter_FloatTensor:$m, Sinter_FloatTensor:$v, Sinter_FloatTensor:$scale,
                       Sinter_FloatTensor:$learning_rate, Sinter_FloatTensor:$bias_correction1,
                       Sinter_FloatTensor:$bias_correction2,
                       Variadic<Sinter_IndexTensor>:$random, F64Attr:$beta1, F64Attr:$beta2,
                       F64Attr:$eps, F64Attr:$weight_decay);
  let results = (outs Sinter_FloatTensor:$next_parameter, Sinter_FloatTensor:$next_m,
                      Sinter_FloatTensor:$next_v, Optional<Sinter_FloatTensor>:$cleared);
}

def SgdOp : Sinter_OptimizerOp<"sgd", [AttrSizedResultSegments,
    AllTypesMatch<["parameter", "gradient", "next_parameter"]>,
    AllTypesMatch<["scale", "learning_rate"]>]> {
  let summary = "one step of stochastic gradient descent, with momentum if there is a velocity";
  let description = [{
    Sutskever et al., "On the importance of initialization and momentum in deep learning", 2013, as
    PyTorch writes it. With `g = scale * gradient + weight_decay p`:

    ```
    v' = momentum v + g
    p' = p - learning_rate v'                   (g + momentum v' with `nesterov`)
    ```

    Without velocity `p' = p - learning_rate g`. If scale is not finite, the results are the
    operands. `cleared`, where it is asked for, is zeros in the gradient's place.

    C1: scalars have rank 0 and the parameter's element type.
    C2: momentum lies in [0, 1), weight_decay is not negative.
    C3: cleared has the gradient's type. C4: velocity and its next value come together and have the
    parameter's type or, of a parameter of f32, its shape and bf16; momentum and nesterov need
    them.
  }];
  let arguments = (ins Sinter_FloatTensor:$parameter, Sinter_FloatTensor:$gradient,
                       Sinter_FloatTensor:$scale, Sinter_FloatTensor:$learning_rate,
                       Optional<Sinter_FloatTensor>:$velocity, F64Attr:$momentum,
                       UnitAttr:$nesterov, F64Attr:$weight_decay);
  let results = (outs Sinter_FloatTensor:$next_parameter,
                      Optional<Sinter_FloatTensor>:$next_velocity,
                      Optional<Sinter_FloatTensor>:$cleared);
}

def SquareSumOp : Sinter_OptimizerOp<"square_sum"> {
  let summary = "sum over each row of x^2, added to what was summed before";
  let description = [{
    `result[...] = into[...] + sum over i of operand[..., i]^2` (0 without into), the first stage of
    a norm over many tensors: those of equal shape add into one result, so that the number of
    kernels does not grow with the number of layers.

    C1: the result's shape is operand's without its last dimension, of its element type.
    C2: into has the result's type.
  }];
  let arguments = (ins Sinter_FloatTensor:$operand, Optional<Sinter_FloatTensor>:$into);
  let results = (outs Sinter_FloatTensor:$result);
}

def CarryOp : Sinter_OptimizerOp<"carry", [
    AllTypesMatch<["sum", "term", "next_sum", "cleared"]>]> {
  let summary = "adds a term to a sum and clears it";
  let description = [{
    `next_sum = sum + term`, and zeros in the term's place: one gradient buffer's step along the tree of a
    step's microbatches (runtime/Train/GradientTree.h), which reads and writes each once.

    ```mlir
    %next:2 = sinter.carry %sum, %term : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    ```
  }];
  let arguments = (ins Sinter_FloatTensor:$sum, Sinter_FloatTensor:$term);
  let results = (outs Sinter_FloatTensor:$next_sum, Sinter_FloatTensor:$cleared);
  let hasVerifier = 0;
}

#endif // SINTER_OPTIMIZER_OPS
