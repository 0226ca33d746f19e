# SPDX-License-Identifier: BSD-3-Clause
"""Computes the size of the largest XDR encoding of a type, as an expression over the arguments of the call, and the
sizes of the DDP-eligible items in it. A client must provide memory for the largest reply (RFC 8166 section 6.2)."""
from dataclasses import replace

from .language import Declaration, Enum, SourceError, Struct, Union

WORD = 4
LARGEST = (1 << 32) - 1
MAX_ITEMS = 4  # rpc::kMaxEligibleResults
BASIC = {name: size for size, names in {
    4: "int u_int long u_long short u_short char u_char bool float int8_t int16_t int32_t uint8_t uint16_t uint32_t "
       "u_int8_t u_int16_t u_int32_t",
    8: "hyper u_hyper quad_t u_quad_t longlong_t u_longlong_t double int64_t uint64_t u_int64_t"}.items() for name in names.split()}
BULK, TEXT = "bulk_data", "text_data"
MOST_LISTED = 10000  # as in xdr_limited_pointer()


class Expression:
    """A sum of a constant and of C++ terms, each multiplied by a constant; or the largest of several such sums."""

    def __init__(self, constant=0, terms=()):
        self.constant = constant
        self.terms = tuple(terms)  # (factor, C++ text)

    def __add__(self, other):
        return Expression(self.constant + other.constant, self.terms + other.terms)

    def times(self, count):
        return Expression(self.constant * count, ((factor * count, text) for factor, text in self.terms if count))

    def text(self):
        parts = [f"{factor} * {text}" if factor != 1 else text for factor, text in self.terms]
        if self.constant or not parts:
            parts.append(f"{self.constant}u")
        return " + ".join(parts)

    def __eq__(self, other):
        return (self.constant, self.terms) == (other.constant, other.terms)


def largest(expressions):
    """The largest of `expressions`; computed at run time if they depend on arguments."""
    constant = max((e.constant for e in expressions if not e.terms), default=0)
    different = []
    for expression in expressions:
        if expression.terms and expression not in different:
            different.append(expression)
    if not different:
        return Expression(constant)
    if len(different) == 1 and constant <= different[0].constant:
        return different[0]
    values = ", ".join(f"std::uint64_t{{{e.text()}}}" for e in different)
    return Expression(0, [(1, f"std::max({{std::uint64_t{{{constant}}}, {values}}})")])


def padded(size):
    return (size + 3) // 4 * 4


class Size:
    """`fixed`: bytes without the data of eligible items; `items`: bytes of each eligible item, in order."""

    def __init__(self, fixed, items=()):
        self.fixed = fixed
        self.items = list(items)

    def __add__(self, other):
        return Size(self.fixed + other.fixed, self.items + other.items)


