//===- Passes.td - From a graph to the program of one rank --*- tablegen -*-===//
#ifndef SINTER_SHARDING_PASSES
#define SINTER_SHARDING_PASSES

include "mlir/Pass/PassBase.td"

def SinkRowSelectionPass : Pass<"sinter-sink-row-selection", "mlir::ModuleOp"> {
  let summary = "selects rows before work is done on them";
  let description = [{
    After it no `sinter.last_row` reads the result of an op that works row by row and that nothing
    else uses: the selection is moved to that op's operands, so that the last norm, the last MLP
    and the logits' product run on one row a slot. Of a chunk of one row the selection is a reshape.

    It comes before anything is split over ranks: how many rows a product has decides in which order
    its sums are (kManyRows), which a part has to keep.

    ```mlir
    func.func @prefill(%x: tensor<1x4x8xf32>, %w: tensor<8xf32>, %count: tensor<1xi32>) -> tensor<1x8xf32>
        attributes {sinter.entry} {
      %0 = sinter.rms_norm %x, %w {eps = 1.0e-5} : (tensor<1x4x8xf32>, tensor<8xf32>) -> tensor<1x4x8xf32>
      %1 = sinter.last_row %0, %count : (tensor<1x4x8xf32>, tensor<1xi32>) -> tensor<1x8xf32>
      return %1 : tensor<1x8xf32>
    }
    // =>
    func.func @prefill(%x: tensor<1x4x8xf32>, %w: tensor<8xf32>, %count: tensor<1xi32>) -> tensor<1x8xf32>
        attributes {sinter.entry} {
      %0 = sinter.last_row %x, %count : (tensor<1x4x8xf32>, tensor<1xi32>) -> tensor<1x8xf32>
      %1 = sinter.rms_norm %0, %w {eps = 1.0e-5} : (tensor<1x8xf32>, tensor<8xf32>) -> tensor<1x8xf32>
      return %1 : tensor<1x8xf32>
    }
    ```
  }];
}

def SplitExpertsPass : Pass<"sinter-split-experts", "mlir::ModuleOp"> {
  let summary = "makes parts of experts' matrices operands of products of their own";
  let description = [{
    For a grid along which matrices are split by columns. What a grouped product multiplies by is then
    an expert's matrix each, `[1, n, k]`, in a stack of those of all experts, of which a rank can have
    some of the n columns. A product whose columns are read in parts, as those of gate and up, is one
    for each of them, where the stacks are apart, or the parts divide over the ranks; so is what makes
    the gradients of both. Every number is computed as before.

    ```mlir
    module attributes {sinter.grid = #sinter.grid<tensor = 2>} {
      func.func @logits(%x: tensor<4x8xf32> {sinter.input = "x"}, %o: tensor<2xi32> {sinter.input = "o"},
                        %g: tensor<6x8xf32> {sinter.parameter = "g"}, %u: tensor<6x8xf32> {sinter.parameter = "u"})
          -> (tensor<4x6xf32> {sinter.output = "g"}, tensor<4x6xf32> {sinter.output = "u"})
          attributes {sinter.entry} {
        %0 = sinter.concat %g, %u {dim = 0 : i64} : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<12x8xf32>
        %1 = sinter.reshape %0 : (tensor<12x8xf32>) -> tensor<1x12x8xf32>
        %2 = sinter.grouped_matmul %x, %1, %o {transpose_rhs}
          : (tensor<4x8xf32>, tensor<1x12x8xf32>, tensor<2xi32>) -> tensor<4x12xf32>
        %3 = sinter.slice %2 {offsets = array<i64: 0, 0>} : (tensor<4x12xf32>) -> tensor<4x6xf32>
        %4 = sinter.slice %2 {offsets = array<i64: 0, 6>} : (tensor<4x12xf32>) -> tensor<4x6xf32>
        return %3, %4 : tensor<4x6xf32>, tensor<4x6xf32>
      }
    }
    // =>
    ...
        %0 = sinter.reshape %g : (tensor<6x8xf32>) -> tensor<1x6x8xf32>
        %1 = sinter.reshape %u : (tensor<6x8xf32>) -> tensor<1x6x8xf32>
        %2 = sinter.concat %0 {dim = 0 : i64} : (tensor<1x6x8xf32>) -> tensor<1x6x8xf32>
        %3 = sinter.concat %1 {dim = 0 : i64} : (tensor<1x6x8xf32>) -> tensor<1x6x8xf32>
        %4 = sinter.grouped_matmul %x, %2, %o {transpose_rhs}
          : (tensor<4x8xf32>, tensor<1x6x8xf32>, tensor<2xi32>) -> tensor<4x6xf32>
        %5 = sinter.grouped_matmul %x, %3, %o {transpose_rhs}
          : (tensor<4x8xf32>, tensor<1x6x8xf32>, tensor<2xi32>) -> tensor<4x6xf32>
        return %4, %5 : tensor<4x6xf32>, tensor<4x6xf32>
    ...
    ```
  }];
  let dependentDialects = ["sinter::SinterDialect"];
}

