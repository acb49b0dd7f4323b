#!/bin/sh
# A turn of an agent's loop from the shell: the prompt comes from Stemmata, and what came of it goes back.
# `model` stands for your own: it reads what `turn begin` printed (the prompt is `.prompt.prompt`) and prints an entry.
set -eu

session=${1:-nightly}
of='"turn":{"session":"'$session'","agent":"worker-1","template":"fixer"}'

model() {
    cat >/dev/null
    printf '{"role":"assistant","text":"Yes: 40 seconds instead of 190."}'
}

# What the agent should know: a decision of the project. Strategies say what of it enters a prompt.
stemma decide 'Builds use the shared cache' --quiet >/dev/null

# The user speaks. The prompt is made by the strategy `live` and kept for `stemma context debug`.
answer=$(
    printf '{%s,"said":{"id":"%s-1","role":"user","text":"Is the build faster now?"},"prompt":{"strategy":{"name":"live"}}}' \
        "$of" "$session" | stemma turn begin | model
)

# A tool ran: what happened so far is stored at once, so that `stemma current` can name it.
printf '{%s,"entries":[
    {"role":"assistant","calls":[{"id":"c1","name":"bash","input":{"command":"time make"}}]},
    {"role":"tool","results":[{"id":"c1","text":"real 0m40s"}]}]}' "$of" | stemma turn step >/dev/null

# The turn ends with a commit that can be resumed, forked and searched.
printf '{%s,"entries":[%s]}' "$of" "$answer" | stemma turn end

# Why the prompt was what it was.
stemma context debug --session "$session"
