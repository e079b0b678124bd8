// A connection to a team's bridge: what `waggle bridge` serves. It knows nothing of
// any editor. docs/design/sockets.md has the frames.
'use strict'

const { EventEmitter } = require('node:events')

const VERSION = 1

/**
 * Client is one connection. It emits `welcome`, `message` (entry), `team` (member,
 * entries), `pending` (questions), `status` (status) and, once, `close` (why).
 */
class Client extends EventEmitter {
  /**
   * @param {{url: string, token: string}} endpoint what `waggle bridge --where --json` prints
   * @param {string} id what this editor is called
   */
  constructor(endpoint, id) {
    super()
    this.refs = 0
    this.open = new Map() // ref to {resolve, reject}
    this.why = ''
    this.ws = new WebSocket(endpoint.url)
    this.ws.onopen = () => this.say({ op: 'hello', v: VERSION, token: endpoint.token, id })
    this.ws.onmessage = (event) => this.take(JSON.parse(event.data))
    this.ws.onclose = () => this.end()
    this.ws.onerror = () => {} // onclose follows
  }

  say(frame) {
    this.ws.send(JSON.stringify(frame))
  }

  take(frame) {
    switch (frame.op) {
      case 'welcome':
        this.emit('welcome', frame.team)
        break
      case 'message':
        this.emit('message', frame.entry)
        break
      case 'team':
        this.emit('team', frame.member, frame.entries)
        break
      case 'pending':
        this.emit('pending', frame.pending)
        break
      case 'status':
        this.emit('status', frame.status)
        break
      case 'result':
        this.settle(frame)
        break
      case 'error':
        this.why = frame.hint ? `${frame.error} (${frame.hint})` : frame.error
        break
    }
  }

  settle(frame) {
    const call = this.open.get(frame.ref)
    if (!call) return
    this.open.delete(frame.ref)
    if (frame.error) call.reject(new Error(frame.hint ? `${frame.error} (${frame.hint})` : frame.error))
    else call.resolve(frame.decided ?? frame.sent)
  }

  end() {
    const why = this.why || 'the connection ended'
    for (const call of this.open.values()) call.reject(new Error(why))
    this.open.clear()
    this.emit('close', why)
  }

  call(frame) {
    return new Promise((resolve, reject) => {
      if (this.ws.readyState !== WebSocket.OPEN) {
        reject(new Error('not connected'))
        return
      }
      const ref = String(++this.refs)
      this.open.set(ref, { resolve, reject })
      this.say({ ...frame, ref })
    })
  }

  /** took says that a message to this editor was shown; until then it comes again. */
  took(entry) {
    this.say({ op: 'took', entry: entry.id })
  }

  /** decide answers a question, as it was shown. */
  decide(question, decision, reason) {
    return this.call({ op: 'decide', id: question.id, digest: question.digest, decision, reason: reason ?? '' })
  }

  send(to, text) {
    return this.call({ op: 'send', to, text })
  }

  close() {
    this.ws.close()
  }
}

// What operator.Hidden has in Go: whatever is no letter, mark, number, punctuation,
// symbol or plain space, what is ignored by default, and symbols that are drawn blank.
const HIDDEN = /[^\n \p{L}\p{M}\p{N}\p{P}\p{S}]|\p{Default_Ignorable_Code_Point}|\p{Variation_Selector}|[\u2800\ufffc\ufffd\u{13441}\u{13442}\u{16fe4}\u{1d159}]/gu

/**
 * visible writes out what a screen would hide, show as a space or turn around.
 */
function visible(s) {
  return String(s ?? '').replace(HIDDEN, (c) => {
    const n = c.codePointAt(0)
    return n === 9 ? '\\t' : n === 13 ? '\\r' : `\\u{${n.toString(16)}}`
  })
}

/** line is visible, on one line. */
function line(s) {
  return visible(s).replace(/\n/g, '\\n')
}

/** what says in one line what a question asks for. */
function what(question) {
  switch (question.kind) {
    case 'plan_approval_request':
      return `plan: ${line((question.plan ?? '').split('\n')[0])}`
    case 'sandbox_permission_request':
      return `network: ${line(question.host)}`
    default:
      return `${line(question.tool)} ${line(question.input_text)}`.trim()
  }
}

/**
 * whole is everything that a decision on a question is about. The input is shown as
 * it stands, not as JSON.parse understands it.
 */
function whole(question) {
  const rows = [
    ['id', question.id],
    ['member', `${question.member} (${question.trust})`],
    ['asks for', question.kind.replace(/_request$/, '')],
    ['tool', question.tool],
    ['command', question.command],
    ['input', question.input_text],
    ['stdin', question.stdin],
    ['env', (question.env || []).join('  ')],
    ['program', question.program],
    ['words', (question.words || []).map((w) => `${w.name} is ${w.path}`).join(', ')],
    ['scripts', (question.scripts || []).map((s) => `${s.path}, sha256 ${s.sha256}`).join(', ')],
    ['paths', (question.paths || []).filter((p) => p.path !== p.real).map((p) => `${p.path} is ${p.real || 'not known'}`).join(', ')],
    ['not held', question.unheld],
    ['host', question.host],
    ['cwd', question.cwd],
    ['reason', question.reason],
    ['risk', question.risk],
    ['digest', question.digest],
    ['expires', question.expires_at],
    ['status', question.status],
  ]
  const text = rows
    .filter(([, v]) => v)
    .map(([k, v]) => `${k.padEnd(9)}${line(v)}`)
    .join('\n')
  return question.plan ? `${text}\n\n${visible(question.plan)}\n` : `${text}\n`
}

module.exports = { Client, visible, line, what, whole }
