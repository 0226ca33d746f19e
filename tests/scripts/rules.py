#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests scripts/lib/rules.py on a small tree: which citations of rules count, and which defects are reported."""
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts/lib"))
import rules  # noqa: E402  pylint: disable=wrong-import-position

RULE = "9999-{0}-a\tRFC 9999 s{0}\tMUST\tboth\ttext\ttest\n"

# Each id is written in two parts, because scripts/check-style would look for a whole id in the project's list of rules.
ONE, TWO, UNKNOWN = "9999-1" "-a", "9999-2" "-a", "9999-1" "-b"


def tree(**changes):
    texts = {
        rules.LIST: "id\trfc_section\tlevel\trole\trequirement\ttest\n" + RULE.format(1) + RULE.format(2),
        "docs/conformance.md": f"| {TWO} | about | why |\n",
        "rpc/a.cpp": f"// [{ONE}] enforced\n",
        "tests/unit/a_test.cpp": f"TEST(A, Before) {{}}\n\n// [{ONE}]\nTEST(A, After) {{\n  // [{ONE}]\n  f();\n}}\n",
        "tests/e2e/test_a.py": f"class A:\n    def test_one(self):\n        # [{ONE}]\n        pass\n",
    }
    texts.update({name.replace("__", "/").replace("_dot_", "."): text for name, text in changes.items()})
    texts[rules.PAGE] = rules.page(rules.read(texts)[0])
    return texts


class Rules(unittest.TestCase):
    def test_complete(self):
        self.assertEqual(rules.problems(tree()), [])

    def test_citations(self):
        rule = rules.read(tree())[0][ONE]
        self.assertEqual(rule.code, {"rpc/a.cpp"})
        self.assertEqual(rule.tests, {("tests/unit/a_test.cpp", "A.After"), ("tests/e2e/test_a.py", "test_one")})

    def test_unknown_id(self):
        problem, = rules.problems(tree(rpc__b_dot_cpp=f"\n// [{UNKNOWN}]\n"))
        self.assertTrue(problem.startswith(f"rpc/b.cpp:2: {UNKNOWN} is not in"))

    def test_cases_of_the_conformance_tester_do_not_count(self):
        texts = tree(rpc__a_dot_cpp="", conform__a_dot_cpp=f'f("{ONE}");\n')
        self.assertTrue(any(f"{ONE}: no code cites it" in problem for problem in rules.problems(texts)))
        problem, = rules.problems(tree(conform__a_dot_cpp=f'f("{UNKNOWN}");\n'))
        self.assertTrue(problem.startswith(f"conform/a.cpp:1: {UNKNOWN} is not in"))

    def test_without_code(self):
        problem, = rules.problems(tree(rpc__a_dot_cpp=""))
        self.assertIn(f"{ONE}: no code cites it", problem)

    def test_without_test(self):
        texts = tree(tests__unit__a_test_dot_cpp="", tests__e2e__test_a_dot_py="")
        self.assertTrue(any(f"{ONE}: no test cites it" in problem for problem in rules.problems(texts)))

    def test_an_exception_is_a_row_of_the_table(self):
        found = rules.problems(tree(docs__conformance_dot_md=f"{TWO} is mentioned\n"))
        self.assertEqual(len(found), 2)

    def test_page_out_of_date(self):
        texts = tree()
        texts["rpc/b.cpp"] = f"// [{ONE}]\n"
        problem, = rules.problems(texts)
        self.assertIn("out of date", problem)

    def test_page_is_the_same_after_lines_move(self):
        texts = tree()
        texts["rpc/a.cpp"] = "\n\n" + texts["rpc/a.cpp"]
        self.assertEqual(rules.problems(texts), [])


if __name__ == "__main__":
    unittest.main()
