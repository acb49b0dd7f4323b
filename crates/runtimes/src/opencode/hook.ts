// Written by `stemma install opencode`; `stemma uninstall opencode` takes it away.
// Tells stemma when a session has something new in the client's database. Does nothing where stemma is gone.
import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";

const program = "@PROGRAM@";
const tools = "@TOOLS@";
const inject = "@INJECT@";

// What is told of a directory's sessions.
function telling(directory) {
  // Sessions that were worked in here, and what was recalled for each.
  const sessions = new Set();
  const recalled = new Map();

  // The input is an argument: the client may end before it could be written to a pipe, and this goes on without it.
  function nudge(event, session, more = {}) {
    return new Promise((resolve) => {
      try {
        accessSync(program, constants.X_OK);
        const input = { session_id: session, cwd: directory, hook_event_name: event, client_pid: process.pid, ...more };
        const flags = inject ? ["--inject"] : [];
        const answers = inject && event === "SessionStart";
        const child = spawn(program, ["hook", "opencode", ...flags, "--input", JSON.stringify(input)], {
          detached: true,
          stdio: ["ignore", answers ? "pipe" : "ignore", "ignore"],
        });
        let said = "";
        const done = () => (clearTimeout(timer), resolve(said));
        const timer = setTimeout(done, 10_000);
        child.stdout?.on("data", (chunk) => (said += chunk));
        child.on("error", done);
        child.on("close", done);
        child.unref();
      } catch {
        resolve("");
      }
    });
  }

  async function recall(session, source) {
    try {
      const said = await nudge("SessionStart", session, { source });
      recalled.set(session, JSON.parse(said).hookSpecificOutput.additionalContext);
    } catch {
      recalled.set(session, "");
    }
  }

  async function text(session) {
    if (!recalled.has(session)) await recall(session, "resume");
    return recalled.get(session);
  }

  async function turn(session) {
    sessions.add(session);
    await nudge("Stop", session);
  }

  async function compacted(session) {
    if (inject) await recall(session, "compact");
    else await nudge("PostCompact", session);
  }

  async function used(session, tool, failed) {
    if (tools === "all" || (tools === "failures" && failed)) {
      await nudge(failed ? "PostToolUseFailure" : "PostToolUse", session, { tool_name: tool });
    }
  }

  async function end() {
    await Promise.all([...sessions].map((session) => nudge("SessionEnd", session)));
  }

  return { nudge, text, turn, compacted, used, end };
}

// What versions 1.x call.
const server = async ({ directory }) => {
  const { nudge, text, turn, compacted, used, end } = telling(directory);
  const told = new Set();
  const hooks = {
    event: async ({ event }) => {
      const session = event?.properties?.sessionID;
      if (typeof session !== "string") return;
      if (event.type === "session.idle") await turn(session);
      if (event.type === "session.compacted") await compacted(session);
      const part = event.properties.part;
      const status = part?.type === "tool" && event.type === "message.part.updated" ? part.state?.status : "";
      if (tools !== "none" && (status === "error" || status === "completed") && !told.has(part.id)) {
        told.add(part.id);
        await used(session, part.tool, status === "error");
      }
    },
    "experimental.session.compacting": async ({ sessionID }) => {
      if (sessionID) await nudge("PreCompact", sessionID);
    },
    "shell.env": async ({ sessionID }, output) => {
      if (sessionID) output.env.OPENCODE_SESSION_ID = sessionID;
    },
    dispose: end,
  };
  if (inject) {
    hooks["experimental.chat.system.transform"] = async ({ sessionID }, output) => {
      const said = sessionID && (await text(sessionID));
      if (said) output.system.push(said);
    };
  }
  return hooks;
};

// What versions 2.x call. Some of 1.x do too, without events.
const setup = async (ctx) => {
  if (typeof ctx?.event?.subscribe !== "function") return;
  const { nudge, text, turn, compacted, used, end } = telling(process.cwd());
  const events = ctx.event.subscribe()[Symbol.asyncIterator]();
  const ends = ["session.execution.succeeded", "session.execution.failed", "session.execution.interrupted", "session.idle"];
  // Not waited for: the client loads its plugins one after the other.
  (async () => {
    for (let next = await events.next(); !next.done; next = await events.next()) {
      const event = next.value;
      const session = event?.data?.sessionID;
      if (typeof session !== "string") continue;
      if (ends.includes(event.type)) await turn(session);
      if (event.type === "session.compaction.started") await nudge("PreCompact", session);
      if (event.type === "session.compaction.ended") await compacted(session);
    }
  })().catch(() => {});
  await ctx.tool?.hook?.("execute.after", ({ sessionID, tool, status }) => {
    if (sessionID) void used(sessionID, tool, status === "error");
  });
  if (inject) {
    await ctx.session?.hook?.("context", async (context) => {
      const said = context.sessionID && (await text(context.sessionID));
      if (said) context.system.push({ type: "text", text: said });
    });
  }
  return async () => {
    void events.return?.();
    await end();
  };
};

export default { id: "stemma", server, setup };
