"""check-chat.py SINTER MODEL: what `sinter chat` answers, with its cache kept, is what `sinter generate`
makes of the whole conversation's tokens; a token that ends an answer ends it."""

import subprocess
import sys

sinter, model = sys.argv[1:]


def run(*arguments, text=""):
    return subprocess.run([sinter, *arguments], input=text, capture_output=True, text=True,
                          check=True).stdout


def tokens(text):
    return run("tokenize", model, "--no-special", "--text", text).strip().split(",")


def new_ids(ids, new):
    return run("generate", model, "--dtype", "f32", "--tokens", ",".join(ids), "--max-new-tokens", str(new),
               "--max-seq", "512", "--ids").strip().split(",")


def begin(message, system=""):
    return (f"<|im_start|>system\n{system}<|im_end|>\n" if system else "") + \
        f"<|im_start|>user\n{message}<|im_end|>\n<|im_start|>assistant\n"


end = tokens("<|im_end|>")[0]
messages = ["Who is there?", "Speak again my lord", "Farewell"]


def converse(new):
    """Answers of so many tokens at the most, by generate; chat must say the same."""
    history, answers = [], []
    for index, message in enumerate(messages):
        if index:
            after = tokens("<|im_end|>\n")
            history += after[1:] if history[-1] == end else after
        history += tokens(begin(message, "" if index else "You are the king."))
        made = new_ids(history, new)
        if end in made:
            made = made[:made.index(end) + 1]
        history += made
        answers.append(made)
    said = run("chat", model, "--dtype", "f32", "--max-new-tokens", str(new), "--max-seq", "512", "--system",
               "You are the king.", text="\n".join(messages) + "\n")
    expected = ""
    for made in answers:
        made = made[:-1] if made[-1] == end else made
        expected += run("tokenize", model, "--decode", ",".join(made)) + "\n"
    assert "".join(said.split()) == "".join(expected.split()), (said, expected)
    return answers


# Short answers are cut off, long ones end; after how many tokens depends on rounding.
answers = converse(5) + converse(40)
assert any(end in made for made in answers) and any(end not in made for made in answers), answers
