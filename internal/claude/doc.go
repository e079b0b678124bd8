// Package claude is the agent kind claude: Claude Code, run headless, with every tool call decided
// by the worker's gate.
//
//	agent.Register(claude.Kind, claude.New)
//
// The client is started with -p and speaks JSON lines over its standard input and output (Client).
// It runs its tools itself. The hook of its host, this process, makes it ask about every tool, and
// private settings switch off the hooks of the user, which could answer first (writeSettings). The host
// answers with the decision of the gate: a call by Ask, a plan by Plan, a question of the model by
// Question. A question without an answer is denied; an empty answer is never given. In a pane the
// client has hooks of waggle's instead, which reach this process by a socket (Second).
//
// The client is a black box: this package relies on observed behaviour only (docs/client.md), and
// never edits the user's settings.
package claude