def SplitFusedPass : Pass<"sinter-split-fused", "mlir::ModuleOp"> {
  let summary = "makes the parts of fused matrices states of their own";
  let description = [{
    For a grid along which matrices are split by columns. A trained matrix that the forward pass reads
    only in parts that lie side by side along one dimension, each of which products multiply by,
    as queries, keys and values, becomes a state for each part, and so does what an entry has of its
    shape: the gradient, what the optimizer keeps. Each says where it lies in the tensor that
    checkpoints have (`sinter.box`). A part is then split by its own columns, heads of which the
    fused matrix has in several places.

    Ops whose loops are all independent compute on the parts, all others on the parts put together
    (`sinter.concat`): every number is computed as before. A matrix with a part that does not divide
    over the ranks stays as it is.

    ```mlir
    module attributes {sinter.grid = #sinter.grid<tensor = 2>} {
      func.func @evaluate(%x: tensor<4x8xf32> {sinter.input = "tokens"},
                          %w: tensor<8x6xf32> {sinter.role = #sinter.role<parameter>, sinter.state = "w"})
          -> (tensor<4x2xf32> {sinter.output = "q"}, tensor<4x4xf32> {sinter.output = "k"})
          attributes {sinter.entry} {
        %0 = sinter.slice %w {offsets = array<i64: 0, 0>} : (tensor<8x6xf32>) -> tensor<8x2xf32>
        %1 = sinter.slice %w {offsets = array<i64: 0, 2>} : (tensor<8x6xf32>) -> tensor<8x4xf32>
        %2 = sinter.matmul %x, %0 : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
        %3 = sinter.matmul %x, %1 : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
        return %2, %3 : tensor<4x2xf32>, tensor<4x4xf32>
      }
    }
    // =>
    module attributes {sinter.grid = #sinter.grid<tensor = 2>} {
      func.func @evaluate(%x: tensor<4x8xf32> {sinter.input = "tokens"},
                          %q: tensor<8x2xf32> {sinter.box = #sinter.box<"w", tensor<8x6xf32>, [0, 0]>,
                                               sinter.role = #sinter.role<parameter>, sinter.state = "w[0:8, 0:2]"},
                          %k: tensor<8x4xf32> {sinter.box = #sinter.box<"w", tensor<8x6xf32>, [0, 2]>,
                                               sinter.role = #sinter.role<parameter>, sinter.state = "w[0:8, 2:6]"})
          -> (tensor<4x2xf32> {sinter.output = "q"}, tensor<4x4xf32> {sinter.output = "k"})
          attributes {sinter.entry} {
        %0 = sinter.matmul %x, %q : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
        %1 = sinter.matmul %x, %k : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
        return %0, %1 : tensor<4x2xf32>, tensor<4x4xf32>
      }
    }
    ```
  }];
  let dependentDialects = ["sinter::SinterDialect"];
}

