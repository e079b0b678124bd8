package inspect_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/agent"
	"waggle/control"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/operator/mail"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
)

func newTeam(t *testing.T) (inspect.Operator, *operatortest.Rig) {
	t.Helper()
	op := operatortest.New(t)
	return inspect.Of(op), operatortest.Team(t, op, "api", record.PolicySet{})
}

// worked makes a team with a record of everything: calls that rules allowed and denied, one
// that the operator denied, one that waits, a result, words to the lead, and a member that died.
func worked(t *testing.T) (inspect.Operator, *operatortest.Rig, *control.Request) {
	t.Helper()
	o, rig := newTeam(t)
	d := decide.Of(rig.Op)
	for text, deny := range map[string]bool{"Bash(ls:*)": false, "Bash(rm:*)": true} {
		r := testenv.Value(policy.ParseRule(text))(t)
		testenv.Value(d.AddRule(t.Context(), "api", r, deny, decide.RuleScope{}))(t)
	}
	ann := rig.Asks("ann", operatortest.Bash("ls -l"))
	if a := operatortest.Answer(t, ann); !a.Allowed {
		t.Fatalf("%+v", a)
	}
	bob := rig.Asks("bob", operatortest.Bash("rm x"), operatortest.Bash("make check"))
	if a := operatortest.Answer(t, bob); a.Allowed {
		t.Fatalf("%+v", a)
	}
	eve := rig.Asks("eve", operatortest.Bash("make deploy"))
	reqs := rig.Pending(2)
	testenv.Value(d.Decide(t.Context(), "api", []decide.Answer{{ID: string(reqs[1].ID), Reason: "not today", Via: "deny"}}))(t)
	if a := operatortest.Answer(t, eve); a.Allowed {
		t.Fatalf("%+v", a)
	}
	rig.Member("kim", func(ctx context.Context, h agent.Host, w agent.Work) (agent.Result, error) {
		if _, err := fmt.Fprint(h.Output(), "one\ntwo\nthree\nhalf"); err != nil {
			return agent.Result{}, err
		}
		return agent.Result{Summary: "done"}, h.Say(ctx, "team-lead", "all is well", "well")
	})
	rig.Task("kim", "look around")
	i := rig.Joined("zoe", record.Cooperative)
	rig.Write(journal.Draft{Kind: record.KindDied, Must: true, Body: record.Died{Instance: i, Detail: "exit status 3", GaveUp: true}})
	rig.Until("all results are there", func(l *control.Leader) bool {
		n := 0
		for _, m := range l.Members {
			if m.LastIdle != nil {
				n++
			}
		}
		return n >= 3
	})
	return o, rig, reqs[0]
}

func member(st *inspect.Status, name string) inspect.MemberStatus {
	for _, m := range st.Members {
		if m.Name == name {
			return m
		}
	}
	return inspect.MemberStatus{Why: "not there"}
}

// Status reports the state of each member, the reason, and the evidence.
func TestStatus(t *testing.T) {
	t.Parallel()
	o, rig, _ := worked(t)
	st, err := o.Status(t.Context(), "api")
	if err != nil || st.Team != "api" || st.Pending != 1 || st.Leader.Led || st.Leader.Foreign || st.Gone != nil || st.Damage != nil || st.Unread != 1 || st.Broken != nil || st.Room != nil {
		t.Fatalf("%+v, %v", st, err)
	}
	for name, want := range map[string]struct {
		state inspect.MemberState
		why   string
	}{
		"ann": {inspect.StateIdle, ""},
		"bob": {inspect.StateHuman, "asks "},
		"kim": {inspect.StateIdle, ""},
		"zoe": {inspect.StateDead, "exit status 3; it was started again too often"},
	} {
		m := member(st, name)
		if m.State != want.state || !strings.Contains(m.Why, want.why) || m.Evidence == nil {
			t.Errorf("%s: %+v", name, m)
		}
		if name != "zoe" && (m.PID != os.Getpid() || m.Evidence.Process.State != string(spawn.Running) || m.Ready == nil || m.Evidence.Journal.LastKind == "") {
			t.Errorf("%s: %+v, %+v", name, m, m.Evidence)
		}
	}
	if m := member(st, "bob"); m.Pending != 1 || m.Task == "" || m.Trust != record.Cooperative {
		t.Errorf("%+v", m)
	}
	if m := member(st, "kim"); m.Evidence.Output.Size == 0 || m.Log != m.Evidence.Output.Path {
		t.Errorf("%+v, %+v", m, m.Evidence.Output)
	}
	if m := member(st, "zoe"); m.Evidence.Died == nil || !m.Evidence.Died.GaveUp || m.Evidence.Process.State != "none" {
		t.Errorf("%+v", m.Evidence)
	}
	if st.Interrupted == nil || st.Interrupted.Members != 1 || st.Interrupted.Pending != 1 || st.Interrupted.At.IsZero() {
		t.Errorf("%+v", st.Interrupted)
	}
	_, err = o.Status(t.Context(), "other")
	operatortest.Is(t, "another team", err, operator.NotFound, "other")
	if n := inspect.Unverified(rig.State()); n != st.Alarms || n != 0 {
		t.Errorf("%d alarms, %d in status", n, st.Alarms)
	}
}

