#include "runtime/Train/CheckpointSaver.h"

namespace sinter::runtime {

CheckpointSaver::CheckpointSaver(TrainRanks ranks, const CheckpointFolder &folder, uint64_t keep)
    : ranks(std::move(ranks)), folder(folder), writer(folder, keep) {}

Expected<void> CheckpointSaver::start(uint64_t newStep, std::vector<CheckpointFile> files,
                                      CheckpointWriter::Ready ready) {
  step = newStep;
  if (ranks.size() == 1) {
    part = Part::Finish;
    writer.start(step, std::move(files), std::move(ready));
    return {};
  }
  SINTER_CHECK(ranks.agree(ranks.isFirst() ? folder.begin(step) : Expected<void>()));
  part = Part::Files;
  writer.startFiles(step, std::move(files), std::move(ready));
  return {};
}

Expected<void> CheckpointSaver::advance(bool allIdle) {
  return part != Part::None && allIdle ? endPart() : Expected<void>();
}

Expected<void> CheckpointSaver::wait() {
  while (part != Part::None)
    SINTER_CHECK(endPart());
  return {};
}

// Waits for this part of a save, and begins the next.
Expected<void> CheckpointSaver::endPart() {
  Part ended = std::exchange(part, Part::None);
  Expected<void> done = ranks.agree(writer.wait());
  if (done && ended == Part::Files)
    done = startFinish();
  if (!done && ranks.isFirst())
    folder.abandon(step);
  return done;
}

Expected<void> CheckpointSaver::startFinish() {
  SINTER_TRY(std::vector<std::string> parts, ranks.gatherTexts(writer.getWritten().toJson()));
  part = Part::Finish;
  if (!ranks.isFirst())
    return {};
  Manifest whole;
  for (const std::string &text : parts) {
    SINTER_TRY(Manifest manifest, Manifest::parse(text, "a rank's manifest"));
    whole.files.merge(manifest.files);
  }
  writer.startFinish(step, std::move(whole));
  return {};
}

} // namespace sinter::runtime
