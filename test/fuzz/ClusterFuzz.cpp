// Any bytes: the reader either names what is wrong in one line, or gives a cluster that it writes
// and reads back alike.

#include "runtime/Cluster/Cluster.h"
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using sinter::runtime::Cluster;
  std::string_view text(reinterpret_cast<const char *>(data), size);
  auto cluster = Cluster::parse(text, "cluster.json");
  if (!cluster) {
    if (cluster.error().message().empty())
      std::abort();
    return 0;
  }
  auto again = Cluster::parse(cluster->toJson(), "cluster.json");
  if (!again || again->size() != cluster->size() || again->levels.size() != cluster->levels.size())
    std::abort();
  return 0;
}