class Bounds:
    """The bounds of the results of one procedure. If `results` is false, only counts the items of the arguments."""

    def __init__(self, specification, argument=None, results=True):
        self.types = specification.types
        self.constants = specification.constants
        self.argument = argument
        self.results = results

    def of(self, name, line, inside=()):
        """The bound of type `name`. `inside`: the enclosing structs, and "*NAME" for each enclosing list of NAME."""
        if name in BASIC:
            return Size(Expression(BASIC[name]))
        if name == "void":
            return Size(Expression())
        if name in (BULK, TEXT, "string"):
            return self.opaque(Declaration(name, name, "single", None, line))
        if name == "quadruple":
            raise SourceError(line, "'quadruple': libtirpc has no such type")
        definition = self.types.get(name)
        if definition is None:
            raise SourceError(line, f"unknown type '{name}': its size is not known; define it in this file")
        if isinstance(definition, Enum):
            return Size(Expression(WORD))
        if isinstance(definition, Declaration):
            return self.declared(definition, inside)
        if name in inside:
            raise SourceError(line, f"'{name}' contains itself")
        inside = inside + (name,)
        if isinstance(definition, Struct):
            total = Size(Expression())
            for member in definition.members:
                total += self.declared(member, inside)
            return total
        return self.union(definition, inside)

    def bounded_type(self, declared):
        """The definition of the type of an annotated member, with the member's annotation as its bound."""
        name = self.resolved_name(declared.type)
        if name in (BULK, TEXT):
            return replace(declared, type=name)
        definition = self.types.get(name)
        if not isinstance(definition, Declaration) or definition.kind not in ("counted", "pointer"):
            self.without_limit(declared)
        return replace(definition, name=declared.name, line=declared.line, notes=declared.notes)

    def union(self, definition, inside):
        sizes = [self.declared(arm, inside) for arm in definition.arms] or [Size(Expression())]
        count = max(len(size.items) for size in sizes)
        items = [largest([size.items[i] for size in sizes if i < len(size.items)]) for i in range(count)]
        return self.declared(definition.switch, inside) + Size(largest([size.fixed for size in sizes]), items)

    def declared(self, declared, inside):
        if declared.kind == "void":
            return Size(Expression())
        if declared.type in ("opaque", "string") or declared.type in (BULK, TEXT) and declared.kind == "single":
            return self.opaque(declared)
        if declared.kind == "pointer":
            return self.pointer(declared, inside)
        if declared.kind == "single":
            if "max" in declared.notes:
                return self.declared(self.bounded_type(declared), inside)
            return self.of(declared.type, declared.line, inside)
        one = self.of(declared.type, declared.line, inside)
        if declared.kind == "fixed":
            self.without_limit(declared)
            return Size(one.fixed.times(declared.size), self.repeated(declared, one, declared.size))
        count = self.limit(declared)
        if one.items:
            if count.terms:
                raise SourceError(declared.line, f"'{declared.name}': an array with DDP-eligible items needs a bound "
                                                 f"that is a number, at most {MAX_ITEMS}")
            return Size(one.fixed.times(count.constant) + Expression(WORD),
                        self.repeated(declared, one, count.constant))
        return Size(self.product(declared, one.fixed, count) + Expression(WORD))

    def product(self, declared, one, count):
        if not count.terms:
            return one.times(count.constant)
        if one.terms:
            raise SourceError(declared.line, f"'{declared.name}': its bound and a bound within its elements both "
                                             f"depend on arguments: only one of the two may")
        return count.times(one.constant)

    def repeated(self, declared, one, count):
        if one.items and count * len(one.items) > MAX_ITEMS and self.results:
            raise SourceError(declared.line, f"'{declared.name}': {count * len(one.items)} DDP-eligible items; a result "
                                             f"has at most {MAX_ITEMS}")
        return one.items * min(count, 2 * MAX_ITEMS)

    def opaque(self, declared):
        if declared.kind == "fixed":
            self.without_limit(declared)
            return Size(Expression(padded(declared.size)))
        length = self.limit(declared)
        size = Expression(padded(length.constant)) if not length.terms else \
            Expression(0, [(1, f"rpcrdma::rpc::padded({length.text()})")])
        if declared.type == BULK:
            return Size(Expression(WORD), [size])
        return Size(Expression(WORD) + size)

    def pointer(self, declared, inside):
        """The bound of optional data, or of a linked list: a struct that points to its own type."""
        listed = declared.type
        if "*" + listed in inside or listed in inside and not self.results:
            return Size(Expression(WORD))  # counted where the list begins
        if "max" not in declared.notes:
            if listed in inside:
                raise SourceError(declared.line, f"'{declared.name}' makes '{listed}' a list of any length: annotate "
                                                 f"the member where it begins, or this one: /* rpcrdma: max 100 */ (elements)")
            return Size(Expression(WORD)) + self.of(listed, declared.line, inside)
        lists = tuple(name for name in inside if name.startswith("*"))
        one = self.of(listed, declared.line, lists + ("*" + listed,))
        if one.items:
            raise SourceError(declared.line, f"'{declared.name}': a list cannot contain DDP-eligible items")
        most = self.limit(declared)
        if not most.terms and most.constant > MOST_LISTED:
            raise SourceError(declared.line, f"'{declared.name}': a list has at most {MOST_LISTED} elements")
        return Size(self.product(declared, one.fixed, most) + Expression(WORD))

    def without_limit(self, declared):
        if "max" in declared.notes:
            raise SourceError(declared.line, f"'{declared.name}': annotation 'max' on a member of known size")

    def limit(self, declared):
        """The bound of a counted member: that of its annotation if it has one, else its own."""
        if not self.results:
            return Expression(1 if declared.size is None else declared.size)
        noted = declared.notes.get("max")
        if noted is None and declared.size is None:
            raise SourceError(declared.line,
                              f"'{declared.name}' has no bound, so the longest reply is not known: write a bound between "
                              f"< and >, or annotate: /* rpcrdma: max 100 */ or /* rpcrdma: max args.FIELD */")
        if noted is None:
            return Expression(declared.size)
        if noted.startswith("args."):
            return self.argument_field(declared, noted)
        if noted.isdigit() or noted[:2].lower() == "0x":
            value = int(noted, 0)
        elif noted in self.constants:
            value = self.constants[noted]
        else:
            raise SourceError(declared.line, f"annotation 'max {noted}': expected a number, a constant or args.FIELD")
        if not 0 <= value <= LARGEST or declared.size is not None and value > declared.size:
            raise SourceError(declared.line, f"annotation 'max {noted}' exceeds the bound of '{declared.name}'")
        return Expression(value)

    def argument_field(self, declared, path):
        """`args.count` as a C++ expression; an error if the argument has no such integer member."""
        kind = self.argument
        for name in path.split(".")[1:]:
            definition = self.resolved(kind)
            member = next((m for m in definition.members if m.name == name), None) \
                if isinstance(definition, Struct) else None
            if member is None or member.kind != "single":
                raise SourceError(declared.line, f"annotation 'max {path}': the argument '{kind}' of a procedure with "
                                                 f"this result has no such member")
            kind = member.type
        kind = self.resolved_name(kind)
        if kind not in BASIC or kind in ("float", "double", "bool"):
            raise SourceError(declared.line, f"annotation 'max {path}': '{kind}' is not an integer")
        return Expression(0, [(1, f"rpcrdma::rpc::bound_of({path})")])

    def resolved_name(self, name):
        definition = self.types.get(name)
        seen = set()
        while isinstance(definition, Declaration) and definition.kind == "single" and name not in seen:
            seen.add(name)
            name = definition.type
            definition = self.types.get(name)
        return name

    def resolved(self, name):
        return self.types.get(self.resolved_name(name))
