"""A server on the official Python SDK that asks in every way there is; its states are sealed and bound by the SDK.

usage: server.py PORT|stdio
"""

import json
import sys

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.request_state import RequestStateSecurity
from mcp.types import (
    CallToolResult,
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    InputRequiredResult,
    ListRootsRequest,
    SamplingMessage,
    TextContent,
)

FIELDS = {
    "type": "object",
    "properties": {
        "email": {"type": "string", "format": "email", "title": "E-mail"},
        "day": {"type": "string", "format": "date"},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
        "ratio": {"type": "number"},
        "agree": {"type": "boolean", "default": False},
        "size": {"type": "string", "enum": ["small", "large"]},
        "extras": {"type": "array", "items": {"type": "string", "enum": ["backup", "metrics"]}},
        "note": {"type": "string"},
    },
    "required": ["email", "day", "count", "ratio", "size", "extras"],
}

server = MCPServer(
    "interop",
    version="1.0.0",
    log_level="ERROR",
    request_state_security=RequestStateSecurity(keys=[bytes([7] * 32)]),
)


def form(message, schema):
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def field(message, name):
    return form(message, {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]})


def ask(requests, state="asked"):
    return InputRequiredResult(input_requests=requests, request_state=state)


def answer(context, key):
    return context.input_responses[key]


@server.tool()
async def greet(context: Context) -> str | InputRequiredResult:
    if context.request_state is None:
        return ask({"who": field("What is your name?", "name")})
    given = answer(context, "who")
    return f"Hello, {given.content['name']}!" if given.action == "accept" else f"You said {given.action}."


@server.tool()
async def pair(context: Context) -> str | InputRequiredResult:
    if context.request_state is None:
        return ask({"first": field("What is your name?", "name")}, json.dumps(None))
    name = json.loads(context.request_state)
    if name is None:
        name = answer(context, "first").content["name"]
        return ask({"second": field(f"Which color, {name}?", "color")}, json.dumps(name))
    return f"{name} likes {answer(context, 'second').content['color']}."


@server.tool()
async def batch(context: Context) -> str | InputRequiredResult:
    if context.request_state is None:
        question = TextContent(type="text", text="What is the capital of France?")
        params = CreateMessageRequestParams(messages=[SamplingMessage(role="user", content=question)], max_tokens=100)
        return ask({
            "who": field("What is your name?", "name"),
            "capital": CreateMessageRequest(params=params),
            "where": ListRootsRequest(),
        })
    said, name = answer(context, "capital").content.text, answer(context, "who").content["name"]
    return f"{said} {name} ({len(answer(context, 'where').roots)} roots)"


@server.tool()
async def visit(context: Context) -> str | InputRequiredResult:
    if context.request_state is None:
        params = ElicitRequestURLParams(message="Visit the page", url="https://example.com/visit")
        return ask({"page": ElicitRequest(params=params)})
    return "visited" if answer(context, "page").action == "accept" else "not visited"


@server.tool()
async def fields(context: Context) -> str | InputRequiredResult:
    if context.request_state is None:
        return ask({"all": form("Fill in everything", FIELDS)})
    return json.dumps(answer(context, "all").content)


@server.tool()
async def later(context: Context) -> str | InputRequiredResult:
    return ask(None) if context.request_state is None else "ready"


@server.tool()
async def fails() -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text="out of stock")], is_error=True)


@server.prompt()
async def write_about(topic: str, context: Context) -> str | InputRequiredResult:
    if context.request_state is None:
        return ask({"tone": field(f"Which tone for {topic}?", "tone")})
    return f"Write about {topic} in a {answer(context, 'tone').content['tone']} tone."


# Of a template: the SDK hands a resource of its own no context.
@server.resource("interop://notes/{number}")
async def note(number: str, context: Context) -> str | InputRequiredResult:
    if context.request_state is None:
        return ask({"tone": field("Which tone?", "tone")})
    return f"Note {number} in a {answer(context, 'tone').content['tone']} tone."


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run("stdio")
    else:
        app = server.streamable_http_app(stateless_http=True)
        uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error", access_log=False)
