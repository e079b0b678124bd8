package control_test

import (
	"fmt"
	"slices"
	"testing"

	"waggle/control"
	"waggle/journal"
	"waggle/machine"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// staged is a kind of message on a stage of its own.
type staged struct {
	w      *world
	m      *member
	toLead bool
	env    protocol.Envelope // as its sender's journal has it
	late   func()            // makes it late
}

// put puts an envelope where its kind is read and returns what was recorded.
func (s staged) put(env protocol.Envelope) []journal.Record {
	if s.toLead {
		return s.w.see(s.w.box.put(env, false))
	}
	return s.m.receive(s.m.box.put(env, false))
}

// fate says what became of an entry.
func (s staged) fate(env protocol.Envelope) machine.Fate {
	shape := func() string {
		if lm, _ := s.w.l.ByInstance(s.m.instance); lm.Left != nil { // its last message is kept for the report
			return fmt.Sprint(lm.State(), len(s.w.l.Pending()), len(s.w.l.Outbox()))
		}
		return leaderShape(s.w) + workerShape(s.m)
	}
	before := shape()
	recs := s.put(env)
	var kinds []string
	for _, r := range recs {
		kinds = append(kinds, r.Kind)
	}
	changed := shape() != before
	switch {
	case len(recs) == 0 && !changed:
		return machine.FateWords
	case slices.Equal(kinds, []string{record.KindUnverified}) && !changed:
		return machine.FateUnverified
	case slices.Equal(kinds, []string{record.KindSeen, record.KindClosed}):
		return machine.FateAbandoned
	case slices.Equal(kinds, []string{record.KindSeen}) && !changed && isQuestion(protocol.Decode(env).Kind):
		return machine.FateAgain
	case slices.Equal(kinds, []string{record.KindSeen}) && !changed:
		return machine.FateNoted
	case len(recs) > 0 && changed && !slices.Contains(kinds, record.KindUnverified):
		return machine.FateEffect
	}
	return machine.Fate(fmt.Sprint(kinds, changed))
}

func isQuestion(k protocol.Kind) bool { return k == tool || k == host || k == plan }

// stages sets the stage for every kind that has a sender.
func stages(t *testing.T, kind protocol.Kind) staged {
	s := staged{}
	leave := func() {
		s.w.command(s.m, func(lm *control.Member) ([]journal.Draft, error) { return s.w.l.Let(lm, record.LeftDied, ""), nil })
	}
	said := func() protocol.Envelope { return envelopeOf(t, s.m.w.Outbox[len(s.m.w.Outbox)-1].Mail) }
	ordered := func() protocol.Envelope { os := s.w.l.Outbox(); return envelopeOf(t, os[len(os)-1].Mail) }
	ask := map[protocol.Kind]record.Ask{tool: bash, host: {Host: "x.org"}, plan: {Plan: "one"}}
	answered := map[protocol.Kind]protocol.Kind{protocol.KindPermissionResponse: tool, protocol.KindSandboxPermissionResponse: host, protocol.KindPlanApprovalResponse: plan}
	s.w, s.m = working(t, record.PolicySet{}, kind == plan || kind == protocol.KindPlanApprovalResponse)
	now := protocol.FormatTime(s.m.now)
	switch kind {
	case tool, host, plan:
		s.m.ask(kind, ask[kind])
		s.toLead, s.env, s.late = true, said(), leave
	case protocol.KindPermissionResponse, protocol.KindSandboxPermissionResponse, protocol.KindPlanApprovalResponse:
		k := s.m.ask(answered[kind], ask[answered[kind]])
		s.m.flush()
		s.w.pass()
		s.w.decide(verdict(s.w.request(k), true), operator)
		s.env = ordered()
		s.late = func() {
			if kind == protocol.KindPlanApprovalResponse {
				s.m.ask(plan, record.Ask{Plan: "two"})
				return
			}
			s.m.do(func() ([]journal.Draft, error) { return s.m.w.Withdraw(k, "not needed any more"), nil })
		}
	case protocol.KindModeSetRequest:
		s.w.setMode(s.m, policy.ModePlan, policy.RoleOperator, operator)
		s.env = ordered()
		s.late = func() {
			s.w.setMode(s.m, policy.ModeSafe, policy.RoleOperator, operator)
			s.put(ordered())
		}
	case protocol.KindTeamPermissionUpdate:
		s.w.setPolicy(policy.Policy{Deny: policy.MustRules("Bash(curl:*)")})
		s.env = ordered()
		s.late = func() {
			s.w.setPolicy(policy.Policy{Deny: policy.MustRules("Bash(wget:*)")})
			s.put(ordered())
		}
	case protocol.KindShutdownRequest:
		s.w.shutdown(s.m, policy.RoleOperator)
		s.env = ordered()
		s.late = func() {
			s.put(s.env)
			s.m.answer(true)
		}
	case protocol.KindShutdownApproved, protocol.KindShutdownRejected:
		s.w.shutdown(s.m, policy.RoleOperator)
		s.w.round()
		s.m.answer(kind == protocol.KindShutdownApproved)
		s.toLead, s.env, s.late = true, said(), leave
	case protocol.KindIdleNotification:
		s.m.idle()
		s.toLead, s.env, s.late = true, said(), leave
	case protocol.KindTaskAssignment:
		s.w.assign(s.m, record.Task{ID: "2", Subject: "more", Instructions: "make"})
		s.env = ordered()
		s.late = func() {
			s.w.shutdown(s.m, policy.RoleOperator)
			s.put(ordered())
			s.m.answer(true)
		}
	case protocol.KindTaskCompleted:
		s.m.says(protocol.TaskCompleted{From: "ada", TaskID: "1", Timestamp: now}, record.Said{Task: "1"})
		s.toLead, s.env = true, said()
		s.late = func() { s.w.assign(s.m, record.Task{ID: "1", Instructions: "again"}) }
	case protocol.KindTaskProgress:
		s.m.says(protocol.TaskProgress{RequestID: "1", Timestamp: now, Progress: protocol.Progress{Phase: "done"}}, record.Said{ID: "1", Task: "1"})
		s.toLead, s.env, s.late = true, said(), leave
	default:
		s.env, s.late = envelope("team-lead", unsent(t, kind)), func() {}
		if kind == protocol.KindSystemInit {
			s.env.Type = "system_init"
		}
	}
	return s
}

// unsent is a message of a kind that no machine sends.
func unsent(t *testing.T, kind protocol.Kind) string {
	switch kind {
	case protocol.KindTeammateTerminated:
		return encode(t, protocol.TeammateTerminated{Message: "ada has ended"})
	case protocol.KindJoinRequest:
		return encode(t, protocol.JoinRequest{RequestID: "j", ProposedName: "mallory"})
	case protocol.KindJoinApproved:
		return encode(t, protocol.JoinApproved{RequestID: "j"})
	case protocol.KindJoinRejected:
		return `{"type":"join_rejected","requestId":"j"}`
	case protocol.KindUnknown:
		return `{"type":"weather","sky":"grey"}`
	case protocol.KindInvalid:
		return `{"type":"shutdown_request"}`
	}
	return "please go on"
}

// TestConduct shows every cell of the table of conduct: each kind as its sender's
// journal has it, the same again, late, and forged.
func TestConduct(t *testing.T) {
	var kinds []protocol.Kind
	for _, k := range protocol.Kinds() {
		kinds = append(kinds, k.Kind)
	}
	kinds = append(kinds, protocol.KindText, protocol.KindUnknown, protocol.KindInvalid)
	for i, c := range machine.Conducts() {
		if i >= len(kinds) || c.Kind != kinds[i] {
			t.Fatalf("row %d is %s", i, c.Kind)
		}
		cell := func(name string, want machine.Fate, do func(s staged) machine.Fate) {
			t.Run(string(c.Kind)+"/"+name, func(t *testing.T) {
				if got := do(stages(t, c.Kind)); got != want {
					t.Errorf("got: %s; want: %s", got, want)
				}
			})
		}
		cell("first", c.First, func(s staged) machine.Fate { return s.fate(s.env) })
		cell("again", c.Again, func(s staged) machine.Fate {
			s.put(s.env)
			return s.fate(s.env)
		})
		cell("late", c.Late, func(s staged) machine.Fate {
			s.late()
			return s.fate(s.env)
		})
		for _, from := range []string{"mallory", "bob", "ada", "team-lead"} {
			cell("forged by "+from, c.Forged, func(s staged) machine.Fate {
				s.w.join("bob", false)
				env := s.env
				env.From, env.Text = from, forgedText(env.Text)
				return s.fate(env)
			})
		}
	}
	if len(kinds) != len(machine.Conducts()) {
		t.Errorf("%d kinds, %d rows", len(kinds), len(machine.Conducts()))
	}
}

// forgedText is a control message with one changed byte that has no meaning: its author knows every
// field, but no journal has the text.
func forgedText(text string) string {
	if text[0] != '{' {
		return text
	}
	return "{ " + text[1:]
}
