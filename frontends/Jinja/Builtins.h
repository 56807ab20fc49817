//===- Builtins.h - Jinja's filters, tests, methods, functions --*- C++ -*-===//
#pragma once

#include "frontends/Jinja/Value.h"

namespace sinter::jinja {

/// Whether a filter or test has this name.
bool isFilter(std::string_view name);
bool isTest(std::string_view name);

/// What a filter makes of a value. @pre isFilter(name)
Expected<Value> applyFilter(std::string_view name, const Value &value, const Arguments &arguments);

/// Whether a value is what a test says. @pre isTest(name)
Expected<bool> applyTest(std::string_view name, const Value &value, const Arguments &arguments);

/// A method of strings, lists or dictionaries, bound to its value; not defined where there is none.
/// None changes its value, as in transformers' sandbox.
Value findMethod(const Value &value, std::string_view name);

/// A part of a list or the characters of a string, as Python's slices; what is not defined or none
/// is left out. Fails where a step is 0, or this is neither.
Expected<Value> takeSlice(const Value &value, const Value &begin, const Value &end,
                          const Value &step);

/// `range`, `dict`, `namespace`, `raise_exception` and `strftime_now`.
const Dictionary &getGlobals();

/// Python's `in`.
Expected<bool> contains(const Value &all, const Value &item);

/// Numbers and strings in their order: negative, 0 or positive. Fails on others.
Expected<int> compareOrder(const Value &a, const Value &b);

/// The items that a loop goes over: of a list, keys of a dictionary, characters; of what is not
/// defined none. Fails on others.
Expected<List> listItems(const Value &value);

} // namespace sinter::jinja
