"""A client with scripted answers, and the runner that prints one line for each scenario."""

import asyncio
import re
from contextlib import asynccontextmanager

import mcp_types as types
from mcp import Client, MCPError

ROOT = types.Root(uri="file:///test/root", name="Test Root")
DECLINE = types.ElicitResult(action="decline")
CANCEL = types.ElicitResult(action="cancel")


def accept(**content):
    return types.ElicitResult(action="accept", content=content)


def wire(model):
    """A typed value as it looked on the wire."""
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


@asynccontextmanager
async def connect(url, answers=(), completion=None, asks=True, log=None, mode="auto"):
    """Yields a connected client and the list of what it was asked.

    `answers` are given to forms and pages in the order these are asked; `completion` is what the client's model says.
    """
    asked, left = [], list(answers)

    async def elicitation(_, params):
        asked.append(params)
        if not left:
            raise AssertionError(f"asked once more: {params.message}")
        answer = left.pop(0)
        return answer(params) if callable(answer) else answer

    async def sampling(_, params):
        asked.append(params)
        content = types.TextContent(type="text", text=completion)
        return types.CreateMessageResult(role="assistant", content=content, model="test-model", stop_reason="endTurn")

    async def roots(_):
        return types.ListRootsResult(roots=[ROOT])

    async def logging(params):
        log.append(params)

    callbacks = {"sampling_callback": sampling}
    if asks:
        callbacks |= {"elicitation_callback": elicitation, "list_roots_callback": roots}
    if log is not None:
        callbacks |= {"logging_callback": logging, "log_level": "debug"}
    info = types.Implementation(name="interop-python", version="1.0.0")
    async with Client(url, client_info=info, mode=mode, **callbacks) as client:
        yield client, asked


def equal(got, expected, what="the result"):
    if got != expected:
        raise AssertionError(f"{what} is {got!r}, not {expected!r}")


def matches(text, pattern):
    if not re.search(pattern, text, re.DOTALL):
        raise AssertionError(f"{text!r} does not match {pattern}")


async def refused(call):
    """The error a call ends with."""
    try:
        result = await call
    except (MCPError, BaseExceptionGroup) as error:
        return innermost(error)
    raise AssertionError(f"no error, but {result!r}")


async def run(scenarios):
    """Runs each scenario; says whether all went well."""
    failed = 0
    for name, scenario in scenarios.items():
        try:
            async with asyncio.timeout(20):
                await scenario()
            print(f"ok {name}", flush=True)
        except Exception as error:
            failed += 1
            why = innermost(error)
            print(f"FAIL {name}:", *f"{type(why).__name__}: {why}".split(), flush=True)
    return failed == 0


def innermost(error):
    """What is raised in a task group comes wrapped."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
