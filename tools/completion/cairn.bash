# Bash completion of ckpt-run and ckpt-tool. Installed under both names, by which the bash-completion package finds it;
# works without that package too, when it is sourced.
# shellcheck shell=bash

# The functions below share these variables of the one that bash calls: `current` is the word to complete, `previous`
# the option whose value it is, or the word before it.
_cairn_words() {
  current=${COMP_WORDS[COMP_CWORD]}
  previous=${COMP_WORDS[COMP_CWORD - 1]}
  # To bash, --config=heat.ini is three words.
  if [[ $current == = ]]; then
    current=''
  elif [[ $previous == = ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
}

# _cairn_offer ARGUMENTS...: what compgen generates by these for the current word.
_cairn_offer() { mapfile -t COMPREPLY < <(compgen "$@" -- "$current"); }

# The same for the last entry of a list with commas.
_cairn_offer_entry() {
  local before=''
  [[ $current == *,* ]] && before=${current%,*},
  compopt -o nospace 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -P "$before" "$@" -- "${current##*,}")
}

# _cairn_offer_files [ENDING]: files of this ending, and directories; all files where there are none.
_cairn_offer_files() {
  # As readline keeps an opening quote, and quotes what it inserts.
  local current=${current#[\"\']}
  current=${current//\\/}
  compopt -o filenames 2>/dev/null
  _cairn_offer -f
  [[ $# -gt 0 && -n $(compgen -f -X "!*.$1" -- "$current") ]] || return 0
  mapfile -t COMPREPLY < <(compgen -f -X "!*.$1" -o plusdirs -- "$current")
}

# Programs in PATH, and directories on the way to others.
_cairn_offer_commands() {
  compopt -o filenames 2>/dev/null
  _cairn_offer -c -d
}

_cairn_offer_directories() {
  local current=${current#[\"\']}
  current=${current//\\/}
  compopt -o filenames 2>/dev/null
  _cairn_offer -d
}

# Completes the application of ckpt-run, whose name is word $1, or one of its arguments.
_cairn_offer_application() {
  # The application's own completion.
  local helper
  for helper in _comp_command_offset _command_offset; do
    if declare -F "$helper" >/dev/null; then
      "$helper" "$1"
      return
    fi
  done
  if [[ $COMP_CWORD -gt $1 || $current == */* ]]; then
    _cairn_offer_files
  else
    _cairn_offer_commands
  fi
}

_ckpt_run() {
  local current previous
  _cairn_words
  COMPREPLY=()
  local with_value='-n --ranks --hosts --spare-hosts --spares --max-restarts --from --config --launcher --mpi-options --agent'
  with_value+=' --agent-limit --start-limit --grace --linger --kills --calls --tolerance --seed --json'
  local options="$with_value --shrink-hosts --fresh-if-unrecoverable --step-back --rehearse --preload-tap --version --help -h"

  local -i i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    local word=${COMP_WORDS[i]}
    if [[ $word == -- ]]; then
      _cairn_offer_application $((i + 1))
      return
    elif [[ $word != -* ]]; then
      _cairn_offer_application "$i"
      return
    elif [[ ${COMP_WORDS[i + 1]} == = ]]; then
      i+=2
    elif [[ " $with_value " == *" $word "* ]]; then
      i+=1
    fi
  done

  case $previous in
    --config) _cairn_offer_files ini ;;
    --launcher) if [[ $current == */* ]]; then _cairn_offer_files; else _cairn_offer -W 'mpirun mpiexec srun'; fi ;;
    --json) _cairn_offer_files json ;;
    --agent) _cairn_offer_commands ;;
    --hosts | --spare-hosts) _cairn_offer_entry -A hostname ;;
    -n | --ranks | --spares | --max-restarts | --from | --mpi-options | --*-limit | --grace | --linger | --kills | --calls | --tolerance | --seed) ;;
    *) if [[ -z $current || $current == -* ]]; then _cairn_offer -W "$options --"; else _cairn_offer_commands; fi ;;
  esac
}

_ckpt_tool() {
  local current previous
  _cairn_words
  COMPREPLY=()
  local command='' word
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] && continue
    command=$word
    break
  done

  local stores='--config --local --global --job --key-file --json'
  local scenario='--cost --recovery --mtbf --node-mtbf --nodes --shares --levels --measured'
  local options
  case $command in
    '') options='list inspect verify export copy pin unpin rebuild delete prune hang health trace plan simulate --version' ;;
    list) options=$stores ;;
    inspect) options="$stores --version --details" ;;
    verify) options="$stores --version --quiet" ;;
    export) options="${stores% --json} --to --rank --partial" ;;
    copy) options="$stores --yes" ;;
    rebuild) options="$stores --yes" ;;
    pin | unpin) options="${stores% --json}" ;;
    delete) options="$stores --yes --force" ;;
    prune) options="$stores --yes --keep" ;;
    hang) options="$stores --after --watch --stacks" ;;
    health) options="$stores --watch --clear --report --check-rules --default-rules" ;;
    trace) options='--output -o' ;;
    plan) options="$scenario --ranks ${stores% --json}" ;;
    simulate) options="$scenario --work --intervals --survives --helpers --runs --seed --threads --json --plot --paper" ;;
    *) return ;;
  esac

  case $command,$previous in
    *,--config) _cairn_offer_files ini ;;
    *,--key-file | *,--check-rules) _cairn_offer_files ;;
    *,--local | *,--global) _cairn_offer_directories ;;
    *,--measured | trace,-o | trace,--output) _cairn_offer_files json ;;
    export,--to) _cairn_offer_files ;;
    export,--rank | plan,--ranks | prune,--keep) ;;
    *,--plot) _cairn_offer_files svg ;;
    *,--paper) _cairn_offer -W bondarenko2019 ;;
    *,--levels) _cairn_offer_entry -W '1 2 3 4' ;;
    *,--mtbf) _cairn_offer_entry -W never ;;
    ?*,--version | *,--job | *,--report | *,--after | *,--cost | *,--recovery | *,--node-mtbf | *,--nodes | *,--shares) ;;
    *,--survives) _cairn_offer -W 'process node' ;;
    *,--intervals) _cairn_offer_entry -W off ;;
    *,--work | *,--helpers | *,--runs | *,--seed | *,--threads) ;;
    trace,*) if [[ $current == -* ]]; then _cairn_offer -W "$options --help -h"; else _cairn_offer_files json; fi ;;
    copy,*) if [[ $current == -* ]]; then _cairn_offer -W "$options --help -h"; else _cairn_offer_directories; fi ;;
    *) _cairn_offer -W "$options --help -h" ;;
  esac
}

complete -F _ckpt_run ckpt-run
complete -F _ckpt_tool ckpt-tool