// TestUnverified: the messages that no journal vouches for are counted from the leader's journal.
func TestUnverified(t *testing.T) {
	t.Parallel()
	o, rig := newTeam(t)
	s := rig.Write(journal.Draft{Kind: record.KindUnverified, Must: true, Body: record.Unverified{Entry: "1", Box: "team-lead", From: "eve", Why: "no record"}})
	if n := inspect.Unverified(s); n != 1 {
		t.Errorf("%d", n)
	}
	if st, err := o.Status(t.Context(), "api"); err != nil || st.Alarms != 1 {
		t.Errorf("%+v, %v", st, err)
	}
}

// Status reports damage of a team's files as a notice, and still lists the members on record.
func TestStatusOfDamage(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		do   func(t *testing.T, o inspect.Operator, rig *operatortest.Rig)
		says string
	}{
		"a mailbox is a directory": {func(t *testing.T, o inspect.Operator, _ *operatortest.Rig) {
			testenv.Must(t, os.MkdirAll(filepath.Join(o.Boxes("api").Dirs()[0], "ann.json"), 0o700))
		}, "ann.json is a directory: mail waits on record"},
		"something was set aside": {func(t *testing.T, _ inspect.Operator, rig *operatortest.Rig) {
			dir := rig.State().Dir.Quarantine()
			testenv.Must(t, os.MkdirAll(dir, 0o700))
			for _, name := range []string{"config.json-" + time.Now().UTC().Format(mail.StampForm), "old.json-20010101T000000.000Z"} {
				testenv.Must(t, os.WriteFile(filepath.Join(dir, name), []byte("{}"), 0o600))
			}
		}, "(a file of 2 bytes)"},
		"the registry was edited": {func(_ *testing.T, _ inspect.Operator, rig *operatortest.Rig) {
			rig.Write(journal.Draft{Kind: record.KindUnverified, Must: true, Body: record.Unverified{Entry: "1", Box: "config.json", Why: "eve was added"}})
		}, "config.json was changed by somebody else: eve was added"},
	} {
		t.Run(what, func(t *testing.T) {
			o, rig := newTeam(t)
			rig.Joined("ann", record.Cooperative)
			c.do(t, o, rig)
			st, err := o.Status(t.Context(), "api")
			if err != nil || !strings.Contains(strings.Join(st.Damage, "; "), c.says) || len(st.Members) != 1 || strings.Contains(strings.Join(st.Damage, "; "), "old.json") {
				t.Errorf("%+v, %v", st, err)
			}
		})
	}
}

// If a team's directory was removed, Status shows the team from its record.
func TestStatusWithoutDirectory(t *testing.T) {
	t.Parallel()
	o, rig := newTeam(t)
	rig.Joined("ann", record.Cooperative)
	testenv.Must(t, os.RemoveAll(o.Root.TeamDir("api")))
	rig.Until("a leader notices", func(l *control.Leader) bool { return l.Noticed.Missing() })
	st, err := o.Status(t.Context(), "api")
	if err != nil || st.Gone == nil || st.Gone.Path != o.Root.TeamDir("api") || len(st.Members) != 1 {
		t.Errorf("%+v, %v", st, err)
	}
	_, err = o.Team(t.Context(), "api")
	operatortest.Is(t, "its registry", err, operator.NotFound, "api")
}

