# SPDX-License-Identifier: BSD-3-Clause
"""Parses the RPC language (RFC 4506 section 6.3, RFC 5531 section 12) as rpcgen does: tokens, then definitions."""
import re
from dataclasses import dataclass, field


class SourceError(Exception):
    """An error in the .x file, with its line."""

    def __init__(self, line, message):
        super().__init__(message)
        self.line = line


@dataclass
class Token:
    text: str
    line: int


@dataclass
class Annotation:
    """A comment `/* rpcrdma: ... */`: its settings by name."""
    settings: dict
    line: int
    before: int  # the index of the token that follows it
    used: bool = False


@dataclass
class Declaration:
    """A member, a typedef, a case of a union: `kind` is one of void, single, fixed, counted, pointer."""
    type: str
    name: str
    kind: str
    size: int | None  # the length of a fixed array, or the bound of a counted array; None if it has no bound
    line: int
    notes: dict = field(default_factory=dict)


@dataclass
class Struct:
    name: str
    members: list
    line: int


@dataclass
class Union:
    name: str
    switch: Declaration
    arms: list
    line: int


@dataclass
class Enum:
    name: str
    line: int


@dataclass
class Procedure:
    name: str
    number: int
    result: str
    arguments: list
    line: int
    notes: dict


@dataclass
class Version:
    name: str
    number: int
    procedures: list
    line: int


@dataclass
class Program:
    name: str
    number: int
    versions: list
    line: int
    notes: dict


@dataclass
class Specification:
    types: dict
    constants: dict
    programs: list


LEXEME = re.compile(r"""
    (?P<marker>^\#[ ]*(?:line[ ])?[ ]*(?P<number>\d+)[ ]+"[^"\n]*"[^\n]*$)
  | (?P<directive>^[ \t]*\#[^\n]*$)
  | (?P<passed>^%[^\n]*$)
  | (?P<comment>/\*.*?\*/)
  | (?P<space>\s+)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<value>-?(?:0[xX][0-9a-fA-F]+|\d+))\b
  | (?P<sign>[{}\[\]<>();:,=*])
""", re.VERBOSE | re.MULTILINE | re.DOTALL)
NOTE = re.compile(r"/\*\s*rpcrdma\s*:(.*?)\*/", re.DOTALL)
KEYWORDS = {"const", "typedef", "enum", "struct", "union", "switch", "case", "default", "program", "version", "void",
            "unsigned", "string", "opaque"}
CPP_KEYWORDS = set("""alignas alignof and asm auto bool break case catch char class concept const continue co_await co_return
co_yield decltype default delete do double else enum explicit export extern false float for friend goto if inline int long
mutable namespace new noexcept not nullptr operator or private protected public register requires return short signed
sizeof static struct switch template this throw true try typedef typename union unsigned using virtual void volatile
while xor and_eq bitand bitor char8_t char16_t char32_t compl const_cast consteval constexpr constinit dynamic_cast not_eq
or_eq reinterpret_cast static_assert static_cast thread_local typeid wchar_t xor_eq""".split())
FIELD_PATH = r"args(?:\.[A-Za-z_]\w*)+"


def read_settings(text, line):
    """`idempotent, auth sys` as {"idempotent": True, "auth": "sys"}."""
    settings = {}
    for item in text.split(","):
        words = item.split()
        if words == ["idempotent"]:
            settings["idempotent"] = True
        elif len(words) == 2 and words[0] == "auth" and words[1] in ("none", "sys"):
            settings["auth"] = words[1]
        elif len(words) == 2 and words[0] == "name" and re.fullmatch(r"[A-Za-z]\w*", words[1]):
            settings["name"] = words[1]
        elif len(words) == 2 and words[0] == "max" and re.fullmatch(r"\w+|" + FIELD_PATH, words[1]):
            settings["max"] = words[1]
        else:
            raise SourceError(line, f"annotation '{' '.join(words)}': expected idempotent, auth none, auth sys, "
                                    f"name NAME, max NUMBER or max args.FIELD")
    return settings


def tokenize(text):
    tokens, annotations, at, line = [], [], 0, 1
    while at < len(text):
        found = LEXEME.match(text, at)
        if not found:
            if text.startswith("/*", at):
                raise SourceError(line, "comment without end")
            raise SourceError(line, f"unexpected character {text[at]!r}")
        lexeme = found.group()
        if found["marker"]:
            line = int(found["number"]) - 1  # the newline at the end of this line is counted below
        elif found["word"] or found["value"] or found["sign"]:
            tokens.append(Token(lexeme, line))
        elif found["comment"]:
            note = NOTE.fullmatch(lexeme)
            if note:
                annotations.append(Annotation(read_settings(note[1], line), line, len(tokens)))
        line += lexeme.count("\n")
        at = found.end()
    return tokens, annotations


