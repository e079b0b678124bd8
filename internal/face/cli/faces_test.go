package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/leader"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/operator/repair"
	"waggle/operator/supervise"
	"waggle/policy"
	"waggle/poll"
	"waggle/protocol"
	"waggle/record"
)

// A group's id stands for what was shown under it: a request that joined later is
// not answered with it.
func TestGroupIsWhatWasShown(t *testing.T) {
	c := newCrowd(t, 2)
	c.call(c.askers[0], "Bash", "command", "go test ./a")
	ctx := t.Context()
	qs, err := decide.Of(c.op).Pending(ctx, "crowd", false)
	testenv.Must(t, err)
	old := decide.Groups(qs)[0]
	c.call(c.askers[1], "Bash", "command", "go test ./b")
	answer := decide.Answer{Allow: true, Via: "approve"}
	_, err = decide.Of(c.op).DecideGroup(ctx, "crowd", old.ID, answer)
	if operator.KindOf(err) != operator.NotFound {
		t.Errorf("a group that has changed: %v", err)
	}
	testenv.Must(t, c.s.Journal.Refresh(ctx))
	if n := len(c.s.Lead.Pending()); n != 2 {
		t.Fatalf("%d wait, want both", n)
	}
	for _, pattern := range []string{"Bash(go test:*)", "Bash", qs[0].ID} { // DecideGroup takes no pattern and no request's id
		if _, err = decide.Of(c.op).DecideGroup(ctx, "crowd", pattern, answer); operator.KindOf(err) != operator.Usage {
			t.Errorf("%s: %v", pattern, err)
		}
	}
	testenv.Must(t, c.s.Journal.Refresh(ctx))
	if n := len(c.s.Lead.Pending()); n != 2 {
		t.Fatalf("%d wait, want both", n)
	}
	shown, err := decide.Of(c.op).ShowGroup(ctx, "crowd", "Bash(go test:*)")
	testenv.Must(t, err)
	out, err := decide.Of(c.op).DecideGroup(ctx, "crowd", shown.ID, answer)
	testenv.Must(t, err)
	if len(out) != 2 || !out[0].Changed || !out[1].Delivered {
		t.Errorf("%+v", out)
	}
}

