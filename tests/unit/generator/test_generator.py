#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sources that rpcrdma-gen refuses, with the line that its message names; and some that it accepts."""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

GENERATOR = Path(__file__).resolve().parents[3] / "xdr/generator/rpcrdma-gen"
PROGRAM = "program P_PROG {{ version V {{\n{}\n}} = 1; }} = 0x20000001;\n"


def generate(text, name="test"):
    """Runs rpcrdma-gen on `text`; returns (exit status, standard error, generated files by name)."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / f"{name}.x"
        source.write_text(text)
        done = subprocess.run([sys.executable, str(GENERATOR), "--output", f"{folder}/out", f"{name}.x"], cwd=folder,
                              capture_output=True, text=True, check=False)
        files = {path.name: path.read_text() for path in Path(folder).glob("out/*")}
    return done.returncode, done.stderr, files


def result(members, argument="int"):
    return f"struct r {{\n{members}\n}};\n" + PROGRAM.format(f"r GET({argument}) = 1;")


class Refused(unittest.TestCase):
    def check(self, text, line, words):
        status, error, files = generate(text)
        self.assertEqual(status, 1, error)
        self.assertRegex(error, rf"^test\.x:{line}: ")
        self.assertIn(words, error)
        self.assertEqual(error.count("\n"), 1, "one line")
        self.assertEqual(files, {})

    def test_results_without_a_bound(self):
        for member in ("string s<>;", "opaque o<>;", "int a<>;", "bulk_data b;", "text_data t;"):
            self.check(result(member), 2, "has no bound")

    def test_lists_without_a_bound(self):
        self.check("struct e {\n int v;\n e *next;\n};\n" + PROGRAM.format("e GET(void) = 1;"), 3, "a list of any length")
        self.check("struct e {\n e inner;\n};\n" + PROGRAM.format("e GET(void) = 1;"), 2, "contains itself")

    def test_lists_of_items(self):
        self.check("struct e {\n bulk_data d; /* rpcrdma: max 5 */\n e *next; /* rpcrdma: max 3 */\n};\n"
                   + PROGRAM.format("e GET(void) = 1;"), 3, "cannot contain")

    def test_annotations(self):
        self.check(result("int a; /* rpcrdma: max 5 */"), 2, "known size")
        self.check(result("bulk_data b; /* rpcrdma: max args.count */"), 2, "no such member")
        self.check(result("bulk_data b; /* rpcrdma: max lots */"), 2, "expected a number")
        self.check(result("bulk_data b; /* rpcrdma: maximum 5 */"), 2, "expected idempotent")
        self.check(result("bulk_data b; /* rpcrdma: max 5000000000 */"), 2, "exceeds")
        self.check(result("opaque b<4>; /* rpcrdma: max 5 */"), 2, "exceeds")
        self.check("typedef opaque t<4>;\n" + result("t b; /* rpcrdma: max 5 */"), 3, "exceeds")
        self.check("typedef opaque t[4];\n" + result("t b; /* rpcrdma: max 5 */"), 3, "known size")
        self.check(result("int a; /* rpcrdma: idempotent */"), 2, "does not belong here")
        self.check("/* rpcrdma: idempotent */\n" + result("int a;"), 1, "follows no member")
        self.check(PROGRAM.format("void A(void) = 1; /* rpcrdma: max 4 */"), 2, "does not belong here")
        self.check("struct a { float f; };\n" + result("bulk_data b; /* rpcrdma: max args.f */", "a"), 3, "not an integer")

    def test_too_many_items(self):
        self.check(result("bulk_data b[5]; /* 5 */"), 2, "has no bound")
        bulk = "struct b {\n bulk_data d; /* rpcrdma: max 5 */\n};\n"
        self.check(bulk + result("b many[5];"), 5, "at most 4")
        self.check(bulk + result("b m[2]; b n[3];"), 8, "at most 4")

    def test_too_long(self):
        self.check(result("opaque a<4294967295>;"), 5, "more than a message")
        self.check("struct s { opaque a[4000000000]; };\n" + result("s b[4000000000];"), 6, "more than a message")

    def test_syntax(self):
        for text, line, words in (
                ("struct s {\n int a\n};", 3, "expected ';'"), ("struct s {\n int a;\n", 2, "the file ends"),
                ("int a;", 1, "expected const"), ("\n\n$", 3, "unexpected character"), ("/* never", 1, "comment without end"),
                ("struct s { string a; };", 1, "length is missing"), ("struct s { string a[4]; };", 1, "a<4>"),
                ("const A = B;", 1, "expected a number"), ("const A = 1;\nconst A = 2;", 2, "defined twice"),
                ("struct a { int b; };\nstruct a { int b; };", 2, "defined twice"), ("struct s { int a<-1>; };", 1, "between"),
                ("union u switch (int a) { case 1: void; case 2 };", 1, "expected ':'"), ("const A = 08;", 1, "not a number"),
                ("typedef void v;", 1, "void"), ("program P { } = 1;", 1, "no version"), ("struct { int a; };", 1, "a name"),
                ("union u switch (struct { int a; } b) { };", 1, "without a name")):
            with self.subTest(text):
                self.check(text, line, words)

    def test_procedures(self):
        self.check(PROGRAM.format("int ADD(int, int) = 1;"), 2, "struct")
        self.check(PROGRAM.format("string NAME(void) = 1;"), 2, "struct")
        self.check(PROGRAM.format("void PUT(bulk_data) = 1;"), 2, "struct")
        self.check(PROGRAM.format("int *GET(void) = 1;"), 2, "typedef")
        self.check(PROGRAM.format("other GET(void) = 1;"), 2, "unknown type")
        self.check(PROGRAM.format("void PUT(quadruple) = 1;"), 2, "no such type")
        self.check(PROGRAM.format("void A(void) = 1;\nvoid B(void) = 1;"), 3, "the number")
        self.check(PROGRAM.format("void GET_IT(void) = 1;\nvoid get_it(void) = 2;"), 3, "two procedures have the name")

    def test_names(self):
        self.check("program DELETE_PROG { version V { void A(void) = 1; } = 1; } = 2;", 1, "reserved")
        self.check("program TIMEPROG { version V { void A(void) = 1; } = 1; } = 2;", 1, "reserved")
        for text in ("struct s {\n int class;\n};", "struct s {\n int *new;\n};", "enum e {\n private = 1\n};",
                     "union u switch (int a) {\n case 1: int this; };", "\nstruct namespace { int a; };",
                     "\ntypedef int template;", "struct s {\n int static_assert;\n};", "struct s {\n int wchar_t;\n};", "\nconst public = 1;"):
            self.check(text, 2, "reserved in C++")
        self.check("struct p { int a; };\n" + PROGRAM.format("void A(void) = 1;"), 2, "also defined")

    def test_long_lists(self):
        text = "struct node { int a; node *next; };\nstruct all { node *first; /* rpcrdma: max %s */ };\n"
        self.check(text % 10001 + PROGRAM.format("all GET(void) = 1;"), 2, "at most 10000 elements")
        _, error, _ = generate(text % 10000 + PROGRAM.format("all GET(void) = 1;"))
        self.assertEqual(error, "")

    def test_random_garbage(self):
        """Parses shapes.x truncated at many places, and shapes.x without one character: the parser succeeds, or its
        error has a line number."""
        text = (Path(__file__).parent / "shapes.x").read_text()
        sys.path.insert(0, str(GENERATOR.parent))
        from rpcrdma_gen.emit import Emitter  # pylint: disable=import-outside-toplevel
        from rpcrdma_gen.language import Parser, SourceError  # pylint: disable=import-outside-toplevel
        step = 7 if os.environ.get("RPCRDMA_E2E_SCALE") == "full" else 23
        for end in range(0, len(text), step):
            for cut in (text[:end], text[:end] + text[end + 1:]):
                try:
                    Emitter(Parser(cut).parse()).emit("shapes.x", "shapes")
                except SourceError as error:
                    self.assertGreater(error.line, 0)

    def test_a_missing_file(self):
        done = subprocess.run([sys.executable, str(GENERATOR), "none.x"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1))


class Accepted(unittest.TestCase):
    def test_what_only_rpcgen_reads(self):
        """Preprocessor directives and lines that begin with % are passed on. A type that such a line defines may be used,
        but not in results."""
        status, error, files = generate('#ifdef RPC_HDR\n%#include <stdint.h>\n%typedef int mine; /* don\'t */\n#endif\n'
                                        + PROGRAM.format("void A(int) = 1;"))
        self.assertEqual((status, error), (0, ""))
        self.assertIn("#include <stdint.h>", files["test.h"])

    def test_lines_behind_directives(self):
        status, error, _ = generate("#ifdef RPC_HDR\n%int a;\n#endif\n\n" + result("string s<>;"))
        self.assertEqual(status, 1)
        self.assertRegex(error, r"^test\.x:6: ")

    def test_includes(self):
        """A file that is included is looked for beside the file that includes it, in any working directory, and in the
        folders of CPATH."""
        with tempfile.TemporaryDirectory(suffix="with:colon") as folder, tempfile.TemporaryDirectory() as other:
            (Path(folder) / "types.x").write_text("struct pair { int a; int b; };\n")
            (Path(other) / "extra.x").write_text("const EXTRA = 3;\n")
            (Path(folder) / "test.x").write_text('#include "types.x"\n#include <extra.x>\n' + PROGRAM.format("pair GET(void) = 1;"))
            subprocess.run([sys.executable, str(GENERATOR), "--output", f"{folder}/out", f"{folder}/test.x"], check=True,
                           env={**os.environ, "CPATH": other})
            self.assertIn("struct pair {", (Path(folder) / "out/test.h").read_text())
            self.assertIn("saturated(32u)", (Path(folder) / "out/test.rpcrdma.hpp").read_text())

    def test_names_of_files(self):
        """The include guard is a name, which differs for files whose names begin alike."""
        guards = set()
        for name in ("key-value", "key-events", "key.v2"):
            _, error, files = generate("const LIMIT = 3;\n", name)
            self.assertEqual(error, "")
            guards.add(files[f"{name}.h"].split("#ifndef ")[1].split("\n")[0])
        self.assertEqual(guards, {"_KEY_VALUE_H_RPCGEN", "_KEY_EVENTS_H_RPCGEN", "_KEY_V2_H_RPCGEN"})

    def test_no_macros_of_programs(self):
        _, _, files = generate("const LIMIT = 3;\n" + PROGRAM.format("void A(void) = 1;"))
        self.assertIn("#define LIMIT 3", files["test.h"])
        self.assertNotIn("P_PROG", files["test.h"])

    def test_names(self):
        _, error, files = generate("program GetItProgram { version V { void A(void) = 1; } = 3; } = 2; "
                                   "/* rpcrdma: name other */")
        self.assertEqual(error, "")
        self.assertIn("namespace other {", files["test.rpcrdma.hpp"])
        self.assertIn("inline namespace v3 {", files["test.rpcrdma.hpp"])


if __name__ == "__main__":
    unittest.main()
