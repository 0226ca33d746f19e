# SPDX-License-Identifier: BSD-3-Clause
"""Manual pages in the macros of man(7). A line @NAME@ of a template is replaced by a part of the program's description:

  @SYNOPSIS@   the usage          @ABOUT@      the description
  @OPTIONS@    options by group   @COMMANDS@   subcommands
  @SECTIONS@   sections of the help except examples, as subsections
  @EXAMPLES@   the examples       @SETTINGS@   options as keys of a configuration file

Within a line, @VERSION@ is the version and @SYSCONFDIR@ the folder of the configuration."""
import re
import textwrap

COMMAND_LINE_ONLY = {"--export", "--config", "--capture", "--version", "--help"}


def roff(text):
    """Converts text to roff source, with hyphens that can be copied into a shell."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("^", "\\(ha").replace("~", "\\(ti")
    return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.MULTILINE)


def _sentence(text):
    return text if text.endswith((".", "!")) else text + "."


def _option_term(option, argument=False):
    names = ", ".join(rf"\fB{roff(name)}\fR" for name in option["names"])
    if argument:
        return rf"\fI{roff(option['names'][0])}\fR"
    return names + (rf" \fI{roff(option['value'])}\fR" if option["value"] else "")


def _entry(term, text):
    return f".TP\n{term}\n{roff(text)}\n" if text else f".IP\n{term}\n"


def options(command):
    groups = {}
    for option in command["options"]:
        groups.setdefault(option["group"], []).append(option)
    out = "".join(_entry(_option_term(argument, True), _sentence(argument["text"]))
                  for argument in command["arguments"] if argument["text"])
    for title, members in groups.items():
        if len(groups) > 1:
            out += f".SS {roff(title)}\n"
        out += "".join(_entry(_option_term(option), _sentence(option["text"])) for option in members)
    return out


def commands(command):
    out = ""
    for sub in command["commands"]:
        own = [option for option in sub["options"] if "--help" not in option["names"]]
        words = [rf"\fB{roff(sub['name'])}\fR"]
        words += [rf"[\fB{roff(option['names'][0])}\fR]" for option in own]
        words += [rf"\fI{roff(argument['names'][0])}\fR" for argument in sub["arguments"]]
        out += _entry(" ".join(words), _sentence(sub["about"]))
        explained = [(_option_term(option), option["text"]) for option in own]
        explained += [(_option_term(argument, True), argument["text"]) for argument in sub["arguments"]
                      if argument["names"][0] != "URL"]
        if explained:
            out += ".RS\n" + "".join(_entry(term, _sentence(text)) for term, text in explained) + ".RE\n"
        if sub["example"]:
            out += f".IP\n.EX\n{roff(sub['example'])}\n.EE\n"
    return out


def sections(command):
    out = ""
    for section in command["sections"]:
        if section["title"] == "Examples":
            continue
        out += f".SS {roff(section['title'])}\n"
        for entry in section["entries"]:
            term = rf"\fB{roff(entry['term'])}\fR" if entry["term"] else roff(entry["text"])
            out += _entry(term, entry["text"] if entry["term"] else "")
    return out


def examples(command):
    out = ""
    for section in command["sections"]:
        for entry in section["entries"] if section["title"] == "Examples" else []:
            text = _sentence(entry["text"][:1].upper() + entry["text"][1:]) if entry["text"] else ""
            out += f".TP\n.B {roff(entry['term'])}\n{roff(text)}\n" if text else f".EX\n{roff(entry['term'])}\n.EE\n"
    return out


def _setting(option):
    name = option["names"][-1].removeprefix("--")
    if not option["type"]:
        kind = "true or false"
    elif option["repeats"]:
        kind = "list of strings"
    elif option["type"] in ("N", "BYTES", "SECONDS"):
        kind = "number"
    else:
        kind = "string"
    text = _sentence(option["text"].replace("; repeatable", ""))
    value = f": {option['value']}" if option["type"] else ""
    return _entry(rf"\fB{roff(name)}\fR ({roff(kind + value)})", text)


def settings(command):
    return "".join(_setting(option) for option in command["options"] if not COMMAND_LINE_ONLY & set(option["names"]))


def synopsis(command):
    name, _, rest = command["usage"].partition(" ")
    rest = re.sub(r"[A-Z][A-Z_.]+[A-Z]|[A-Z]+", lambda word: rf"\fI{word.group()}\fR", roff(rest))
    return f".B {roff(name)}\n{rest}\n"


def about(command):
    """The description: paragraphs, and indented lines unchanged."""
    out, verbatim = "", False
    for line in command["about"].split("\n"):
        indented = line.startswith(" ")
        if indented != verbatim:
            out += ".EX\n" if indented else ".EE\n.PP\n"
        verbatim = indented
        out += roff(line) + "\n" if line else ".PP\n"
    return out + (".EE\n" if verbatim else "")


FILLERS = {"SYNOPSIS": synopsis, "ABOUT": about, "OPTIONS": options, "COMMANDS": commands, "SECTIONS": sections,
           "EXAMPLES": examples, "SETTINGS": settings}


def _wrapped(source):
    """Wraps text lines of the source that have more than 79 characters."""
    verbatim = False
    for line in source.splitlines():
        verbatim = line == ".EX" or (verbatim and line != ".EE")
        if verbatim or line.startswith(".") or len(line) < 80:
            yield line
        else:
            first, *rest = textwrap.wrap(line, 78, break_long_words=False, break_on_hyphens=False)
            yield first
            yield from (re.sub(r"^(?=[.'])", r"\\&", part) for part in rest)


def page(command, template, values):
    filled = re.sub(r"^@([A-Z]+)@\n", lambda match: FILLERS[match.group(1)](command), template, flags=re.MULTILINE)
    for name, value in values.items():
        filled = filled.replace(name, value)
    return "\n".join(_wrapped(filled)) + "\n"