// Two members may use one id; a digest tells them apart, and a digest of another
// request decides nothing.
func TestSameIDOfTwoMembers(t *testing.T) {
	c := newCrowd(t, 2)
	mint, now := c.op.Minter, time.Now()
	c.op.Minter = poll.Minter{Now: func() time.Time { return now }, Rand: zeros{}}
	for _, a := range c.askers {
		c.call(a, "Bash", "command", "go test ./a")
	}
	c.op.Minter = mint
	ctx := t.Context()
	qs, err := decide.Of(c.op).Pending(ctx, "crowd", false)
	testenv.Must(t, err)
	if len(qs) != 2 || qs[0].ID != qs[1].ID {
		t.Fatalf("%+v", qs)
	}
	rs, err := decide.Of(c.op).Decide(ctx, "crowd", []decide.Answer{{ID: qs[0].ID, Allow: true}, {ID: qs[0].ID, Digest: qs[0].Digest, Allow: true},
		{ID: qs[1].ID, Digest: strings.Repeat("0", 16), Allow: true}})
	testenv.Must(t, err)
	if operator.KindOf(rs[0].Err()) != operator.Usage || !rs[1].Changed || !rs[1].Delivered || operator.KindOf(rs[2].Err()) != operator.Usage {
		t.Errorf("%+v", rs)
	}
	testenv.Must(t, c.s.Journal.Refresh(ctx))
	if open := c.s.Lead.Pending(); len(open) != 1 || string(open[0].Instance) != qs[1].Instance {
		t.Errorf("%d wait", len(open))
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestSuggest(t *testing.T) {
	c := newCrowd(t, 2)
	ctx := t.Context()
	one, two := c.askers[0], c.askers[1]
	for _, x := range []struct {
		a     *asker
		cmd   string
		allow bool
	}{
		{one, "go vet ./...", true}, {two, "go vet ./...", true},
		{one, "npm run build -- 1", true}, {one, "npm run build -- 2", true},
		{one, "rm -rf a", true}, {two, "rm -rf a", true},
		{one, "git fetch a 1", true}, {two, "git fetch a 2", true}, {two, "git fetch a 3", false},
		{one, "mkdir src", true},
	} {
		c.call(x.a, "Bash", "command", x.cmd)
		id := x.a.w.Calls[len(x.a.w.Calls)-1].ID
		_, err := decide.Of(c.op).Pending(ctx, "crowd", false)
		testenv.Must(t, err)
		rs, err := decide.Of(c.op).Decide(ctx, "crowd", []decide.Answer{{ID: string(id), Allow: x.allow}})
		testenv.Must(t, err)
		testenv.Must(t, rs[0].Err())
	}
	ss, err := decide.Of(c.op).Suggest(ctx, "crowd")
	testenv.Must(t, err)
	var got []string
	for _, s := range ss {
		got = append(got, s.Rule+" for "+s.Scope)
		if s.Total != 2 || s.Approvals != 2 || s.Looked != 10 || len(s.Matched) != 2 {
			t.Errorf("%+v", s)
		}
	}
	if want := "Bash(go vet ./...) for team; Bash(npm run build --:*) for worker1"; strings.Join(got, "; ") != want {
		t.Errorf("suggests %s, want %s", got, want)
	}
	_, err = decide.Of(c.op).AddRule(ctx, "crowd", policy.MustRules("Bash(go vet ./...)")[0], false, decide.RuleScope{})
	testenv.Must(t, err)
	if ss, err = decide.Of(c.op).Suggest(ctx, "crowd"); err != nil || len(ss) != 1 {
		t.Errorf("what holds already is suggested: %+v, %v", ss, err)
	}
}

// One answer decides every request of a member for a host and port, each by its own
// id. It decides no request of another member.
func TestOneAnswerPerHost(t *testing.T) {
	c := newCrowd(t, 3)
	ctx := t.Context()
	host := func(a *asker, port, reason string) {
		c.ask(a, protocol.KindSandboxPermissionRequest, record.Ask{Host: "db.internal", Port: port, Reason: reason})
	}
	for _, a := range c.askers {
		host(a, "5432", "data")
	}
	host(c.askers[0], "22", "shell")
	ns, err := decide.Of(c.op).NetPending(ctx, "crowd")
	testenv.Must(t, err)
	if len(ns) != 4 {
		t.Fatalf("%+v", ns)
	}
	target, err := decide.ParseNetTarget("db.internal:5432")
	testenv.Must(t, err)
	out, err := decide.Of(c.op).DecideNet(ctx, "crowd", decide.NetAnswer{Target: target, Member: "worker1", Allow: true, Session: true})
	testenv.Must(t, err)
	if len(out.Results) != 1 || len(out.Grants) != 1 || out.Grants[0].Scope != "worker1" {
		t.Errorf("%+v", out)
	}
	if out, err = decide.Of(c.op).DecideNet(ctx, "crowd", decide.NetAnswer{Target: target, Allow: false, Reason: "no"}); err != nil {
		t.Fatal(err)
	}
	for _, r := range out.Results {
		if !r.Changed || r.Decision != record.DecisionDeny {
			t.Errorf("%+v", r)
		}
	}
	testenv.Must(t, c.s.Journal.Refresh(ctx))
	if open := c.s.Lead.Pending(); len(out.Results) != 2 || len(open) != 1 || open[0].Ask.Port != "22" {
		t.Errorf("%d answered, %d wait", len(out.Results), len(open))
	}
	// The denial also removed worker1's answer from Policy.Hosts.
	if n := len(c.s.Lead.Policy.Hosts); n != 0 {
		t.Errorf("%d answers stand", n)
	}
}

// Verify finds that the last whole line of a journal is missing: certain.json says so, and without it the
// journals are compared.
func TestVerifyFindsMissingEnd(t *testing.T) {
	c := newCrowd(t, 1)
	ctx := t.Context()
	c.call(c.askers[0], "Bash", "command", "go test ./a")
	_, err := c.op.Pass(ctx, c.s)
	testenv.Must(t, err)
	v, err := inspect.Of(c.op).Verify(ctx, "crowd")
	testenv.Must(t, err)
	if !v.OK {
		t.Fatalf("%+v", v.Problems)
	}
	file := filepath.Join(c.s.Dir.JournalOf(c.askers[0].writer.Instance), "00000001.jsonl")
	data := readFile(t, file)
	lines := bytes.SplitAfter(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	testenv.Must(t, os.WriteFile(file, bytes.Join(lines[:len(lines)-1], nil), 0o600))
	for range 2 {
		v, err = inspect.Of(c.op).Verify(ctx, v.ID)
		testenv.Must(t, err)
		if v.OK || len(v.Problems) != 1 || v.Problems[0].Owner != "worker1" || !strings.Contains(v.Problems[0].Why, "the end is missing") {
			b, _ := json.Marshal(v)
			t.Errorf("%s", b)
		}
		testenv.Must(t, os.RemoveAll(filepath.Join(filepath.Dir(file), journal.CertainName)))
	}
}

// The journal of a member shows that the leader's journal was put back to an earlier
// state, with its certain.json. Then Decide refuses every answer until the operator acknowledges the divergence.
func TestAcknowledge(t *testing.T) {
	c := newCrowd(t, 1)
	ctx := t.Context()
	a := c.askers[0]
	c.call(a, "Bash", "command", "go test ./a")
	c.call(a, "Bash", "command", "go test ./b")
	_, err := c.op.Pass(ctx, c.s)
	testenv.Must(t, err)
	if d, err := repair.Of(c.op).Look(ctx, "crowd", ""); d != nil || operator.KindOf(err) != operator.NotFound {
		t.Fatalf("%+v, %v", d, err)
	}
	file := filepath.Join(c.s.Dir.LeaderJournal(), "00000001.jsonl")
	before := readFile(t, file)
	certain := filepath.Join(c.s.Dir.LeaderJournal(), journal.CertainName)
	last := readFile(t, certain)
	first := decide.Answer{ID: string(a.w.Calls[0].ID), Allow: true}
	_, err = decide.Of(c.op).Decide(ctx, "crowd", []decide.Answer{first})
	testenv.Must(t, err)
	testenv.Must(t, c.s.Journal.Refresh(ctx))
	c.take(a)
	testenv.Must(t, errors.Join(os.WriteFile(file, before, 0o600), os.WriteFile(certain, last, 0o600)))

	second := decide.Answer{ID: string(a.w.Calls[1].ID), Allow: true}
	rs, err := decide.Of(c.op).Decide(ctx, "crowd", []decide.Answer{second})
	testenv.Must(t, err)
	if operator.KindOf(rs[0].Err()) != operator.Refused || !strings.Contains(rs[0].Err().Error(), "disagree") {
		t.Fatalf("%+v", rs)
	}
	d, err := repair.Of(c.op).Look(ctx, "crowd", "")
	testenv.Must(t, err)
	seq := d.Divergence.Seq
	if v, err := inspect.Of(c.op).Verify(ctx, "crowd"); err != nil || v.OK {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := repair.Of(c.op).Repair(ctx, "crowd", "", seq+1, supervise.LeadOptions{}); operator.KindOf(err) != operator.Refused {
		t.Errorf("another divergence: %v", err)
	}
	if d, err = repair.Of(c.op).Repair(ctx, "crowd", "", seq, supervise.LeadOptions{}); err != nil || !d.Acknowledged() || d.Divergence.Member != "worker1" {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := repair.Of(c.op).Repair(ctx, "crowd", "", seq, supervise.LeadOptions{}); operator.KindOf(err) != operator.NotFound {
		t.Errorf("once more: %v", err)
	}
	if rs, err = decide.Of(c.op).Decide(ctx, "crowd", []decide.Answer{second}); err != nil || !rs[0].Changed {
		t.Errorf("%+v, %v", rs, err)
	}
}

// If two must allow a request, the operator's allow is one vote, also when it is given
// twice. One deny decides a request.
func TestOneOfTwo(t *testing.T) {
	lead := policy.Policy{Allow: policy.MustRules("Bash(go test:*)")}
	c := newCrowdUnder(t, 1, record.PolicySet{Lead: &lead, Decide: record.Deciders{policy.GateTool: policy.DecideTwo}})
	ctx := t.Context()
	a := c.askers[0]
	c.call(a, "Bash", "command", "go test ./a")
	c.call(a, "Bash", "command", "go test ./b")
	vote := decide.Answer{ID: string(a.w.Calls[0].ID), Allow: true, Via: "approve"}
	for range 2 {
		rs, err := decide.Of(c.op).Decide(ctx, "crowd", []decide.Answer{vote})
		testenv.Must(t, err)
		if !rs[0].Voted || rs[0].Changed || rs[0].Delivered || rs[0].Err() != nil {
			t.Errorf("%+v", rs)
		}
	}
	q, err := decide.Of(c.op).Show(ctx, "crowd", vote.ID)
	testenv.Must(t, err)
	if q.Status != decide.StatusOpen || len(q.Votes) != 1 || q.Votes[0] != string(policy.RoleOperator) {
		t.Errorf("%+v", q)
	}
	testenv.Must(t, c.s.Journal.Refresh(ctx))
	req, _ := c.s.Lead.Request(a.w.Calls[0].Key)
	out, err := leader.Decide(ctx, c.s.Journal, c.s.Lead, journal.Writer{Instance: string(c.s.Lead.Instance), Epoch: c.s.Lead.Epoch}, c.op.Minter,
		control.Answer{Key: req.Key, Digest: req.Digest, Allow: true, By: policy.RoleLeader, Channel: policy.ChannelJournal})
	if err != nil || !out.Changed || out.Refusal != nil {
		t.Fatalf("%+v, %v", out, err)
	}
	rs, err := decide.Of(c.op).Decide(ctx, "crowd", []decide.Answer{vote, {ID: string(a.w.Calls[1].ID), Via: "deny"}})
	testenv.Must(t, err)
	if rs[0].Changed || rs[0].Decision != record.DecisionAllow || !rs[1].Changed || rs[1].Decision != record.DecisionDeny {
		t.Errorf("%+v", rs)
	}
}
