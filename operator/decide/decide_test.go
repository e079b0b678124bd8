package decide_test

import (
	"os"
	"strings"
	"testing"

	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/machine"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/record"
	"waggle/spawn"
)

func team(t *testing.T) (decide.Operator, *operatortest.Rig) {
	t.Helper()
	op, rig := operatortest.API(t)
	return decide.Of(op), rig
}

// An answer is given once: the first decides, the same again changes nothing, and the
// opposite is refused. The member does what the first said.
func TestDecideOnce(t *testing.T) {
	t.Parallel()
	o, rig := team(t)
	answers := rig.Asks("ann", operatortest.Bash("make"))
	req := rig.Pending(1)[0]
	yes := decide.Answer{ID: req.Handle, Digest: string(req.Digest), Allow: true, Via: "approve", Reason: "go on"}
	for i, changed := range []bool{true, false} {
		ds, err := o.Decide(t.Context(), "api", []decide.Answer{yes})
		if err != nil || len(ds) != 1 {
			t.Fatalf("%d: %+v, %v", i, ds, err)
		}
		if d := ds[0]; d.Err() != nil || d.Changed != changed || d.Decision != record.DecisionAllow || d.By != "operator" || d.ID != string(req.ID) || !d.Delivered {
			t.Errorf("%d: %+v", i, d)
		}
	}
	no := yes
	no.Allow = false
	ds, err := o.Decide(t.Context(), "api", []decide.Answer{no})
	testenv.Must(t, err)
	operatortest.Is(t, "the opposite", ds[0].Err(), operator.Refused, "")
	if ds[0].Err() == nil || ds[0].Changed {
		t.Errorf("%+v", ds[0])
	}
	if a := operatortest.Answer(t, answers); !a.Allowed || a.Ran != req.Ask.Input || a.By != "operator" || a.Reason != "go on" {
		t.Errorf("%+v", a)
	}
	q, err := o.Show(t.Context(), "api", string(req.ID))
	if err != nil || q.Status != decide.StatusDecided || q.Answer == nil || q.Answer.Via != "approve" || q.Answer.Reason != "go on" {
		t.Errorf("%+v, %v", q, err)
	}
}

// TestDecideForTheDead: what a dead member asks is shown as that, and its answer is not delivered: it waits for the next
// start of a member that waggle runs, and there is no allow for one whose process waggle did not start.
func TestDecideForTheDead(t *testing.T) {
	t.Parallel()
	for _, theirs := range []bool{false, true} {
		o, rig := team(t)
		rig.Asks("ann", operatortest.Bash("make"))
		req := rig.Pending(1)[0]
		m, _ := rig.State().Lead.Member("ann")
		dead, err := spawn.Identify(os.Getpid())
		testenv.Must(t, err)
		dead.Start, dead.Theirs = "1", theirs // an earlier process of this number
		rig.Runs(rig.State(), m, dead)
		q, err := o.Show(t.Context(), "api", req.Handle)
		if err != nil || !strings.Contains(q.Asker, "is dead") || (q.Status == decide.StatusUnanswerable) != theirs {
			t.Errorf("shown as %+v, %v", q, err)
		}
		ds, err := o.Decide(t.Context(), "api", []decide.Answer{{ID: req.Handle, Digest: string(req.Digest), Allow: true, Via: "approve"}})
		if err != nil || len(ds) != 1 || ds[0].Delivered {
			t.Fatalf("%+v, %v", ds, err)
		}
		if theirs {
			operatortest.Fails(t, ds[0].Err(), operator.Refused, "nobody would take an answer")
		} else if ds[0].Err() != nil || !strings.Contains(ds[0].Asker, "waits for its next start") {
			t.Errorf("%+v", ds[0])
		}
	}
}

