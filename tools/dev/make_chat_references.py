#!/usr/bin/env python3
"""Writes test/unit/Library/chat-templates.json, chat templates as models are published with them, and
jinja-programs.json, small programs: with what Jinja2 makes of them, set up as transformers sets it up
(apply_chat_template).

Needs: pip install jinja2
"""

import json
import pathlib

import jinja2
import jinja2.ext
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

# Programs of a line or two, what each part of the language writes; variables are those below.
SNIPPETS = [
    "{{ 1 + 2 * 3 - 4 // 3 }} {{ 7 % 3 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 2 ** 10 }} {{ 7 / 2 }} {{ 1.5 + 1 }}",
    "{{ 1 < 2 < 3 }} {{ 'a' in 'cat' }} {{ 'x' not in word }} {{ 3 in numbers }} {{ 'k' in table }}"
    " {{ not 1 == 2 }}",
    "{{ 'a' ~ 1 ~ none ~ true }} {{ 'ab' * 3 }} {{ 'it\\'s' ~ \"\\t|\\n\" ~ 'caf\u00e9 \\u00e9' }} {{ 'a' 'b' }}",
    "{{ numbers }} {{ table }} {{ [1, 'a', true, none, 1.0] }} {{ {'a': {'b': [1]}} }} {{ (1, 2)[1] }} {{ [] }}",
    "{{ 'yes' if word else 'no' }} {{ 'x' if false }}| {{ (1 if 0 else 2) if 1 else 3 }}",
    "{{ word[0] }} {{ word[-1] }} {{ word[1:3] }} {{ word[::-1] }} {{ numbers[1:] }} {{ numbers[:-1] }}"
    " {{ numbers[5] }}|",
    "{{ table.k }} {{ table['k'] }} {{ table.none_such }}| {{ table.get('k') }} {{ table.get('x', 'y') }}"
    " {{ table.get('x') }}",
    "{% for k, v in table.items() %}{{ k }}={{ v }};{% endfor %} {{ table.keys() | list }}"
    " {{ table.values() | list }}",
    "{% for n in numbers %}{{ loop.index }}/{{ loop.length }}{{ ',' if not loop.last }}{% endfor %}",
    "{% for n in numbers if n is odd %}{{ loop.index0 }}:{{ n }}{{ loop.first }} {% else %}none{% endfor %}",
    "{% for n in [] %}x{% else %}empty{% endfor %} {% for c in 'ab' %}{{ c }}.{% endfor %}",
    "{% for n in range(10) %}{% if n == 2 %}{% continue %}{% endif %}{% if n > 4 %}{% break %}"
    "{% endif %}{{ n }}{% endfor %}",
    "{% for n in numbers %}{{ loop.previtem }}<{{ n }}>{{ loop.nextitem }} {{ loop.cycle('a', 'b') }} {% endfor %}",
    "{% set x = 1 %}{% for n in numbers %}{% set x = n %}{% endfor %}{{ x }} {% if true %}"
    "{% set x = 5 %}{% endif %}{{ x }}",
    "{% set ns = namespace(n=0) %}{% for n in numbers %}{% set ns.n = ns.n + n %}{% endfor %}{{ ns.n }}",
    "{% set a, b = 1, 2 %}{{ a }}{{ b }} {% set t = (3, 4) %}{{ t[1] }} {% set x %}in {{ word }}"
    "{% endset %}[{{ x }}]",
    "{% set x | upper %}in {{ word }}{% endset %}{{ x }} {% filter trim | upper %}  abc {% endfilter %}",
    "{% macro m(a, b='y') %}<{{ a }}{{ b }}>{% endmacro %}{{ m(1) }}{{ m('x', b=2) }}{{ m() }}"
    "{% set r = m(3) %}{{ r | length }}",
    "{% macro down(n) %}{{ n }}{% if n > 0 %}{{ down(n - 1) }}{% endif %}{% endmacro %}{{ down(3) }}",
    "{{ '  a b ' | trim }}| {{ 'xxaxx' | trim('x') }} {{ 'ABC' | lower }} {{ 'abc def' | title }}"
    " {{ 'aBC' | capitalize }}",
    "{{ word.upper() }} {{ '  x '.strip() }}| {{ 'xxa'.lstrip('x') }} {{ 'a,b,c'.split(',') }}"
    " {{ ' a  b '.split() }}",
    "{{ 'a-b-c'.split('-', 1) }} {{ 'a-b-c'.rsplit('-', 1) }} {{ 'abc'.startswith('ab') }}"
    " {{ 'abc'.endswith(('x', 'c')) }}",
    "{{ 'abcabc'.replace('b', 'X') }} {{ 'aaa' | replace('a', 'b', 2) }} {{ 'abc'.find('c') }}"
    " {{ ','.join(['a', 'b']) }}",
    "{{ numbers | join(', ') }} {{ people | map(attribute='name') | join('|') }}"
    " {{ ['a', 'b'] | map('upper') | list }}",
    "{{ people | selectattr('age', 'gt', 30) | map(attribute='name') | list }}"
    " {{ numbers | select('even') | list }}",
    "{{ people | rejectattr('name', 'equalto', 'Ann') | list | length }}"
    " {{ numbers | reject('in', [1, 2]) | list }}",
    "{{ numbers | first }} {{ numbers | last }} {{ numbers | length }} {{ numbers | sum }}"
    " {{ numbers | max }} {{ numbers | min }}",
    "{{ [3, 1, 2] | sort }} {{ ['b', 'A', 'c'] | sort(reverse=true) }} {{ [1, 2, 1] | unique | list }}"
    " {{ 'abc' | reverse }}",
    "{{ (table | dictsort)[0][0] }} {{ people | sort(attribute='age') | map(attribute='name') | list }}"
    " {{ (table | items | list)[1][1] }}",
    "{{ missing | default('d') }} {{ '' | default('e', true) }} {{ none | default('n') }}"
    " {{ missing is defined }} {{ word is defined }}",
    "{{ table | tojson }} {{ people | tojson(indent=2) }} {{ 'a\"\\n\u00e9' | tojson }}"
    " {{ [1.5, none, true] | tojson }} {{ {} | tojson }}",
    "{{ '3' | int + 1 }} {{ 'x' | int(7) }} {{ '2.5' | float }} {{ 2.7 | int }} {{ -3 | abs }}"
    " {{ 2.567 | round(1) }} {{ 5 | string ~ 'x' }}",
    "{{ none is none }} {{ 1 is number }} {{ 'a' is string }} {{ [] is iterable }} {{ {} is mapping }}"
    " {{ 4 is divisibleby 2 }} {{ true is boolean }}",
    "{{ word is not none }} {{ 3 is odd and 4 is even }} {{ 1 is eq 1 }} {{ 'a' is in ['a'] }}"
    " {{ true is true }} {{ 1 is true }}",
    "{{ numbers is sequence }} {{ 'x' is sequence }} {{ 'abc' is lower }} {{ 'ABC' is upper }}"
    " {{ 2 is integer }} {{ 2.0 is float }}",
    "{{ dict(a=1, b='c') }} {{ numbers.index(2) }} {{ numbers.count(3) }} {{ 'aXa'.count('a') }}"
    " {{ -numbers[0] }} {{ -2 ** 2 }}",
    "{%- set t = {1: 'a', 16: 'b'} -%}{{ t[16] }} {{ t }}"
    " {% for k, v in t | dictsort %}{{ k + 1 }}{{ v }}{% endfor %} {{ 1 in t }}",
    "a\n{% if true %}\nb\n{% endif %}\nc",
    "a\n  {% if true %}\n  b\n  {% endif %}\nc\n",
    "a\n  {%- if true -%}\n  b\n  {%- endif -%}\n  c",
    "a {#- comment -#} b {# {{ x }} #}\nc",
    "x\n  {# comment #}\ny {{- ' z ' -}}\n w\n",
    "{{ '}}' }} {{ '{%' }} {% if '%}' %}a{% endif %}",
    "  {%+ if true %}a{% endif +%}\nb",
    "{% generation %}{{ word }}{% endgeneration %}",
    "{{ word }}\n",
    "{{ messages[0]['role'] }}{{ messages[0].content | length }}",
    "{{ '%s' }} {{ word | indent }} {{ 'a\\nb\\n\\nc' | indent(2, true) }} {{ '<a>' | e }} {{ '<a>' | safe }}",
    "{{ table.nested.deep[0].x }} {{ (table.nested or {}).deep | length }}",
    "{{ range(3) | list }} {{ range(1, 4) | list }} {{ range(5, 0, -2) | list }} {{ 'a' < 'b' }}"
    " {{ [1] + [2] }} {{ [1, 2] == [1, 2] }}",
    "{{ 1 if true else missing.x }} {{ false and missing.x }} {{ true or missing.x }} {{ 0 or 'a' }}"
    " {{ 'a' and 'b' }}",
    "{{ 'caf\u00e9' | length }} {{ 'caf\u00e9'[3] }} {{ 'caf\u00e9' | upper | length }} {{ '\u4f60\u597d'[::-1] }}",
    # What fails.
    "{{ missing.x }}",
    "{{ 1 / 0 }}",
    "{{ 'a' + 1 }}",
    "{{ word | no_such }}",
    "{{ word is no_such }}",
    "{{ no_such() }}",
    "{{ raise_exception('a reason') }}",
    "{% for x in 5 %}{% endfor %}",
    "{{ 1 < 'a' }}",
    "{% if %}x{% endif %}",
    "{{ word",
    "{% if true %}",
    "{{ 'a }}",
    "{% endif %}",
    "{% unknown %}",
    "{# a",
    "{{ (1 }}",
    "{{ [1, }}",
    "{% set 1 = 2 %}",
    "{% break %}",
    "{{ }}",
    "{{ a b }}",
]
VARIABLES = {
    "word": "hello", "numbers": [1, 2, 3], "table": {"k": "v", "nested": {"deep": [{"x": 1}]}},
    "people": [{"name": "Bob", "age": 40}, {"name": "Ann", "age": 30}],
    "messages": [{"role": "user", "content": "Hi"}],
}


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def to_json(value, ensure_ascii=False, indent=None, **options):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, **options)


