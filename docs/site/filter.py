#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Doxygen's input filter: adds descriptions that the source lacks. Lines keep their numbers.

Header: the comment below `#pragma once` becomes the file's description, the file's folder becomes its group, and
move operations and `operator bool` get a description if they have none. Implementation headers are left out. Page:
attributes of code blocks, and blocks that only the tests read, are dropped."""
import re
import sys
from pathlib import Path

FOLDER = re.compile(r"rpcrdma/([a-z0-9_]+)(?:/([a-z0-9_]+))?/[^/]+$")
SPECIALIZATION = re.compile(r"^struct boost::system::.*$")  # specializes Boost's template: not shown
NAMESPACE = re.compile(r"^namespace rpcrdma[a-z0-9_:]* \{$")
MOVE = re.compile(r"^\s+(?:(\w+)\(\1&&|\w+& operator=\(\w+&&)(?!.*= delete)")
EMPTY = re.compile(r"^\s+explicit operator bool\(\)")
HIDDEN = re.compile(r"^<!-- compile=.*?^-->$", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^(\s*```\w+) .*$", re.MULTILINE)


def group_of(path):
    """include/rpcrdma/memory/pool.hpp -> memory; rpcrdma/server.hpp -> embed."""
    found = FOLDER.search(str(path))
    if not found:
        return "tirpc" if path.suffix == ".h" else "embed"
    return "fabric" if found[1] == "fabric" else found[1]


def header(path, lines):
    at = lines.index("#pragma once") if "#pragma once" in lines else 1
    end = at + 1
    while end < len(lines) and lines[end].startswith("//") and not lines[end].startswith("///"):
        lines[end] = "/" + lines[end]
        end += 1
    lines[at] = "/// @file" if end > at + 1 else "/** @file */"
    if any(line.startswith("/// Implementation of ") for line in lines[at + 1:at + 2]):
        return ["/** @cond */"] + lines[1:] + ["/** @endcond */"]
    group = f"/** @addtogroup {group_of(path)} */ /** @{{ */"
    for number, line in enumerate(lines):
        if lines[number - 1] == "template <>":
            lines[number] = SPECIALIZATION.sub("", line)
        if "///<" in line and lines[number + 1].lstrip().startswith("/// "):  # doxygen would join the two
            lines[number] = re.sub(r"///< (.*)$", r"/**< \1 */", line)
        if not lines[number - 1].lstrip().startswith("///"):
            if MOVE.match(line):
                lines[number] = f"/** Moves; the source is empty afterwards. */ {line}"
            elif EMPTY.match(line):
                lines[number] = f"/** False if empty. */ {line}"
        if NAMESPACE.match(line):  # a group does not extend into a namespace by itself
            lines[number] = f"{line} {group}"
        if line.startswith("}  // namespace rpcrdma"):
            lines[number] = f"/** @}} */ {line}"
    lines[0] = group
    return lines + ["/** @} */"]


def c_header(path, lines):
    """Makes comments descriptions of the file, of the entity that follows, or of the one before."""
    lines = [re.sub(r"^(\s*)/\* ", r"\1/** ", re.sub(r"(?<=;)( +)/\* ", r"\1/**< ", line)) for line in lines]
    lines[1] = lines[1].replace("/*", "/** @file", 1)
    lines[0] = f"/** @addtogroup {group_of(path)} */ /** @{{ */"
    return lines + ["/** @} */"]


def main():
    path = Path(sys.argv[1])
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        text = HIDDEN.sub(lambda block: "\n" * block[0].count("\n"), text)
        sys.stdout.write(FENCE.sub(r"\1", text))
    else:
        convert = c_header if path.suffix == ".h" else header
        sys.stdout.write("\n".join(convert(path, text.splitlines())) + "\n")


main()
