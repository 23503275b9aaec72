# bash completion of otolith: asks candidates.sh. bash splits words at the characters of COMP_WORDBREAKS, among them = and @,
# which topics and options have; the words here are split at spaces, and what bash has already is cut off the candidates.
_otolith_candidates=${BASH_SOURCE[0]%/*}/../../otolith/completion/candidates.sh
[ -e "${BASH_SOURCE[0]%/*}/candidates.sh" ] && _otolith_candidates=${BASH_SOURCE[0]%/*}/candidates.sh

_otolith() {
  local line=${COMP_LINE:0:COMP_POINT} current='' words candidate
  read -ra words <<<"$line"
  if [[ $line == *[[:space:]] ]]; then words+=(''); fi
  current=${words[-1]}
  local piece=${COMP_WORDS[COMP_CWORD]}
  if [[ -n $piece && $COMP_WORDBREAKS == *"$piece"* ]]; then piece=''; fi
  local head=${current%"$piece"}
  COMPREPLY=()
  while IFS=$'\t' read -r candidate _; do
    if [ "$candidate" = //files ]; then
      while IFS= read -r candidate; do COMPREPLY+=("$candidate"); done < <(compgen -f -- "${current##*=}")
      compopt -o filenames 2>/dev/null
    else
      COMPREPLY+=("${candidate#"$head"}")
      if [[ $candidate == *= ]]; then compopt -o nospace 2>/dev/null; fi
    fi
  done < <(sh "$_otolith_candidates" "${words[@]}")
}
complete -F _otolith otolith
