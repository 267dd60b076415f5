"""usage: python main.py CONFORMANCE_URL INTEROP_URL DEMO_URL"""

import asyncio
import json
import sys
from pathlib import Path

import mcp_types as types

from world import CANCEL, DECLINE, ROOT, accept, connect, equal, matches, refused, run, wire

CONFORMANCE, INTEROP, DEMO = sys.argv[1:]
SHARED = Path(__file__).parent.parent
FORM = json.loads((SHARED / "every_field.json").read_text(encoding="utf-8"))
DEFINITIONS = json.loads((SHARED / "definitions.json").read_text(encoding="utf-8"))
FIXTURE = "test_input_required_result_"
SCENARIOS = {}


def scenario(function):
    SCENARIOS[function.__name__.strip("_").replace("_", "-")] = function
    return function


async def call(url, name, arguments=None, **script):
    """Calls a tool with scripted answers: its result, the text of it, and what was asked."""
    async with connect(url, **script) as (client, asked):
        result = await client.call_tool(name, arguments or {})
        return result, getattr(result.content[0], "text", None), asked


@scenario
async def discover():
    async with connect(INTEROP) as (client, _):
        equal(client.protocol_version, "2026-07-28")
        equal((client.server_info.name, client.server_info.version), ("interop", "1.0.0"))


@scenario
async def one_round():
    _, text, asked = await call(CONFORMANCE, f"{FIXTURE}elicitation", answers=[accept(name="Alice")])
    equal(text, "Hello, Alice!")
    equal([params.message for params in asked], ["What is your name?"])


@scenario
async def two_rounds():
    answers = [accept(name="Alice"), accept(color="blue")]
    _, text, asked = await call(CONFORMANCE, f"{FIXTURE}multi_round", answers=answers)
    equal(text, "Alice likes blue.")
    equal([p.message for p in asked], ["Step 1: What is your name?", "Step 2: What is your favorite color?"])


@scenario
async def batched_round():
    script = {"answers": [accept(name="Alice")], "completion": "Hello there!"}
    _, text, _ = await call(CONFORMANCE, f"{FIXTURE}multiple_inputs", **script)
    equal(text, "Hello there! Alice (1 roots)")


@scenario
async def sampling():
    _, text, asked = await call(CONFORMANCE, f"{FIXTURE}sampling", completion="Paris, of course.")
    equal(text, "Paris, of course.")
    (message,) = asked[0].messages
    equal((message.role, message.content.text), ("user", "What is the capital of France?"))
    equal(asked[0].max_tokens, 100)


@scenario
async def roots():
    _, text, _ = await call(CONFORMANCE, f"{FIXTURE}list_roots")
    equal(text, str(ROOT.uri))


@scenario
async def every_field():
    _, text, asked = await call(INTEROP, "every_field", answers=[accept(**FORM["answer"])])
    equal(asked[0].requested_schema, FORM["schema"], "the schema")
    equal(json.loads(text), FORM["answer"], "the answer")


@scenario
async def optional_left_out():
    content = {name: value for name, value in FORM["answer"].items() if name not in FORM["left_out"]}
    _, text, _ = await call(INTEROP, "every_field", answers=[accept(**content)])
    equal(json.loads(text), content | FORM["left_out"])


@scenario
async def url():
    _, text, asked = await call(INTEROP, "visit", answers=[types.ElicitResult(action="accept")])
    equal(text, "visited")
    equal((asked[0].mode, asked[0].message, asked[0].url), ("url", "Visit the page", "https://example.com/visit"))


@scenario
async def url_declined():
    _, text, _ = await call(INTEROP, "visit", answers=[DECLINE])
    equal(text, "declined")


@scenario
async def decline():
    _, text, _ = await call(INTEROP, "even", answers=[DECLINE])
    equal(text, "declined")


@scenario
async def cancel():
    _, text, _ = await call(INTEROP, "even", answers=[CANCEL])
    equal(text, "cancelled")


@scenario
async def asked_again():
    _, text, asked = await call(INTEROP, "even", answers=[accept(number=3), accept(number=4)])
    equal(text, "4 is even")
    matches(asked[1].message, r"^Give me an even number\s.*3 is odd")
    equal(asked[1].requested_schema["properties"]["number"]["default"], 3, "the default")


@scenario
async def wrong_type():
    _, text, asked = await call(INTEROP, "even", answers=[accept(number="many"), accept(number=4)])
    equal(text, "4 is even")
    matches(asked[1].message, '"number" must be a whole number')


