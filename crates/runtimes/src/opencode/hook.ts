// Written by `stemma install opencode`; `stemma uninstall opencode` takes it away.
// Tells stemma when a session has something new in the client's database. Does nothing where stemma is gone.
import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";

const program = "@PROGRAM@";
const tools = "@TOOLS@";
const inject = "@INJECT@";

export const StemmaPlugin = async ({ directory }: any) => {
  // Sessions that were worked in here, and what was recalled for each.
  const sessions = new Set<string>();
  const recalled = new Map<string, string>();
  const told = new Set<string>();

  // The input is an argument: the client may end before it could be written to a pipe, and this goes on without it.
  function nudge(event: string, session: string, more: object = {}): Promise<string> {
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
        child.stdout?.on("data", (chunk: any) => (said += chunk));
        child.on("error", done);
        child.on("close", done);
        child.unref();
      } catch {
        resolve("");
      }
    });
  }

  async function recall(session: string, source: string) {
    try {
      const said = await nudge("SessionStart", session, { source });
      recalled.set(session, JSON.parse(said).hookSpecificOutput.additionalContext);
    } catch {
      recalled.set(session, "");
    }
  }

  const hooks: any = {
    event: async ({ event }: any) => {
      const session = event?.properties?.sessionID;
      if (typeof session !== "string") return;
      if (event.type === "session.idle") {
        sessions.add(session);
        await nudge("Stop", session);
      }
      if (event.type === "session.compacted") {
        if (inject) await recall(session, "compact");
        else await nudge("PostCompact", session);
      }
      const part = event.properties.part;
      if (tools !== "none" && event.type === "message.part.updated" && part?.type === "tool") {
        const failed = part.state?.status === "error";
        if ((failed || (tools === "all" && part.state?.status === "completed")) && !told.has(part.id)) {
          told.add(part.id);
          await nudge(failed ? "PostToolUseFailure" : "PostToolUse", session, { tool_name: part.tool });
        }
      }
    },
    "experimental.session.compacting": async ({ sessionID }: any) => {
      if (sessionID) await nudge("PreCompact", sessionID);
    },
    "shell.env": async ({ sessionID }: any, output: any) => {
      if (sessionID) output.env.OPENCODE_SESSION_ID = sessionID;
    },
    dispose: async () => {
      await Promise.all([...sessions].map((session) => nudge("SessionEnd", session)));
    },
  };
  if (inject) {
    hooks["experimental.chat.system.transform"] = async ({ sessionID }: any, output: any) => {
      if (!sessionID) return;
      if (!recalled.has(sessionID)) await recall(sessionID, "resume");
      const text = recalled.get(sessionID);
      if (text) output.system.push(text);
    };
  }
  return hooks;
};
