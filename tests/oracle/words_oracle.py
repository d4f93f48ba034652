#!/usr/bin/env python3
"""Holds workloads/language against the library `tokenizers`: words and pieces of texts, random and adversarial.

    tests/oracle/words_oracle.py --setup                once: tokenizers into build/words-venv, with pip
    tests/oracle/words_oracle.py --program build/release/words_program --assets .venv/assets [--texts 5000] [--seed 1]
    tests/oracle/words_oracle.py --assets .venv/assets --golden tests/golden/words.json     makes the golden file

Exits with 0 when all agree, 1 when one does not, 77 (ctest: skipped) where there is no such package or no vocabulary.
Besides the texts it takes every character there is, by itself between two letters. Those that the two know by
different versions of Unicode may differ: there must be few, and no text has one.
"""
import argparse
import importlib.util
import json
import os
import random
import subprocess
import sys
import unicodedata
from pathlib import Path

VENV = Path(__file__).resolve().parents[2] / "build" / "words-venv"
PACKAGE = "tokenizers==0.23.3"
SKIPPED = 77
MOST_DIFFERENT = 0.005  # of all characters, private ones and those of later versions included
WRITTEN = ["hello", "WORLD", "naïve", "don't", "C++", "Ünïcödé", "ﬁne", "straße", "ΣΊΣΥΦΟΣ", "İstanbul", "東京", "한국어",
           "नमस्ते", "ไทย", "العربية", "Ångström", "e\u0301", "\u1e9b\u0323", "[SEP]", "[UNK]", "##ing", "…", "–", "£20",
           "a\u200bb", "x" * 101, "x" * 100, "1,000.5", "\u00a0", "🙂", "\U0001f468\u200d\U0001f469", "supercalifragilistic"]


def setup():
    python = VENV / "bin" / "python"
    for command in ([sys.executable, "-m", "venv", VENV],
                    [python, "-m", "pip", "install", "--quiet", "--no-input", "--no-deps", PACKAGE]):
        if subprocess.run(command).returncode != 0:
            sys.exit(f"words_oracle: could not set up {VENV}")


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def need_tokenizers():
    """Goes on under a Python that has the package; where there is none, says so and ends as skipped."""
    if importlib.util.find_spec("tokenizers"):
        return
    for python in (os.environ.get("HARNESS_TEST_PYTHON"), VENV / "bin" / "python"):
        if python and Path(python).exists() and subprocess.run([python, "-c", "import tokenizers"],
                                                               capture_output=True).returncode == 0:
            os.execv(python, [str(python), *sys.argv])
    skip("no tokenizers for this Python (python3 tests/oracle/words_oracle.py --setup)")


def theirs(vocabulary):
    from tokenizers import BertWordPieceTokenizer
    made = BertWordPieceTokenizer(str(vocabulary), lowercase=True)
    made.enable_truncation(256)
    # "[SEP]" in a text means these five characters.
    made._tokenizer.encode_special_tokens = True

    def answer(text):
        normal = made._tokenizer.normalizer.normalize_str(text)
        words = [word for word, _ in made._tokenizer.pre_tokenizer.pre_tokenize_str(normal)]
        return words, made.encode(text).ids
    return answer


def ours(program, vocabulary, contents):
    """What our program makes of texts, given as bytes: their words and pieces."""
    lines = "".join(content.hex() + "\n" for content in contents)
    out = subprocess.run([program, vocabulary], input=lines, capture_output=True, text=True, check=True).stdout
    return [(answer["words"], answer["pieces"]) for answer in map(json.loads, out.splitlines())]