// Status shows another program's team as far as files tell.
func TestForeign(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	o := inspect.Of(op)
	self, err := spawn.Identify(os.Getpid())
	testenv.Must(t, err)
	members := []map[string]any{{"name": "team-lead", "agentType": "team-lead"}, {"name": "ann", "isActive": true, "backendType": "in-process"}, {"name": "bob", "isActive": false}, {"name": "eve"}}
	operatortest.Foreign(t, op, "theirs", map[string]any{"leadProcess": map[string]any{"pid": self.PID, "procStart": self.Start}}, members...)
	operatortest.Foreign(t, op, "dead", map[string]any{"leadProcess": map[string]any{"pid": self.PID, "procStart": "1"}}, members...)
	st, err := o.Status(t.Context(), "theirs")
	if err != nil || !st.Leader.Foreign || st.Leader.PID != self.PID || len(st.Members) != 4 {
		t.Fatalf("%+v, %v", st, err)
	}
	for name, want := range map[string]inspect.MemberState{"ann": inspect.StateWorking, "bob": inspect.StateIdle, "eve": inspect.StateUnknown} {
		if m := member(st, name); m.State != want || m.Trust != record.FileTrust || m.Log != "" {
			t.Errorf("%s: %+v", name, m)
		}
	}
	st, err = o.Status(t.Context(), "dead")
	if err != nil || member(st, "ann").State != inspect.StateDead || member(st, "bob").State != inspect.StateUnknown || !strings.Contains(member(st, "bob").Why, "lead that it worked for is gone") {
		t.Errorf("%+v, %v", st, err)
	}
	y, err := o.Why(t.Context(), "theirs", "BOB")
	if err != nil || y.Name != "bob" || y.State != "idle" || !evident(y, "registry", "another program leads the team") {
		t.Errorf("%+v, %v", y, err)
	}
	_, err = o.Why(t.Context(), "theirs", "bobby")
	operatortest.Is(t, "nobody", err, operator.NotFound, "bobby")
	_, err = o.Recap(t.Context(), "theirs", time.Time{})
	operatortest.Is(t, "a recap", err, operator.NotFound, "another program leads that team")
	if o.WorkedIn(t.Context(), "theirs") {
		t.Error("nothing was done there")
	}
	p, err := o.Peek(t.Context(), "theirs", "bob", 3)
	if err != nil || !p.At.IsZero() || len(p.Lines) != 0 || p.Where != inspect.WhereTeam {
		t.Errorf("%+v, %v", p, err)
	}
}

// A process that a registry names with a start time counts only if it has that start time.
func TestForeignProcess(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	o := inspect.Of(op)
	self := testenv.Value(spawn.Identify(os.Getpid()))(t)
	for i, c := range []struct {
		more any
		pid  int
		life spawn.State
	}{
		{nil, 0, ""},
		{7, 0, ""},
		{map[string]any{"pid": -1}, 0, ""},
		{map[string]any{"pid": self.PID}, self.PID, ""}, // which process had it then is not known
		{map[string]any{"pid": self.PID, "procStart": ""}, self.PID, ""},
		{map[string]any{"pid": self.PID, "procStart": self.Start}, self.PID, spawn.Running},
		{map[string]any{"pid": self.PID, "procStart": "12"}, self.PID, spawn.Gone},
		{map[string]any{"pid": 1 << 30}, 1 << 30, spawn.Gone},
	} {
		name := protocol.TeamName(fmt.Sprint("t", i))
		more := map[string]any{}
		if c.more != nil {
			more["leadProcess"] = c.more
		}
		operatortest.Foreign(t, op, name, more, map[string]any{"name": "team-lead"})
		tv := testenv.Value(o.Team(t.Context(), name))(t)
		if f := inspect.ForeignProcess(tv.Config); f.PID != c.pid || f.Process != c.life {
			t.Errorf("%v: %+v", c.more, f)
		}
		if runs := c.pid != 0 && c.life != spawn.Gone; runs != (len(tv.Live) == 1) || tv.Ours {
			t.Errorf("%v: %+v", c.more, tv)
		}
	}
}