@scenario
async def state_only():
    _, text, asked = await call(INTEROP, "come_back")
    equal(text, "ready in round 2")
    equal(asked, [])


@scenario
async def prompt_asks():
    async with connect(INTEROP, answers=[accept(tone="dry")]) as (client, asked):
        (message,) = (await client.get_prompt("write_about", {"topic": "tea"})).messages
        equal((message.role, message.content.text), ("user", "Write about tea in a dry tone."))
        equal(asked[0].message, "Which tone for tea?")


@scenario
async def resource_asks():
    async with connect(INTEROP, answers=[accept(tone="dry")]) as (client, _):
        (contents,) = (await client.read_resource("interop://asks")).contents
        equal(wire(contents), {"uri": "interop://asks", "text": "A dry resource."})


@scenario
async def template_asks():
    async with connect(INTEROP, answers=[accept(tone="dry")]) as (client, asked):
        (contents,) = (await client.read_resource("interop://notes/7%2F8")).contents
        equal(wire(contents), {"uri": "interop://notes/7%2F8", "text": "Note 7/8 in a dry tone."})
        equal(asked[0].message, "Which tone for note 7/8?")


@scenario
async def not_declared():
    async with connect(INTEROP, asks=False) as (client, _):
        error = await refused(client.call_tool("every_field", {}))
        equal(error.code, -32021, "the code")
        equal(error.data, {"requiredCapabilities": {"elicitation": {"form": {}}}}, "the data")


@scenario
async def progress():
    seen = []

    async def callback(progress, total, message):
        seen.append((progress, total, message))

    async with connect(CONFORMANCE) as (client, _):
        result = await client.call_tool("test_tool_with_progress", {}, progress_callback=callback)
        equal(result.content[0].text, "Done.")
        equal(seen, [(percent, 100, "Working") for percent in (0, 50, 100)], "the progress")


@scenario
async def progress_and_ask():
    seen = []

    async def callback(_progress, _total, message):
        seen.append(message)

    async with connect(INTEROP, answers=[accept(tone="dry")]) as (client, _):
        result = await client.call_tool("step_by_step", {}, progress_callback=callback)
        equal(result.content[0].text, "Written in a dry tone.")
        equal(seen, ["Asking", "Asking", "Writing"], "the progress")


@scenario
async def log():
    seen = []
    async with connect(CONFORMANCE, log=seen) as (client, _):
        await client.call_tool("test_logging_tool", {})
    equal([(params.level, params.data) for params in seen], [("info", "Evaluating")])


@scenario
async def pages():
    async def walk(list_page, member, name):
        seen, cursor = [], None
        while True:
            page = await list_page(cursor=cursor)
            seen.append([getattr(entry, name) for entry in getattr(page, member)])
            cursor = page.next_cursor
            if cursor is None:
                return seen

    async with connect(INTEROP) as (client, _):
        tools = [["every_field", "visit"], ["even", "come_back"], ["described", "step_by_step"]]
        equal(await walk(client.list_tools, "tools", "name"), tools)
        equal(await walk(client.list_prompts, "prompts", "name"), [["write_about", "second"], ["third"]])
        equal(await walk(client.list_resources, "resources", "name"), [["asks", "second"], ["third"]])
        templates = await walk(client.list_resource_templates, "resource_templates", "uri_template")
        equal(templates, [["interop://notes/{id}"]])


@scenario
async def completion():
    async with connect(INTEROP) as (client, _):
        ref = types.PromptReference(type="ref/prompt", name="write_about")
        result = await client.complete(ref, {"name": "topic", "value": "Tr"})
        equal(result.completion.values, ["trains", "trees"])


@scenario
async def resource_not_found():
    async with connect(INTEROP) as (client, _):
        for uri in ("interop://notes/gone", "interop://nowhere"):
            error = await refused(client.read_resource(uri))
            equal((error.code, error.data), (-32602, {"uri": uri}), "the error")


@scenario
async def unknown_tool():
    async with connect(INTEROP) as (client, _):
        error = await refused(client.call_tool("no_such_tool", {}))
        equal(error.code, -32602, "the code")
        matches(error.message, "no_such_tool")


@scenario
async def tool_error():
    result, text, _ = await call(CONFORMANCE, "test_error_handling")
    equal((result.is_error, text), (True, "This tool intentionally returns an error for testing"))


