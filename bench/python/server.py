"""The deploy tool on the official Python SDK, by hand: its state is sealed and bound by the SDK (AES-256-GCM)."""

import sys

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.request_state import RequestStateSecurity
from mcp.types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from pydantic import BaseModel, Field

KEY = "confirm_prod"


class Confirm(BaseModel):
    confirm: bool = Field(description="Confirm production deploy")


FORM = Confirm.model_json_schema()

server = MCPServer("releases", log_level="ERROR", request_state_security=RequestStateSecurity(keys=[bytes([7] * 32)]))


@server.tool(description="Deploy a release, after the user confirms")
async def deploy_release(service: str, version: str, context: Context) -> str | InputRequiredResult:
    asked = context.request_state
    if asked is None:
        message = f"Deploy {service} {version} to production?"
        question = ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=FORM))
        return InputRequiredResult(input_requests={KEY: question}, request_state=KEY)
    answer = (context.input_responses or {}).get(asked)
    if not isinstance(answer, ElicitResult) or answer.action != "accept":
        return "The user did not confirm."
    if not Confirm.model_validate(answer.content).confirm:
        return "Nothing was deployed."
    return f"Deployed {service} {version} to production ({service}-1)."


if __name__ == "__main__":
    app = server.streamable_http_app(json_response=True, stateless_http=True)
    quiet = {"log_level": "error", "access_log": False}
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), loop="uvloop", http="httptools", **quiet)
