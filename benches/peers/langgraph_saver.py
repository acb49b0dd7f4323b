"""A conversation through LangGraph's SqliteSaver, a checkpoint a line, as LangGraph's own loop does it.

Usage: python langgraph_saver.py LINES FOLDER

LINES is a file with the conversation, a message a line. The database is made in FOLDER. Prints one JSON object: versions, the
bytes of all files after the log was emptied, and the median seconds of a checkpoint, of reading the newest and the middle one.
Whoever has no `langgraph-checkpoint-sqlite` gets exit code 3.
"""

import json
import os
import sqlite3
import statistics
import sys
import time

try:
    from importlib.metadata import version

    from langgraph.checkpoint.base import empty_checkpoint
    from langgraph.checkpoint.base.id import uuid6
    from langgraph.checkpoint.sqlite import SqliteSaver
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(3)


def main():
    lines, folder = sys.argv[1], sys.argv[2]
    connection = sqlite3.connect(os.path.join(folder, "langgraph.db"), check_same_thread=False)
    saver = SqliteSaver(connection)
    saver.setup()
    config = {"configurable": {"thread_id": "conversation", "checkpoint_ns": ""}}
    messages, configs, puts = [], [], []
    with open(lines, "rb") as conversation:
        for step, line in enumerate(conversation):
            messages.append(line.decode("utf-8", "surrogateescape"))
            checkpoint = empty_checkpoint()
            checkpoint["id"] = str(uuid6(clock_seq=step % 16384))
            checkpoint["channel_values"] = {"messages": list(messages)}
            checkpoint["channel_versions"] = {"messages": step + 1}
            began = time.perf_counter()
            config = saver.put(config, checkpoint, {"source": "loop", "step": step, "writes": {}}, {"messages": step + 1})
            puts.append(time.perf_counter() - began)
            configs.append(config)
    reads = {}
    for name, at in (("tip", len(configs) - 1), ("middle", len(configs) // 2)):
        began = time.perf_counter()
        found = saver.get_tuple(configs[at]).checkpoint["channel_values"]["messages"]
        reads[name] = time.perf_counter() - began
        if found != messages[: at + 1]:
            sys.exit("other messages came back")
    connection.commit()
    connection.execute("pragma wal_checkpoint(truncate)")
    connection.close()
    stored = sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder))
    print(
        json.dumps(
            {
                "version": version("langgraph-checkpoint-sqlite"),
                "bytes": stored,
                "put_seconds": statistics.median(puts),
                "tip_seconds": reads["tip"],
                "middle_seconds": reads["middle"],
            }
        )
    )


main()
