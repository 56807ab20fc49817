//===- TextModel.h - A model as MLIR text -----------------------*- C++ -*-===//
#pragma once

#include "sinter/Model.h"
#include "sinter/RunOptions.h"
#include <set>

namespace sinter {

/// Opens MLIR text: of its `spec` there is what its metadata say. Its weights are those of the
/// directory that it lies in, where that has any. Fails on text that is no module, with line and
/// column.
Expected<Model> openText(const std::filesystem::path &path);

/// Makes `model` what the text of a graph says.
/// @param file names the text in errors.
Expected<void> readText(std::string text, const std::string &file, Model &model);

/// The entries of a text that are asked for: of a training step all that belong to one. Fails where
/// one is not there. @pre model.text
Expected<std::vector<std::string>> selectEntries(const Model &model,
                                                 const std::vector<std::string> &entries);

/// Puts the text's sizes in the place of those that would be chosen: the tokens of a slot and the
/// positions of its KV cache. Fails where an option asks for others. @pre model.text
/// @param trains the tokens were asked for, too.
Expected<void> takeSizes(const Model &model, const RunOptions &options, bool trains, int64_t &chunk,
                         int64_t &maxSequence);

/// Takes over what the text of a training step was made for: its rows, their tokens (`sequence`)
/// and, where it has one, its optimizer. Fails where one of the options in `given` is another.
/// @pre model.text
Expected<void> adoptStep(const Model &model, const std::set<std::string, std::less<>> &given,
                         RunOptions &options, int64_t &sequence);

} // namespace sinter
