#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run every command that documents show, as their reader would type it, and compare the output.

    documents.py EXCEPTIONS DOCUMENT...

A document is Markdown, in which code stands in indented blocks, or mdoc, in which it stands between
.Bd -literal and .Ed or after .Dl. In a block with lines that begin with "$ " these are commands and
the other lines are their output, "..." being any lines; a line "# ..." right before a command is a
comment. In a block without "$ " all lines are commands. So are the cells of a Markdown column that
is headed "command". A command has to succeed, or to print the shown output.

Every section, by its heading, has a new home directory with scribe.gguf and clerk.gguf in it, which
is called /home/user where its name is shown, and a network without another host, so it has
to be root who runs this. Comments, which a reader does not see, say the rest (<!-- --> or .\\")
on lines of their own before a block:

    before: COMMAND     a command to run first
    numbers vary        any number stands for any other, in the output of the next block
    not run: REASON     the next block holds no commands

EXCEPTIONS is a file with a line for each command that cannot be run: the document, how the command
begins, in one line, and the reason, with tabs between them. One that is not there is a mistake. The
environment has the programs in PATH, the models in MODELS, and is in a directory to work in. Prints
each error; the exit status is 1 then."""
import dataclasses
import os
import re
import shutil
import subprocess
import sys
import time

LIMIT = 60  # seconds for a section


@dataclasses.dataclass
class Command:
    text: str
    where: str
    expected: list = None  # lines, or nothing that is compared
    numbers_vary: bool = False
    hidden: bool = False


@dataclasses.dataclass
class Block:
    number: int  # of its first line
    lines: list
    notes: list  # (line number, text)


class Section:
    def __init__(self, title):
        self.title = title
        self.blocks = []


## reading documents


def fail(where, what):
    sys.exit(f"{where}: {what}")


def columns(line):
    """The cells of a line of a Markdown table."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def table_commands(lines, start):
    """The commands in the table that begins at a line, and the number of the line behind it."""
    commands = []
    column = columns(lines[start]).index("command")
    i = start + 2
    while i < len(lines) and lines[i].startswith("|"):
        match = re.fullmatch(r"`(.*)`", columns(lines[i])[column])
        if match:
            commands.append(match.group(1))
        i += 1
    return commands, i


def markdown_sections(name, lines):
    sections = [Section("beginning")]
    notes = []
    i = 0
    while i < len(lines):
        line = lines[i]
        start = i
        i += 1
        note = re.fullmatch(r"<!-- (.*) -->", line)
        if line.startswith("```"):
            fail(f"{name}:{start + 1}", "code stands in indented blocks here")
        elif line.startswith("#"):
            sections.append(Section(line.lstrip("# ")))
        elif note:
            notes.append((start + 1, note.group(1)))
        elif line.startswith("|") and "command" in columns(line):
            commands, i = table_commands(lines, start)
            sections[-1].blocks.append(Block(start + 3, commands, notes))
            notes = []
        elif line.startswith("    ") and (start == 0 or not lines[start - 1].strip()):
            while i < len(lines) and (not lines[i].strip() or lines[i].startswith("    ")):
                i += 1
            body = [text[4:] for text in lines[start:i]]
            sections[-1].blocks.append(Block(start + 1, body, notes))
            notes = []
    if notes:
        fail(f"{name}:{notes[0][0]}", "a comment with no block behind it")
    return sections


ESCAPES = {"e": "\\", "&": "", "-": "-", "(aq": "'", "(ga": "`", "(ha": "^", "(ti": "~",
           "(dq": '"', "(*h": "θ"}


def unescape(text):
    return re.sub(r"\\(\(..|.)", lambda m: ESCAPES.get(m.group(1), m.group(0)), text)


def mdoc_sections(name, lines):
    sections = [Section("beginning")]
    notes = []
    i = 0
    while i < len(lines):
        line = lines[i]
        start = i
        i += 1
        note = re.fullmatch(r'\.\\" ((before: |numbers vary|not run: ).*)', line)
        heading = re.fullmatch(r"\.S[hs] (.*)", line)
        body = None
        if heading:
            sections.append(Section(heading.group(1)))
        elif note:
            notes.append((start + 1, note.group(1)))
        elif line.startswith(".Dl "):
            body = [line[4:]]
            start -= 1
        elif line.startswith(".Bd -literal"):
            end = lines.index(".Ed", start)
            body = lines[start + 1:end]
            i = end + 1
        elif line.startswith(".Bd -unfilled"):
            fail(f"{name}:{start + 1}", "code stands in .Bd -literal here")
        if body:
            body = [unescape(text) for text in body]
            sections[-1].blocks.append(Block(start + 2, body, notes))
            notes = []
    if notes:
        fail(f"{name}:{notes[0][0]}", "a comment with no block behind it")
    return sections


def read_document(path):
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    name = os.path.basename(path)
    return name, (markdown_sections if path.endswith(".md") else mdoc_sections)(name, lines)


## from blocks to commands


def is_complete(text):
    """Would a shell begin to work now, or ask for more?"""
    if text.endswith("\\"):
        return False
    check = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True)
    return check.returncode == 0 and not check.stderr


