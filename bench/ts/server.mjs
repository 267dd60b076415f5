// The deploy tool on the official TypeScript SDK, by hand: its state is signed with the SDK's codec for ten minutes and
// bound to the tool and its arguments. What can be made once is made once; the SDK wants a server for each request.

import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import {
  acceptedContent,
  createMcpHandler,
  createRequestStateCodec,
  inputRequired,
  McpServer,
} from "@modelcontextprotocol/server";
import { z } from "zod";

const KEY = "confirm_prod";
const deploy = z.object({ service: z.string(), version: z.string() });
const confirm = z.object({ confirm: z.boolean() });
const form = {
  type: "object",
  properties: { confirm: { type: "boolean", description: "Confirm production deploy" } },
  required: ["confirm"],
};
const codec = createRequestStateCodec({ key: new Uint8Array(32).fill(7) });

async function deployRelease({ service, version }, context) {
  const call = `deploy_release ${JSON.stringify([service, version])}`;
  const asked = context.mcpReq.requestState();
  if (asked === undefined) {
    const message = `Deploy ${service} ${version} to production?`;
    return inputRequired({
      inputRequests: { [KEY]: inputRequired.elicit({ message, requestedSchema: form }) },
      requestState: await codec.mint({ key: KEY, call }),
    });
  }
  if (asked.call !== call) throw new Error("invalid or expired request state");
  const answer = acceptedContent(context.mcpReq.inputResponses, asked.key, confirm);
  if (answer === undefined) return text("The user did not confirm.");
  if (!answer.confirm) return text("Nothing was deployed.");
  return text(`Deployed ${service} ${version} to production (${service}-1).`);
}

function text(text) {
  return { content: [{ type: "text", text }] };
}

function server() {
  const server = new McpServer({ name: "releases", version: "1.0.0" }, { requestState: { verify: codec.verify } });
  const about = { description: "Deploy a release, after the user confirms", inputSchema: deploy };
  server.registerTool("deploy_release", about, deployRelease);
  return server;
}

const handler = createMcpHandler(server, { legacy: "reject", responseMode: "json" });
createServer(toNodeHandler(handler)).listen(Number(process.argv[2]), "127.0.0.1");
