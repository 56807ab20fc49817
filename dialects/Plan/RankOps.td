//===- RankOps.td - Commands between ranks ------------------*- tablegen -*-===//
#ifndef SINTER_PLAN_RANK_OPS
#define SINTER_PLAN_RANK_OPS

// Included by PlanOps.td, which has what a command is.

def CollectiveOp : Plan_Command<"collective"> {
  let summary = "moves a slice between the ranks of a group";
  let description = [{
    Between the ranks of each group along `axes`, which all run it; a part is the slice of one rank,
    and parts follow each other in the order of the group's ranks. See `Collective` in Executable.fbs.
    C1: slices of all_to_all and all_reduce have the same size, of the others one is a multiple of the
    other. C2: all_reduce has an element type.

    ```mlir
    plan.collective all_gather ["data"](%part) -> (%all)
    ```
  }];
  let arguments = !con((ins Plan_CollectiveKind:$kind, StrArrayAttr:$axes, Plan_SliceType:$source,
                        Plan_SliceType:$out, OptionalAttr<TypeAttr>:$dtype), metrics);
  let assemblyFormat = "$kind $axes `(` $source `)` `->` `(` $out `)` attr-dict";
  let hasVerifier = 1;
}

def SendOp : Plan_Command<"send"> {
  let summary = "sends a slice to another stage of a pipeline";
  let description = [{
    To the rank of stage `to` that has this rank's place on all other axes, which receives it over the
    same channel. See `Send` in Executable.fbs.

    ```mlir
    plan.send 3 to 1 (%activations)
    ```
  }];
  let arguments = !con((ins I64Attr:$channel, I64Attr:$to, Plan_SliceType:$source), metrics);
  let assemblyFormat = "$channel `to` $to `(` $source `)` attr-dict";
}

def ReceiveOp : Plan_Command<"receive"> {
  let summary = "waits for a slice of another stage of a pipeline";
  let description = [{
    See `Receive` in Executable.fbs.

    ```mlir
    plan.receive 3 from 0 -> (%activations)
    ```
  }];
  let arguments = !con((ins I64Attr:$channel, I64Attr:$from, Plan_SliceType:$out), metrics);
  let assemblyFormat = "$channel `from` $from `->` `(` $out `)` attr-dict";
}

#endif // SINTER_PLAN_RANK_OPS