def split_script(block, name):
    """The commands in a block in which all lines are commands."""
    text = ""
    number = block.number
    for i, line in enumerate(block.lines):
        if not text:
            number = block.number + i
        text += ("\n" if text else "") + line
        if not line.strip() and not text.strip():
            text = ""
        elif is_complete(text):
            yield Command(text, f"{name}:{number}")
            text = ""
    if text:
        fail(f"{name}:{number}", f"this is no whole command: {text}")


def split_session(block, name, numbers_vary):
    """The commands in a block that shows a terminal, with their output."""
    command = None
    for i, line in enumerate(block.lines):
        if command and not is_complete(command.text):
            command.text += "\n" + line
        elif line.startswith("$ "):
            if command:
                yield command
            command = Command(line[2:], f"{name}:{block.number + i}", None, numbers_vary)
        elif line.startswith("# ") and "".join(block.lines[i + 1:i + 2]).startswith("$ "):
            continue
        elif command:
            command.expected = (command.expected or []) + [line]
        else:
            fail(f"{name}:{block.number + i}", "output before a command")
    if command:
        yield command


def commands_of(block, name):
    numbers_vary = run = None
    for number, note in block.notes:
        if note.startswith("before: "):
            yield Command(note[len("before: "):], f"{name}:{number}", hidden=True)
        elif note == "numbers vary":
            numbers_vary = True
        elif note.startswith("not run: "):
            run = False
        else:
            fail(f"{name}:{number}", f"what is \"{note}\"?")
    if run is False:
        return
    if any(line.startswith("$ ") for line in block.lines):
        yield from split_session(block, name, bool(numbers_vary))
    else:
        yield from split_script(block, name)


## running them

DRIVER = r"""
# A terminal gets columns; a pipe and a file get lines.
ls() {
	if [ /dev/stdout -ef "$output" ]; then command ls -C -T 0 -w 80 "$@"; else command ls "$@"; fi
}
ip link set lo up
for number in $(seq "$1"); do
	output=$2/$number.output
	. "$2/$number.command" >"$output" 2>&1 </dev/null
	echo $? >"$2/$number.status"
done
"""


def normal(line, numbers_vary):
    line = line.rstrip()
    return re.sub(r"[0-9]+([.:-][0-9]+)*", "0", line) if numbers_vary else line


def is_as_shown(expected, lines):
    """Where "..." stands for any lines."""
    if not expected:
        return not lines
    if expected[0] == "...":
        return any(is_as_shown(expected[1:], lines[i:]) for i in range(len(lines) + 1))
    return bool(lines) and expected[0] == lines[0] and is_as_shown(expected[1:], lines[1:])


def strip_empty(lines):
    while lines and not lines[-1]:
        lines.pop()
    return lines


