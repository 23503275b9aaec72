#!/bin/sh
# candidates.sh PROGRAM WORD... CURRENT: candidates for the last word of an `otolith` command line, one a line: WORD<TAB>TEXT.
# The line "//files" asks the shell for names of files. Commands, options and arguments come from --help; topics, nodes,
# parameters, plugins and parts come from the program and the running worlds.
program=$1
shift
tab=$(printf '\t')

ask() { "$program" "$@" 2>/dev/null </dev/null; }
# offer PREFIX: the lines of stdin that continue the current word, each after PREFIX.
offer() {
  while IFS= read -r line; do
    case $1$line in "$current"*) printf '%s\n' "$1$line" ;; esac
  done
}
# values KEY [TEXT_KEY]: KEY of each object of a JSON list on stdin, with the text of TEXT_KEY.
values() {
  sed 's/}, *{/}\n{/g' | if [ -n "${2-}" ]; then
    sed -n "s/.*\"$1\": \"\([^\"]*\)\".*\"$2\": \"\([^\"]*\)\".*/\1$tab\2/p"
  else
    sed -n "s/.*\"$1\": \"\([^\"]*\)\".*/\1/p"
  fi
}
words_of() { printf '%s\n' "$@"; }

in_world() { # the arguments that name a world, after those given
  if [ -n "$world" ]; then ask "$@" --world "$world"; else ask "$@"; fi
}
worlds() { ask ls --json | sed 's/"world"/\n&/g' | sed -n 's/^"world": "\([^"]*\)".*/\1/p'; }
topics() { in_world ls --json | sed 's/"topics": \[/\n/g' | values topic type; }
nodes() {
  in_world ls --json | sed 's/"topics": \[/\n/g' | values topic plugin | while IFS=$tab read -r topic owner; do
    case $topic in
    */@* | *.*) ;;
    [!/]*/*/*) [ -z "$owner" ] || printf '%s\t%s\n' "$topic" "$owner" ;;
    *) in_world info "$topic" --json | sed -n "s/.*\"node\": \"\([^\"]*\)\".*/\1$tab$owner/p" ;;
    esac
  done
}
parameters() { # of the node or the plugin that the command line names
  if [ -n "$plugin" ]; then ask params "$plugin" --json | values param text; else in_world get "$1" --json | values param text; fi
}
fields() { in_world info "$1" --json | values name text; }
plugins() { ask plugins --json | values plugin text; }
parts() { ask parts --json | grep '"part": ' | values part title; }
models() { ask model list | sed -n "s/^\([a-z_0-9]*\)  *[0-9]* states  */\1$tab/p"; }
fault_kinds() { printf '%s\n' "$help" | tr '\n' ' ' | sed 's/.*Kinds: //; s/\. .*//; s/([^)]*)//g; s/, */\n/g' | sed 's/ .*//'; }

# offer_kind NAME ARGUMENT PREFIX: candidates for an argument, by the option's name, else by what --help calls it.
offer_kind() {
  case $1 in
  --world) if [ "$2" = NAME ]; then worlds | offer "$3"; return; fi ;;
  --part) parts | offer "$3"; return ;;
  --plugin) plugins | offer "$3"; echo //files; return ;;
  --model) models | offer "$3"; return ;;
  --role) words_of observe operate admin | offer "$3"; return ;;
  --mode) if [ "$command" = run ] || [ "$command" = branch ]; then words_of realtime asap step lockstep external | offer "$3"; fi; return ;;
  --field) fields "$first" | offer "$3"; return ;;
  --terms | --name | --label | --title) return ;;
  esac
  case $2 in
  TOPIC=FILE)
    case $current in
    "$3"*=*) echo //files ;;
    *) topics | sed "s/^\([^$tab]*\)/\1=/" | offer "$3" ;;
    esac ;;
  KEY=VALUE) [ -z "$plugin" ] || parameters | sed "s/^\([^$tab]*\)/\1=/" | offer "$3" ;;
  TOPIC) topics | offer "$3" ;;
  'FILE|TOPIC') topics | offer "$3"; echo //files ;;
  NODE) nodes | offer "$3" ;;
  'NODE|WORLD.yaml') nodes | offer "$3"; echo //files ;;
  PARAM) parameters "$first" | offer "$3" ;;
  'PLUGIN|FILE.so') plugins | offer "$3"; echo //files ;;
  NAME) [ "$command" != parts ] || parts | offer "$3" ;;
  KIND) fault_kinds | offer "$3" ;;
  *FILE* | *LOG* | DIR | WORLD) echo //files ;;
  *[!a-z\|]* | '') ;;
  *) printf '%s\n' "$2" | tr '|' '\n' | offer "$3" ;; # words to choose from: shm|nng
  esac
}