@scenario
async def content():
    result, _, _ = await call(CONFORMANCE, "test_multiple_content_types")
    equal([block.type for block in result.content], ["text", "image", "resource"])
    matches(result.content[1].data, "^iVBORw0KGgo")
    resource = {"uri": "test://mixed-content-resource", "mimeType": "application/json"}
    equal(wire(result.content[2].resource), resource | {"text": '{"test":"data","value":123}'})
    result, _, _ = await call(CONFORMANCE, "test_audio_content")
    audio = result.content[0]
    equal((audio.type, audio.mime_type, audio.data[:4]), ("audio", "audio/wav", "UklG"))


@scenario
async def structured():
    arguments = {"name": "Ada", "contactMethod": "phone", "phone": "1", "address": {"city": "Ulm"}}
    async with connect(CONFORMANCE) as (client, _):
        tools = (await client.list_tools()).tools
        (tool,) = [tool for tool in tools if tool.name == "json_schema_2020_12_tool"]
        equal(tool.input_schema["$defs"]["address"]["$anchor"], "addressDef")
        result = await client.call_tool("json_schema_2020_12_tool", arguments)
        equal(result.structured_content, arguments)


@scenario
async def output_schema():
    result, _, _ = await call(INTEROP, "every_field", answers=[accept(**FORM["answer"])])
    equal(result.structured_content, FORM["answer"])


@scenario
async def described():
    async with connect(INTEROP) as (client, _):
        page = await client.list_tools()
        while "described" not in [tool.name for tool in page.tools]:
            page = await client.list_tools(cursor=page.next_cursor)
        (tool,) = [wire(tool) for tool in page.tools if tool.name == "described"]
        del tool["inputSchema"]
        equal(tool, DEFINITIONS["tool"])
        page = await client.list_resources()
        page = await client.list_resources(cursor=page.next_cursor)
        equal(wire(page.resources[0]), DEFINITIONS["resource"])


@scenario
async def header():
    async with connect(CONFORMANCE) as (client, _):
        await client.list_tools()
        for value in ("plain", " Grüße ", "=?base64?x?="):
            result = await client.call_tool("test_custom_header", {"value": value})
            equal(result.content[0].text, value)


@scenario
async def abandoned():
    async with connect(CONFORMANCE) as (client, _):
        try:
            async with asyncio.timeout(0.03):
                await client.call_tool("test_tool_with_progress", {})
            raise AssertionError("not given up")
        except TimeoutError:
            pass
        result = await client.call_tool("test_tool_with_progress", {})
        equal(result.content[0].text, "Done.")


@scenario
async def legacy():
    async def connected():
        async with connect(INTEROP, mode="legacy"):
            return "a connection"

    error = await refused(connected())
    matches(error.message, "2026-07-28")


@scenario
async def many_at_once():
    async with connect(INTEROP, answers=[accept(number=4)] * 20) as (client, _):
        results = await asyncio.gather(*(client.call_tool("even", {}) for _ in range(20)))
        equal([result.content[0].text for result in results], ["4 is even"] * 20)


@scenario
async def demo_deploy():
    arguments = {"service": "api", "version": "4.8.1"}
    _, text, asked = await call(DEMO, "deploy_release", arguments, answers=[accept(confirm=True)])
    matches(text, r"^Deployed api 4\.8\.1 to production \(api-[0-9a-f]+\)\.$")
    equal(asked[0].message, "Deploy api 4.8.1 to production?")


@scenario
async def demo_claim():
    answers = [accept(email="ada@example.com"), accept(description="The lid is cracked, the box was wet.")]
    _, text, _ = await call(DEMO, "file_shipping_claim", {"order_id": "ord_5177"}, answers=answers)
    matches(text, r"^Claim #[0-9A-Z]{8} filed\. Confirmation sent to ada@example\.com\.$")


@scenario
async def demo_provision():
    def answer(params):
        if params.message.startswith("How much"):
            return accept(monthly=24.5)
        return accept(size="medium", features=["backups", "monitoring"])

    _, text, _ = await call(DEMO, "provision", {"name": "web-1"}, answers=[answer, answer])
    matches(text, r"^Provisioned web-1 as medium-\w{6}, for 24\.5 euros a month\.$")


if __name__ == "__main__":
    sys.exit(0 if asyncio.run(run(SCENARIOS)) else 1)
