#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""snippets.py OUT PAGE...: writes the code blocks of the pages into files, and prints the names of the files.

    ```cpp compile=FILE        a part of OUT/FILE, shown to the reader
    <!-- compile=FILE          a part of OUT/FILE that is not shown, such as the code around the shown parts
    ... -->

The parts of a file are joined in the order of the page. A code block without `compile=` is an error, so that all code
is compiled. Blocks in the languages of OTHER do not count as code.
"""
import re
import sys
from pathlib import Path

OPEN = re.compile(r"^(?:```(\w*) *|<!-- )(?:compile=(\S+))?$")
OTHER = {"sh", "console", "text", "cmake"}
LINE_MARKS = {".cpp", ".hpp", ".c", ".h"}  # with #line, so that the compiler names the line of the page


def parts(page):
    """Yields the file name, the number of the first line, and the text of each part."""
    lines = page.read_text(encoding="utf-8").split("\n")
    number = 0
    while number < len(lines):
        opened = OPEN.match(lines[number])
        number += 1
        if not opened:
            if lines[number - 1].startswith("```"):
                raise SystemExit(f"{page}:{number}: cannot parse the attributes of this code block")
            continue
        language, name = opened.groups()
        begin, end = number, "-->" if language is None else "```"
        while number < len(lines) and lines[number] != end:
            number += 1
        if number == len(lines):
            raise SystemExit(f"{page}:{begin}: a block that is not closed")
        number += 1
        if name:
            yield name, begin + 1, "\n".join(lines[begin:number - 1]) + "\n"
        elif language is not None and language not in OTHER:
            raise SystemExit(f"{page}:{begin}: code that is not compiled")


def main():
    out, *pages = map(Path, sys.argv[1:])
    files = {}
    for page in pages:
        for name, line, text in parts(page):
            mark = f'#line {line} "{page}"\n' if Path(name).suffix in LINE_MARKS else ""
            files[name] = files.get(name, "") + mark + text
    for name, text in files.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    print(";".join(sorted(files)), end="")


main()
