#include "test/kernels/AttentionCase.h"

using namespace sinter;
using namespace sinter::kernels;

static std::string number(double value) {
  std::string text = std::to_string(value);
  return text;
}

AttentionCase::AttentionCase(const Options &options, unsigned seed)
    : options(options), problem(options.problem) {
  std::mt19937 engine(seed);
  const AttentionProblem &p = problem;
  const std::string &type = options.element;
  query = HostTensor::random(type, p.querySize(), engine).values;
  key = HostTensor::random(type, p.keySize(), engine).values;
  value = HostTensor::random(type, p.keySize(), engine).values;
  bool hasScales = !options.cache.empty();
  std::vector<double> keyNumbers = key, valueNumbers = value;
  if (hasScales)
    for (auto [rows, numbers] : {std::pair(&key, &keyNumbers), {&value, &valueNumbers}})
      scales.push_back(quantize(*rows, *numbers));

  auto pickBelow = [&](int end) { return static_cast<int>(engine() % std::max(1, end)); };
  if (options.hasStart) {
    for (int b = 0; b < p.batch; ++b)
      problem.start.push_back(pickBelow(p.maxSequence - p.length + 1));
    optional.push_back(HostTensor::of("int", problem.start));
  }
  if (options.hasFirst) {
    // Documents of a row, one after another.
    for (int b = 0; b < p.batch; ++b) {
      int start = problem.start.empty() ? 0 : problem.start[b], document = start;
      for (int t = 0; t < p.length; ++t) {
        if (pickBelow(5) == 0)
          document = start + t;
        problem.first.push_back(document);
      }
    }
    optional.push_back(HostTensor::of("int", problem.first));
  }
  if (options.hasSlopes) {
    for (int h = 0; h < p.heads; ++h)
      problem.slopes.push_back(std::ldexp(1.0, -h - 1));
    optional.push_back(HostTensor::of("float", problem.slopes));
  }
  optional.insert(optional.end(), scales.begin(), scales.end());
  if (p.dropout > 0) {
    problem.seed = {1234567, 89};
    std::vector<uint32_t> words(problem.seed.begin(), problem.seed.end());
    if (p.isPart())
      words.push_back(p.firstWeight);
    optional.push_back(HostTensor::of("int", words));
  }

  long long d = p.headSize, q = p.heads * d, k = p.keyHeads * d, all = q + 2 * k;
  queryPlace = {0, p.length * q, q, d};
  keyPlace = valuePlace = {0, p.maxSequence * k, k, d};
  if (options.packing == Packing::Columns) {
    queryPlace = {0, p.length * all, all, d};
    keyPlace = {q, p.length * all, all, d};
    valuePlace = {q + k, p.length * all, all, d};
  } else if (options.packing == Packing::HeadMajor) {
    keyPlace = valuePlace = {0, p.maxSequence * k, d, p.maxSequence * d};
  }
  if (options.packing == Packing::Columns) {
    std::vector<double> memory(size_t(p.batch) * p.length * all);
    memory = pack(query, queryPlace, p.length, p.heads, std::move(memory));
    memory = pack(key, keyPlace, p.maxSequence, p.keyHeads, std::move(memory));
    memory = pack(value, valuePlace, p.maxSequence, p.keyHeads, std::move(memory));
    memories.push_back(HostTensor::of(type, memory));
  } else {
    memories.push_back(HostTensor::of(type, query));
    for (const std::vector<double> &dense : {keyNumbers, valueNumbers})
      memories.push_back(HostTensor::of(
          hasScales ? options.cache : type,
          pack(dense, keyPlace, p.maxSequence, p.keyHeads, std::vector<double>(dense.size()))));
  }
}

HostTensor AttentionCase::quantize(std::vector<double> &rows, std::vector<double> &numbers) const {
  size_t width = size_t(problem.headSize);
  double most = options.cache == "signed char" ? 127 : largestE4M3;
  HostTensor factors("float", rows.size() / width), type(options.cache, 1);
  for (size_t row = 0; row < factors.values.size(); ++row) {
    double largest = 1e-30;
    for (size_t i = row * width; i < (row + 1) * width; ++i)
      largest = std::max(largest, std::abs(rows[i]));
    double factor = factors.values[row] = factors.round(largest / most);
    for (size_t i = row * width; i < (row + 1) * width; ++i) {
      double number = rows[i] / factor;
      numbers[i] = type.round(options.cache == "signed char" ? std::nearbyint(number) : number);
      rows[i] = numbers[i] * factor;
    }
  }
  return factors;
}

std::vector<double> AttentionCase::pack(const std::vector<double> &dense, const Place &place,
                                        int length, int heads, std::vector<double> memory) const {
  size_t from = 0;
  for (int b = 0; b < problem.batch; ++b)
    for (int t = 0; t < length; ++t)
      for (int h = 0; h < heads; ++h)
        for (int i = 0; i < problem.headSize; ++i)
          memory[place.offset + b * place.batch + t * place.row + h * place.head + i] =
              dense[from++];
  return memory;
}

Parameters AttentionCase::getParameters() const {
  const AttentionProblem &p = problem;
  Parameters result = {{"Query", options.element},
                       {"Element", options.cache.empty() ? options.element : options.cache},
                       {"Result", options.result},
                       {"batch", std::to_string(p.batch)},
                       {"length", std::to_string(p.length)},
                       {"heads", std::to_string(p.heads)},
                       {"headSize", std::to_string(p.headSize)},
                       {"maxSequence", std::to_string(p.maxSequence)},
                       {"keyHeads", std::to_string(p.keyHeads)},
                       {"scale", number(p.scale)},
                       {"causal", p.causal ? "true" : "false"},
                       {"window", std::to_string(p.window)},
                       {"softcap", p.softcap > 0 ? number(p.softcap) : "0"},
                       {"hasStart", options.hasStart ? "true" : "false"},
                       {"hasFirst", options.hasFirst ? "true" : "false"},
                       {"hasSlopes", options.hasSlopes ? "true" : "false"},
                       {"dropout", p.dropout > 0 ? number(p.dropout) : "0"},
                       {"stream", std::to_string(p.stream)},
                       {"plain", options.plain ? "true" : "false"}};
  auto add = [&](const std::string &name, const Place &place) {
    result[name + "Offset"] = std::to_string(place.offset);
    result[name + "BatchStride"] = std::to_string(place.batch);
    result[name + "RowStride"] = std::to_string(place.row);
    result[name + "HeadStride"] = std::to_string(place.head);
  };
  if (!options.cache.empty())
    result["hasScales"] = "true";
  if (p.isPart()) {
    result["isPart"] = "true";
    result["wholeHeads"] = std::to_string(p.whole[0]);
    result["wholeLength"] = std::to_string(p.whole[1]);
    result["wholeSequence"] = std::to_string(p.whole[2]);
  }
  add("query", queryPlace);
  add("key", keyPlace);
  add("value", valuePlace);
  return result;
}

std::vector<HostTensor *> AttentionCase::getInputs() {
  if (memories.size() == 1)
    return {&memories[0], &memories[0], &memories[0]};
  return {&memories[0], &memories[1], &memories[2]};
}

std::vector<HostTensor *> AttentionCase::getOptionalInputs() {
  std::vector<HostTensor *> result;
  for (HostTensor &tensor : optional)
    result.push_back(&tensor);
  return result;
}
