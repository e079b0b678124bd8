// A stand-in for VS Code that runs the extension for the tests: it activates it and
// plays a person who reads JSON lines from standard input and writes what the
// person sees to standard output.
//
//	{"do": "allow", "tool": "Bash"}            press Allow once on the first such question
//	{"do": "deny", "tool": "Bash", "reason": "no"}
//	{"do": "send", "to": "ann", "text": "hello"}
//	{"do": "quit"}
'use strict'

const Module = require('node:module')
const readline = require('node:readline')
const { EventEmitter } = require('node:events')

const settings = JSON.parse(process.argv[2])
const say = (what) => process.stdout.write(JSON.stringify(what) + '\n')
const disposable = { dispose() {} }
const trees = {}
const commands = {}
const person = {} // what the person will answer to the next dialog

class Event {
  constructor() {
    this.emitter = new EventEmitter()
    this.event = (fn) => this.emitter.on('fire', fn) && disposable
  }
  fire(v) {
    this.emitter.emit('fire', v)
  }
  dispose() {
    this.emitter.removeAllListeners()
  }
}

const vscode = {
  EventEmitter: Event,
  StatusBarAlignment: { Left: 1 },
  ThemeIcon: class {
    constructor(id) {
      this.id = id
    }
  },
  TreeItem: class {
    constructor(label) {
      this.label = label
    }
  },
  Uri: { parse: (s) => ({ path: s.slice(s.indexOf(':') + 1) }) },
  window: {
    createOutputChannel: () => ({ append() {}, appendLine: (s) => say({ log: s }), dispose() {} }),
    createStatusBarItem: () => ({
      set text(s) {
        say({ badge: s })
      },
      show() {},
      dispose() {},
    }),
    registerTreeDataProvider: (id, provider) => {
      trees[id] = provider
      provider.onDidChangeTreeData(() => {
        const items = provider.getChildren().map((i) => provider.getTreeItem(i))
        say({ tree: id, items: items.map((i) => `${i.label} | ${i.description ?? ''}`) })
      })
      return disposable
    },
    showInformationMessage: async (text) => say({ info: text }),
    showErrorMessage: async (text) => say({ error: text }),
    showWarningMessage: async (text, options, ...buttons) => {
      say({ dialog: text, detail: options.detail, modal: options.modal })
      return buttons.find((b) => b === person.press)
    },
    showInputBox: async () => person.type,
    showQuickPick: async (list) => list.find((x) => x === person.pick),
    setStatusBarMessage: (text) => say({ status: text }),
    showTextDocument: async () => {},
  },
  commands: {
    registerCommand: (id, fn) => {
      commands[id] = fn
      return disposable
    },
  },
  workspace: {
    getConfiguration: () => ({ get: (name) => settings[name] }),
    registerTextDocumentContentProvider: () => disposable,
    openTextDocument: async () => ({}),
  },
}

const load = Module._load
Module._load = (name, ...rest) => (name === 'vscode' ? vscode : load(name, ...rest))

const find = (tool) => trees['waggle.pending'].getChildren().find((i) => i.question.tool === tool)
const acts = {
  allow: ({ tool }) => {
    person.press = 'Allow once'
    return commands['waggle.allow'](find(tool))
  },
  dismiss: ({ tool }) => {
    person.press = undefined
    return commands['waggle.allow'](find(tool))
  },
  deny: ({ tool, reason }) => {
    person.type = reason
    return commands['waggle.deny'](find(tool))
  },
  send: ({ to, text }) => {
    person.pick = to
    person.type = text
    return commands['waggle.send']()
  },
}

const context = { subscriptions: [] }
require('../extension.js')
  .activate(context)
  .then(() => say({ active: true }))

const lines = readline.createInterface({ input: process.stdin })
lines.on('line', async (text) => {
  const act = JSON.parse(text)
  if (act.do === 'quit') {
    context.subscriptions.forEach((s) => s.dispose())
    lines.close()
    return
  }
  await acts[act.do](act)
  say({ done: act.do })
})
