//go:build unix

package cli_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"waggle/control"
	"waggle/internal/face/cli/app"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/mail"
	"waggle/protocol"
)

// TestBroadcastPartly: a message to everyone reaches the living members. The member
// whose process is gone has a refusal of its own, in the exit code too, and an
// earlier message to that member becomes a dead letter.
func TestBroadcastPartly(t *testing.T) {
	r := newRig(t, `
team: part
policy: {allow: ["Bash"]}
members:
  - {name: ann, agent: exec}
  - {name: bob, agent: exec, restart: never}
tasks:
  - {subject: hold, owner: bob, instructions: "sleep 15"}
`)
	r.assign()
	r.until("bob works", func(l *control.Leader) bool {
		ann, _ := l.Member("ann")
		working := false
		r.worker("bob", func(w *control.Worker) { working = len(w.Calls) > 0 && w.Calls[0].Started })
		return working && ann.Process != nil
	})
	ctx := t.Context()
	send := func(to string) []mail.Sent {
		t.Helper()
		addr, err := protocol.ParseAddress(to)
		testenv.Must(t, err)
		sent, err := mail.Of(r.op).Send(ctx, r.file.Team, mail.Message{To: addr, Text: "words for " + to})
		testenv.Must(t, err)
		return sent
	}
	before := send("bob")
	if before[0].State != mail.Written || before[0].Detail != "busy with task 1" {
		t.Errorf("to a busy member: %+v", before[0])
	}
	// No process leads now: Await reads the member's own journal.
	idle := send("ann")
	if err := mail.Of(r.op).Await(ctx, idle, mail.Acknowledged, 30*time.Second); err != nil || mail.Exit(idle) != nil || idle[0].State != mail.Acknowledged {
		t.Errorf("to an idle member: %+v, %v", idle[0], err)
	}
	waited := make(chan error, 1)
	go func() {
		err := mail.Of(r.op).Await(context.WithoutCancel(ctx), before, mail.Acknowledged, 30*time.Second)
		if err == nil {
			err = mail.Exit(before)
		}
		waited <- err
	}()
	var bob *control.Member
	r.lead.View(func(l *control.Leader) { bob, _ = l.Member("bob") })
	testenv.Must(t, syscall.Kill(r.pids["bob"], syscall.SIGKILL))
	testenv.Eventually(t, "bob is dead", func() bool { return !bob.Process.ID.Alive() })
	sent := send("*")
	got := map[string]mail.Delivery{}
	for _, s := range sent {
		got[s.To] = s.State
	}
	if len(sent) != 2 || got["ann"] != mail.Written || got["bob"] != mail.Refused {
		t.Errorf("to everyone: %+v", sent)
	}
	if code := operator.KindOf(mail.Exit(sent)); code != operator.Refused {
		t.Errorf("exit code %d, want %d", code, app.ExitRefused)
	}
	r.until("bob is let go", func(l *control.Leader) bool { m, _ := l.Member("bob"); return m.Left != nil })
	if err := <-waited; operator.KindOf(err) != operator.Died {
		t.Errorf("waiting ended with %v, want that it died", err)
	}
	msgs, err := mail.Of(r.op).Message(ctx, r.file.Team, before[0].MsgID)
	if err != nil || len(msgs) != 1 || msgs[0].State != mail.DeadLetter {
		t.Errorf("what was sent before: %+v, %v", msgs, err)
	}
}
