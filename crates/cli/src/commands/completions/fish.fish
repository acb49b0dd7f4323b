# Completes `stemma`: asks it for what may follow, with sessions and tags. Written by `stemma completions fish`.
function __stemma_complete
    set -l words (commandline -opc) (commandline -ct)
    stemma complete -- $words[2..-1] 2>/dev/null
end
complete -c stemma -k -a '(__stemma_complete)'
