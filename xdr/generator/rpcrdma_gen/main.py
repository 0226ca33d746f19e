# SPDX-License-Identifier: BSD-3-Clause
"""The command line."""
import argparse
import sys
from pathlib import Path

from .bounds import BULK, TEXT
from .emit import Emitter
from .language import Parser, SourceError
from .rpcgen import header_and_code, preprocessed

DESCRIPTION = """\
Generates C++ for librpcrdma from a file in the RPC language, as rpcgen reads it. For NAME.x it writes NAME.h and
NAME_xdr.cpp (types and XDR routines, from rpcgen) and NAME.rpcrdma.hpp (one Procedure type for each procedure).

Comments on the line of a member or procedure state what the language cannot express:
  /* rpcrdma: idempotent */          a procedure that may be run again when a call is resent
  /* rpcrdma: auth sys */            a procedure that requires AUTH_SYS
  /* rpcrdma: max 100 */             bound of a member that has none: bytes, or elements of an array or a linked list
  /* rpcrdma: max args.count */      the same; the bound is a member of the argument
  /* rpcrdma: name NAME */           another C++ name of a procedure or, after its number, of a program
Types: bulk_data is a DDP-eligible opaque<>, text_data a string<> that is not copied."""
EXAMPLE = "For example: rpcrdma-gen --output generated hello.x"


def arguments(values):
    parser = argparse.ArgumentParser(prog="rpcrdma-gen", description=DESCRIPTION, epilog=EXAMPLE,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", metavar="DIR", default=".", help="folder of the generated files (default: .)")
    parser.add_argument("--rpcgen", metavar="PROGRAM", default="rpcgen", help="default: rpcgen")
    parser.add_argument("--cpp", metavar="PROGRAM", default="cpp", help="the C preprocessor (default: cpp)")
    parser.add_argument("file", metavar="FILE.x")
    return parser.parse_args(values)


def write(path, text):
    """Writes the file only if its contents change, so that code that includes it is not compiled again."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def generate(options):
    source = Path(options.file)
    stem, text = source.stem, source.read_text()
    parser = Parser(preprocessed(str(source), text, options.cpp))
    specification = parser.parse()
    words = {token.text for token in parser.tokens}
    uses = ["rpcrdma/xdr/boolean.hpp", "rpcrdma/xdr/limits.hpp"]
    uses += ["rpcrdma/xdr/bulk.hpp"] if BULK in words else []
    uses += ["rpcrdma/xdr/text.hpp"] if TEXT in words else []
    procedures = Emitter(specification).emit(source.name, stem)
    header, code = header_and_code(text, stem, uses, options.rpcgen, str(source.resolve().parent))
    folder = Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / f"{stem}.h", header)
    write(folder / f"{stem}_xdr.cpp", code)
    write(folder / f"{stem}.rpcrdma.hpp", procedures)


def main(values):
    options = arguments(values)
    try:
        generate(options)
    except SourceError as error:
        print(f"{options.file}:{error.line}: {error}", file=sys.stderr)
        return 1
    except (OSError, UnicodeDecodeError) as error:
        print(f"rpcrdma-gen: {options.file}: {error}", file=sys.stderr)
        return 1
    except RecursionError:
        print(f"rpcrdma-gen: {options.file}: types are nested too deeply", file=sys.stderr)
        return 1
    return 0
