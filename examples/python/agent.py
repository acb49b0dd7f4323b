#!/usr/bin/env python3
"""An agent with nothing but `requests`: Stemmata remembers, a model answers, a tool runs.

  stemma serve --listen 127.0.0.1:7777 &
  MODEL_URL=http://127.0.0.1:11434/v1 MODEL=qwen3 python3 agent.py my-session 'What is in this folder?'

Run it again with the same session, in another process or on another day, and it goes on from there. The tool runs commands with
your rights: use a container for a model that you do not trust.
"""
import json, os, subprocess, sys, uuid

import requests

STEMMATA = os.environ.get("STEMMATA_SERVER", "http://127.0.0.1:7777")
MODEL_URL = os.environ.get("MODEL_URL", "http://127.0.0.1:11434/v1")
MODEL = os.environ.get("MODEL", "qwen3")
KEY = {"Authorization": "Bearer " + os.environ["MODEL_KEY"]} if "MODEL_KEY" in os.environ else {}
PROFILE = 'id = "helper"\nrole = "helper"\ninstructions = "Use the shell where it helps. Be brief."\n'
PARAMETERS = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
TOOLS = [{"type": "function", "function": {"name": "shell", "description": "Runs a command.", "parameters": PARAMETERS}}]


def post(url, body, headers={}):
    reply = requests.post(url, json=body, headers=headers, timeout=600)
    if not reply.ok:
        sys.exit(f"{url} answers {reply.status_code}: {reply.text}")
    return reply.json()


def shell(arguments):
    done = subprocess.run(arguments["command"], shell=True, capture_output=True, text=True, timeout=120)
    return {"text": done.stdout + done.stderr, "is_error": done.returncode != 0}


def take_turn(session, words):
    turn = {"ledger": "python-agent", "session": session, "agent": "helper", "template": "python-agent"}
    name = uuid.uuid4().hex  # Names what is sent: a call that is repeated is stored once.
    begun = post(f"{STEMMATA}/v1/turns/begin", {
        "turn": turn, "said": {"id": name, "role": "user", "text": words}, "window": {"tokens": 32768},
        "prompt": {"strategy": {"name": "live"}, "profile": PROFILE, "trace": "none"}, "messages": "chat_completions"})
    if begun.get("window") and not begun["window"]["may_call"]:
        sys.exit(begun["window"]["overflow"]["reason"])
    messages = begun["messages"]["body"]["messages"]
    for number in range(50):
        reply = post(f"{MODEL_URL}/chat/completions", {"model": MODEL, "messages": messages, "tools": TOOLS}, KEY)
        answer, usage = reply["choices"][0]["message"], reply.get("usage") or {}
        calls = [{"id": f"{name}-{number}-{at}", "name": call["function"]["name"], "input": json.loads(call["function"]["arguments"])}
                 for at, call in enumerate(answer.get("tool_calls") or [])]
        said = {"id": f"{name}-a{number}", "role": "assistant", "text": answer.get("content"), "calls": calls, "model": MODEL,
                "usage": {"input_tokens": usage.get("prompt_tokens", 0), "output_tokens": usage.get("completion_tokens", 0)}}
        if not calls:
            ended = post(f"{STEMMATA}/v1/turns/end", {"turn": turn, "entries": [said]})
            return answer["content"], ended["ctx"]
        post(f"{STEMMATA}/v1/turns/step", {"turn": turn, "entries": [said]})  # Before it runs: whoever goes on knows of it.
        results = [{"id": call["id"], **shell(call["input"])} for call in calls]
        post(f"{STEMMATA}/v1/turns/step", {"turn": turn, "entries": [{"id": f"{name}-r{number}", "role": "tool", "results": results}]})
        messages.append({"role": "assistant", "content": answer.get("content"), "tool_calls": [
            {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": json.dumps(call["input"])}} for call in calls]})
        messages += [{"role": "tool", "tool_call_id": result["id"], "content": result["text"]} for result in results]
    sys.exit("the model calls tools without end")


if __name__ == "__main__":
    answer, commit = take_turn(sys.argv[1], " ".join(sys.argv[2:]))
    print(answer)
    print(f"stored as {commit}; `stemma show {commit}` shows it", file=sys.stderr)
