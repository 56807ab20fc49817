#include "runtime/Collective/Mpi.h"
#include "runtime/Collective/MpiRanks.h"
#include <charconv>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <string>

namespace sinter::runtime {
namespace {

std::optional<size_t> readVariable(const char *name) {
  const char *value = name ? std::getenv(name) : nullptr;
  std::string_view text = value ? value : "";
  size_t number = 0;
  auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  return status == std::errc() && end == text.data() + text.size() ? std::optional(number)
                                                                   : std::nullopt;
}

// What who starts jobs tells them. Within a Slurm allocation a process that srun did not start has
// SLURM_NTASKS as well, but no rank of PMI or PMIx.
struct Launcher {
  const char *rank, *size, *localRank, *localSize;
};
constexpr Launcher launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},                                  // Open MPI
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},  // MPICH, Intel MPI, srun
    {"PMIX_RANK", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", nullptr}, // srun --mpi=pmix
};

// Beside this program, in lib/ beside its folder, or wherever the system looks.
void *openLibrary() {
  std::error_code ignored;
  std::filesystem::path folder =
      std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  void *library = nullptr;
  for (const std::filesystem::path &path :
       {folder / mpiLibrary, folder.parent_path() / "lib" / mpiLibrary,
        std::filesystem::path(mpiLibrary)})
    if (!library && (!path.has_parent_path() || std::filesystem::exists(path, ignored)))
      // MPI's own plugins look for its functions among those of the whole process.
      library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  return library;
}

} // namespace

std::optional<LaunchedRank> findLaunchedRank() {
  for (const Launcher &launcher : launchers) {
    auto rank = readVariable(launcher.rank), size = readVariable(launcher.size);
    if (!rank || !size || *rank >= *size)
      continue;
    auto localRank = readVariable(launcher.localRank), localSize = readVariable(launcher.localSize);
    if (!localRank || !localSize || *localRank >= *localSize)
      return LaunchedRank{*rank, *size};
    return LaunchedRank{*rank, *size, *localRank, *localSize};
  }
  return std::nullopt;
}

Expected<std::unique_ptr<Communicator>> openMpi() {
  void *library = openLibrary();
  if (!library)
    return fail("MPI", std::string("cannot be opened: ") + ::dlerror(),
                "install libopenmpi-dev and openmpi-bin, build again where they were not there");
  auto *open = reinterpret_cast<OpenMpiRanks *>(::dlsym(library, mpiEntry));
  if (!open)
    return fail(mpiLibrary, "is of another version", "install all of Sinter again");
  Expected<std::unique_ptr<Communicator>> opened;
  open(opened);
  SINTER_TRY(std::unique_ptr<Communicator> communicator, std::move(opened));
  std::optional<LaunchedRank> launched = findLaunchedRank();
  if (launched && communicator->size() != launched->size)
    return fail("MPI",
                "this is one of " + std::to_string(launched->size) +
                    " processes, and the MPI that Sinter was built with counts " +
                    std::to_string(communicator->size()),
                "start it by the mpiexec of that MPI, or build it with yours");
  return communicator;
}

} // namespace sinter::runtime
