# SPDX-License-Identifier: BSD-3-Clause
"""Makes directory trees, of generated files or of copies of this machine's files, and compares trees."""
import filecmp
import os
import random
import shutil
from pathlib import Path


def noise(octets, seed=0):
    return random.Random(seed).randbytes(octets)


def write_noise(path, octets, seed=0):
    """Writes a large file in which no MiB equals another one (up to 32 GiB)."""
    block, number = noise(min(octets, 1 << 20), seed), 0
    with open(path, "wb") as file:
        while octets > 0:
            # Permuting the byte values of a block makes another block, and is much faster than generating new noise.
            step, start = 2 * (number >> 8) + 1, number & 255
            file.write(block.translate(bytes((value * step + start) & 255 for value in range(256)))[:octets])
            octets -= len(block)
            number += 1
    return path


def make_tree(root, files, seed=0, largest=60000):
    """`files` files of different sizes in nested directories, with links and an empty directory among them."""
    source = random.Random(seed)
    root = Path(root)
    for index in range(files):
        folder = root / f"d{index % 7}" / f"e{index % 3}"
        folder.mkdir(parents=True, exist_ok=True)
        size = source.choice((0, 1, 3, 500, 4096, source.randrange(largest)))
        (folder / f"file {index} \u00fc").write_bytes(source.randbytes(size))
    (root / "empty folder").mkdir(parents=True, exist_ok=True)
    (root / "link").symlink_to("d0/e0")
    (root / "dangling").symlink_to("nowhere/at all")
    return root


def sample_tree(root, files):
    """Copies up to `files` real files of this machine; returns their number."""
    copied = 0
    for folder in ("/usr/include", "/usr/share/doc", "/usr/lib/python3", "/usr/share", "/usr/lib"):
        for parent, folders, names in os.walk(folder):
            folders.sort()
            for name in sorted(names):
                path = os.path.join(parent, name)
                if os.path.islink(path) or not os.path.isfile(path) or os.path.getsize(path) > 1 << 20:
                    continue
                target = Path(root) / path.lstrip("/")
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
                copied += 1
                if copied == files:
                    return copied
    return copied


def differences(left, right):
    """Describes the differences between two directories; empty if they are the same."""
    left, right = Path(left), Path(right)
    found = []
    names = lambda folder: set(os.listdir(folder))
    for name in sorted(names(left) | names(right)):
        a, b = left / name, right / name
        if not os.path.lexists(a) or not os.path.lexists(b):
            found.append(f"only on one side: {name}")
        elif a.is_symlink() or b.is_symlink():
            if not (a.is_symlink() and b.is_symlink() and os.readlink(a) == os.readlink(b)):
                found.append(f"link {a}")
        elif a.is_dir() != b.is_dir():
            found.append(f"kind of {a}")
        elif a.is_dir():
            found += differences(a, b)
        elif not filecmp.cmp(a, b, shallow=False):
            found.append(f"content of {a}")
    return found
