# Completes `stemma`: asks it for what may follow, with sessions and tags. Written by `stemma completions bash`.
_stemma() {
    local word="${COMP_WORDS[COMP_CWORD]}" line value
    local -a lines=()
    while IFS= read -r line; do lines+=("$line"); done < <(stemma complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    COMPREPLY=()
    for line in "${lines[@]}"; do
        value="${line%%$'\t'*}"
        # What a value is stands beside it only where there is a choice: what is completed must be the value alone.
        if [ "${#lines[@]}" -gt 1 ] && [ "$value" != "${line#*$'\t'}" ] && [ "${COMP_TYPE:-9}" = 63 ]; then
            COMPREPLY+=("$value  (${line#*$'\t'})")
        else
            COMPREPLY+=("$value")
        fi
    done
    # An empty word must not keep files from being completed.
    [ -n "$word" ] || [ "${#COMPREPLY[@]}" -gt 0 ] || return 1
}
complete -o nosort -o default -o bashdefault -F _stemma stemma