class Parser:
    """Parses one file, until the first error."""

    def __init__(self, text):
        self.tokens, self.annotations = tokenize(text)
        self.at = 0
        self.specification = Specification({}, {}, [])

    def line(self):
        last = self.tokens[min(self.at, len(self.tokens) - 1)] if self.tokens else Token("", 1)
        return last.line

    def peek(self):
        return self.tokens[self.at].text if self.at < len(self.tokens) else ""

    def take(self, *expected):
        if self.at == len(self.tokens):
            raise SourceError(self.line(), f"the file ends where {self.named(expected)} is expected")
        token = self.tokens[self.at]
        if expected and token.text not in expected:
            raise SourceError(token.line, f"'{token.text}': expected {self.named(expected)}")
        self.at += 1
        return token.text

    @staticmethod
    def named(expected):
        return " or ".join(f"'{text}'" for text in expected) or "more"

    def accept(self, text):
        if self.peek() != text:
            return False
        self.at += 1
        return True

    def identifier(self):
        line, text = self.line(), self.take()
        if not re.fullmatch(r"[A-Za-z_]\w*", text) or text in KEYWORDS:
            raise SourceError(line, f"'{text}': expected a name")
        return text

    def cpp_name(self):
        """The name of a type, a member or a constant, which rpcgen writes to the header."""
        line, name = self.line(), self.identifier()
        if name in CPP_KEYWORDS:
            raise SourceError(line, f"'{name}' is reserved in C++: rename it, which does not change the protocol")
        return name

    def value(self):
        line, text = self.line(), self.take()
        return self.number(text, line)

    def number(self, text, line):
        if re.match(r"-?\d", text):
            try:
                return int(text, 16 if "x" in text.lower() else 8 if re.fullmatch(r"-?0\d+", text) else 10)
            except ValueError:
                raise SourceError(line, f"'{text}' is not a number") from None
        if text in self.specification.constants:
            return self.specification.constants[text]
        raise SourceError(line, f"'{text}': expected a number or a constant")

    def notes(self, begin, allowed):
        """The annotations of the declaration whose ';' has just been taken: annotations within the declaration, or
        after it on its last line."""
        notes, last = {}, self.tokens[self.at - 1].line
        for annotation in self.annotations:
            inside = begin < annotation.before < self.at
            behind = annotation.before == self.at and annotation.line == last
            if annotation.used or not (inside or behind):
                continue
            annotation.used = True
            for key, setting in annotation.settings.items():
                if key not in allowed:
                    raise SourceError(annotation.line, f"annotation '{key}' does not belong here")
                notes[key] = setting
        return notes

    def parse(self):
        while self.at < len(self.tokens):
            self.definition()
        for annotation in self.annotations:
            if not annotation.used:
                raise SourceError(annotation.line, "this annotation follows no member and no procedure on its line")
        return self.specification

    def definition(self):
        line, word = self.line(), self.take()
        if word == "const":
            self.constant(line)
        elif word == "program":
            self.program(line)
        elif word in ("typedef", "enum", "struct", "union"):
            getattr(self, word)(line)
        else:
            raise SourceError(line, f"'{word}': expected const, typedef, enum, struct, union or program")

    def define(self, name, definition, line):
        if name in self.specification.types:
            raise SourceError(line, f"'{name}' is defined twice")
        self.specification.types[name] = definition

    def constant(self, line):
        name = self.cpp_name()
        self.take("=")
        if name in self.specification.constants:
            raise SourceError(line, f"'{name}' is defined twice")
        self.specification.constants[name] = self.value()
        self.take(";")

    def typedef(self, line):
        begin = self.at
        declared = self.declaration()
        if declared.kind == "void":
            raise SourceError(line, "a type cannot be void")
        self.take(";")
        declared.notes = self.notes(begin, ("max",))
        self.define(declared.name, declared, line)

    def enum(self, line):
        name = self.cpp_name()
        self.take("{")
        following = 0
        while True:
            constant_line, constant = self.line(), self.cpp_name()
            if self.accept("="):
                following = self.value()
            if constant in self.specification.constants:
                raise SourceError(constant_line, f"'{constant}' is defined twice")
            self.specification.constants[constant] = following
            following += 1
            if self.take(",", "}") == "}":
                break
        self.take(";")
        self.define(name, Enum(name, line), line)

    def struct(self, line):
        name = self.cpp_name()
        self.take("{")
        members = []
        while not self.accept("}"):
            begin = self.at
            member = self.declaration()
            if member.kind == "void":
                raise SourceError(member.line, "a member of a struct cannot be void")
            self.take(";")
            member.notes = self.notes(begin, ("max",))
            members.append(member)
        self.take(";")
        self.define(name, Struct(name, members, line), line)

    def union(self, line):
        name = self.cpp_name()
        self.take("switch")
        self.take("(")
        switch = self.declaration()
        self.take(")")
        self.take("{")
        arms = []
        while not self.accept("}"):
            if self.take("case", "default") == "case":
                self.value_or_name()
            self.take(":")
            if self.peek() == "case":
                continue
            begin = self.at
            arm = self.declaration()
            self.take(";")
            arm.notes = self.notes(begin, ("max",))
            arms.append(arm)
        self.take(";")
        self.define(name, Union(name, switch, arms, line), line)

    def value_or_name(self):
        """Takes the value of a case, which may also be TRUE, FALSE or a constant of a header that the file includes."""
        line, text = self.line(), self.take()
        if not re.fullmatch(r"[A-Za-z_]\w*|-?\w+", text):
            raise SourceError(line, f"'{text}': expected a value")

    def type_name(self):
        """A type as one word: unsigned hyper becomes u_hyper."""
        line, word = self.line(), self.take()
        if word == "unsigned":
            if self.peek() in ("int", "long", "short", "char", "hyper"):
                return "u_" + self.take()
            return "u_int"
        if word in ("struct", "enum", "union"):
            if self.peek() == "{" or word == "union" and self.peek() == "switch":
                raise SourceError(line, f"{word} without a name: define it separately, as rpcgen requires")
            return self.identifier()
        if word not in ("void", "string", "opaque") and (word in KEYWORDS or not re.match(r"[A-Za-z_]", word)):
            raise SourceError(line, f"'{word}': expected a type")
        return word

    def declaration(self):
        line, kind = self.line(), self.type_name()
        if kind == "void":
            return Declaration("void", "", "void", None, line)
        if self.accept("*"):
            if kind in ("string", "opaque"):
                raise SourceError(line, f"a pointer to {kind} is not possible")
            return Declaration(kind, self.cpp_name(), "pointer", None, line)
        name = self.cpp_name()
        if self.accept("["):
            size = self.size()
            self.take("]")
            if kind == "string":
                raise SourceError(line, f"string {name}[]: a string has a variable length: {name}<{size}>")
            return Declaration(kind, name, "fixed", size, line)
        if self.accept("<"):
            bound = None if self.peek() == ">" else self.size()
            self.take(">")
            return Declaration(kind, name, "counted", bound, line)
        if kind in ("string", "opaque"):
            raise SourceError(line, f"{kind} {name}: the length is missing: {name}<64>"
                                    + (f" or {name}[64]" if kind == "opaque" else ""))
        return Declaration(kind, name, "single", None, line)

    def size(self):
        line, size = self.line(), self.value()
        if not 0 <= size < 1 << 32:
            raise SourceError(line, f"{size}: a length is between 0 and 4294967295")
        return size

    def program(self, line):
        begin, name = self.at, self.identifier()
        self.take("{")
        versions = []
        while not self.accept("}"):
            self.take("version")
            versions.append(self.version())
        self.take("=")
        number = self.size()
        self.take(";")
        if not versions:
            raise SourceError(line, f"program {name} has no version")
        self.specification.programs.append(
            Program(name, number, versions, line, self.notes(max(begin, self.at - 2), ("name",))))

    def version(self):
        line, name = self.line(), self.identifier()
        self.take("{")
        procedures = []
        while not self.accept("}"):
            procedures.append(self.procedure())
        self.take("=")
        number = self.size()
        self.take(";")
        return Version(name, number, procedures, line)

    def procedure(self):
        begin, line = self.at, self.line()
        result = self.type_name()
        self.no_pointer(result)
        name = self.identifier()
        self.take("(")
        arguments = []
        while True:
            arguments.append(self.type_name())
            self.no_pointer(arguments[-1])
            if self.take(",", ")") == ")":
                break
        self.take("=")
        number = self.size()
        self.take(";")
        return Procedure(name, number, result, arguments, line, self.notes(begin, ("idempotent", "auth", "name")))

    def no_pointer(self, name):
        if self.peek() in ("*", "[", "<"):
            raise SourceError(self.line(), f"'{name}{self.peek()}': an argument or result is a plain type: use a typedef")
