"""The prompts of batch-file.test, and what must come of them.

    check-batch.py write PROMPTS
    check-batch.py check PROMPTS RESULTS COST COMMAND...

`check` continues each prompt by itself, with COMMAND.
"""

import json
import subprocess
import sys

PROMPTS = [
    {"id": "first", "prompt": "ROMEO:\nI am"},
    {"id": 2, "prompt": "a", "max_new_tokens": 1},
    {"prompt": "What " * 12, "max_new_tokens": 20},
    {"id": None, "tokens": [5, 6, 7, 8], "temperature": 0.9, "top_k": 20, "seed": 4},
    {"prompt": "KING", "temperature": 1.5, "seed": 5, "top_p": 0.8, "repetition_penalty": 1.3},
    {"prompt": "KING", "max_new_tokens": 0},
    {"id": "stopped", "prompt": "ROMEO:", "stop": [" the", "\n"], "max_new_tokens": 30},
    {"id": "text", "prompt": "JULIET:", "stop": "absent", "ignore_eos": True},
]


def flags_of(prompt):
    flags = []
    for key, value in prompt.items():
        flag = "--" + key.replace("_", "-")
        if key == "tokens":
            flags += [flag, ",".join(map(str, value))]
        elif key == "ignore_eos":
            flags += [flag]
        elif key == "stop":
            for text in [value] if isinstance(value, str) else value:
                flags += [flag, text]
        elif key != "id":
            flags += [flag, str(value)]
    return flags


def check(prompts, results, cost, command):
    assert len(results) == len(prompts), results
    for prompt, result in zip(prompts, results):
        defaults = [] if "max_new_tokens" not in prompt else ["--max-new-tokens"]
        words = list(command)
        for flag in defaults:  # an option is given once
            at = words.index(flag)
            del words[at : at + 2]
        alone = json.loads(subprocess.check_output(words + flags_of(prompt)))
        for key in ("ids", "text", "stop", "prompt_tokens", "new_tokens"):
            assert result[key] == alone[key], (prompt, key, result, alone)
        assert result.get("id") == prompt.get("id"), (prompt, result)
    assert cost["prompts"] == len(prompts), cost
    for key in ("prompt_tokens", "new_tokens"):
        assert cost[key] == sum(result[key] for result in results), (key, cost)
    assert cost["tokens_per_second"] > 0 and cost["peak_bytes"] > 0, cost


if sys.argv[1] == "write":
    with open(sys.argv[2], "w") as file:
        file.write("\n\n".join(map(json.dumps, PROMPTS)))
else:
    with open(sys.argv[3]) as file:
        lines = [json.loads(line) for line in file]
    with open(sys.argv[4]) as file:
        check(PROMPTS, lines, json.load(file), sys.argv[5:])
