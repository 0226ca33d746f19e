# SPDX-License-Identifier: BSD-3-Clause
# Output of the scripts: one line for each step, errors on stderr, colours on a terminal only.
if [[ -t 1 && -z ${NO_COLOR:-} ]]; then
  ui_bold=$'\e[1m' ui_dim=$'\e[2m' ui_green=$'\e[32m' ui_red=$'\e[31m' ui_off=$'\e[0m'
else
  ui_bold='' ui_dim='' ui_green='' ui_red='' ui_off=''
fi

say() { printf '%s\n' "$*"; }
step() { printf '%s==>%s %s%s%s\n' "$ui_green" "$ui_off" "$ui_bold" "$*" "$ui_off"; }
note() { printf '    %s%s%s\n' "$ui_dim" "$*" "$ui_off"; }
fail() { printf '%s%s: %s%s\n' "$ui_red" "${0##*/}" "$*" "$ui_off" >&2; }
die() {
  fail "$*"
  exit 1
}

# 1234567 -> 1,234,567
thousands() { sed -E ':a; s/^([0-9]+)([0-9]{3})/\1,\2/; ta' <<<"$1"; }
