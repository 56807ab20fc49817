#include "runtime/Collective/Agreement.h"
#include "runtime/Base/ContentHash.h"
#include <algorithm>

namespace sinter::runtime {

Expected<void> checkSameExecutable(Communicator &communicator, const Executable &executable) {
  std::string hash = contentHash(executable.getFlatbuffer());
  std::string all(hash.size() * communicator.size(), ' ');
  SINTER_CHECK(communicator.allGather(makeWholeGroup(communicator), std::as_bytes(std::span(hash)),
                                      std::as_writable_bytes(std::span(all))));
  for (size_t i = 1; i < communicator.size(); ++i)
    if (all.compare(i * hash.size(), hash.size(), all, 0, hash.size()) != 0)
      return fail(executable.getName(),
                  "rank " + std::to_string(i) + " runs another executable than rank 0",
                  "give all ranks the same model, options and files, and processors of one kind "
                  "or a `target` that names one");
  return {};
}

Expected<void> broadcast(Communicator *communicator, bool &value) {
  if (!communicator)
    return {};
  std::byte own{value};
  std::vector<std::byte> all(communicator->size());
  SINTER_CHECK(communicator->allGather(makeWholeGroup(*communicator), {&own, 1}, all));
  value = all[0] != std::byte{0};
  return {};
}

Expected<void> broadcast(Communicator *communicator, std::string &text) {
  if (!communicator)
    return {};
  RankGroup group = makeWholeGroup(*communicator);
  uint64_t size = text.size();
  std::vector<uint64_t> sizes(group.size());
  SINTER_CHECK(communicator->allGather(group, std::as_bytes(std::span(&size, 1)),
                                       std::as_writable_bytes(std::span(sizes))));
  text.resize(sizes[0]);
  std::string all(group.size() * text.size(), ' ');
  SINTER_CHECK(communicator->allGather(group, std::as_bytes(std::span(text)),
                                       std::as_writable_bytes(std::span(all))));
  text = all.substr(0, text.size());
  return {};
}

} // namespace sinter::runtime