def raise_exception(message):
    raise jinja2.TemplateError(message)


environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                            extensions=[Generation, jinja2.ext.loopcontrols])
environment.filters["tojson"] = to_json
environment.globals["raise_exception"] = raise_exception
cases = []
for name, (program, bos, eos, takes_system) in PROGRAMS.items():
    for system in ["", "Be brief."] if takes_system else [""]:
        messages = [{"role": "system", "content": system}] if system else []
        messages += [{"role": "user", "content": " Hello there\n"},
                     {"role": "assistant", "content": "Hi! "},
                     {"role": "user", "content": "Who are you?"}]
        text = environment.from_string(program).render(
            messages=messages, bos_token=bos, eos_token=eos, add_generation_prompt=True)
        cases.append({"name": name, "program": program, "bos": bos, "eos": eos, "messages": messages,
                      "text": text})
folder = pathlib.Path(__file__).parents[2] / "test/unit/Library"
(folder / "chat-templates.json").write_text(json.dumps(cases, indent=1) + "\n")
programs = []
for program in SNIPPETS:
    case = {"program": program}
    try:
        case["text"] = environment.from_string(program).render(**VARIABLES)
    except Exception:  # of Jinja2's own, or Python's
        pass
    programs.append(case)
(folder / "jinja-programs.json").write_text(
    json.dumps({"variables": VARIABLES, "programs": programs}, indent=1) + "\n")