// Teams are listed with what of them runs; one that cannot be read is listed as a problem.
func TestTeams(t *testing.T) {
	t.Parallel()
	o, rig := newTeam(t)
	rig.Member("ann", operatortest.Idle)
	operatortest.Foreign(t, rig.Op, "theirs", nil, map[string]any{"name": "team-lead"}, map[string]any{"name": "bob"})
	operatortest.Foreign(t, rig.Op, "zero", nil)
	testenv.Must(t, os.WriteFile(o.Root.ConfigPath("zero"), []byte("{"), 0o600))
	rows, problems, err := o.Teams(t.Context())
	if err != nil || len(problems) != 1 || !strings.Contains(problems[0].Error(), "zero") {
		t.Errorf("%v, %v", problems, err)
	}
	want := []inspect.TeamRow{{Name: "api", Dialect: "named", Layout: "array", Members: 2, Live: 1}, {Name: "theirs", Dialect: "named", Layout: "array", Members: 2}, {Name: "zero", Dialect: "unreadable", Layout: "array"}}
	if !slices.Equal(rows, want) {
		t.Errorf("%+v", rows)
	}
	tv, err := o.Team(t.Context(), "api")
	if err != nil || !tv.Ours || tv.Led || !slices.Equal(tv.Active(), []protocol.MemberName{"team-lead", "ann"}) || len(tv.Live) != 1 || tv.Live[0] != (inspect.Running{Name: "ann", PID: os.Getpid()}) {
		t.Fatalf("%+v, %v", tv, err)
	}
	_, err = o.Team(t.Context(), "nobody")
	operatortest.Is(t, "no team", err, operator.NotFound, "nobody")
	if ks, err := o.PastNames(); err != nil || len(ks) != 1 || ks[0].Name != "api" {
		t.Errorf("%+v, %v", ks, err)
	}
}

func evident(y *inspect.Why, source, says string) bool {
	return slices.ContainsFunc(y.Evidence, func(e inspect.Fact) bool { return e.Source == source && strings.Contains(e.Detail, says) })
}

// Why names each ground for what status says.
func TestWhy(t *testing.T) {
	t.Parallel()
	o, rig, req := worked(t)
	for name, want := range map[string]map[string]string{
		"bob": {"leader's journal": "its request " + req.Handle + " is open", "its journal": "it waits for an answer: ", "process": "its lease is held"},
		"kim": {"output": "output.log was last written then and has 18 bytes", "its journal": "it has itself as idle", "process": "runs and is the one that started then (start 1 of it)", "mailbox": "nothing in it is unread"},
		"zoe": {"leader's journal": "agent exec, level cooperative", "its journal": "it is empty", "process": "no process of it has ever"},
	} {
		y, err := o.Why(t.Context(), "api", name)
		if err != nil || y.Name != name || y.Team != "api" {
			t.Errorf("%s: %+v, %v", name, y, err)
			continue
		}
		for source, says := range want {
			if !evident(y, source, says) {
				t.Errorf("%s: no %q of %s in %+v", name, says, source, y.Evidence)
			}
		}
	}
	i := rig.Instance("zoe")
	rig.Write(journal.Draft{Kind: record.KindLeft, Must: true, Body: record.Left{Instance: i, How: record.LeftStopped, Detail: "in the end"}})
	y, err := o.Why(t.Context(), "api", "zoe")
	if err != nil || y.State != "left" || y.Why != "it left: stopped: in the end" || y.Since.IsZero() {
		t.Errorf("%+v, %v", y, err)
	}
	_, err = o.Why(t.Context(), "api", "nobody")
	operatortest.Is(t, "nobody", err, operator.NotFound, "nobody")
}

// Peek shows the end of a member's output, also of a member that has left; a tail goes on from there.
func TestPeek(t *testing.T) {
	t.Parallel()
	o, _, _ := worked(t)
	p, err := o.Peek(t.Context(), "api", "kim", 2)
	if err != nil || !slices.Equal(p.Lines, []string{"three", "half"}) || !p.Earlier || p.Shown != inspect.ShownLines || p.State != "idle" || p.At.IsZero() || p.Where != inspect.WhereTeam {
		t.Fatalf("%+v, %v", p, err)
	}
	tail := p.Follow()
	if lines, err := tail.Next(); len(lines) != 0 || err != nil {
		t.Errorf("%q, %v", lines, err)
	}
	f, err := os.OpenFile(p.Log, os.O_APPEND|os.O_WRONLY, 0)
	testenv.Must(t, err)
	defer f.Close()
	testenv.Value(f.WriteString(" and half\nfour\nfi"))(t)
	if lines, err := tail.Next(); err != nil || !slices.Equal(lines, []string{" and half", "four"}) {
		t.Errorf("%q, %v", lines, err)
	}
	if rest := tail.Rest(); !slices.Equal(rest, []string{"fi"}) || len(tail.Rest()) != 0 {
		t.Errorf("%q", rest)
	}
	testenv.Must(t, os.Rename(p.Log, p.Log+".1"))
	if lines, err := tail.Next(); err != nil || len(lines) != 0 {
		t.Errorf("%q, %v", lines, err)
	}
	testenv.Must(t, os.WriteFile(p.Log, []byte("new\n"), 0o600))
	if lines, err := tail.Next(); err != nil || !slices.Equal(lines, []string{"new"}) {
		t.Errorf("%q, %v", lines, err)
	}
	if p, err = o.Peek(t.Context(), "api", "kim", 3); err != nil || !slices.Equal(p.Lines, []string{"half and half", "four", "finew"}) || !p.Earlier {
		t.Errorf("over two parts: %+v, %v", p, err)
	}
	if p, err = o.Peek(t.Context(), "api", "zoe", 3); err != nil || !p.At.IsZero() || p.Log != "" {
		t.Errorf("%+v, %v", p, err)
	}
	_, err = o.Peek(t.Context(), "api", "nobody", 3)
	operatortest.Is(t, "nobody", err, operator.NotFound, "nobody")
}

