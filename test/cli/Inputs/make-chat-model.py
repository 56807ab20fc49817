"""make-chat-model.py MODEL: two tokens of a byte-level tokenizer, the comma and a rare one, become the
marks of ChatML, and tokenizer_config.json gets its template."""

import json
import sys

path = sys.argv[1] + "/tokenizer.json"
tokenizer = json.load(open(path))
model = tokenizer["model"]
for old, new in ((",", "<|im_end|>"), ("\u0120nothing", "<|im_start|>")):
    model["vocab"][new] = model["vocab"].pop(old)
    tokenizer["added_tokens"].append({"id": model["vocab"][new], "content": new,
                                      "single_word": False, "lstrip": False, "rstrip": False,
                                      "normalized": False, "special": True})
    pairs = [merge.split(" ") if isinstance(merge, str) else merge for merge in model["merges"]]
    model["merges"] = [pair for pair in pairs if old not in pair and "".join(pair) != old]
json.dump(tokenizer, open(path, "w"))
path = sys.argv[1] + "/tokenizer_config.json"
config = json.load(open(path))
config["chat_template"] = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + "
    "'<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}"
    "{{ '<|im_start|>assistant\n' }}{% endif %}")
json.dump(config, open(path, "w"))
