// A client with scripted answers, and the runner that prints one line for each scenario.
import { isDeepStrictEqual } from 'node:util'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'

export const ROOTS = { roots: [{ uri: 'file:///test/root', name: 'Test Root' }] }

export const accept = content => ({ action: 'accept', content })

export const said = text => ({
  role: 'assistant',
  content: { type: 'text', text },
  model: 'test-model',
  stopReason: 'endTurn',
})

/**
 * A connected client. `answers` are given to forms and pages in the order these are asked; `completion` is what its
 * model says. What was asked is kept in `asked`.
 */
export async function connect(url, { answers = [], completion, capabilities, mode = 'auto' } = {}) {
  const client = new Client(
    { name: 'interop-ts', version: '1.0.0' },
    {
      versionNegotiation: { mode },
      capabilities: capabilities ?? { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} },
    },
  )
  const asked = []
  const left = [...answers]
  if (!capabilities) {
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      asked.push(params)
      const answer = left.shift()
      if (!answer) throw new Error(`asked once more: ${params.message}`)
      return typeof answer === 'function' ? answer(params) : answer
    })
    client.setRequestHandler('sampling/createMessage', async ({ params }) => {
      asked.push(params)
      return said(completion)
    })
    client.setRequestHandler('roots/list', async () => ROOTS)
  }
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  return { client, asked }
}

export function equal(got, expected, what = 'the result') {
  if (!isDeepStrictEqual(got, expected)) {
    throw new Error(`${what} is ${JSON.stringify(got)}, not ${JSON.stringify(expected)}`)
  }
}

export function matches(text, pattern) {
  if (!pattern.test(text)) throw new Error(`${JSON.stringify(text)} does not match ${pattern}`)
}

/** The error a promise is rejected with. */
export async function refused(promise) {
  const result = await promise.then(
    value => ({ value }),
    error => ({ error }),
  )
  if (!result.error) throw new Error(`no error, but ${JSON.stringify(result.value)}`)
  return result.error
}

/** Runs each scenario; says whether all went well. */
export async function run(scenarios) {
  let failed = 0
  for (const [name, scenario] of Object.entries(scenarios)) {
    try {
      await within(20_000, scenario())
      console.log(`ok ${name}`)
    } catch (error) {
      failed += 1
      console.log(`FAIL ${name}: ${String(error.message ?? error).replaceAll(/\s+/g, ' ')}`)
    }
  }
  return failed === 0
}

async function within(milliseconds, promise) {
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end after ${milliseconds} ms`)), milliseconds)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}
