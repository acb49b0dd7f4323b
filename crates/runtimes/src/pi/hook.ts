// Written by `stemma install pi`; `stemma uninstall pi` takes it away.
// Tells stemma when there is something new in the session's file. Does nothing where stemma is gone.
import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";

const program = "@PROGRAM@";
const tools = "@TOOLS@";
const inject = "@INJECT@";

function nudge(event: string, ctx: any, more: object = {}): Promise<string> {
  return new Promise((resolve) => {
    try {
      accessSync(program, constants.X_OK);
      const sessions = ctx.sessionManager;
      const input = JSON.stringify({
        session_id: sessions.getSessionId(),
        transcript_path: sessions.getSessionFile() ?? null,
        cwd: sessions.getCwd(),
        hook_event_name: event,
        ...more,
      });
      const child = spawn(program, ["hook", "pi", ...(inject ? ["--inject"] : [])], {
        stdio: ["pipe", "pipe", "ignore"],
      });
      const timer = setTimeout(() => child.kill(), 10_000);
      let said = "";
      child.stdout.on("data", (chunk) => (said += chunk));
      child.on("error", () => (clearTimeout(timer), resolve("")));
      child.on("close", () => (clearTimeout(timer), resolve(said)));
      child.stdin.on("error", () => {});
      child.stdin.end(input);
    } catch {
      resolve("");
    }
  });
}

export default function (pi: any) {
  let recalled = "";
  const recall = (said: string) => {
    try {
      recalled = JSON.parse(said).hookSpecificOutput.additionalContext;
    } catch {
      // Nothing was recalled.
    }
  };
  pi.on("session_start", async (event: any, ctx: any) => {
    recall(await nudge("SessionStart", ctx, { source: event.reason ?? "startup" }));
  });
  pi.on("agent_end", async (_event: any, ctx: any) => {
    await nudge("Stop", ctx);
  });
  pi.on("session_before_compact", async (_event: any, ctx: any) => {
    await nudge("PreCompact", ctx);
  });
  pi.on("session_compact", async (_event: any, ctx: any) => {
    recall(await nudge("SessionStart", ctx, { source: "compact" }));
  });
  pi.on("session_shutdown", async (_event: any, ctx: any) => {
    await nudge("SessionEnd", ctx);
  });
  if (tools !== "none") {
    pi.on("tool_execution_end", async (event: any, ctx: any) => {
      if (tools === "all" || event.isError) {
        await nudge(event.isError ? "PostToolUseFailure" : "PostToolUse", ctx);
      }
    });
  }
  if (inject) {
    pi.on("before_agent_start", async () => {
      if (!recalled) return;
      const content = recalled;
      recalled = "";
      return { message: { customType: "stemma-recalled", content, display: true } };
    });
  }
}
