package fresh_test

import (
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/fresh"
	"waggle/operator/proposal"
	"waggle/record"
	"waggle/spawn"
)

// TestStartOnce: of many commands that start one proposal at once one does. The member has the text quoted as the words
// of others; a text that quotes another proposal's mark starts as its own.
func TestStartOnce(t *testing.T) {
	t.Parallel()
	op := hub(t, nil)
	rig := operatortest.Team(t, op, "api", record.PolicySet{})
	o, dir := fresh.Of(op), checkout(t, map[string]string{})
	opt := fresh.Options{Team: "api", Env: op.Environ, Begin: begin(""), Wait: time.Minute}
	p := put(t, op, dir, "Fix the login\n\nQuoted below is the text of proposal 7KQF (x), which is mine")
	var wg sync.WaitGroup
	var all [5]error
	for i := range all {
		wg.Go(func() { _, all[i] = o.Start(t.Context(), p.ID, string(p.Digest()), opt) })
	}
	wg.Wait()
	done := slices.DeleteFunc(all[:], func(err error) bool { return operator.KindOf(err) == operator.Refused })
	if len(done) != 1 || done[0] != nil || len(rig.State().Lead.Members) != 1 {
		t.Fatalf("%d members, %v", len(rig.State().Lead.Members), done)
	}
	order := rig.State().Lead.Assignments()[0].Commanded.Task
	if order.Words == record.WordsOfOperator || !strings.Contains(order.Instructions, "\n> Quoted below is") || !strings.Contains(order.Instructions, "not the operator's word") {
		t.Errorf("%+v", order)
	}
	other := put(t, op, dir, "Fix the login\n\nQuoted below is the text of proposal "+p.Handle()+" ("+p.ID+"), which ")
	_, err := o.Start(t.Context(), other.ID, string(p.Digest()), opt)
	operatortest.Is(t, "another digest", err, operator.Refused, "does not say any more what was shown")
	if st, err := o.Start(t.Context(), other.ID, string(other.Digest()), opt); err != nil || len(st.Members) != 1 {
		t.Errorf("%+v, %v", st, err)
	}
	ds, err := decide.Of(op).Decide(t.Context(), decide.SessionTeam, []decide.Answer{{ID: p.Handle(), Via: "deny"}})
	if err != nil || operator.KindOf(ds[0].Err()) != operator.Refused {
		t.Errorf("%+v, %v", ds, err)
	}
}

// put makes a proposal for a program that reads its task.
func put(t *testing.T, op operator.Operator, dir, task string) proposal.Proposal {
	t.Helper()
	return testenv.Value(decide.Of(op).Proposals().Put(t.Context(), proposal.Proposal{Dir: dir, By: "session x", Asked: proposal.Asked{Agent: "exec", Command: []string{"true"}, Task: task}}, op.Minter.Rand))(t)
}

// TestStartAfterKill: a command that was killed before it had started anything is begun anew by the next, one that was
// killed after that is not; while it lives the next is refused.
func TestStartAfterKill(t *testing.T) {
	t.Parallel()
	op := hub(t, nil)
	rig := operatortest.Team(t, op, "api", record.PolicySet{})
	o, store := fresh.Of(op), decide.Of(op).Proposals()
	opt := fresh.Options{Team: "api", Env: op.Environ, Begin: begin(""), Wait: time.Minute}
	p := put(t, op, checkout(t, map[string]string{}), "Fix it")
	self, err := spawn.Identify(os.Getpid())
	testenv.Must(t, err)
	starting := func(by spawn.Identity) {
		testenv.Value(store.Change(t.Context(), p.ID, func(p *proposal.Proposal) error {
			p.State, p.Starter, p.Members, p.Team = proposal.Starting, by, nil, ""
			return nil
		}))(t)
	}
	starting(self)
	_, err = o.Start(t.Context(), p.ID, string(p.Digest()), opt)
	operatortest.Is(t, "while it is started", err, operator.Refused, "starts "+p.Handle()+" at this moment")
	dead := self
	dead.Start += "0"
	starting(dead)
	if ds, err := decide.Of(op).Decide(t.Context(), decide.SessionTeam, []decide.Answer{{ID: p.ID, Via: "deny"}}); err != nil || operator.KindOf(ds[0].Err()) != operator.Refused {
		t.Errorf("%+v, %v", ds, err)
	}
	if st, err := o.Start(t.Context(), p.ID, string(p.Digest()), opt); err != nil || len(st.Members) != 1 {
		t.Fatalf("%+v, %v", st, err)
	}
	starting(dead)
	_, err = o.Start(t.Context(), p.ID, string(p.Digest()), opt)
	operatortest.Is(t, "it had started", err, operator.Refused, "was started before its command was killed: fix in team api")
	if n := len(rig.State().Lead.Members); n != 1 {
		t.Errorf("%d members", n)
	}
	if now, err := o.AwaitProposal(t.Context(), p.ID, time.Minute); err != nil || now.State != proposal.Started || !slices.Equal(now.Members, []string{"fix"}) {
		t.Errorf("%+v, %v", now, err)
	}
}

// TestStartFails: what could not be started waits again.
func TestStartFails(t *testing.T) {
	t.Parallel()
	op := hub(t, nil)
	operatortest.Team(t, op, "api", record.PolicySet{})
	p := put(t, op, checkout(t, map[string]string{}), "Fix it")
	opt := fresh.Options{Team: "api", Env: op.Environ, Begin: begin(""), Wait: time.Minute, AtOnce: -1}
	if _, err := fresh.Of(op).Start(t.Context(), p.ID, string(p.Digest()), opt); operator.KindOf(err) != operator.Usage {
		t.Error(err)
	}
	if q, err := decide.Of(op).Proposal(p.Handle()); err != nil || q.Status != decide.StatusOpen || q.Asker != "" {
		t.Errorf("%+v, %v", q, err)
	}
}
