// One session of an official SDK's client with the program it is told to start. What to
// do comes as lines of JSON on standard input, what became of it goes out the same way:
//
//   {"do": "list" | "call", "id", "tool", "hold"}   → asked, then answered or error
//   {"do": "cancel", "id"}                          gives up a request
//   {"do": "pump", "every"}, {"do": "rest"}         calls all the time, until it rests
//   {"do": "end"}                                   → ended, when all requests have an end
//
// Standard error of the program comes as told, and the end of its connection as closed.
import { createInterface } from 'node:readline'

const { sdk, command, args, cwd, log } = JSON.parse(process.argv[2])

const say = (what, more = {}) => process.stdout.write(JSON.stringify({ at: Date.now(), what, ...more }) + '\n')

const v1 = sdk === 1
const { Client } = await import(v1 ? '@modelcontextprotocol/sdk/client/index.js' : '@modelcontextprotocol/client')
const { StdioClientTransport } = await import(v1 ? '@modelcontextprotocol/sdk/client/stdio.js' : '@modelcontextprotocol/client/stdio')

const transport = new StdioClientTransport({ command, args, cwd, stderr: 'pipe' })
createInterface({ input: transport.stderr }).on('line', line => say('told', { text: line }))

const client = new Client({ name: 'tormented', version: '1.0' }, v1 ? {} : { versionNegotiation: { mode: { pin: '2026-07-28' } } })
client.onclose = () => say('closed')
client.onerror = error => say('fault', { text: String(error?.message ?? error) })
let notified = 0
client.fallbackNotificationHandler = async () => { notified++ }

await client.connect(transport)
if (log) {
  await client.setLoggingLevel('info')
}
say('connected', { pid: transport.pid, text: `${client.getServerVersion()?.name}` })

const open = new Map()
const timeout = 600_000 // ms: the bridge is to answer, not the client's own clock

// ask makes one request, which has one end.
function ask(id, what, make) {
  const giveUp = new AbortController()
  say('asked', { id, tool: what })
  const ending = make({ signal: giveUp.signal, timeout })
    .then(text => say('answered', { id, tool: what, text }))
    .catch(error => say('error', { id, tool: what, code: Number.isInteger(error.code) ? error.code : 0, text: String(error.message ?? error), data: error.data }))
    .finally(() => open.delete(id))
  open.set(id, { giveUp, ending })
}

function call(id, tool, hold = false) {
  const params = { name: tool, arguments: { id, hold } }
  ask(id, tool, async options => {
    const result = v1 ? await client.callTool(params, undefined, options) : await client.callTool(params, options)
    if (result.isError) {
      throw new Error(`the tool failed: ${result.content[0]?.text}`)
    }
    return result.content[0]?.text
  })
}

function list(id) {
  ask(id, 'list', async options => (await client.listTools(undefined, options)).tools.map(t => t.name).sort().join(' '))
}

let pumping, pumped = 0

const deeds = {
  list: ({ id }) => list(id),
  call: ({ id, tool, hold }) => call(id, tool, hold),
  cancel: ({ id }) => open.get(id)?.giveUp.abort('no longer wanted'),
  pump: ({ every }) => {
    pumping = setInterval(() => {
      pumped++
      call(`p${pumped}`, pumped % 2 ? 'count' : 'charge')
    }, every)
  },
  rest: () => clearInterval(pumping),
  end: async () => {
    clearInterval(pumping)
    await Promise.all([...open.values()].map(r => r.ending))
    say('ended', { pid: transport.pid, notified })
    client.onclose = undefined
    await client.close()
    process.exit(0)
  },
}

const orders = createInterface({ input: process.stdin })
orders.on('line', line => {
  const order = JSON.parse(line)
  deeds[order.do](order)
})
orders.on('close', () => deeds.end())
