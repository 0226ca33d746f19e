# SPDX-License-Identifier: BSD-3-Clause
"""Writes completion for bash that does not need the package bash-completion: one function for each program."""
FILES = {"FILE", "LOCAL", "TARGET"}
FOLDERS = {"DIR"}

TEMPLATE = """\
# SPDX-License-Identifier: BSD-3-Clause
# bash completion of {name}: generated, do not edit
{function}_values() {{
  case $1 in
{values}
    *) return 1 ;;
  esac
}}
{function}_words() {{
  case $1 in
{words}
  esac
}}
{function}() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} option=${{COMP_WORDS[COMP_CWORD - 1]}} command='' at=0 i word
  # bash splits --option=value into three words.
  if [[ $cur == = ]]; then
    cur=''
  elif [[ $option == = ]]; then
    option=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  COMPREPLY=()
  if {function}_values "$option"; then return; fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${{COMP_WORDS[i]}}
    case $word in
      {valued}) if [[ ${{COMP_WORDS[i + 1]}} == = ]]; then ((i += 2)); else ((++i)); fi ;;
      -*) ;;
      *) {count} ;;
    esac
  done
  local words
  words=$({function}_words "$command")
  if [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
    return
  fi
  case $command:$at in
{arguments}
  esac
}}
complete -F {function} {name}
"""


def words_of(kind):
    """The literal words of an option's type, such as auto and off in auto|off|MICROSECONDS."""
    return [word for word in kind.split("|") if word.islower()] if "|" in kind else []


def _action(option):
    """The shell code that fills COMPREPLY with the values of an option or argument."""
    words = option["choices"] or words_of(option["type"])
    if words:
        return f'mapfile -t COMPREPLY < <(compgen -W "{" ".join(words)}" -- "$cur")'
    if option["type"] in FOLDERS:
        return 'compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$cur")'
    if option["type"] in FILES:
        return 'compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$cur")'
    if option["type"] == "SPEC":
        return ('compopt -o nospace -o filenames 2>/dev/null; '
                'mapfile -t COMPREPLY < <(compgen -d -- "$cur"; compgen -W memory: -- "$cur")')
    if option["type"] == "URL":
        return 'compopt -o nospace 2>/dev/null; mapfile -t COMPREPLY < <(compgen -W nfs:// -- "$cur")'
    if option["type"] == "HOST":
        return 'mapfile -t COMPREPLY < <(compgen -A hostname -- "$cur")'
    return ":"


def _words(*commands):
    return " ".join(dict.fromkeys(name for one in commands for option in one["options"] for name in option["names"]))


def _arguments(command, name):
    lines = []
    for place, argument in enumerate(command["arguments"]):
        pattern = f"{name}:*" if argument["repeats"] else f"{name}:{place}"
        lines.append(f"    {pattern}) {_action(argument)} ;;")
    return lines


def script(command):
    with_value = [option for option in command["options"] if option["type"]]
    values = [f"    {' | '.join(option['names'])}) {_action(option)} ;;" for option in with_value]
    subs = command["commands"]
    words = [f"    {sub['name']}) echo '{_words(command, sub)}' ;;" for sub in subs]
    words.append(f"    *) echo '{_words(command)}' ;;")
    arguments = _arguments(command, "")
    if subs:
        names = " ".join(sub["name"] for sub in subs)
        arguments = [f'    :0) mapfile -t COMPREPLY < <(compgen -W "{names}" -- "$cur") ;;']
        arguments += [line for sub in subs for line in _arguments(sub, sub["name"])]
    return TEMPLATE.format(
        name=command["name"], function="_" + command["name"].replace("-", "_"), values="\n".join(values),
        words="\n".join(words), valued=" | ".join(name for option in with_value for name in option["names"]) or "''",
        count="if [[ -z $command ]]; then command=$word; else ((++at)); fi" if subs else "((++at))", arguments="\n".join(arguments) or "    *) ;;")