// Decide takes several answers one by one: a refused answer has the reason in its own result, and the
// others hold.
func TestDecideEachByItself(t *testing.T) {
	t.Parallel()
	o, rig := team(t)
	answers := rig.Asks("ann", operatortest.Bash("make a"), operatortest.Bash("make b"))
	rs := rig.Pending(2)
	ds, err := o.Decide(t.Context(), "api", []decide.Answer{
		{ID: "no-such", Allow: true, Via: "approve"},
		{ID: string(rs[0].ID), Digest: strings.Repeat("0", 64), Allow: true, Via: "approve"},
		{ID: string(rs[0].ID), Allow: true, UpdatedInput: `{"command":"true"}`, Via: "approve"},
		{ID: string(rs[1].ID), Reason: "not now", Via: "deny"},
	})
	if err != nil || len(ds) != 4 {
		t.Fatalf("%+v, %v", ds, err)
	}
	operatortest.Is(t, "an id that nobody has", ds[0].Err(), operator.NotFound, "no-such")
	operatortest.Is(t, "another digest", ds[1].Err(), operator.Refused, "digest")
	if ds[2].Err() != nil || ds[2].Decision != record.DecisionAllow || ds[2].Digest == "" || ds[2].Digest == string(rs[0].Digest) {
		t.Errorf("a changed input: %+v", ds[2])
	}
	if ds[3].Err() != nil || ds[3].Decision != record.DecisionDeny {
		t.Errorf("a denial: %+v", ds[3])
	}
	for range 2 {
		switch a := operatortest.Answer(t, answers); {
		case strings.Contains(a.Input, "make a"):
			if !a.Allowed || a.Ran != `{"command":"true"}` {
				t.Errorf("what was allowed ran %s", a.Ran)
			}
		case a.Allowed || a.Ran != "" || a.Reason != "not now":
			t.Errorf("%+v", a)
		}
	}
}

// Show finds one request by a handle, an id, or the beginning of an id.
func TestFindRequest(t *testing.T) {
	t.Parallel()
	o, rig := team(t)
	rig.Asks("ann", operatortest.Bash("make a"), operatortest.Bash("make b"))
	rs := rig.Pending(2)
	common := 0
	for string(rs[0].ID)[common] == string(rs[1].ID)[common] {
		common++
	}
	for _, by := range []string{rs[0].Handle, strings.ToUpper(rs[0].Handle), string(rs[0].ID), string(rs[0].ID)[:common+1]} {
		if q, err := o.Show(t.Context(), "api", by); err != nil || q.ID != string(rs[0].ID) {
			t.Errorf("%s: %+v, %v", by, q, err)
		}
	}
	if common > 0 {
		_, err := o.Show(t.Context(), "api", string(rs[0].ID)[:common])
		operatortest.Is(t, "the beginning of two", err, operator.Usage, "begins several requests")
	}
	for _, by := range []string{"", "ooo"} {
		_, err := o.Show(t.Context(), "api", by)
		operatortest.Is(t, "nobody's: "+by, err, operator.NotFound, "")
	}
	_, err := o.Show(t.Context(), "other", rs[0].Handle)
	operatortest.Is(t, "another team", err, operator.NotFound, "other")
}

// Pending lists the questions by risk, the highest first, each with all that a person is shown of it.
func TestPending(t *testing.T) {
	t.Parallel()
	o, rig := team(t)
	rig.Asks("ann", operatortest.Bash("git status\nrm -rf /"), operatortest.Bash("make"), operatortest.Ask{Host: "db.internal:5432", Why: "to migrate"},
		operatortest.Ask{Tool: "Write", Input: `{"file_path":"a.txt","content":"x"}`, Why: "notes"})
	rig.Asks("bob", operatortest.Ask{Plan: "1. look\n2. leap"})
	rig.Pending(5)
	qs, err := o.Pending(t.Context(), "api", false)
	if err != nil || len(qs) != 5 {
		t.Fatalf("%d, %v", len(qs), err)
	}
	order := map[string]int{"high": 2, "medium": 1}
	by := map[string]decide.Request{}
	for i, q := range qs {
		if i > 0 && order[q.Risk] > order[qs[i-1].Risk] {
			t.Errorf("%s stands behind %s", q.Risk, qs[i-1].Risk)
		}
		if q.Status != decide.StatusOpen || q.Member == "" || q.Team != "api" || q.Handle == "" || q.Answer != nil {
			t.Errorf("%+v", q)
		}
		by[strings.Join(q.Asks(), "\n")] = q
	}
	for asks, want := range map[string]struct{ pattern, risk, command, kind string }{
		"git status\nrm -rf /":                      {"", "high", "git status\nrm -rf /", "permission_request"},
		"make":                                      {"", "", "make", "permission_request"},
		"network to db.internal:5432":               {"net db.internal:5432", "high", "", "sandbox_permission_request"},
		"plan, revision 1:\n1. look\n2. leap":       {"", "medium", "", "plan_approval_request"},
		`Write {"file_path":"a.txt","content":"x"}`: {"", "", "", "permission_request"},
	} {
		q, ok := by[asks]
		if !ok {
			t.Errorf("nobody asks %q in %v", asks, by)
			continue
		}
		if want.pattern != "" && q.Pattern != want.pattern || want.risk != "" && q.Risk != want.risk || q.Command != want.command || q.Kind != want.kind || q.Pattern == "" {
			t.Errorf("%q is %+v", asks, q)
		}
	}
	if q := by["network to db.internal:5432"]; q.Host != "db.internal" || q.Port != "5432" || q.Reason != "to migrate" || string(q.Input) != `{"host":"db.internal","port":"5432"}` {
		t.Errorf("%+v", q)
	}
	if q := by["plan, revision 1:\n1. look\n2. leap"]; q.Revision != 1 || q.Hash != record.HashText("1. look\n2. leap") || string(q.Input) != `{"plan":"1. look\n2. leap"}` {
		t.Errorf("%+v", q)
	}
	if q := by["make"]; len(q.Suggest) == 0 || q.Trust != string(record.Cooperative) || q.Asker != "" {
		t.Errorf("%+v", q)
	}
	testenv.Value(o.Decide(t.Context(), "api", []decide.Answer{{ID: by["make"].ID, Via: "deny"}}))(t)
	open, err := o.Pending(t.Context(), "api", false)
	all, err2 := o.Pending(t.Context(), "api", true)
	if err != nil || err2 != nil || len(open) != 4 || len(all) != 5 {
		t.Errorf("%d open and %d in all, %v, %v", len(open), len(all), err, err2)
	}
}

