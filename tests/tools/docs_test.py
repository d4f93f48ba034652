#!/usr/bin/env python3
"""Reads every page of the repository: its commands pass the program's own option parser, its links lead somewhere, its
output blocks say where they come from, no line is too long and no figure stands twice. Then each check is shown a page
that breaks it.

usage: docs_test.py HARNESS
"""
import functools
import importlib.machinery
import importlib.util
import json
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LONGEST_LINE = 119
LONGEST_README = 160
FENCE = re.compile(r"^ *```(\w*)[^\n]*\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
PLACEHOLDER = re.compile(r"[A-Z][A-Z0-9.]*|.*\$.*")


def update_script():
    """docs/update as a module: it knows what an output block is."""
    loader = importlib.machinery.SourceFileLoader("docs_update", str(ROOT / "docs/update"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("docs_update", loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


UPDATE = update_script()


class Program:
    """The program's option parser. With --help first it reads all options and runs nothing."""

    def __init__(self, binary):
        self.binary = binary
        self.seen = {}

    def call(self, arguments):
        key = tuple(arguments)
        if key not in self.seen:
            self.seen[key] = subprocess.run([self.binary, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                                            text=True, timeout=60, check=False)
        return self.seen[key]

    def options(self, command):
        """The options of a command, each with the name of its value or None for a flag."""
        shown = self.call([command, "--help"]).stdout
        found = re.findall(r"^ +(?:-\w, )?--([\w-]+)(?: (\S+))?(?: {2,}|$)", shown, re.MULTILINE)
        return {name: value or None for name, value in found}

    def takes_words(self, command):
        usage = re.search(rf"^ *harness {command}\b(.*)$", self.call([command, "--help"]).stdout, re.MULTILINE)[1]
        for name, value in self.options(command).items():
            usage = re.sub(rf"--{name}\b" + (r"[ =][^\s\])]+" if value else ""), "", usage)
        return bool(re.search(r"\b(?!OPTIONS?\b)[A-Z]{2,}", usage))

    def commands(self):
        return re.findall(r"^  ([a-z][a-z-]+) ", self.call(["--help"]).stdout, re.MULTILINE)

    def examples(self, command):
        """The commands that the help shows, but for the lines that tell the usage."""
        lines = re.findall(r"^ *(harness .*)$", self.call([command, "--help"]).stdout, re.MULTILINE)
        return [line for line in lines[1:] if "[" not in line]


def rules_of(workload):
    file = ROOT / "rules" / f"{workload}.json"
    return json.loads(file.read_text()) if file.is_file() else None


def problem_of_values(given):
    """What is wrong with the names of a workload, its tier and its variants."""
    workload = given.get("workload")
    if not workload or PLACEHOLDER.fullmatch(workload):
        return None
    rules = rules_of(workload)
    if not rules:
        return f"there is no rules/{workload}.json"
    tier = given.get("tier")
    if tier and not PLACEHOLDER.fullmatch(tier) and tier not in rules["tiers"]:
        return f"{workload} has no tier {tier}"
    variants = [one["name"] for one in rules.get("ablation", {}).get("variants", [])]
    unknown = [one for one in given.get("variants", "").split(",") if one and one not in variants]
    return f"{workload} has no variant {unknown[0]}" if unknown and not PLACEHOLDER.fullmatch(unknown[0]) else None


def problem_of_harness(program, arguments):
    """Why `harness ARGUMENTS` does not parse, or None."""
    if not arguments or PLACEHOLDER.fullmatch(arguments[0]) or arguments[0] in ("--help", "--version", "help"):
        return None
    command, rest = arguments[0], arguments[1:]
    if command not in program.commands():
        return f"there is no command '{command}'"
    done = program.call([command, "--help", *rest])
    if done.returncode:
        return done.stderr.strip()
    options, given, words, waiting = program.options(command), {}, [], None
    letters = dict(re.findall(r"^ +-(\w), --([\w-]+)", program.call([command, "--help"]).stdout, re.MULTILINE))
    for one in rest:
        if waiting:
            given[waiting], waiting = one, None
        elif one.startswith("--") and "=" in one:
            name, _, given[name] = one[2:].partition("=")
        elif one.startswith("-") and len(one) > 1:
            name = one[2:] if one.startswith("--") else letters.get(one[1], one[1:])
            waiting = name if options.get(name) else None
        else:
            words.append(one)
    if words and not program.takes_words(command):
        return f"'harness {command}' takes no word: {words[0]}"
    for name, value in given.items():
        kind = options.get(name)
        pattern = {"N": r"-?\d+", "S": r"\d+(\.\d+)?", "X": r"-?\d+(\.\d+)?", "MINUTES": r"\d+(\.\d+)?"}.get(kind)
        if pattern and not re.fullmatch(pattern, value) and not PLACEHOLDER.fullmatch(value):
            return f"--{name} {value} is no {kind}"
        if kind and "|" in kind and value not in kind.split("|") and not PLACEHOLDER.fullmatch(value):
            return f"--{name} {value} is not one of {kind}"
    return problem_of_values(given)


@functools.cache
def quickstart_usage():
    return subprocess.run([ROOT / "quickstart", "--help"], capture_output=True, text=True, check=True).stdout


def problem_of_quickstart(program, arguments):
    if arguments and arguments[0] in program.commands():
        return problem_of_harness(program, arguments)
    usage = quickstart_usage()
    first = arguments[0] if arguments else ""
    if not first or PLACEHOLDER.fullmatch(first) or re.search(rf"(?<!\S){re.escape(first)}(?!\S)", usage):
        return None
    return f"'./quickstart --help' knows no {first}"


def problem_of_others(words):
    """Scripts of the repository, presets and stages that a command names."""
    for word in words:
        if re.match(r"(\.ci|tests|docs)/", word) and not any(ROOT.glob(word.rstrip("/"))):
            return f"there is no {word}"
    if words[0] in ("cmake", "ctest") and "--preset" in words:
        name = words[words.index("--preset") + 1]
        presets = json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]
        if name not in [one["name"] for one in presets]:
            return f"there is no preset {name}"
    if words[0] == ".ci/run":
        stages = re.findall(r"^stage_(\w+)", (ROOT / ".ci/run").read_text(), re.MULTILINE)
        unknown = [one for one in words[1:] if one not in stages]
        return f".ci/run has no stage {unknown[0]}" if unknown else None
    return None


def problems_of_line(program, line, variables):
    """Problems of one line of shell, commands within its quotes included."""
    line = re.sub(r"\$\{?(\w+)\}?", lambda name: variables.get(name[1], name[0]), line)
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:
        return [f"no shell: {line}"]
    segments, found = [[]], []
    for word in words:
        if re.fullmatch(r"[();<>|&]+", word):
            segments.append([])
        else:
            segments[-1].append(word)
    for segment in segments:
        while segment and (re.match(r"\w+=", segment[0]) or segment[0] in ("export", "if", "!", "then", "do")):
            name, equals, value = segment.pop(0).partition("=")
            if equals:
                variables[name] = value
        for word in segment:
            if " " in word and re.search(r"(^|[ /])(harness|quickstart) ", word):
                found += problems_of_line(program, word, variables)
        name = segment[0].rsplit("/", 1)[-1] if segment else ""
        if name == "harness":
            problem = problem_of_harness(program, segment[1:])
        elif name == "quickstart":
            problem = problem_of_quickstart(program, segment[1:])
        else:
            problem = problem_of_others(segment) if segment else None
        if problem:
            found.append(f"{' '.join(segment)}: {problem}")
    return found


def without_fences(text):
    return FENCE.sub("", text)


def spans_of(text):
    """The inline code of a page, as it is shown."""
    text = re.sub(r"<!--.*?-->", "", without_fences(text), flags=re.DOTALL)
    return [re.sub(r"\s+", " ", one).replace("\\|", "|") for one in re.findall(r"`([^`]+)`", text)]


def check_commands(program, pages):
    problems = []
    for name, text in pages.items():
        output = []
        try:
            output = UPDATE.blocks_of(name, text)
        except UPDATE.Problem:
            pass  # check_outputs tells of it
        lines = [one for block in output for one in [block.command, *block.before]]
        for block in reversed(output):
            text = text[:block.span[0]] + text[block.span[1]:]
        for language, code in FENCE.findall(text):
            if language in ("", "sh", "bash"):
                lines += re.sub(r"\s*\\\n\s*", " ", code).splitlines()
        variables = {}
        # What is no shell at all (a table, a JSON document) has no command that could go out of date.
        lines = [one for one in lines if re.search(r"harness|quickstart|\.ci/|tests/|docs/|--preset|^\w+=", one)]
        for line in lines:
            problems += [f"{name}: {one}" for one in problems_of_line(program, line, variables)]
        for span in spans_of(text):
            if re.match(r"(\S*/)?(harness|quickstart) ", span):
                plain = re.sub(r"[\[\]]|\.\.\.|…", "", span)
                problems += [f"{name}: {one}" for one in problems_of_line(program, plain, {})]
    return problems


def check_help(program):
    return [f"harness {command} --help: {one}" for command in program.commands()
            for line in program.examples(command) for one in problems_of_line(program, line, {})]


@functools.cache
def options_of_scripts():
    """All that looks like an option in quickstart and the other scripts of the repository."""
    files = ["quickstart", ".ci", "docs/update", "*.py", "*.sh", "tests/fuzz/run", ":!tests/tools/docs_test.py"]
    command = ["git", "grep", "-hoIE", "-e", r"--[a-z][a-z_-]+", "--", *files]
    return set(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split())


def check_options(program, pages):
    """An option named in the text exists: in the program, in quickstart or in a script of the repository."""
    known = {f"--{name}" for command in program.commands() for name in program.options(command)} | {"--version"}
    known |= options_of_scripts()
    return [f"{name}: there is no option {one}" for name, text in pages.items() for span in spans_of(text)
            for one in re.findall(r"^(--[a-z][a-z_-]+)", span)
            if one not in known and not one.startswith("--benchmark_")]  # those are Google Benchmark's


def anchors_of(text):
    headings = re.findall(r"^#+ +(.*)$", without_fences(text), re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", one).lower()) for one in headings]
    return {one.replace(" ", "-") for one in plain}


def check_links(pages):
    problems = []
    linked = set()
    for name, text in pages.items():
        # A code span stays in the text of a link, so only fences are taken out.
        for target in re.findall(r"\]\(([^)\s]+)\)", without_fences(text)):
            if re.match(r"[a-z]+://", target):
                continue
            file, _, anchor = target.partition("#")
            path = (ROOT / name).parent / file if file else ROOT / name
            inside = path.resolve()
            key = str(inside.relative_to(ROOT)) if inside.is_relative_to(ROOT) else ""
            if name == "docs/README.md":
                linked.add(key)
            if not key or not (inside.exists() or key in pages):
                problems.append(f"{name}: {target} leads nowhere")
            elif anchor and anchor not in anchors_of(pages.get(key, "")):
                problems.append(f"{name}: {target} names no heading there")
    return problems + [f"{name} is not in docs/README.md" for name in pages
                       if name.startswith("docs/") and name != "docs/README.md" and name not in linked]


def check_lengths(pages):
    problems = []
    for name, text in pages.items():
        for line in without_fences(text).splitlines():
            if len(line) > LONGEST_LINE and not line.lstrip().startswith("|"):
                problems.append(f"{name}: {len(line)} characters: {line[:60]}...")
    lines = pages["README.md"].count("\n")
    return problems + ([f"README.md: {lines} lines, over {LONGEST_README}"] if lines > LONGEST_README else [])


def check_outputs(pages):
    problems = []
    rules = {}
    for name, text in pages.items():
        try:
            found = UPDATE.blocks_of(name, text)
        except UPDATE.Problem as problem:
            problems.append(str(problem))
            continue
        for block in found:
            if not block.stamp or not UPDATE.STAMP.fullmatch(block.stamp):
                problems.append(f"{name}: block {block.name} does not say commit, day, machine and peak")
            if rules.setdefault(block.name, block.command) != block.command:
                problems.append(f"{name}: block {block.name} is another command elsewhere")
    return problems


def check_figures(pages):
    """A line of a table or block with two measured figures or more stands in one place."""
    problems = []
    places = {}
    for name, text in pages.items():
        for line in text.splitlines():
            plain = " ".join(re.sub(r"[|*`]", " ", line).split())
            if len(re.findall(r"(?<![\w.])\d+\.\d+(?![.\d])", plain)) < 2:
                continue
            if plain in places:
                problems.append(f"{name}: '{plain[:60]}' stands in {places[plain]}, too")
            places[plain] = name
    return problems


def all_problems(program, pages):
    return (check_commands(program, pages) + check_options(program, pages) + check_links(pages) +
            check_lengths(pages) + check_outputs(pages) + check_figures(pages))


STAMP_LINE = "*Commit 0123abc, 2026-01-02, 2 cores of A (virtual), measured peak 235 GFLOP/s.*"
BLOCK_TEXT = ("<!-- output: harness run --workload null\nname: trial\nlines: 1\n-->\n```\nvalid\n```\n\n" +
              STAMP_LINE + "\n")
# A page each, and what has to be said of it; None: nothing.
TRIALS = [
    (BLOCK_TEXT + "[a](README.md#output-in-these-pages)\n`harness list [--json]`\n", None),
    ("```\nharness run --workload null --tier quick  # a word\n```\n", None),
    ("```\nharness run --worklod null\n```\n", "--worklod"),
    ("```\nharness measure --workload null\n```\n", "no command 'measure'"),
    ("```\nharness run --workload null --threads\n```\n", "--threads"),
    ("```\nharness run --workload null --strict=yes x\n```\n", "strict"),
    ("```\nharness run --workload null --runs many\n```\n", "is no N"),
    ("```\nharness run --workload null extra\n```\n", "takes no word"),
    ("```\nharness run --workload nil\n```\n", "no rules/nil.json"),
    ("```\nharness run --workload null --tier fast\n```\n", "no tier fast"),
    ("```\nharness ablate --workload retinanet-train --variants pool\n```\n", "no variant pool"),
    ("```\nharness gate --ab-base A --ab-cand B --on-inconclusive maybe\n```\n", "not one of"),
    ("```\nC='harness run --workload null'\nharness gate --ab-base \"$C --sed 1\" --ab-cand \"$C\"\n```\n", "--sed"),
    ("```\n./quickstart run --workload null --sed 1\n```\n", "--sed"),
    ("```\n./quickstart tests\n```\n", "knows no tests"),
    ("```\ncd x && \\\n  harness report --page a\n```\n", "--page"),
    ("```\ntests/no_such_script.py\n```\n", "there is no tests/no_such_script.py"),
    ("```\ncmake --preset none\n```\n", "no preset none"),
    ("```\n.ci/run nothing\n```\n", "no stage nothing"),
    ("Use `harness run --sed 1` then.\n", "--sed"),
    ("Use `--no-such-option`.\n", "no option --no-such-option"),
    ("[a](nowhere.md)\n", "leads nowhere"),
    ("[a](README.md#no-such-heading)\n", "names no heading"),
    ("a" * (LONGEST_LINE + 1) + "\n", "120 characters"),
    ("| " + "a" * LONGEST_LINE + " |\n", None),
    (BLOCK_TEXT.replace(STAMP_LINE, ""), "does not say commit"),
    (BLOCK_TEXT.replace("2026-01-02, ", ""), "does not say commit"),
    (BLOCK_TEXT.replace("```\nvalid\n```\n", ""), "no fenced block"),
    (BLOCK_TEXT.replace("name: trial", "nme: trial"), "no line of an output block"),
    (BLOCK_TEXT.replace("name: trial", "name: tests"), "another command elsewhere"),
    (BLOCK_TEXT.replace("--workload null", "--workload nil"), "no rules/nil.json"),
    ("| a | 1.25 s | 2.5 s |\n\n```\na  1.25 s  2.5 s\n```\n", "stands in docs/trial.md, too"),
]


def check_trials(program, pages):
    """Every check is seen to find what it is for."""
    problems = []
    before = set(all_problems(program, pages))
    index = pages["docs/README.md"] + "[trial](trial.md)\n"
    for text, wanted in TRIALS:
        found = set(all_problems(program, {**pages, "docs/README.md": index, "docs/trial.md": text})) - before
        told = [one for one in found if wanted and wanted in one]
        if (wanted and not told) or (not wanted and found):
            problems.append(f"trial {text!r}: wanted {wanted!r}, found {sorted(found)}")
    unlinked = set(all_problems(program, {**pages, "docs/trial.md": "# Trial\n"})) - before
    if unlinked != {"docs/trial.md is not in docs/README.md"}:
        problems.append(f"trial of a page that is not linked: {sorted(unlinked)}")
    long = set(all_problems(program, {**pages, "README.md": pages["README.md"] + "\n" * LONGEST_README})) - before
    if not any("lines, over" in one for one in long):
        problems.append(f"trial of a long README: {sorted(long)}")
    return problems + check_cuts()


def check_cuts():
    """The line rules of docs/update."""
    text = "".join(f"line {number}\n" for number in range(1, 10))
    good = {"": text.rstrip("\n"), "1-2": "line 1\nline 2\n...", "/e 8/-$": "...\nline 8\nline 9",
            "2, /e 4/+1": "...\nline 2\n...\nline 4\nline 5\n...", "$": "...\nline 9"}
    problems = [f"the rule '{rule}' gave {UPDATE.cut(text, rule, 'x')!r}" for rule, wanted in good.items()
                if UPDATE.cut(text, rule, "x") != wanted]
    for rule in ("0", "10", "/none/", "5-2", "a", "3-q"):
        try:
            problems.append(f"the rule '{rule}' passed: {UPDATE.cut(text, rule, 'x')!r}")
        except UPDATE.Problem:
            pass
    return problems


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    program = Program(sys.argv[1])
    pages = {str(path.relative_to(ROOT)): path.read_text() for path in UPDATE.pages()}
    problems = all_problems(program, pages) + check_help(program) + check_trials(program, pages)
    for problem in problems:
        print(problem)
    print(f"{len(pages)} pages, {len(TRIALS) + 2} trials, {len(program.seen)} calls, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
