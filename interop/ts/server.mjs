// A server on the official TypeScript SDK that asks in every way there is; its states are signed by the SDK's codec.
//
// usage: node server.mjs PORT|stdio
import { createServer } from 'node:http'
import { toNodeHandler } from '@modelcontextprotocol/node'
import {
  McpServer,
  createMcpHandler,
  createRequestStateCodec,
  inputRequired,
  inputResponse,
} from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

const codec = createRequestStateCodec({ key: new Uint8Array(32).fill(7) })
const none = z.object({})
const FIELDS = {
  type: 'object',
  properties: {
    email: { type: 'string', format: 'email', title: 'E-mail' },
    day: { type: 'string', format: 'date' },
    count: { type: 'integer', minimum: 1, maximum: 9 },
    ratio: { type: 'number' },
    agree: { type: 'boolean', default: false },
    size: { type: 'string', enum: ['small', 'large'] },
    extras: { type: 'array', items: { type: 'string', enum: ['backup', 'metrics'] } },
    note: { type: 'string' },
  },
  required: ['email', 'day', 'count', 'ratio', 'size', 'extras'],
}

/** A form with one text field. */
function form(message, field) {
  const requestedSchema = { type: 'object', properties: { [field]: { type: 'string' } }, required: [field] }
  return inputRequired.elicit({ message, requestedSchema })
}

async function ask(inputRequests, state) {
  return inputRequired({ inputRequests, requestState: await codec.mint(state) })
}

function text(text, isError = false) {
  return { content: [{ type: 'text', text }], isError }
}

/** What came back for a key: the content of an accepted form, or what the user did instead. */
function answer({ mcpReq }, key) {
  const view = inputResponse(mcpReq.inputResponses, key)
  return view.kind === 'elicit' ? { action: view.action, content: view.content } : { action: 'missing' }
}

const tools = {
  async greet(context) {
    if (context.mcpReq.requestState() === undefined) return ask({ who: form('What is your name?', 'name') }, {})
    const { action, content } = answer(context, 'who')
    return text(action === 'accept' ? `Hello, ${content.name}!` : `You said ${action}.`)
  },

  async pair(context) {
    const state = context.mcpReq.requestState()
    if (state === undefined) return ask({ first: form('What is your name?', 'name') }, { round: 1 })
    if (state.round === 1) {
      const { name } = answer(context, 'first').content
      return ask({ second: form(`Which color, ${name}?`, 'color') }, { round: 2, name })
    }
    return text(`${state.name} likes ${answer(context, 'second').content.color}.`)
  },

  async batch(context) {
    if (context.mcpReq.requestState() === undefined) {
      const messages = [{ role: 'user', content: { type: 'text', text: 'What is the capital of France?' } }]
      const capital = inputRequired.createMessage({ messages, maxTokens: 100 })
      return ask({ who: form('What is your name?', 'name'), capital, where: inputRequired.listRoots() }, {})
    }
    const { capital, where } = context.mcpReq.inputResponses
    const { name } = answer(context, 'who').content
    return text(`${capital.content.text} ${name} (${where.roots.length} roots)`)
  },

  async visit(context) {
    if (context.mcpReq.requestState() === undefined) {
      return ask({ page: inputRequired.elicitUrl({ message: 'Visit the page', url: 'https://example.com/visit' }) }, {})
    }
    return text(answer(context, 'page').action === 'accept' ? 'visited' : 'not visited')
  },

  async fields(context) {
    if (context.mcpReq.requestState() === undefined) {
      return ask({ all: inputRequired.elicit({ message: 'Fill in everything', requestedSchema: FIELDS }) }, {})
    }
    return text(JSON.stringify(answer(context, 'all').content))
  },

  async later(context) {
    return context.mcpReq.requestState() === undefined ? ask(undefined, {}) : text('ready')
  },

  async fails() {
    return text('out of stock', true)
  },
}

function server() {
  const options = { requestState: { verify: codec.verify } }
  const server = new McpServer({ name: 'interop', version: '1.0.0' }, options)
  for (const [name, run] of Object.entries(tools)) {
    server.registerTool(name, { description: name, inputSchema: none }, (_, context) => run(context))
  }
  server.registerPrompt('write_about', { argsSchema: z.object({ topic: z.string() }) }, async ({ topic }, context) => {
    if (context.mcpReq.requestState() === undefined) return ask({ tone: form(`Which tone for ${topic}?`, 'tone') }, {})
    const written = `Write about ${topic} in a ${answer(context, 'tone').content.tone} tone.`
    return { messages: [{ role: 'user', content: { type: 'text', text: written } }] }
  })
  server.registerResource('note', 'interop://notes/7', {}, async (uri, context) => {
    if (context.mcpReq.requestState() === undefined) return ask({ tone: form('Which tone?', 'tone') }, {})
    return { contents: [{ uri: uri.href, text: `Note 7 in a ${answer(context, 'tone').content.tone} tone.` }] }
  })
  return server
}

const [where] = process.argv.slice(2)
if (where === 'stdio') {
  serveStdio(server, { legacy: 'reject' })
} else {
  createServer(toNodeHandler(createMcpHandler(server, { legacy: 'reject' }))).listen(Number(where), '127.0.0.1')
}
