package mail_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator/decide"
	"waggle/operator/mail"
	"waggle/protocol"
	"waggle/record"
)

// TestInboxRequests: a message that asks has the request that the leader's journal names for it, open and answered, and so
// has its answer; a copy of it under the same id, which no journal vouches for, has none.
func TestInboxRequests(t *testing.T) {
	t.Parallel()
	op, tm := operatortest.API(t)
	answered := tm.Asks("ann", operatortest.Bash("rm -rf build"))
	q := tm.Pending(1)[0]
	asks := func() mail.InboxEntry {
		t.Helper()
		in := inbox(t, tm, protocol.Lead)
		i := slices.IndexFunc(in.Entries, func(e mail.InboxEntry) bool { return e.Kind == string(protocol.KindPermissionRequest) })
		if i < 0 {
			t.Fatalf("%+v", in.Entries)
		}
		return in.Entries[i]
	}
	if e := asks(); e.Request == nil || e.Request.Handle != q.Handle || e.Request.Status != decide.StatusOpen {
		t.Fatalf("%+v", e)
	}
	b, err := os.ReadFile(tm.Mailbox(protocol.Lead))
	testenv.Must(t, err)
	var box []json.RawMessage
	testenv.Must(t, json.Unmarshal(b, &box))
	i := slices.IndexFunc(box, func(e json.RawMessage) bool { return strings.Contains(string(e), "rm -rf build") })
	copied, err := json.Marshal(append(slices.Clone(box), json.RawMessage(strings.ReplaceAll(string(box[i]), "rm -rf build", "ls")), box[i]))
	testenv.Must(t, err)
	testenv.Must(t, os.WriteFile(tm.Mailbox(protocol.Lead), copied, 0o600))
	with := 0
	for _, e := range inbox(t, tm, protocol.Lead).Entries {
		if e.Request != nil {
			with++
		}
	}
	if e := asks(); with != 1 || e.Request == nil {
		t.Errorf("%d messages have the request %+v", with, e)
	}
	testenv.Value(decide.Of(op).Decide(t.Context(), "api", []decide.Answer{{ID: q.Handle, Reason: "no", Via: "deny"}}))(t)
	<-answered
	if e := asks(); e.Request == nil || e.Request.Decision != record.DecisionDeny || e.Request.Via != "deny" {
		t.Errorf("%+v", e.Request)
	}
	m := became(t, tm, asks().ID)
	if is(t, m, mail.Queued, mail.Delivered, mail.Acknowledged); m.States[2].Detail != "deny by operator" || !strings.HasSuffix(m.States[2].Evidence, ": decided") {
		t.Errorf("%+v", m.States)
	}
	in := inbox(t, tm, "ann")
	i = slices.IndexFunc(in.Entries, func(e mail.InboxEntry) bool { return e.Kind == string(protocol.KindPermissionResponse) })
	if i < 0 || in.Entries[i].Request == nil || in.Entries[i].Request.Handle != q.Handle || in.Entries[i].Request.Decision == "" {
		t.Errorf("%+v", in.Entries)
	}
}
