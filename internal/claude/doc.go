// Package claude is the agent kind claude: Claude Code, run headless, with every tool call decided
// by the worker's gate.
//
//	agent.Register(claude.Kind, claude.New)
//
// The client is started with -p and speaks JSON lines over its standard input and output (Client).
// It runs its tools itself. Private settings make it ask its host about every tool that does more
// than read, whatever the user's own settings allow (Settings). The host answers with the decision
// of the gate: a call by Ask, a plan by Plan, a question of the model by Question. A question
// without an answer is denied; an empty answer is never given. In addition, a PreToolUse hook asks
// this process before every tool, and can only deny (Second).
//
// The client is a black box: this package relies on observed behaviour only (docs/client.md), and
// never edits the user's settings.
package claude
