// waggle in VS Code: what waits for you, how the members are, and their messages;
// your answers go back. It holds no rules: the bridge decides what an answer does.
'use strict'

const vscode = require('vscode')
const { execFile, spawn } = require('node:child_process')
const { Client, line, visible, what, whole } = require('./client')

const RETRY_FIRST = 1000 // ms
const RETRY_LAST = 30000
const KEPT_MESSAGES = 200

const RISK_ICON = { high: 'error', medium: 'warning', low: 'question' }
const STATE_ICON = { working: 'sync', 'waiting-human': 'question', dead: 'error', idle: 'circle-outline', starting: 'loading~spin' }

/** Items is the data of one tree: a flat list that is replaced whole. */
class Items {
  constructor() {
    this.items = []
    this.changed = new vscode.EventEmitter()
    this.onDidChangeTreeData = this.changed.event
  }

  set(items) {
    this.items = items
    this.changed.fire(undefined)
  }

  getTreeItem(item) {
    return item
  }

  getChildren(item) {
    return item ? [] : this.items
  }
}

class Extension {
  constructor(context) {
    this.context = context
    this.pending = new Items()
    this.members = new Items()
    this.messages = new Items()
    this.questions = new Map() // id to question, as it was shown
    this.lines = []
    this.retry = RETRY_FIRST
    this.disposed = false
    this.log = vscode.window.createOutputChannel('waggle')
    this.badge = vscode.window.createStatusBarItem(vscode.StatusBarAlignment.Left, 10)
    this.badge.command = 'waggle.pending.focus'
    this.shown = new vscode.EventEmitter()
    const { window, commands, workspace } = vscode
    context.subscriptions.push(
      this.log,
      this.badge,
      this.shown,
      { dispose: () => this.dispose() },
      window.registerTreeDataProvider('waggle.pending', this.pending),
      window.registerTreeDataProvider('waggle.members', this.members),
      window.registerTreeDataProvider('waggle.messages', this.messages),
      workspace.registerTextDocumentContentProvider('waggle', {
        onDidChange: this.shown.event,
        provideTextDocumentContent: (uri) => this.document(uri),
      }),
      commands.registerCommand('waggle.connect', () => this.connect(true)),
      commands.registerCommand('waggle.show', (item) => this.show(item)),
      commands.registerCommand('waggle.allow', (item) => this.allow(item)),
      commands.registerCommand('waggle.deny', (item) => this.deny(item)),
      commands.registerCommand('waggle.send', () => this.send()),
    )
    this.offline('not connected')
  }

  setting(name) {
    return vscode.workspace.getConfiguration('waggle').get(name)
  }

  // args are the program and what says which team; never a shell's text.
  args(...more) {
    const team = this.setting('team')
    return [this.setting('path') || 'waggle', team ? [...more, '--team', team] : more]
  }

  endpoint() {
    const [program, args] = this.args('bridge', '--where', '--json')
    return new Promise((resolve, reject) => {
      execFile(program, args, { timeout: 20000 }, (err, out, said) => {
        if (!err) return resolve(JSON.parse(out))
        let why = err.message
        try {
          const { error } = JSON.parse(said)
          why = error.hint ? `${error.message} (${error.hint})` : error.message
        } catch {
          // not waggle's words
        }
        reject(Object.assign(new Error(why), { exit: err.code }))
      })
    })
  }

  // connect finds the bridge and connects; asked for by a person, it offers to start
  // one.
  async connect(asked) {
    clearTimeout(this.timer)
    if (this.client) {
      const old = this.client
      this.client = undefined
      old.removeAllListeners()
      old.close()
    }
    if (typeof WebSocket === 'undefined') {
      this.offline('this VS Code has no WebSocket: 1.101 or newer is needed')
      return
    }
    let endpoint
    try {
      endpoint = await this.endpoint()
    } catch (err) {
      this.offline(err.message)
      if (asked && err.exit === 9 && (await vscode.window.showInformationMessage(`waggle: ${err.message}`, 'Start a bridge')) === 'Start a bridge') {
        this.start()
        return
      }
      if (asked) vscode.window.showErrorMessage(`waggle: ${err.message}`)
      this.later()
      return
    }
    if (this.disposed) return
    const client = new Client(endpoint, this.setting('id') || 'vscode')
    this.client = client
    client.on('welcome', (team) => {
      this.team = team
      this.retry = RETRY_FIRST
      this.log.appendLine(`connected to team ${team}`)
    })
    client.on('pending', (questions) => this.setPending(questions))
    client.on('status', (status) => this.setStatus(status))
    client.on('team', (member, entries) => entries.forEach((e) => this.addMessage(e, member)))
    client.on('message', (entry) => {
      this.addMessage(entry, 'you')
      vscode.window.showInformationMessage(`${line(entry.from)}: ${line(entry.summary || entry.text)}`)
      client.took(entry)
    })
    client.on('close', (why) => {
      if (this.client !== client) return
      this.client = undefined
      this.offline(why)
      this.later()
    })
  }

  // start starts a bridge that ends with this editor.
  start() {
    const [program, args] = this.args('bridge', '--json')
    this.child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    this.child.stderr.on('data', (d) => this.log.append(String(d)))
    this.child.stdout.once('data', () => this.connect(false))
    this.child.on('error', (err) => vscode.window.showErrorMessage(`waggle: ${err.message}`))
    this.child.on('exit', () => {
      this.child = undefined
    })
  }

