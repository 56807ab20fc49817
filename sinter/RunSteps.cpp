#include "sinter/RunSteps.h"
#include "runtime/Base/Float8.h"
#include "runtime/Base/HalfFloat.h"
#include "runtime/Session/Session.h"
#include <cstring>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace sinter;

/// How long a run of small steps may take on a machine that others use, too.
static constexpr int kTimeoutMs = 120'000;

template <typename T> static void store(std::byte *out, T value) {
  std::memcpy(out, &value, sizeof value);
}

template <typename T> static T load(const std::byte *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

/// Elements as they are stored.
static void encode(const std::vector<double> &values, DType type, std::span<std::byte> out) {
  for (size_t i = 0; i < values.size(); ++i) {
    std::byte *place = out.data() + i * sizeOf(type);
    auto narrow = static_cast<float>(values[i]);
    switch (type) {
    case DType::BF16:
      store(place, floatToBf16(narrow));
      break;
    case DType::F16:
      store(place, floatToF16(narrow));
      break;
    case DType::I32:
      store(place, static_cast<int32_t>(values[i]));
      break;
    case DType::F64:
      store(place, values[i]);
      break;
    case DType::I4:
    case DType::I8:
      store(place, static_cast<int8_t>(values[i]));
      break;
    case DType::E4M3:
      store(place, floatToE4M3(narrow));
      break;
    case DType::E5M2:
      store(place, floatToE5M2(narrow));
      break;
    default:
      store(place, narrow);
    }
  }
}

static std::vector<double> decode(std::span<const std::byte> bytes, DType type) {
  std::vector<double> values(bytes.size() / sizeOf(type));
  for (size_t i = 0; i < values.size(); ++i) {
    const std::byte *place = bytes.data() + i * sizeOf(type);
    values[i] = type == DType::BF16                      ? bf16ToFloat(load<uint16_t>(place))
                : type == DType::F16                     ? f16ToFloat(load<uint16_t>(place))
                : type == DType::I32                     ? load<int32_t>(place)
                : type == DType::F64                     ? load<double>(place)
                : type == DType::I8 || type == DType::I4 ? load<int8_t>(place)
                : type == DType::E4M3                    ? e4m3ToFloat(load<uint8_t>(place))
                : type == DType::E5M2                    ? e5m2ToFloat(load<uint8_t>(place))
                                                         : load<float>(place);
  }
  return values;
}

namespace {
/// Parameters as the runtime reads them, in the types that the executable asks for.
class GeneratedWeights : public runtime::WeightSource {
public:
  GeneratedWeights(const runtime::Executable &executable, const RunValues &values) {
    if (!executable.getRoot().checkpoint())
      return;
    for (const fb::CheckpointTensor *tensor : *executable.getRoot().checkpoint()) {
      auto found = values.find(tensor->name()->str());
      if (found == values.end())
        continue;
      auto type = static_cast<DType>(tensor->dtype());
      std::vector<std::byte> &bytes = storage[found->first];
      bytes.resize(found->second.size() * sizeOf(type));
      encode(found->second, type, bytes);
      tensors[found->first] = {type, {tensor->shape()->begin(), tensor->shape()->end()}, bytes};
    }
  }

  std::optional<runtime::StoredTensor> find(std::string_view name) const override {
    auto found = tensors.find(name);
    return found == tensors.end() ? std::nullopt : std::optional(found->second);
  }

private:
  std::map<std::string, std::vector<std::byte>> storage;
  std::map<std::string, runtime::StoredTensor, std::less<>> tensors;
};
} // namespace

/// Bytes of a binding's tensor as values.
static uint64_t getBytes(const fb::Binding &binding) { return binding.slice()->bytes(); }

static Expected<void> writeParameters(runtime::Session &session, const RunValues &parameters) {
  if (const auto *states = session.getExecutable().getRoot().states())
    for (const fb::Binding *state : *states) {
      auto found = parameters.find(state->name()->str());
      if (found == parameters.end())
        continue;
      auto type = static_cast<DType>(state->dtype());
      std::vector<std::byte> bytes(getBytes(*state));
      if (found->second.size() * sizeOf(type) != bytes.size())
        return fail("state " + found->first, "has another size", "");
      encode(found->second, type, bytes);
      SINTER_CHECK(session.writeState(found->first, bytes));
    }
  return {};
}

static Expected<RunValues> readResults(const runtime::Session &session, size_t program,
                                       const fb::Program &description) {
  RunValues values;
  if (description.outputs())
    for (const fb::Binding *output : *description.outputs()) {
      auto type = static_cast<DType>(output->dtype());
      SINTER_TRY(runtime::TensorView view,
                 session.output(program, output->name()->string_view(), type));
      values[output->name()->str()] = decode(view.bytes, type);
    }
  if (const auto *states = session.getExecutable().getRoot().states())
    for (const fb::Binding *state : *states) {
      std::vector<std::byte> bytes(getBytes(*state));
      SINTER_CHECK(session.readState(state->name()->string_view(), bytes));
      values["state:" + state->name()->str()] = decode(bytes, static_cast<DType>(state->dtype()));
    }
  return values;
}

Expected<std::vector<RunValues>> sinter::runSteps(const RunRequest &request) {
  SINTER_TRY(auto executable,
             runtime::Executable::fromFlatbuffer(request.executable, "the executable"));
  GeneratedWeights weights(*executable, request.parameters);
  runtime::BindOptions options;
  options.threads = 1;
  options.weights = &weights;
  options.programs = {request.entry};
  options.debug = true;
  SINTER_TRY(auto session, runtime::Session::bind(executable, options));
  SINTER_CHECK(writeParameters(*session, request.parameters));
  SINTER_TRY(size_t program, session->program(request.entry));
  const fb::Program &description = *executable->program(request.entry);
  std::vector<RunValues> results;
  for (const RunValues &inputs : request.inputs) {
    if (description.inputs())
      for (const fb::Binding *input : *description.inputs()) {
        std::string name = input->name()->str();
        auto type = static_cast<DType>(input->dtype());
        SINTER_TRY(runtime::TensorView view, session->input(program, name, type));
        auto found = inputs.find(name);
        if (found == inputs.end() || found->second.size() * sizeOf(type) != view.bytes.size())
          return fail("input " + name, "has no value, or one of another size", "");
        encode(found->second, type, view.bytes);
      }
    SINTER_CHECK(session->run(program));
    SINTER_TRY(results.emplace_back(), readResults(*session, program, description));
  }
  return results;
}

/// What a child leaves: results, or the reason why there are none.
static std::vector<uint8_t> pack(const Expected<std::vector<RunValues>> &results) {
  nlohmann::json object;
  if (results)
    object["results"] = *results;
  else
    object["error"] = results.error().message();
  return nlohmann::json::to_cbor(object);
}

/// Reads until the other side closes; false where that takes too long.
static bool readAll(int descriptor, std::vector<uint8_t> &bytes) {
  uint8_t buffer[1 << 16];
  for (;;) {
    pollfd waiting{descriptor, POLLIN, 0};
    if (poll(&waiting, 1, kTimeoutMs) <= 0)
      return false;
    ssize_t count = read(descriptor, buffer, sizeof buffer);
    if (count <= 0)
      return count == 0;
    bytes.insert(bytes.end(), buffer, buffer + count);
  }
}

Expected<std::vector<RunValues>> sinter::runStepsApart(const RunRequest &request) {
  const std::string what = "running " + request.entry;
  int ends[2];
  if (pipe(ends) != 0)
    return fail(what, "there is no pipe", "close some files");
  std::fflush(nullptr);
  pid_t child = fork();
  if (child < 0) {
    close(ends[0]);
    close(ends[1]);
    return fail(what, "there is no other process to be had", "end some");
  }
  if (child == 0) {
    close(ends[0]);
    std::vector<uint8_t> bytes = pack(runSteps(request));
    for (size_t done = 0; done < bytes.size();) {
      ssize_t count = write(ends[1], bytes.data() + done, bytes.size() - done);
      if (count <= 0)
        break;
      done += static_cast<size_t>(count);
    }
    _exit(0);
  }
  close(ends[1]);
  std::vector<uint8_t> bytes;
  bool ended = readAll(ends[0], bytes);
  close(ends[0]);
  if (!ended)
    kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  if (!ended)
    return fail(what, "it did not end", "");
  if (WIFSIGNALED(status))
    return fail(what, std::string("it was ended by a signal: ") + strsignal(WTERMSIG(status)), "");
  auto object = nlohmann::json::from_cbor(bytes, true, /*allow_exceptions=*/false);
  if (!object.is_object())
    return fail(what, "it left nothing", "");
  if (object.contains("error"))
    return fail(what, object["error"].get<std::string>(), "");
  return object["results"].get<std::vector<RunValues>>();
}
