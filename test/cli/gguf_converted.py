"""GGUF files that llama.cpp's own converter wrote of kept models: gguf_converted.py SINTER MODELS FOLDER

Files of MODELS/../gguf (tools/dev/compare_gguf.py --keep), of which one is in several parts, must give the
logits of the directories in MODELS/../families, bit for bit. Parts that are given or named otherwise end with
one line and status 1.
"""

import pathlib
import re
import shutil
import subprocess
import sys

sinter, models, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
TOKENS = "3,1,4,1,5,9,2,6,5,3,5,8"
kept = models.parent / "gguf"
folder.mkdir(parents=True, exist_ok=True)


def run(*arguments, status=0):
    done = subprocess.run([sinter, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == status, (arguments, done.returncode, done.stderr)
    return done


def logits(model):
    run("logits", model, "--tokens", TOKENS, "--dtype", "f32", "-o", folder / "logits.npy")
    return (folder / "logits.npy").read_bytes()


for path in sorted(kept.glob("*.gguf")):
    if "-of-" in path.name and "-00001-of-" not in path.name:
        continue
    same = logits(path) == logits(models.parent / "families" / re.sub("-00001-of-.*", "", path.stem))
    print(f"{path.name}: {'same bits' if same else 'DIFFERS'}")
    assert same

parts = [kept / f"youtu-0000{i}-of-00004.gguf" for i in range(1, 5)]
# What a folder has under which name, the one that is given, and what is said.
CASES = {
    "second": ({part.name: part for part in parts}, parts[1].name,
               "it is part 2 of 4; give the first part, youtu-00001-of-00004.gguf"),
    "missing": ({part.name: part for part in parts[:2]}, parts[0].name, "youtu-00003-of-00004.gguf: No such file"),
    "renamed": ({"youtu.gguf": parts[0]}, "youtu.gguf", "its name does not end in -00001-of-00004.gguf"),
    "twice": ({part.name: part for part in parts} | {parts[3].name: parts[2]}, parts[0].name,
              "youtu-00004-of-00004.gguf: it is not part 4 of 4"),
}
for name, (files, given, message) in CASES.items():
    where = folder / name
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir()
    for to, source in files.items():
        shutil.copy(source, where / to)
    lines = run("generate", where / given, "--tokens", "1", status=1).stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("sinter: error: ") and message in lines[0], (message, lines)
    print("refused:", lines[0].replace(str(where), ""))
