# SPDX-License-Identifier: BSD-3-Clause
"""Describes the command line of a Python program in the form of --describe."""
import argparse
import os
import runpy
import sys
from unittest import mock


class _Parsed(Exception):
    """Raised to end the program that is described; holds the program's argument parser."""


def _option(action):
    value = action.metavar or (action.dest.upper() if action.option_strings else action.dest)
    if isinstance(value, tuple):
        value = " ".join(value)
    takes_value = action.nargs != 0
    text = (action.help or "") % {"default": action.default, "prog": ""}
    choices = [str(choice) for choice in action.choices or []]
    kind = "FILE" if value.startswith("FILE") else value
    return {"names": action.option_strings or [value], "group": "Options", "type": kind if takes_value else "",
            "value": ("|".join(choices) or value) if takes_value else "", "choices": choices,
            "text": text[:1].upper() + text[1:] if action.option_strings else text, "about": text,
            "required": action.required, "repeats": action.nargs in ("*", "+")}


def _program(parser, name):
    actions = [action for action in parser._actions if action.help != argparse.SUPPRESS]  # pylint: disable=protected-access
    usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
    example = (parser.epilog or "").partition("For example: ")[2]
    sections = [{"title": "Examples", "entries": [{"term": example, "text": ""}]}] if example else []
    return {"name": name, "about": parser.description or "", "usage": usage, "example": "", "commands": [],
            "sections": sections, "options": [_option(action) for action in actions if action.option_strings],
            "arguments": [_option(action) for action in actions if not action.option_strings]}


def describe(path):
    def stop(parser, *_unused, **_named):
        raise _Parsed(parser)

    with mock.patch.object(argparse.ArgumentParser, "parse_args", stop), mock.patch.object(sys, "argv", [path]), \
            mock.patch.dict(os.environ, COLUMNS="1000"):
        try:
            runpy.run_path(path, run_name="__main__")
        except _Parsed as parsed:
            return _program(parsed.args[0], os.path.basename(path))
    raise SystemExit(f"{path}: does not use argparse.ArgumentParser.parse_args")