// Changed shows a request with another input as it would be asked, and decides nothing.
func TestChanged(t *testing.T) {
	t.Parallel()
	o, rig := team(t)
	rig.Asks("ann", operatortest.Bash("make"))
	rig.Asks("bob", operatortest.Ask{Plan: "think"})
	rs := rig.Pending(2)
	call, plan := rs[0], rs[1]
	q, err := o.Changed(t.Context(), "api", string(call.ID), `{"command":"rm -rf /"}`)
	if err != nil || q.Command != "rm -rf /" || q.Risk != "high" || q.Digest == string(call.Digest) {
		t.Errorf("%+v, %v", q, err)
	}
	for id, input := range map[string]string{string(plan.ID): `{"command":"x"}`, string(call.ID): `"x"`, call.Handle: "{"} {
		_, err := o.Changed(t.Context(), "api", id, input)
		operatortest.Is(t, input, err, operator.Usage, "JSON object")
	}
	_, err = o.Changed(t.Context(), "api", "ooo", `{}`)
	operatortest.Is(t, "nobody's", err, operator.NotFound, "ooo")
	rig.Pending(2)
}

// A command that a member's process gives in the operator's name decides nothing, and is
// on record.
func TestDecideFromInside(t *testing.T) {
	t.Parallel()
	o, rig := team(t)
	rig.Asks("ann", operatortest.Bash("make"))
	req := rig.Pending(1)[0]
	m, _ := rig.State().Lead.Member("ann")
	o.Ancestors = func(int) ([]spawn.Identity, error) { return []spawn.Identity{m.Process.ID}, nil }
	before := len(rig.State().Lead.Unverified)
	for what, err := range map[string]error{
		"Decide":      second(o.Decide(t.Context(), "api", []decide.Answer{{ID: req.Handle, Allow: true}})),
		"DecideGroup": second(o.DecideGroup(t.Context(), "api", "g-0", decide.Answer{Allow: true})),
		"DecideNet":   second(o.DecideNet(t.Context(), "api", decide.NetAnswer{ID: req.Handle, Allow: true})),
		"SetMode":     second(o.SetMode(t.Context(), "api", "*", "bypass")),
		"Escalate":    second(o.EscalatePlan(t.Context(), "api", "ann", 0, "")),
		"Guard":       o.Guard(t.Context(), nil, "policy sessions"),
	} {
		operatortest.Is(t, what, err, operator.Refused, "only the operator may do that")
	}
	s := rig.State()
	if got := len(s.Lead.Unverified) - before; got != 6 {
		t.Errorf("%d of 6 are on record", got)
	}
	if r, ok := s.Lead.Request(req.Key); !ok || r.State != machine.RequestPending {
		t.Errorf("the request is %+v", r)
	}
}

func second[T any](_ T, err error) error { return err }