def SeedShardingsPass : Pass<"sinter-seed-shardings", "mlir::ModuleOp"> {
  let summary = "says which arguments and results of entries are split over the grid";
  let description = [{
    After it arguments and results that are to be split have a `sinter.sharding`, unless a person gave
    them one, and other values a `sinter.shard`, which a person may write, too.

    Along `data`: an entry that reads tokens computes on its own microbatches (`sinter.manual`); its
    gradients are terms of a sum over ranks, which an entry that has nothing else only adds; what
    `@accumulate_last` leaves for `@update` is that sum, and a remark says what hides its exchange. With
    `zero=1` what an optimizer keeps is split by rows, with `zero=2` also the gradients, which are
    summed over ranks as soon as they are there, with `zero=3` the matrices among the parameters, too,
    of which a rank gathers what it needs. Vectors are whole: they are next to no memory, and each
    would be gathered twice a microbatch.

    Along `tensor`: a matrix that products read, or each of experts', is split by the columns of their
    results, with the scales and minima of these, by rows where it is a table that is looked up in,
    too, and a KV cache or a recurrent state by heads, where they divide. So it is where a formula of
    weights alone stands between, as one that rounds them; of a parameter that is several matrices it
    is these that are split.

    Along `context`: the tokens of a sequence. Parameters are whole; the gradient of a matrix that is
    whole, and what an optimizer keeps of it, are split by the dimension that it can be made in parts
    of, along `tensor`, too.

    Along `tensor.rows` and `tensor.columns`, a grid of both: columns as along `tensor`, rows of what
    products compute, the sequences of a batch or the tokens of one, along the other. Matrices are
    split along both where they divide. Along `tensor.depth` rows, too, and matrices are whole.

    ```mlir
    module attributes {sinter.grid = #sinter.grid<data = 2>} {
      func.func @update(%g: tensor<4x8xf32> {sinter.state = "gradient.w", sinter.role = #sinter.role<gradient>})
          -> (tensor<4x8xf32> {sinter.output = "g"}) attributes {sinter.entry} {
        return %g : tensor<4x8xf32>
      }
    }
    // =>
    module attributes {sinter.grid = #sinter.grid<data = 2>} {
      func.func @update(%g: tensor<4x8xf32> {sinter.state = "gradient.w", sinter.role = #sinter.role<gradient>,
                                             sinter.sharding = #sinter.sharding<[[], []] unreduced ["data"]>})
          -> (tensor<4x8xf32> {sinter.output = "g"}) attributes {sinter.entry} {
        return %g : tensor<4x8xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"zero", "zero", "int64_t", /*default=*/"0",
           "what is split along the axis data: 1 the optimizer's states, 2 gradients, 3 parameters">,
  ];
}

def PartitionPass : Pass<"sinter-partition", "mlir::ModuleOp"> {
  let summary = "makes the program of one rank";
  let description = [{
    After it an argument or a result with a `sinter.sharding` has the type of a rank's part, and
    `sinter.whole` is that of all of it. Every op computes on parts where its loops allow (LoopNest.h):
    an independent loop is split along the axes that an operand is split along, or along those that
    cost least (AssignLoops.h); a loop that reduces, or that is needed whole, is not, so that every
    number is computed by one rank in the order of one device; but for the rows of a table in which a
    lookup chooses one, whose terms are all -0.0, or the integer 0, but one. Between them collectives move parts
    (Resharding.h): a split operand is exchanged or gathered where it is needed otherwise, a whole one
    is sliced where others are split, and terms of a sum are exchanged and added in the order of the
    tree (Passes.h). An op whose numbers follow from where an element stands is told so
    (`sinter.dropout`'s `whole`, a `start`). A `sinter.shard` is obeyed, and gone without a grid.

    Along a manual axis (`sinter.manual`) every rank computes on data of its own. What it returns for a
    result that is not `unreduced` there is a term of the sum over ranks; where that is added to a state,
    the sum is made first, and added to the state's part. A part of an argument is gathered for the
    forward and again for the backward pass.

    A tensor that does not divide evenly is padded with zeros before it is split. Where ranks have to
    gather a tensor because an op has no loop that may be split, and that leaves more than a part of
    it, a warning says so, or an error. Where elements belong together, as the columns that share a
    scale, and do not divide, every rank computes all, which a remark says.

    ```mlir
    module attributes {sinter.grid = #sinter.grid<data = 2>} {
      func.func @update(%w: tensor<4x8xf32> {sinter.state = "w", sinter.sharding = #sinter.sharding<[["data"], []]>})
          -> (tensor<4x8xf32> {sinter.output = "w"}) attributes {sinter.entry} {
        return %w : tensor<4x8xf32>
      }
    }
    // =>
    module attributes {sinter.grid = #sinter.grid<data = 2>} {
      func.func @update(%w: tensor<2x8xf32> {sinter.state = "w", sinter.whole = tensor<4x8xf32>,
                                             sinter.sharding = #sinter.sharding<[["data"], []]>})
          -> (tensor<4x8xf32> {sinter.output = "w"}) attributes {sinter.entry} {
        %0 = sinter.all_gather ["data"] %w : (tensor<2x8xf32>) -> tensor<2x2x8xf32>
        %1 = sinter.reshape %0 : (tensor<2x2x8xf32>) -> tensor<4x8xf32>
        return %1 : tensor<4x8xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"library", "library", "bool", /*default=*/"false",
           "sums over ranks are the library's, in an order of its own">,
    Option<"forbidGather", "forbid-gather", "bool", /*default=*/"false",
           "what every rank has to gather because an op cannot be split is an error">,
  ];
  let dependentDialects = ["sinter::SinterDialect"];
}

def SplitStagesPass : Pass<"sinter-split-stages", "mlir::ModuleOp"> {
  let summary = "cuts entries into the stages of a pipeline";
  let description = [{
    For a grid with an axis `pipeline`. After it an entry `f` is several: `f.S.forward` and
    `f.S.backward` for each stage S, whatever of it the stage computes while values go from the first stage
    to the last, and when they come back. All that the last stage computes is forward.

    Stages are layers that follow each other, with parts of equal predicted time, or as `layers` says.
    An op that uses a state is of the stage that has it, others are where what they use is made; what
    broadcasts a value is where that is used. A
    parameter that several stages read is a state of the first of them, the others have a copy, which an
    entry `share` brings up to date.

    Of inference, whose weights are no states, each stage is given all inputs of an entry, has the caches
    of its layers and reads the weights that it needs; what the last stage puts out, the others receive and
    put out, too, in their `f.S.backward`.

    What one entry makes and another one uses is in flight (`sinter.flight`); what another stage makes is
    received (`sinter.receive`), which the entry that makes it sends (`sinter.send`). See
    Pipelining.h.

    ```mlir
    module attributes {sinter.grid = #sinter.grid<pipeline = 2>} {
      func.func @evaluate(%x: tensor<4xf32> {sinter.input = "tokens"},
                          %v: tensor<4xf32> {sinter.state = "v", sinter.role = #sinter.role<parameter>},
                          %w: tensor<4xf32> {sinter.state = "w", sinter.role = #sinter.role<parameter>})
          -> (tensor<4xf32> {sinter.output = "loss"}) attributes {sinter.entry} {
        %0 = sinter.mul %x, %v : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("layer.0")
        %1 = sinter.mul %0, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("layer.1")
        return %1 : tensor<4xf32>
      }
    }
    // =>
    module attributes {sinter.grid = #sinter.grid<pipeline = 2>, sinter.pipeline_slots = array<i64: 2, 1>} {
      func.func @evaluate.0.forward(%x: tensor<4xf32> {sinter.input = "tokens"},
                                    %v: tensor<4xf32> {sinter.role = #sinter.role<parameter>, sinter.state = "v"})
          -> (tensor<4xf32> {sinter.flight = "evaluate.0", sinter.send = array<i64: 1, 0>})
          attributes {sinter.entry, sinter.pipeline_stage = 0 : i64} {
        %0 = sinter.mul %x, %v : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
        return %0 : tensor<4xf32>
      }
      func.func @evaluate.1.forward(%y: tensor<4xf32> {sinter.receive = array<i64: 0, 0>},
                                    %w: tensor<4xf32> {sinter.role = #sinter.role<parameter>, sinter.state = "w"})
          -> (tensor<4xf32> {sinter.output = "loss"}) attributes {sinter.entry, sinter.pipeline_stage = 1 : i64} {
        %0 = sinter.mul %y, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
        return %0 : tensor<4xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"schedule", "schedule", "std::string", /*default=*/"\"1f1b\"",
           "gpipe, 1f1b, interleaved or zero-bubble">,
    Option<"layers", "layers", "std::string", /*default=*/"", "those of each stage, as 0-5,6-11">,
    Option<"microbatches", "microbatches", "int64_t", /*default=*/"2", "of a step">,
  ];
  let dependentDialects = ["sinter::SinterDialect"];
}

def CoalesceCollectivesPass : Pass<"sinter-coalesce-collectives", "mlir::ModuleOp"> {
  let summary = "makes small collectives that may run together one";
  let description = [{
    After it no two collectives of a stage move the same elements by the same parts: where only their
    shapes differ, the later is a reshape of the first's result. Those of one kind, along the same
    axes, of which none needs another's result, are one where they are small: what they move is put
    together in a bucket, whose result is cut into theirs. Bits are the same, as a collective moves
    elements, or adds them, each by itself.

    A collective is small where moving its bytes and copying them into and out of a bucket take a
    quarter of what a message takes to start (`MoveCosts`); a bucket is full where sending it takes as
    long as that, or of eight, so that the kernels that fill and empty it are quickly compiled. What
    follows waits until the last operand is there; those of a bucket follow each other in the program.
    Where that saves nothing, they stay as they are; a remark says how many they are, how large, and
    both times.

    ```mlir
    // sinter-opt --sinter-assign-target=target=cpu:x86-64-v4 --sinter-coalesce-collectives
    module attributes {sinter.grid = #sinter.grid<data = 2>} {
      func.func @update(%a: tensor<8xf32> {sinter.state = "a"}, %b: tensor<2x4xf32> {sinter.state = "b"})
          -> (tensor<2x8xf32> {sinter.output = "a"}, tensor<2x2x4xf32> {sinter.output = "b"})
          attributes {sinter.entry} {
        %0 = sinter.all_gather ["data"] %a : (tensor<8xf32>) -> tensor<2x8xf32>
        %1 = sinter.all_gather ["data"] %b : (tensor<2x4xf32>) -> tensor<2x2x4xf32>
        return %0, %1 : tensor<2x8xf32>, tensor<2x2x4xf32>
      }
    }
    // =>
    ...
        %0 = sinter.reshape %b : (tensor<2x4xf32>) -> tensor<8xf32>
        %1 = sinter.concat %a, %0 {dim = 0 : i64} : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
        %2 = sinter.all_gather ["data"] %1 : (tensor<16xf32>) -> tensor<2x16xf32>
        %3 = sinter.slice %2 {offsets = array<i64: 0, 0>} : (tensor<2x16xf32>) -> tensor<2x8xf32>
        %4 = sinter.slice %2 {offsets = array<i64: 0, 8>} : (tensor<2x16xf32>) -> tensor<2x8xf32>
        %5 = sinter.reshape %4 : (tensor<2x8xf32>) -> tensor<2x2x4xf32>
        return %3, %5 : tensor<2x8xf32>, tensor<2x2x4xf32>
    ...
    ```
  }];
  let dependentDialects = ["sinter::SinterDialect"];
}

def VerifyShardingPass : Pass<"sinter-verify-sharding", "mlir::ModuleOp"> {
  let summary = "verifies what holds after the Sharding phase";
  let description = [{
    After it, of a module for a grid, every argument and result of an entry with a `sinter.sharding` has
    the type of a rank's part, which follows from `sinter.whole`.

    ```mlir
    module attributes {sinter.grid = #sinter.grid<data = 2>} {
      func.func @f(%w: tensor<4xf32> {sinter.state = "w", sinter.sharding = #sinter.sharding<[["data"]]>})
          attributes {sinter.entry} {
        return
      }
    }
    // =>
    error: expected argument 0 to be a rank's part of 'sinter.whole' after Sharding, got 'tensor<4xf32>'
    ```
  }];
}

#endif // SINTER_SHARDING_PASSES
