# SPDX-License-Identifier: BSD-3-Clause
"""Runs rpcgen for the types of a .x file, and adapts its output to C++."""
import os
import re
import subprocess
import tempfile
from pathlib import Path

from .language import SourceError

SKIPPED = re.compile(r"/\*.*?\*/|^%[^\n]*$|\"[^\"\n]*\"", re.DOTALL | re.MULTILINE)
INCLUDE = re.compile(r'^#include "rpcrdma[^\n]*\n', re.MULTILINE)
# The routines of libtirpc that accept too much: called, or passed to another routine.
TRUSTING = re.compile(r"\bxdr_(bool|array|pointer)\b(?= \(xdrs,)|(?<=\(xdrproc_t\) )xdr_(bool)\b")
CHECKED = {"bool": "xdr_strict_bool", "array": "xdr_limited_array", "pointer": "xdr_limited_pointer"}


def without_programs(text):
    """Blanks program definitions, because rpcgen would define their names as macros. Lines keep their numbers."""
    hidden = SKIPPED.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)
    for found in re.finditer(r"\bprogram\s+\w+\s*\{", hidden):
        at, depth = found.end(), 1
        while at < len(hidden) and depth:
            depth += {"{": 1, "}": -1}.get(hidden[at], 0)
            at += 1
        end = hidden.find(";", at) + 1 or len(hidden)
        text = text[:found.start()] + re.sub(r"[^\n]", " ", text[found.start():end]) + text[end:]
    return text


def preprocessed(path, text, cpp):
    """Preprocesses the file as rpcgen does; a file without directives needs no preprocessor."""
    if not re.search(r"^[ \t]*#", text, re.MULTILINE):
        return text
    done = subprocess.run([cpp, "-C", "-undef", "-nostdinc", "-DRPC_HDR", path], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip())
        found = re.search(r":(\d+):(?:\d+:)?(.*)", first)
        raise SourceError(int(found[1]) if found else 1, f"preprocessor:{found[2] if found else first}")
    return done.stdout


def run(rpcgen, kind, source, folder, included):
    path = os.pathsep.join(filter(None, [str(included), os.environ.get("CPATH")]))
    output = folder / f"{source.stem}.{kind}"  # rpcgen makes the include guard from this name
    done = subprocess.run([rpcgen, "-C", f"-{kind}", "-i", "0", "-o", str(output), source.name], cwd=folder,
                          env={**os.environ, "CPATH": path}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        first = (done.stderr.strip().splitlines() or ["failed"])
        found = re.search(r"line (\d+): (.*)", done.stderr)
        raise SourceError(int(found[1]) if found else 1, f"rpcgen: {found[2] if found else first[-1]}")
    return output.read_text()


def header_and_code(text, stem, uses, rpcgen, beside):
    """The contents of NAME.h and NAME_xdr.cpp. `uses`: headers of this library that the types need. `beside`: the folder
    of the file, where the preprocessor finds the files that it includes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / f"{stem}.x"
        source.write_text(without_programs(text))
        included = folder / "beside"  # a link, because CPATH cannot name a folder whose path has a colon
        included.symlink_to(beside)
        header, code = (run(rpcgen, kind, source, folder, included) for kind in "hc")
    # Moves C++ headers out of extern "C". Gives enums a fixed underlying type, so that any value from a peer is
    # defined.
    includes = "".join(f'#include "{name}"\n' for name in uses)
    includes += "".join(found for found in INCLUDE.findall(header) if found not in includes)
    header = INCLUDE.sub("", header)
    header = header.replace("#include <rpc/rpc.h>\n", "#include <rpc/rpc.h>\n" + includes, 1)
    header = re.sub(r"\benum (\w+) \{", r"enum \1 : int {", header)
    # rpcgen makes the name of the include guard from that of the file, which may have other characters than a name.
    header = re.sub(r"_[^\n]*_H_RPCGEN", lambda found: re.sub(r"\W", "_", found.group()), header)
    if not INCLUDE.search(code) and f'#include "{stem}.h"' not in code:
        code = f'#include "{stem}.h"\n' + code
    return header, TRUSTING.sub(lambda found: CHECKED[found[1] or found[2]], code)