// Peek shows the present screen of a program that fills its screen.
func TestPeekOfAScreen(t *testing.T) {
	t.Parallel()
	o, rig := newTeam(t)
	rig.Joined("ann", record.Cooperative)
	dir := o.Root.MemberDir("api", "ann")
	testenv.Must(t, os.MkdirAll(dir, 0o700))
	testenv.Must(t, os.WriteFile(filepath.Join(dir, "output.log"), []byte("\x1b[?1049h\x1b[2J\x1b[1;1Hfirst\x1b[1;1Hagain\x1b[3;1Hthird"), 0o600))
	p, err := o.Peek(t.Context(), "api", "ann", 5)
	if err != nil || p.Shown != inspect.ShownScreen || !slices.Contains(p.Lines, "again") || slices.Contains(p.Lines, "first") {
		t.Errorf("%+v, %v", p, err)
	}
}

// Recap reports what happened since a time, and what waits now.
func TestRecap(t *testing.T) {
	t.Parallel()
	o, rig, req := worked(t)
	d, err := o.Recap(t.Context(), "api", time.Unix(1, 0))
	if err != nil || d.SinceWhy != "you said so" || d.State != "interrupted" || d.Calls.Allowed != 1 {
		t.Fatalf("%+v, %v", d, err)
	}
	if len(d.Calls.Denied) != 1 || d.Calls.Denied[0].Member != "bob" || d.Calls.Denied[0].Asks != "Bash rm x" {
		t.Errorf("%+v", d.Calls)
	}
	if len(d.Waiting) != 1 || d.Waiting[0].ID != string(req.ID) || d.Waiting[0].Asks != "Bash make check" || d.Waiting[0].Member != "bob" {
		t.Errorf("%+v", d.Waiting)
	}
	if len(d.Messages) != 1 || d.Messages[0].From != "kim" || d.Messages[0].Text != "all is well" || d.Messages[0].Read {
		t.Errorf("%+v", d.Messages)
	}
	outcomes := map[string]string{}
	for _, r := range d.Results {
		outcomes[r.Member] = r.Outcome + " " + r.Subject
	}
	if outcomes["ann"] != "completed work of ann" || outcomes["kim"] != "completed look around" || outcomes["eve"] != "failed work of eve" || outcomes["bob"] != "" {
		t.Errorf("%v", outcomes)
	}
	if len(d.Trouble) != 1 || d.Trouble[0].Member != "zoe" || d.Trouble[0].What != "failed" {
		t.Errorf("%+v", d.Trouble)
	}
	said := map[string]string{}
	for _, m := range d.Members {
		said[m.Member+" "+m.What] = m.Detail
	}
	if said["ann joined"] != "agent exec" || said["zoe died"] != "exit status 3; given up" {
		t.Errorf("%v", said)
	}
	again, err := o.Recap(t.Context(), "api", time.Time{})
	if err != nil || !strings.HasPrefix(again.SinceWhy, "you decided ") || len(again.Waiting) != 1 {
		t.Errorf("%+v, %v", again, err)
	}
	rig.Write(journal.Draft{Kind: record.KindDetached, Must: true, Body: record.Detached{}})
	last, err := o.Recap(t.Context(), "api", time.Time{})
	if err != nil || last.SinceWhy != "you detached" || len(last.Results) != 0 || len(last.Members) != 0 {
		t.Errorf("%+v, %v", last, err)
	}
	_, err = o.Recap(t.Context(), "nobody", time.Time{})
	operatortest.Is(t, "no team", err, operator.NotFound, "")
}
