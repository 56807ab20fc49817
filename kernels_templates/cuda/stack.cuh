//===- stack.cuh - Many matrices one after another --------------*- C++ -*-===//
//
// out = the parts, one behind the other, each a tensor of its own of one size: the matrices of
// experts, of which there may be hundreds. The rows generator asks of each element which part it is
// of; a block here is of one part, and looks for its pointer once, by halves.
//
// Versions:
//
//   pieces  A block moves kPieceVectors vectors a thread of one part, of which as many bytes as 16
//           of the wider type: elements one by one where those do not divide a part.
//
// Parameters:
//
//   Element, Out   element types of the parts and of out, to which elements are rounded
//   parts          (int) how many there are
//   size           (int) elements of each
//
// Arguments: out, then the parts.
//
// Launch: stack_grid<P>() blocks of 256 threads, no dynamic shared memory.
//
//   vector = 16 / max(sizeof(Element), sizeof(Out)) if that divides size, else 1
//   grid   = parts * ceil(size / (1024 vector))
//
//===----------------------------------------------------------------------===//
#pragma once

#include "device.cuh"

namespace sinter {

namespace stacks {
constexpr int kThreads = 256, kPieceVectors = 4;

template <class P> SINTER_CONSTEXPR int width() {
  constexpr int kWidth = 16 / static_cast<int>(sizeof(typename P::Element) > sizeof(typename P::Out)
                                                   ? sizeof(typename P::Element)
                                                   : sizeof(typename P::Out));
  return P::size % kWidth == 0 ? kWidth : 1;
}

/// Blocks of a part.
template <class P> SINTER_CONSTEXPR int pieces() {
  return static_cast<int>(divide_up(P::size, kThreads * kPieceVectors * width<P>()));
}

/// Part `index` of COUNT from FIRST on. Their places are constants, so that no table is in memory.
template <int FIRST, int COUNT, class T, int PARTS>
SINTER_DEVICE const T *find(const T *const (&parts)[PARTS], int index) {
  if constexpr (COUNT == 1)
    return parts[FIRST];
  else if (index < FIRST + COUNT / 2)
    return find<FIRST, COUNT / 2>(parts, index);
  else
    return find<FIRST + COUNT / 2, COUNT - COUNT / 2>(parts, index);
}
} // namespace stacks

template <class P> SINTER_CONSTEXPR int stack_block() { return stacks::kThreads; }
template <class P> SINTER_CONSTEXPR int stack_shared() { return 0; }
template <class P> SINTER_CONSTEXPR long long stack_grid() {
  return static_cast<long long>(P::parts) * stacks::pieces<P>();
}

template <class P, class... Parts>
SINTER_DEVICE void stack(typename P::Out *out, const Parts *...parts) {
  using T = typename P::Element;
  static_assert(sizeof...(Parts) == P::parts, "a pointer for each part");
  constexpr int kWidth = stacks::width<P>(), kPieces = stacks::pieces<P>();
  const int part = static_cast<int>(blockIdx.x) / kPieces;
  const T *const all[P::parts] = {parts...};
  const T *from = stacks::find<0, P::parts>(all, part);
  typename P::Out *to = out + static_cast<long long>(part) * P::size;
  const int begin =
      (static_cast<int>(blockIdx.x) % kPieces * stacks::kPieceVectors * stacks::kThreads +
       static_cast<int>(threadIdx.x)) *
      kWidth;
  Vector<T, kWidth> moved[stacks::kPieceVectors];
#pragma unroll
  for (int i = 0; i < stacks::kPieceVectors; ++i)
    if (const int at = begin + i * stacks::kThreads * kWidth; at < P::size)
      moved[i] = load<T, kWidth>(from + at);
#pragma unroll
  for (int i = 0; i < stacks::kPieceVectors; ++i)
    if (const int at = begin + i * stacks::kThreads * kWidth; at < P::size)
      store(to + at, convert_vector<typename P::Out>(moved[i]));
}

} // namespace sinter
