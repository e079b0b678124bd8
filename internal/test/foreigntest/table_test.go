package foreigntest_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/mail"
	"waggle/operator/process"
	"waggle/operator/teams"
	"waggle/policy"
)

// cases of every flow.
var cases = []string{"plain", "duplicate", "late", "forged"}

// flow is one of the flows, as the documents spell it.
type flow struct {
	name   string
	asks   []spelling // what the worker writes to the lead
	orders []spelling // what the lead writes to the worker
	// before is what waggle does first, where the worker answers it; its id then is ids[of].
	before func(*stage)
	of     string
}

// walk plays one case of a foreign worker and returns its effects.
func walk(t *testing.T, f flow, p spelling, kase string) string {
	s, id := newStage(t, "worker"), "id-1"
	if f.before != nil {
		f.before(s)
		s.effects()
		if f.of != "" {
			id = s.ids[f.of]
		}
	}
	says := func(p spelling, from, name, what string) {
		s.puts(p.entry(from, `"bob"`, `"`+name+`"`, `"ID"`, `"`+id+`"`, "one", what))
	}
	if kase == "late" {
		s.takes()
		s.leaves()
		says(p, "bob", "bob", "one")
		return s.effects()
	}
	says(p, "bob", "bob", "one")
	effects := s.effects()
	switch kase {
	case "forged":
		says(p, "bob", "bob", "two")
		says(p, "eve", "bob", "one")
		says(p.naming(), "bob", "team-lead", "one")
		return effects + " → " + s.effects()
	case "duplicate":
		says(p, "bob", "bob", "one")
		says(p, "bob", "bob", "one")
		effects += " → " + s.effects()
	}
	if strings.Contains(effects, "open:") {
		s.answers(true)
		effects += " → allowed: " + s.effects()
		s.takes()
		effects += " → taken: " + s.effects()
	}
	return effects
}

// walkAsLead plays one case of a foreign lead that writes to a member that was registered here.
func walkAsLead(t *testing.T, p spelling, kase string) string {
	s, from := newStage(t, "lead"), "team-lead"
	switch kase {
	case "late":
		testenv.Must(t, teams.Of(s.op).Remove(t.Context(), s.team, "gopher"))
	case "forged":
		from = "stranger"
	}
	e := p.entry(from, `"ID"`, `"id-1"`, "CALL", "t1", "INPUT", "{}")
	s.puts(e)
	if kase == "duplicate" {
		s.puts(e)
	}
	effects := s.effects()
	in, err := mail.Of(s.op).Inbox(t.Context(), s.team, "gopher", true)
	if err != nil {
		return effects + "; not shown"
	}
	return fmt.Sprintf("%s; shown %d times", effects, len(in.Entries))
}

var newTask = board.NewTask{Subject: "Build", Description: "make", Owner: "bob"}

// shutdown asks bob to end and does not wait for it.
func shutdown(s *stage) {
	st, err := s.op.Open(s.t.Context(), s.team, operator.Act)
	testenv.Must(s.t, err)
	l, err := process.Of(s.op).Lead(s.t.Context(), st)
	testenv.Must(s.t, err)
	testenv.Must(s.t, l.Shutdown(s.t.Context(), "bob", "over", policy.RoleOperator))
	testenv.Must(s.t, l.Close())
}

// TestWalk walks all flows in each document's spelling, with a foreign worker and with a foreign lead, and
// compares every cell with what is expected of it. A cell without an expectation fails. The usual run has one
// spelling a flow, of a worker.
func TestWalk(t *testing.T) {
	t.Parallel()
	t.Run("cells", func(t *testing.T) {
		for _, f := range flows {
			for _, p := range testenv.Rows(t, f.said(), 1) {
				for i, kase := range cases {
					compared(t, f, "worker", kase, p, expected[f.name]["worker"][i], func(t *testing.T) string { return walk(t, f, p, kase) })
				}
			}
			if !testenv.Full() {
				continue
			}
			for _, p := range has(f.orders) {
				for i, kase := range cases {
					compared(t, f, "lead", kase, p, expected[f.name]["lead"][i], func(t *testing.T) string { return walkAsLead(t, p, kase) })
				}
			}
		}
	})
	if t.Failed() || !testenv.Full() {
		return
	}
	page := walkPage() + spellingsPage() // all came to what was expected; TestGuestWalk and TestSpellings see the rest
	const path = "../../../docs/foreign.md"
	if *update {
		testenv.Must(t, os.WriteFile(path, []byte(page), 0o644))
		return
	}
	if have, err := os.ReadFile(path); err != nil || string(have) != page {
		t.Errorf("docs/foreign.md is not what was seen (%v): go test ./internal/test/foreigntest -update", err)
	}
}

// compared runs one cell as a parallel test and compares it with what is expected.
func compared(t *testing.T, f flow, role, kase string, p spelling, want string, play func(*testing.T) string) {
	t.Run(f.name+", "+role+", "+kase+", "+p.document, func(t *testing.T) {
		t.Parallel()
		if got := play(t); want == "" || got != want {
			t.Errorf("%s:\n got %s\nwant %s", p.shows(), got, want)
		}
	})
}

// said lists the spellings of a worker that has something to say, and is not only written to.
func (f flow) said() []spelling {
	return slices.DeleteFunc(has(f.asks), func(p spelling) bool { return p.begins != nil })
}

func documents(list []spelling) string {
	var names []string
	for _, p := range list {
		names = append(names, p.document)
	}
	return strings.Join(names, "; ")
}

// walkPage is the table of the effects for docs/foreign.md.
func walkPage() string {
	var b strings.Builder
	row := func(f flow, role string, list []spelling, effects [4]string) {
		for i, kase := range cases {
			if len(list) > 0 {
				fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", f.name, role, kase, documents(list), strings.ReplaceAll(effects[i], "|", "\\|"))
			}
		}
	}
	b.WriteString("# What a foreign member can do\n\nWritten by `go test ./internal/test/foreigntest -update`. The foreign member is a plain writer of\n" +
		"JSON under the lock of proper-lockfile. As *worker* it is `bob`, registered in a team that\nwaggle leads (trust: file), under a policy that bypasses permissions; as *lead* it leads the\n" +
		"team of a session in which `gopher` was registered here, and as *lead of a guest* that of a\nsession in which `gopher` is at work: there the effects are what gopher writes to its lead,\n" +
		"how often it runs a command, and what is on record as unverified. Every effect is listed: records in\nthe leader's journal, open questions, mail to others, members, tasks, policy. After → is\n" +
		"what the next step came to; *allowed* is the operator's answer, *taken* is when the reader\nhas emptied its mailbox. Every spelling of the [next table](#in-which-spelling-it-is-answered) " +
		"was played in every case; those of one row\ncame to the same. The command of gopher asks for no host and no plan: control.TestGuestSpellings has those that do.\n\n" +
		"- *duplicate*: a worker writes it three times, a lead twice.\n- *late*: after bob, or gopher, was removed.\n" +
		"- *forged*: of a worker, then the same id with other content, in bob's name by another, and by bob in another's name; of a\n  lead, in a stranger's name.\n\n" +
		"| flow | role | case | documents | effects |\n|---|---|---|---|---|\n")
	for _, f := range flows {
		row(f, "worker", f.said(), expected[f.name]["worker"])
		row(f, "lead", has(f.orders), expected[f.name]["lead"])
		row(f, "lead of a guest", has(f.orders), ofGuest[f.name])
	}
	return b.String()
}
