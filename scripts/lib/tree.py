# SPDX-License-Identifier: BSD-3-Clause
"""The project's text files: those that git lists or, in an unpacked archive, all text files."""
import subprocess


def files(top):
    listed = subprocess.run(["git", "-c", f"safe.directory={top}", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=top,
                            capture_output=True, check=False)
    if listed.returncode == 0:
        names = [name for name in listed.stdout.decode().split("\0") if name]
    else:  # an unpacked archive
        names = [str(path.relative_to(top)) for path in top.rglob("*")
                 if not path.relative_to(top).parts[0].startswith((".git", "build"))]
    return sorted({name for name in names if (top / name).is_file()})


def texts(top):
    """The text files of the project: {name: text}."""
    found = {}
    for name in files(top):
        try:
            found[name] = (top / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
    return found
