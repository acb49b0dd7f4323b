#compdef stemma
# Completes `stemma`: asks it for what may follow, with sessions and tags. Written by `stemma completions zsh`.
_stemma() {
    local -a lines values shown
    local line
    lines=("${(@f)$(stemma complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    for line in $lines; do
        [[ -n $line ]] || continue
        values+=("${line%%$'\t'*}")
        shown+=("${line%%$'\t'*}  ${line#*$'\t'}")
    done
    if (( $#values )); then
        compadd -V stemma -l -d shown -a values
    else
        _files
    fi
}
if [ "$funcstack[1]" = "_stemma" ]; then _stemma "$@"; else compdef _stemma stemma; fi