# argument_of OPTION: what --help calls its argument; nothing where it takes none or need not have one.
argument_of() {
  case $1 in
  --*) printf '%s\n' "$help" | sed -n "s/^ .*$1=\([^ ]*\).*/\1/p" | head -n 1 ;;
  -?) printf '%s\n' "$help" | sed -n "s/^  $1\(, --[a-z-]*=\| \)\([^ ]\{1,\}\).*/\2/p" | head -n 1 ;;
  esac
}
name_of() { # the long name of a short option
  case $1 in
  --*) echo "$1" ;;
  *) printf '%s\n' "$help" | sed -n "s/^  $1, \(--[a-z-]*\).*/\1/p" | head -n 1 ;;
  esac
}
options() {
  printf '%s\n' "$help" | sed -n "s/^  *\(-., \)\{0,1\}\(--[a-z-]*\)\(\[=[^ ]*\)\{0,1\}\(=\{0,1\}\)[^ ]* *\(.*\)/\2\4$tab\5/p"
  printf '%s\n' "$help" | sed -n "s/^  \(-[A-Za-z]\) [^ ]\{1,\} *\(.*\)/\1$tab\2/p"
}
# offer_positional NUMBER: by the synopses of --help; the last argument may be repeated.
offer_positional() {
  number=$1
  printf '%s\n' "$help" | sed -n 's/^\(Usage:\|  or: \) *otolith [a-z]* //p' |
    sed 's/\[OPTION\.\.\.\]//; s/\[\{0,1\}--.*//; s/[][]//g' | while read -r line; do
    argument=$(printf '%s\n' "$line" | awk -v n="$number" '{ if (n <= NF) print $n; else if ($NF ~ /[.][.][.]$/) print $NF }')
    [ -z "$argument" ] || offer_kind '' "${argument%...}" ''
  done | awk '!seen[$0]++'
}

for current in "$@"; do :; done
if [ $# -eq 1 ]; then
  ask --help | sed -n "s/^  \([a-z]*\)  *\(.*\)/\1$tab\2/p" | offer ''
  words_of --help --version | offer ''
  exit 0
fi
command=$1
shift
help=$(ask "$command" --help)
if [ "$command" = model ]; then
  if [ $# -eq 1 ]; then
    printf '%s\n' "$help" | sed -n "s/^  \([a-z]*\)  *\(.*\)/\1$tab\2/p" | offer ''
    exit 0
  fi
  help=$(ask model "$1" --help)
  shift
fi

# What the words before the current one say.
world='' plugin='' first='' previous='' count=0
while [ $# -gt 1 ]; do
  word=$1 value=
  shift
  previous=
  case $word in
  --*=*) name=${word%%=*} value=${word#*=} ;;
  -?*)
    name=$(name_of "$word")
    if [ -n "$(argument_of "$word")" ]; then
      if [ $# -eq 1 ]; then previous=$word; else value=$1; shift; fi
    fi ;;
  *) name='' count=$((count + 1)); [ $count -ne 1 ] || first=$word ;;
  esac
  case $name in --world) world=$value ;; --plugin) plugin=$value ;; esac
done

case $previous,$current in
-*) offer_kind "$(name_of "$previous")" "$(argument_of "$previous")" '' ;;
,--*=*) offer_kind "${current%%=*}" "$(argument_of "${current%%=*}")" "${current%%=*}=" ;;
,-*) options | offer '' ;;
*) offer_positional $((count + 1)) ;;
esac
