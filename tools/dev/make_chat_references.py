#!/usr/bin/env python3
"""Writes test/unit/Library/chat-templates.json: chat templates as models are published with them, and
what Jinja2 makes of a conversation, set up as transformers sets it up (apply_chat_template).

Needs: pip install jinja2
"""

import json
import pathlib

from jinja2.sandbox import ImmutableSandboxedEnvironment

# name -> the program, the tokens that begin and end a text, whether it takes a system prompt
PROGRAMS = {
    "chatml": (  # Qwen1.5, OpenHermes and many others
        "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + "
        "'<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}"
        "{{ '<|im_start|>assistant\n' }}{% endif %}", "<s>", "<|im_end|>", True),
    "llama3": (  # Meta-Llama-3-8B-Instruct
        "{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = "
        "'<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + "
        "'<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}"
        "{{ content }}{% endfor %}{% if add_generation_prompt %}"
        "{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}",
        "<|begin_of_text|>", "<|eot_id|>", True),
    "llama2": (  # Llama-2-7b-chat-hf
        "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}"
        "{% set system_message = messages[0]['content'] %}{% else %}{% set loop_messages = messages %}"
        "{% set system_message = false %}{% endif %}{% for message in loop_messages %}"
        "{% if loop.index0 == 0 and system_message != false %}{% set content = '<<SYS>>\n' + "
        "system_message + '\n<</SYS>>\n\n' + message['content'] %}{% else %}"
        "{% set content = message['content'] %}{% endif %}{% if message['role'] == 'user' %}"
        "{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}"
        "{% elif message['role'] == 'assistant' %}{{ ' '  + content.strip() + ' ' + eos_token }}"
        "{% endif %}{% endfor %}", "<s>", "</s>", True),
    "mistral": (  # Mistral-7B-Instruct-v0.2
        "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'user' %}"
        "{{ '[INST] ' + message['content'] + ' [/INST]' }}{% elif message['role'] == 'assistant' %}"
        "{{ message['content'] + eos_token}}{% endif %}{% endfor %}", "<s>", "</s>", False),
    "gemma": (  # gemma-2-2b-it
        "{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'assistant') %}"
        "{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}"
        "{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}"
        "{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model\n'}}{% endif %}",
        "<bos>", "<eos>", False),
    "phi3": (  # Phi-3-mini-4k-instruct
        "{% for message in messages %}{% if message['role'] == 'system' %}{{'<|system|>\n' + "
        "message['content'] + '<|end|>\n'}}{% elif message['role'] == 'user' %}{{'<|user|>\n' + "
        "message['content'] + '<|end|>\n'}}{% elif message['role'] == 'assistant' %}"
        "{{'<|assistant|>\n' + message['content'] + '<|end|>\n'}}{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ eos_token }}{% endif %}",
        "<s>", "<|endoftext|>", True),
    "zephyr": (  # zephyr-7b-beta, TinyLlama-1.1B-Chat
        "{% for message in messages %}\n{% if message['role'] == 'user' %}\n{{ '<|user|>\n' + "
        "message['content'] + eos_token }}\n{% elif message['role'] == 'system' %}\n{{ '<|system|>\n' + "
        "message['content'] + eos_token }}\n{% elif message['role'] == 'assistant' %}\n"
        "{{ '<|assistant|>\n'  + message['content'] + eos_token }}\n{% endif %}\n"
        "{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n{% endfor %}",
        "<s>", "</s>", True),
}

environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
cases = []
for name, (program, bos, eos, takes_system) in PROGRAMS.items():
    for system in ["", "Be brief."] if takes_system else [""]:
        messages = [{"role": "system", "content": system}] if system else []
        messages += [{"role": "user", "content": "Hello there"},
                     {"role": "assistant", "content": "Hi!"},
                     {"role": "user", "content": "Who are you?"}]
        text = environment.from_string(program).render(
            messages=messages, bos_token=bos, eos_token=eos, add_generation_prompt=True)
        cases.append({"name": name, "program": program, "bos": bos, "system": system, "text": text})
out = pathlib.Path(__file__).parents[2] / "test/unit/Library/chat-templates.json"
out.write_text(json.dumps(cases, indent=1) + "\n")
