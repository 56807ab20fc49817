//===- MpiRanksTest.cpp - Collectives over MPI, run by mpiexec --------------===//

#include "runtime/Collective/Mpi.h"
#include "runtime/Collective/Watch.h"
#include "test/unit/runtime/CollectiveChecks.h"
#include <cstdio>

using namespace sinter;
using namespace sinter::runtime;

static Expected<void> run() {
  SINTER_TRY(std::unique_ptr<Communicator> communicator, openMpi());
  std::optional<LaunchedRank> launched = findLaunchedRank();
  SINTER_CHECK(testing::expect(launched && launched->rank == communicator->getRank() &&
                                   launched->size == communicator->size(),
                               "the environment"));
  SINTER_TRY(std::unique_ptr<Watch> watch, Watch::start(*communicator, {}));
  SINTER_CHECK(testing::checkCollectives(*communicator));
  // More than fits the memory that holds the parts of a sum.
  SINTER_CHECK(testing::checkSum<float>(*communicator, makeWholeGroup(*communicator), 5'000'001));
  return communicator->barrier();
}

int main() {
  if (auto result = run(); !result) {
    std::fprintf(stderr, "%s\n", result.error().message().c_str());
    return 1;
  }
  return 0;
}