  later() {
    if (this.disposed) return
    this.timer = setTimeout(() => this.connect(false), this.retry)
    this.retry = Math.min(this.retry * 2, RETRY_LAST)
  }

  offline(why) {
    this.log.appendLine(why)
    this.setPending([])
    this.members.set([])
    this.badge.text = '$(debug-disconnect) waggle'
    this.badge.tooltip = visible(why)
    this.badge.show()
  }

  setPending(questions) {
    this.questions = new Map(questions.map((q) => [`${q.instance}/${q.id}`, q]))
    this.pending.set(
      questions.map((q) => {
        const item = new vscode.TreeItem(what(q))
        item.id = `${q.instance}/${q.id}/${q.digest}`
        item.description = `${q.member}, ${q.risk} risk${q.status === 'open' ? '' : `, ${q.status}`}`
        item.tooltip = whole(q)
        item.iconPath = new vscode.ThemeIcon(RISK_ICON[q.risk] ?? 'question')
        item.contextValue = q.status === 'open' ? 'question' : 'closed'
        item.command = { command: 'waggle.show', title: 'Show', arguments: [item] }
        item.question = q
        return item
      }),
    )
    this.badge.text = questions.length ? `$(bell-dot) ${questions.length} for you` : '$(check) waggle'
    this.badge.tooltip = questions.length ? 'Questions of your team wait for you' : `team ${this.team ?? ''}: nothing waits for you`
    this.badge.show()
    for (const q of questions) this.shown.fire(this.uri(q))
  }

  setStatus(status) {
    this.members.set(
      status.members.map((m) => {
        const item = new vscode.TreeItem(line(m.name))
        item.description = m.state
        item.tooltip = `${visible(m.why)}\nsince ${m.since}\ntrust ${m.trust}`
        item.iconPath = new vscode.ThemeIcon(STATE_ICON[m.state] ?? 'circle-outline')
        item.member = m.name
        return item
      }),
    )
  }

  addMessage(entry, to) {
    const item = new vscode.TreeItem(line(entry.summary || entry.text))
    item.description = `${line(entry.from)} to ${line(to)}${entry.kind === 'text' ? '' : `, ${entry.kind}`}`
    item.tooltip = [entry.timestamp, ...entry.warnings.map((w) => `! ${w}`), '', entry.text].map(visible).join('\n')
    item.iconPath = new vscode.ThemeIcon(entry.warnings.length ? 'warning' : entry.kind === 'text' ? 'comment' : 'mail')
    this.lines = [item, ...this.lines].slice(0, KEPT_MESSAGES)
    this.messages.set(this.lines)
  }

  uri(question) {
    return vscode.Uri.parse(`waggle:${encodeURIComponent(question.instance)}/${encodeURIComponent(question.id)}.txt`)
  }

  document(uri) {
    const [instance, file] = uri.path.split('/').map(decodeURIComponent)
    const q = this.questions.get(`${instance}/${file.replace(/\.txt$/, '')}`)
    return q ? whole(q) : 'This question is answered.\n'
  }

  async show(item) {
    const doc = await vscode.workspace.openTextDocument(this.uri(item.question))
    await vscode.window.showTextDocument(doc, { preview: true })
  }

  // allow shows everything once more: what is approved is what stands there, bound
  // by its digest, whatever the tree shows by then.
  async allow(item) {
    const q = item.question
    const yes = 'Allow once'
    const answer = await vscode.window.showWarningMessage(`Allow ${line(q.member)} this ${q.risk}-risk call?`, { modal: true, detail: whole(q) }, yes)
    if (answer === yes) await this.decide(q, 'allow')
  }

  async deny(item) {
    const reason = await vscode.window.showInputBox({ title: `Deny ${what(item.question)}`, prompt: 'Why? The worker is told.' })
    if (reason !== undefined) await this.decide(item.question, 'deny', reason)
  }

  async decide(question, decision, reason) {
    try {
      if (!this.client) throw new Error('not connected')
      const d = await this.client.decide(question, decision, reason)
      const how = d.changed ? (d.delivered ? 'delivered' : 'decided, not yet delivered') : `already, by ${d.by}`
      vscode.window.setStatusBarMessage(`waggle: ${d.decision}, ${how}`, 5000)
    } catch (err) {
      vscode.window.showErrorMessage(`waggle: ${err.message}`)
    }
  }

  async send() {
    const to = await vscode.window.showQuickPick([...this.members.items.map((m) => m.member), '*'], { title: 'To whom' })
    const text = to && (await vscode.window.showInputBox({ title: `Words for ${to}` }))
    if (!text) return
    try {
      if (!this.client) throw new Error('not connected')
      const failed = (await this.client.send(to, text)).filter((s) => s.error)
      if (failed.length) throw new Error(failed.map((s) => `${s.to}: ${s.error}`).join('; '))
    } catch (err) {
      vscode.window.showErrorMessage(`waggle: ${err.message}`)
    }
  }

  dispose() {
    this.disposed = true
    clearTimeout(this.timer)
    if (this.client) {
      this.client.removeAllListeners()
      this.client.close()
    }
    if (this.child) this.child.kill()
  }
}

exports.activate = async (context) => {
  const extension = new Extension(context)
  await extension.connect(false)
  return extension
}

exports.deactivate = () => {}
