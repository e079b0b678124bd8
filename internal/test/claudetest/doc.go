// Package claudetest runs the real Claude Code client in tests: its exact versions,
// as an ordinary user with files of its own, in a terminal, against a
// model server that says what the test says.
//
//	m := claudetest.NewModel(t, claudetest.Script(claudetest.Bash("touch made"), claudetest.Say("done")))
//	h := claudetest.NewHome(t, "2.1.329", m)
//	s := h.Start("--permission-mode", "default", "please touch it")
//	s.Choose("Do you want to proceed", "1")
//	done := m.Await("the result", func(r claudetest.Request) bool { return len(r.Results()) == 1 })
//
// The client is a black box: a test asserts on files below the configuration
// directory, on screens, on what the model was sent and on exit codes.
//
// WAGGLE_CLAUDE_DIR holds a directory for each version, made with .ci/claude VERSION.
// Without it these tests are skipped, or fail if WAGGLE_REQUIRE names claude. Each runs
// a test for the newest version and one of the others, Every for all; WAGGLE_CLAUDE_VERSIONS,
// a comma list, replaces these.
// WAGGLE_CLAUDE_KEEP=1 keeps the files of a failed test.
package claudetest

import "time"

// Patience is how long a test waits for one thing, on a machine that does much else.
const Patience = 90 * time.Second

// The versions that continuous integration installs. Explicit makes teams with a tool
// and has no messaging socket; in the later ones every interactive session leads a team.
const (
	Explicit = "2.1.150"
	Implicit = "2.1.330"
	Newest   = "2.1.332"
)