def random_text(random, characters):
    """As bytes, of which some are no UTF-8."""
    kind = random.randrange(5)
    if kind == 0:
        text = " ".join(random.choices(WRITTEN, k=random.randrange(1, 40)))
    elif kind == 1:
        text = "".join(random.choices(WRITTEN, k=random.randrange(1, 20)))
    elif kind == 2:
        text = "".join(random.choices(characters, k=random.randrange(0, 80)))
    elif kind == 3:
        start = random.randrange(len(characters))
        near = characters[start:start + 60]
        text = "".join(random.choice(near if random.random() < 0.8 else " .a") for _ in range(random.randrange(60)))
    else:
        marks = [c for c in ("\u0301", "\u0323", "\u302e", "\u302f", "\U0001d165", "\U0001d16d", "\u0345", "\u05b0")]
        text = "".join(random.choice("aeoKÅ가한") + "".join(random.choices(marks, k=random.randrange(5)))
                       for _ in range(random.randrange(1, 20)))
    content = bytearray(text.encode("utf-8"))
    if content and random.random() < 0.3:
        for _ in range(random.randrange(1, 6)):
            place = random.randrange(len(content))
            if random.random() < 0.5:
                content[place] = random.randrange(256)
            else:
                del content[place]
            if not content:
                break
    return bytes(content)


def every_character():
    return [chr(c) for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]


def compare(options, answer, vocabulary):
    between = [f"a{c}b" for c in every_character()]
    got = ours(options.program, vocabulary, [text.encode() for text in between])
    different = {text[1] for text, one in zip(between, got) if one != answer(text)}
    kinds = sorted({unicodedata.category(c) for c in different})
    print(f"{len(different)} of {len(between)} characters differ; Python {unicodedata.unidata_version} takes them for "
          f"{' '.join(kinds)}: {' '.join(f'{ord(c):04x}' for c in sorted(different)[:20])}")
    characters = [c for c in every_character() if c not in different and unicodedata.category(c) not in ("Cn", "Co")]
    source = random.Random(options.seed)
    texts = [b"", b" ", b"\xff", "\u0301".encode()] + [random_text(source, characters) for _ in range(options.texts)]
    wrong = 0
    for content, one in zip(texts, ours(options.program, vocabulary, texts)):
        text = content.decode("utf-8", "replace")
        if different.isdisjoint(text) and one != answer(text):
            wrong += 1
            if wrong < 4:
                print(f"{content.hex()}\n  ours   {one}\n  theirs {answer(text)}")
    print(f"{wrong} of {len(texts)} texts differ")
    return wrong == 0 and len(different) < MOST_DIFFERENT * len(between)


def write_golden(path, answer):
    source = random.Random(7)
    # Only what no version of Unicode since 3.2 has changed.
    characters = [c for c in every_character() if unicodedata.category(c) not in ("Cn", "Co")
                  and unicodedata.ucd_3_2_0.category(c) == unicodedata.category(c)]
    texts = [b"", b" \n", b"\xff\xfe", b"a\xc3", b"a\xe2\x28\xa1b", b"\xf0\x9f\x99 x", b"\xed\xa0\x80c"]
    texts += [word.encode() for word in WRITTEN] + [random_text(source, characters) for _ in range(100)]
    rows = []
    for content in texts:
        words, pieces = answer(content.decode("utf-8", "replace"))
        rows.append(json.dumps({"text": content.hex(), "words": " ".join(words), "pieces": pieces}, ensure_ascii=False))
    import tokenizers
    head = {"format": "words-golden/1", "made_by": f"tests/oracle/words_oracle.py, tokenizers {tokenizers.__version__}"}
    Path(path).write_text(json.dumps(head)[:-1] + ', "texts": [\n' + ",\n".join(rows) + "\n]}\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--setup", action="store_true")
    parser.add_argument("--program")
    parser.add_argument("--assets")
    parser.add_argument("--texts", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--golden")
    options = parser.parse_args()
    if options.setup:
        return setup()
    need_tokenizers()
    vocabulary = Path(os.environ.get("HARNESS_ASSETS") or options.assets) / "bert-uncased-vocabulary.txt"
    if not vocabulary.exists():
        skip(f"{vocabulary} is not there (./quickstart assets)")
    answer = theirs(vocabulary)
    if options.golden:
        return write_golden(options.golden, answer)
    return 0 if compare(options, answer, vocabulary) else 1


if __name__ == "__main__":
    sys.exit(main())
