// usage: node main.mjs CONFORMANCE_URL INTEROP_URL DEMO_URL
import { readFileSync } from 'node:fs'
import { LOG_LEVEL_META_KEY } from '@modelcontextprotocol/client'
import { ROOTS, accept, connect, equal, matches, refused, run } from './world.mjs'

const [conformance, interop, demo] = process.argv.slice(2)
const form = shared('every_field.json')
const definitions = shared('definitions.json')
const FIXTURE = 'test_input_required_result_'

function shared(name) {
  return JSON.parse(readFileSync(new URL(`../${name}`, import.meta.url), 'utf8'))
}

/** Calls a tool with scripted answers. */
async function call(url, name, { args = {}, ...script } = {}) {
  const { client, asked } = await connect(url, script)
  const result = await client.callTool({ name, arguments: args })
  await client.close()
  return { result, asked, text: result.content[0]?.text }
}

const scenarios = {
  async discover() {
    const { client } = await connect(interop)
    equal(client.getNegotiatedProtocolVersion(), '2026-07-28')
    equal(client.getServerVersion(), { name: 'interop', version: '1.0.0' })
  },

  async 'one-round'() {
    const { text, asked } = await call(conformance, `${FIXTURE}elicitation`, { answers: [accept({ name: 'Alice' })] })
    equal(text, 'Hello, Alice!')
    equal(asked.map(({ message }) => message), ['What is your name?'])
  },

  async 'two-rounds'() {
    const answers = [accept({ name: 'Alice' }), accept({ color: 'blue' })]
    const { text, asked } = await call(conformance, `${FIXTURE}multi_round`, { answers })
    equal(text, 'Alice likes blue.')
    equal(asked.map(({ message }) => message), ['Step 1: What is your name?', 'Step 2: What is your favorite color?'])
  },

  async 'batched-round'() {
    const script = { answers: [accept({ name: 'Alice' })], completion: 'Hello there!' }
    const { text } = await call(conformance, `${FIXTURE}multiple_inputs`, script)
    equal(text, 'Hello there! Alice (1 roots)')
  },

  async sampling() {
    const { text, asked } = await call(conformance, `${FIXTURE}sampling`, { completion: 'Paris, of course.' })
    equal(text, 'Paris, of course.')
    equal(asked[0].messages, [{ role: 'user', content: { type: 'text', text: 'What is the capital of France?' } }])
    equal(asked[0].maxTokens, 100)
  },

  async roots() {
    const { text } = await call(conformance, `${FIXTURE}list_roots`)
    equal(text, ROOTS.roots[0].uri)
  },

  async 'every-field'() {
    const { text, asked } = await call(interop, 'every_field', { answers: [accept(form.answer)] })
    equal(asked[0].requestedSchema, form.schema, 'the schema')
    equal(JSON.parse(text), form.answer, 'the answer')
  },

  async 'optional-left-out'() {
    const content = Object.fromEntries(Object.entries(form.answer).filter(([name]) => !(name in form.left_out)))
    const { text } = await call(interop, 'every_field', { answers: [accept(content)] })
    equal(JSON.parse(text), { ...content, ...form.left_out })
  },

  async url() {
    const { text, asked } = await call(interop, 'visit', { answers: [{ action: 'accept' }] })
    equal(text, 'visited')
    equal(asked[0], { mode: 'url', message: 'Visit the page', url: 'https://example.com/visit' }, 'the question')
  },

  async 'url-declined'() {
    const { text } = await call(interop, 'visit', { answers: [{ action: 'decline' }] })
    equal(text, 'declined')
  },

  async decline() {
    const { text } = await call(interop, 'even', { answers: [{ action: 'decline' }] })
    equal(text, 'declined')
  },

  async cancel() {
    const { text } = await call(interop, 'even', { answers: [{ action: 'cancel' }] })
    equal(text, 'cancelled')
  },

  async 'asked-again'() {
    const { text, asked } = await call(interop, 'even', { answers: [accept({ number: 3 }), accept({ number: 4 })] })
    equal(text, '4 is even')
    matches(asked[1].message, /^Give me an even number\s.*3 is odd/s)
    equal(asked[1].requestedSchema.properties.number.default, 3, 'the default')
  },

  async 'wrong-type'() {
    const { text, asked } = await call(interop, 'even', { answers: [accept({ number: 'many' }), accept({ number: 4 })] })
    equal(text, '4 is even')
    matches(asked[1].message, /"number" must be a whole number/)
  },

  async 'state-only'() {
    const { text, asked } = await call(interop, 'come_back')
    equal(text, 'ready in round 2')
    equal(asked, [])
  },

  async 'prompt-asks'() {
    const { client, asked } = await connect(interop, { answers: [accept({ tone: 'dry' })] })
    const { messages } = await client.getPrompt({ name: 'write_about', arguments: { topic: 'tea' } })
    equal(messages, [{ role: 'user', content: { type: 'text', text: 'Write about tea in a dry tone.' } }])
    equal(asked[0].message, 'Which tone for tea?')
  },

  async 'resource-asks'() {
    const { client } = await connect(interop, { answers: [accept({ tone: 'dry' })] })
    const { contents } = await client.readResource({ uri: 'interop://asks' })
    equal(contents, [{ uri: 'interop://asks', text: 'A dry resource.' }])
  },

  async 'template-asks'() {
    const { client, asked } = await connect(interop, { answers: [accept({ tone: 'dry' })] })
    const { contents } = await client.readResource({ uri: 'interop://notes/7%2F8' })
    equal(contents, [{ uri: 'interop://notes/7%2F8', text: 'Note 7/8 in a dry tone.' }])
    equal(asked[0].message, 'Which tone for note 7/8?')
  },

  async 'not-declared'() {
    const { client } = await connect(interop, { capabilities: { sampling: {} } })
    const error = await refused(client.callTool({ name: 'every_field', arguments: {} }))
    equal(error.code, -32021, 'the code')
    equal(error.data, { requiredCapabilities: { elicitation: { form: {} } } }, 'the data')
  },

  async progress() {
    const { client } = await connect(conformance)
    const seen = []
    const onprogress = ({ progress, total, message }) => seen.push([progress, total, message])
    const result = await client.callTool({ name: 'test_tool_with_progress', arguments: {} }, { onprogress })
    equal(result.content[0].text, 'Done.')
    equal(seen, [0, 50, 100].map(progress => [progress, 100, 'Working']), 'the progress')
  },

  async 'progress-and-ask'() {
    const { client } = await connect(interop, { answers: [accept({ tone: 'dry' })] })
    const seen = []
    // The client reports its own rounds through the same callback; those have no total.
    const onprogress = ({ total, message }) => total && seen.push(message)
    const result = await client.callTool({ name: 'step_by_step', arguments: {} }, { onprogress })
    equal(result.content[0].text, 'Written in a dry tone.')
    equal(seen, ['Asking', 'Asking', 'Writing'], 'the progress')
  },

  async log() {
    const { client } = await connect(conformance)
    const seen = []
    client.setNotificationHandler('notifications/message', ({ params }) => void seen.push(params))
    await client.callTool({ name: 'test_logging_tool', arguments: {}, _meta: { [LOG_LEVEL_META_KEY]: 'debug' } })
    equal(seen, [{ level: 'info', data: 'Evaluating' }])
  },

  async pages() {
    const { client } = await connect(interop)
    const names = (result, member, name) => result[member].map(entry => entry[name])
    // The client's own methods gather all pages; one page is a plain request.
    const pages = async (method, member, name) => {
      const seen = []
      let cursor
      do {
        const page = await client.request({ method, params: cursor === undefined ? {} : { cursor } })
        seen.push(names(page, member, name))
        cursor = page.nextCursor
      } while (cursor !== undefined)
      return seen
    }
    const tools = [['every_field', 'visit'], ['even', 'come_back'], ['described', 'step_by_step']]
    equal(await pages('tools/list', 'tools', 'name'), tools)
    equal(names(await client.listTools(), 'tools', 'name'), tools.flat())
    equal(await pages('prompts/list', 'prompts', 'name'), [['write_about', 'second'], ['third']])
    equal(names(await client.listPrompts(), 'prompts', 'name'), ['write_about', 'second', 'third'])
    equal(await pages('resources/list', 'resources', 'name'), [['asks', 'second'], ['third']])
    equal(names(await client.listResources(), 'resources', 'name'), ['asks', 'second', 'third'])
    const templates = await pages('resources/templates/list', 'resourceTemplates', 'uriTemplate')
    equal(templates, [['interop://notes/{id}']])
  },

  async completion() {
    const { client } = await connect(interop)
    const ref = { type: 'ref/prompt', name: 'write_about' }
    const { completion } = await client.complete({ ref, argument: { name: 'topic', value: 'Tr' } })
    equal(completion.values, ['trains', 'trees'])
  },

  async 'resource-not-found'() {
    const { client } = await connect(interop)
    for (const uri of ['interop://notes/gone', 'interop://nowhere']) {
      const error = await refused(client.readResource({ uri }))
      equal([error.code, error.data], [-32602, { uri }], 'the error')
    }
  },

  async 'unknown-tool'() {
    const { client } = await connect(interop)
    const error = await refused(client.callTool({ name: 'no_such_tool', arguments: {} }))
    equal(error.code, -32602, 'the code')
    matches(error.message, /no_such_tool/)
  },

  async 'tool-error'() {
    const { result, text } = await call(conformance, 'test_error_handling')
    equal([result.isError, text], [true, 'This tool intentionally returns an error for testing'])
  },

  async content() {
    const { result } = await call(conformance, 'test_multiple_content_types')
    equal(result.content.map(({ type }) => type), ['text', 'image', 'resource'])
    matches(result.content[1].data, /^iVBORw0KGgo/)
    const { uri, mimeType, text } = result.content[2].resource
    equal([uri, mimeType, text], [
      'test://mixed-content-resource', 'application/json', '{"test":"data","value":123}',
    ])
    const audio = (await call(conformance, 'test_audio_content')).result.content[0]
    equal([audio.type, audio.mimeType, audio.data.slice(0, 4)], ['audio', 'audio/wav', 'UklG'])
  },

  async structured() {
    const args = { name: 'Ada', contactMethod: 'phone', phone: '1', address: { city: 'Ulm' } }
    const { client } = await connect(conformance)
    const { tools } = await client.listTools()
    const { inputSchema } = tools.find(({ name }) => name === 'json_schema_2020_12_tool')
    equal(inputSchema.$defs.address.$anchor, 'addressDef')
    const result = await client.callTool({ name: 'json_schema_2020_12_tool', arguments: args })
    equal(result.structuredContent, args)
  },

  async 'output-schema'() {
    const { client } = await connect(interop, { answers: [accept(form.answer)] })
    await client.listTools()
    const result = await client.callTool({ name: 'every_field', arguments: {} })
    equal(result.structuredContent, form.answer)
  },

  async described() {
    const { client } = await connect(interop)
    const { tools } = await client.listTools()
    const { inputSchema, ...described } = tools.find(({ name }) => name === 'described')
    equal(described, definitions.tool)
    const { resources } = await client.listResources()
    equal(resources.find(({ name }) => name === 'third'), definitions.resource)
  },

  async header() {
    const { client } = await connect(conformance)
    await client.listTools()
    for (const value of ['plain', ' Grüße ', '=?base64?x?=']) {
      const result = await client.callTool({ name: 'test_custom_header', arguments: { value } })
      equal(result.content[0].text, value)
    }
  },

  async abandoned() {
    const { client } = await connect(conformance)
    const faults = []
    client.onerror = fault => faults.push(fault.message)
    const slow = { name: 'test_tool_with_progress', arguments: {} }
    await refused(client.callTool(slow, { signal: AbortSignal.timeout(30) }))
    const result = await client.callTool(slow)
    equal(result.content[0].text, 'Done.')
    equal(faults, [], 'what went wrong')
  },

  async legacy() {
    const error = await refused(connect(interop, { mode: 'legacy' }))
    matches(error.message, /2026-07-28/)
  },

  async 'many-at-once'() {
    const { client } = await connect(interop, { answers: Array(20).fill(accept({ number: 4 })) })
    const calls = Array.from({ length: 20 }, () => client.callTool({ name: 'even', arguments: {} }))
    const results = await Promise.all(calls)
    equal(results.map(({ content }) => content[0].text), Array(20).fill('4 is even'))
  },

  async 'demo-deploy'() {
    const args = { service: 'api', version: '4.8.1' }
    const { text, asked } = await call(demo, 'deploy_release', { args, answers: [accept({ confirm: true })] })
    matches(text, /^Deployed api 4\.8\.1 to production \(api-[0-9a-f]+\)\.$/)
    equal(asked[0].message, 'Deploy api 4.8.1 to production?')
  },

  async 'demo-claim'() {
    const answers = [
      accept({ email: 'ada@example.com' }),
      accept({ description: 'The lid is cracked, the box was wet.' }),
    ]
    const { text } = await call(demo, 'file_shipping_claim', { args: { order_id: 'ord_5177' }, answers })
    matches(text, /^Claim #[0-9A-Z]{8} filed\. Confirmation sent to ada@example\.com\.$/)
  },

  async 'demo-provision'() {
    const answer = ({ message }) =>
      message.startsWith('How much')
        ? accept({ monthly: 24.5 })
        : accept({ size: 'medium', features: ['backups', 'monitoring'] })
    const { text } = await call(demo, 'provision', { args: { name: 'web-1' }, answers: [answer, answer] })
    matches(text, /^Provisioned web-1 as medium-\w{6}, for 24\.5 euros a month\.$/)
  },
}

process.exit((await run(scenarios)) ? 0 : 1)