def trouble_with(command, status, output):
    shown = strip_empty([normal(line, command.numbers_vary) for line in command.expected or []])
    if shown:
        got = [normal(line, command.numbers_vary) for line in output.split("\n")]
        return None if is_as_shown(shown, strip_empty(got)) else "prints something else"
    return f"exit status {status}" if status else None


def mounts_under(directory):
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        points = [line.split(" ")[4].encode().decode("unicode_escape") for line in file]
    return sorted((p for p in points if p.startswith(directory + "/")), reverse=True)


def clean_up(home, work):
    """A server of a mount may keep it busy for some seconds."""
    end = time.monotonic() + 5
    while (points := mounts_under(home)) and time.monotonic() < end:
        for point in points:
            subprocess.run(["organfs-umount", point], capture_output=True)
        time.sleep(0.1)
    for point in mounts_under(home):
        subprocess.run(["fusermount3", "-uz", point], capture_output=True)
    shutil.rmtree(home)
    shutil.rmtree(work)


def result_of(work, number):
    try:
        with open(f"{work}/{number}.status", encoding="utf-8") as file:
            status = int(file.read())
    except FileNotFoundError:
        status = f"none within {LIMIT} s"
    try:
        with open(f"{work}/{number}.output", encoding="utf-8", errors="replace") as file:
            return status, file.read()
    except FileNotFoundError:
        return status, ""


def run_section(commands, title):
    """Number of commands with an unexpected result; each is printed."""
    home, work = os.path.realpath("home"), os.path.realpath("work")
    os.mkdir(home)
    os.mkdir(work)
    for model in "scribe", "clerk":
        shutil.copy(f"{os.environ['MODELS']}/{model}-Q4_K_M.gguf", f"{home}/{model}.gguf")
    for number, command in enumerate(commands, 1):
        with open(f"{work}/{number}.command", "w", encoding="utf-8") as file:
            file.write(command.text + "\n")
    environment = {k: v for k, v in os.environ.items() if k != "XDG_STATE_HOME"}
    environment["HOME"] = home
    try:
        subprocess.run(["unshare", "-n", "bash", "-c", DRIVER, "bash", str(len(commands)), work],
                       cwd=home, env=environment, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        pass
    failed = 0
    for number, command in enumerate(commands, 1):
        status, output = result_of(work, number)
        output = output.replace(home, "/home/user")
        trouble = trouble_with(command, status, output)
        if trouble:
            failed += 1
            print(f"{command.where}: {trouble} (section \"{title}\"): {command.text}")
            print("".join(f"    {line}\n" for line in output.split("\n")[:20]), end="")
    clean_up(home, work)
    return failed


def in_one_line(text):
    return " ".join(text.replace("\\\n", " ").split())


def read_exceptions(path):
    with open(path, encoding="utf-8") as file:
        fields = [line.rstrip("\n").split("\t") for line in file if line.strip()]
    for field in fields:
        if len(field) != 3 or not field[2].strip():
            fail(path, f"a document, a command and a reason are needed: {' '.join(field)}")
    return [(name, command) for name, command, _ in fields]


def exception_for(command, name, exceptions):
    text = in_one_line(command.text)
    return next((e for e in exceptions if e[0] == name and text.startswith(e[1])), None)


def main(exceptions_path, *documents):
    exceptions = read_exceptions(exceptions_path)
    used = set()
    failed = count = 0
    for path in documents:
        name, sections = read_document(path)
        for section in sections:
            commands = [c for block in section.blocks for c in commands_of(block, name)]
            used |= {exception_for(command, name, exceptions) for command in commands}
            commands = [c for c in commands if not exception_for(c, name, exceptions)]
            if any(not command.hidden for command in commands):
                count += sum(not command.hidden for command in commands)
                failed += run_section(commands, section.title)
    for name, command in sorted(set(exceptions) - used):
        failed += 1
        print(f"{name} does not have what is excepted: {command}")
    print(f"{count} commands, {failed} failures")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
