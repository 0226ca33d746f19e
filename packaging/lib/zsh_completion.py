# SPDX-License-Identifier: BSD-3-Clause
"""Writes completion for zsh: one #compdef function for each program, which calls _arguments."""
import re
from textwrap import indent

from bash_completion import words_of

ACTIONS = {"DIR": "_files -/", "FILE": "_files", "LOCAL": "_files", "TARGET": "_files", "SPEC": "_files -/",
           "HOST": "_hosts", "URL": "_message 'nfs://HOST[:PORT]/EXPORT[/PATH]'"}


def _quote(text):
    return "'" + text.replace("'", "'\\''") + "'"


def _plain(text):
    """Escapes text for a specification of _arguments."""
    return re.sub(r"([\\:\[\]])", r"\\\1", text)


def _action(option):
    words = option["choices"] or words_of(option["type"])
    if words:
        return f"({' '.join(words)})"
    return ACTIONS.get(option["type"], "")


def _specs(option):
    names = option["names"]
    for name in names:
        start = "*" if option["repeats"] else f"({' '.join(names)})"
        equals = "=" if option["type"] and name.startswith("--") else ""
        value = f":{_plain(option['type'])}:{_action(option)}" if option["type"] else ""
        yield _quote(f"{start}{name}{equals}[{_plain(option['text'])}]{value}")


def _arguments(command):
    for place, argument in enumerate(command["arguments"], 1):
        start = "*" if argument["repeats"] else str(place)
        yield _quote(f"{start}:{_plain(argument['names'][0])}:{_action(argument)}")


def _specs_of(command, parent=None):
    """Specifications of all options and arguments. The command's own options replace those of the parent by name."""
    own = command["options"]
    taken = {name for option in own for name in option["names"]}
    inherited = [option for option in parent["options"] if not taken & set(option["names"])] if parent else []
    return [spec for option in inherited + own for spec in _specs(option)] + list(_arguments(command))


def _call(flags, specs):
    return " \\\n  ".join([f"_arguments {flags}", *specs])


def _function(command):
    if not command["commands"]:
        return _call("-s -S", _specs_of(command))
    described = "\n".join(f"  {_quote(sub['name'] + ':' + _plain(sub['about']))}" for sub in command["commands"])
    top = _call("-C -s", _specs_of(command) + ["'1:command:->command'", "'*::argument:->argument'"])
    cases = "\n".join(f"{sub['name']})\n{indent(_call('-s', _specs_of(sub, command)), '  ')}\n  ;;"
                      for sub in command["commands"])
    return f"""local curcontext=$curcontext state line
typeset -A opt_args
local -a commands=(
{described}
)
{top}
case $state in
  command) _describe command commands ;;
  argument)
    case $line[1] in
{indent(cases, '      ')}
    esac
    ;;
esac"""


def script(command):
    name = command["name"]
    return f"""#compdef {name}
# SPDX-License-Identifier: BSD-3-Clause
# zsh completion of {name}: generated, do not edit

_{name}() {{
{indent(_function(command), '  ')}
}}

_{name} "$@"
"""
