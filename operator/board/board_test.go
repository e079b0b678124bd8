package board_test

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/agent"
	"waggle/control"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/mail"
	"waggle/operator/teamfile"
	"waggle/protocol"
	"waggle/record"
	"waggle/task"
)

// foreign is the name of a team that another program leads.
const foreign protocol.TeamName = "session-1a2b3c4d"

// add puts a task on the board and fails the test on an error.
func add(t testing.TB, r *operatortest.Rig, n board.NewTask) *board.TaskResult {
	t.Helper()
	return testenv.Value(board.Of(r.Op).AddTask(t.Context(), r.Name, n))(t)
}

func show(t testing.TB, r *operatortest.Rig, id task.ID) *board.TaskDetail {
	t.Helper()
	return testenv.Value(board.Of(r.Op).Task(t.Context(), r.Name, id))(t)
}

func TestAddTask(t *testing.T) {
	op, tm := operatortest.API(t)
	for _, c := range []struct {
		n    board.NewTask
		code operator.Kind
		says string
	}{
		{board.NewTask{Subject: " "}, operator.Usage, "needs a subject"},
		{board.NewTask{Subject: "a\xff"}, operator.Usage, "UTF-8"},
		{board.NewTask{Subject: "x", Description: strings.Repeat("a", protocol.MaxText+1)}, operator.Usage, "UTF-8"},
		{board.NewTask{Subject: "x", Owner: "nobody"}, operator.NotFound, "nobody"},
		{board.NewTask{Subject: "x", After: []task.ID{"9"}}, operator.Refused, "no task 9 to wait for"},
	} {
		_, err := board.Of(op).AddTask(t.Context(), "api", c.n)
		operatortest.Fails(t, err, c.code, c.says)
	}
	if l, err := board.Of(op).Tasks(t.Context(), "api", true); err != nil || len(l.Tasks) != 0 {
		t.Fatalf("%+v, %v", l, err)
	}
	_, err := board.Of(op).AddTask(t.Context(), "gone", board.NewTask{Subject: "x"})
	operatortest.Fails(t, err, operator.NotFound, "gone")

	first := add(t, tm, board.NewTask{Subject: "build", Description: "make", ActiveForm: "building"})
	if !first.Changed || first.Ordered || first.Task.ID != "1" || first.Task.Status != task.Pending || first.Task.Blocked {
		t.Errorf("%+v", first)
	}
	second := add(t, tm, board.NewTask{Subject: "ship", After: []task.ID{"1"}})
	if !second.Task.Blocked || !slices.Equal(second.Task.WaitsFor, []task.ID{"1"}) {
		t.Errorf("%+v", second)
	}
	add(t, tm, board.NewTask{Subject: "design", Before: []task.ID{"1"}})
	d := show(t, tm, "1")
	if d.Description != "make" || d.ActiveForm != "building" || !slices.Equal(d.Blocks, []task.ID{"2"}) || !slices.Equal(d.BlockedBy, []task.ID{"3"}) || !d.Blocked || d.Order != nil || d.Metadata == nil {
		t.Errorf("%+v", d)
	}
	for _, id := range []task.ID{"7", "../x"} {
		_, err = board.Of(op).Task(t.Context(), "api", id)
		operatortest.Fails(t, err, operator.NotFound, "team api has no task "+string(id))
	}
}

// A list has the tasks in order, without those of the harness, and says what is wrong with
// files.
func TestTasks(t *testing.T) {
	op, tm := operatortest.API(t)
	add(t, tm, board.NewTask{Subject: "build"})
	add(t, tm, board.NewTask{Subject: "ship", After: []task.ID{"1"}})
	dir := op.Root.TasksDir("api")
	for name, data := range map[string]string{
		"3.json": `{"id":"3","subject":"inner","description":"","status":"pending","blocks":[],"blockedBy":[],"metadata":{"_internal":true}}`,
		"4.json": `{`,
	} {
		testenv.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600))
	}
	l, err := board.Of(op).Tasks(t.Context(), "api", false)
	if err != nil || l.Team != "api" || l.Hidden != 1 || len(l.Tasks) != 2 || l.Tasks[0].Subject != "build" || !l.Tasks[1].Blocked || len(l.Forest) != 2 || !slices.Equal(l.Forest[1].Waits, []task.ID{"1"}) {
		t.Fatalf("%+v, %v", l, err)
	}
	if len(l.Problems) != 1 || !strings.Contains(l.Problems[0], "4.json") {
		t.Errorf("%q", l.Problems)
	}
	if all, err := board.Of(op).Tasks(t.Context(), "api", true); err != nil || len(all.Tasks) != 3 || all.Hidden != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	// The list of tasks can be read after its team is gone.
	testenv.Must(t, os.Rename(dir, op.Root.TasksDir("alone")))
	if l, err := board.Of(op).Tasks(t.Context(), "alone", false); err != nil || len(l.Tasks) != 2 {
		t.Errorf("%+v, %v", l, err)
	}
	_, err = board.Of(op).AssignTask(t.Context(), "alone", "1", "bob", board.Terms{})
	operatortest.Fails(t, err, operator.NotFound, "team alone is gone")
	if l, err := board.Of(op).Tasks(t.Context(), "api", false); err != nil || l.Tasks == nil || len(l.Tasks) != 0 {
		t.Errorf("%+v, %v", l, err)
	}
	_, err = board.Of(op).Tasks(t.Context(), "gone", false)
	operatortest.Fails(t, err, operator.NotFound, "gone")
}

// The steps of a task that a member by file claims: each says whether it changed something.
func TestStepsOfATask(t *testing.T) {
	op, tm := operatortest.API(t)
	tm.ByFile("bob")
	tm.ByFile("cas")
	o, ctx := board.Of(op), t.Context()
	add(t, tm, board.NewTask{Subject: "build"})
	add(t, tm, board.NewTask{Subject: "ship", After: []task.ID{"1"}})
	add(t, tm, board.NewTask{Subject: "tell"})
	step := func(what string, res *board.TaskResult, err error, changed bool, owner string, status task.Status) {
		t.Helper()
		if err != nil || res.Changed != changed || res.Task.Owner != owner || res.Task.Status != status || res.Ordered {
			t.Fatalf("%s: %+v, %v", what, res, err)
		}
	}
	_, err := o.StartTask(ctx, "api", "1", "")
	operatortest.Fails(t, err, operator.Refused, "task 1 is nobody's")
	_, err = o.ClaimTask(ctx, "api", "2", "bob")
	operatortest.Fails(t, err, operator.Refused, "task 2 waits for 1")
	res, err := o.ClaimTask(ctx, "api", "", "BOB")
	step("claim the first", res, err, true, "bob", task.InProgress)
	_, err = o.ClaimTask(ctx, "api", "1", "cas")
	operatortest.Fails(t, err, operator.Refused, "task 1 is bob's, in_progress")
	_, err = o.ClaimTask(ctx, "api", "3", "bob")
	operatortest.Fails(t, err, operator.Refused, "the claimant has 1 in progress")
	_, err = o.ClaimTask(ctx, "api", "3", "nobody")
	operatortest.Fails(t, err, operator.NotFound, "nobody")
	_, err = o.ClaimTask(ctx, "api", "9", "cas")
	operatortest.Fails(t, err, operator.NotFound, "no task 9")
	res, err = o.StartTask(ctx, "api", "1", "")
	step("start again", res, err, false, "bob", task.InProgress)
	res, err = o.ReleaseTask(ctx, "api", "1")
	step("give back", res, err, true, "", task.Pending)
	if res, err = o.ReleaseTask(ctx, "api", "1"); err != nil || res.Changed {
		t.Errorf("give back again: %+v, %v", res, err)
	}
	res, err = o.AssignTask(ctx, "api", "1", "bob", board.Terms{})
	if err != nil || !res.Changed || res.Ordered || res.Task.Owner != "bob" {
		t.Fatalf("assign: %+v, %v", res, err)
	}
	res, err = o.StartTask(ctx, "api", "1", "bob")
	step("start", res, err, true, "bob", task.InProgress)
	res, err = o.FinishTask(ctx, "api", "1", "")
	step("finish", res, err, true, "bob", task.Completed)
	if order := show(t, tm, "1").Order; order == nil || order.Member != "bob" || order.By != "operator" || !order.Sent || order.SHA256 != record.HashText("") {
		t.Errorf("the order: %+v", order)
	}
	_, err = o.AssignTask(ctx, "api", "1", "cas", board.Terms{})
	operatortest.Fails(t, err, operator.Refused, "task 1 is completed")
	if show(t, tm, "2").Blocked {
		t.Error("who waited for it waits still")
	}
	res, err = o.FinishTask(ctx, "api", "3", "")
	step("finish what is nobody's", res, err, true, string(protocol.Lead), task.Completed)
	testenv.Value(o.ClaimTask(ctx, "api", "", "cas"))(t)
	_, err = o.ClaimTask(ctx, "api", "", "bob")
	operatortest.Fails(t, err, operator.Refused, "no task is pending")
	empty := operatortest.Team(t, op, "empty", record.PolicySet{})
	testenv.Must(t, os.RemoveAll(op.Root.TasksDir("empty")))
	_, err = o.ClaimTask(ctx, empty.Name, "", protocol.Lead)
	operatortest.Fails(t, err, operator.Refused, "no task is pending")
	_, err = o.ReleaseTask(ctx, empty.Name, "1")
	operatortest.Fails(t, err, operator.NotFound, "no task 1")
}

func TestBlockAndRemove(t *testing.T) {
	op, tm := operatortest.API(t)
	for _, s := range []string{"one", "two", "three"} {
		add(t, tm, board.NewTask{Subject: s})
	}
	o, ctx := board.Of(op), t.Context()
	for _, c := range []struct {
		add, drop []task.ID
		all       bool
		want      []task.ID
		changed   bool
	}{
		{[]task.ID{"1", "2"}, nil, false, []task.ID{"1", "2"}, true},
		{[]task.ID{"2"}, nil, false, []task.ID{"1", "2"}, false},
		{nil, []task.ID{"1"}, false, []task.ID{"2"}, true},
		{[]task.ID{"1"}, nil, true, []task.ID{"1"}, true},
		{nil, nil, true, []task.ID{}, true},
	} {
		res, err := o.BlockTask(ctx, "api", "3", c.add, c.drop, c.all)
		if err != nil || res.Changed != c.changed || !slices.Equal(res.Task.BlockedBy, c.want) || res.Task.Blocked != (len(c.want) > 0) {
			t.Fatalf("%+v: %+v, %v", c, res, err)
		}
	}
	testenv.Value(o.BlockTask(ctx, "api", "1", []task.ID{"3"}, nil, false))(t)
	_, err := o.BlockTask(ctx, "api", "3", []task.ID{"1"}, nil, false)
	operatortest.Fails(t, err, operator.Refused, "would wait for each other")
	_, err = o.BlockTask(ctx, "api", "3", []task.ID{"3"}, nil, false)
	operatortest.Fails(t, err, operator.Refused, "task 3 and itself would wait")
	_, err = o.BlockTask(ctx, "api", "9", []task.ID{"3"}, nil, false)
	operatortest.Fails(t, err, operator.NotFound, "no task 9")
	testenv.Must(t, o.RemoveTask(ctx, "api", "3"))
	operatortest.Fails(t, o.RemoveTask(ctx, "api", "3"), operator.NotFound, "no task 3")
	if d := show(t, tm, "1"); d.Blocked || len(d.WaitsFor) != 0 {
		t.Errorf("it waits for what is gone: %+v", d)
	}
	if res := add(t, tm, board.NewTask{Subject: "four"}); res.Task.ID != "4" {
		t.Errorf("an id was given again: %+v", res)
	}
}

// A member that waggle runs gets a task as an order in the journal and does it. While the member works
// on the task, no command changes the task.
func TestTasksOfAMemberThatRuns(t *testing.T) {
	op, tm := operatortest.API(t)
	turn, begun, free := operatortest.Busy()
	tm.Member("ann", turn)
	tm.ByFile("bob")
	o, ctx := board.Of(op), t.Context()
	res := add(t, tm, board.NewTask{Subject: "long", Description: "make", Owner: "Ann", Terms: board.Terms{Timeout: time.Hour}})
	if !res.Ordered || !res.Changed || res.Task.Owner != "ann" {
		t.Fatalf("%+v", res)
	}
	<-begun
	order, ok := tm.State().Lead.Assignment("1")
	if !ok || order.Instance != tm.Instance("ann") || order.Commanded.Task.TimeoutMS != time.Hour.Milliseconds() || order.Commanded.Task.Instructions != "make" {
		t.Fatalf("%+v", order)
	}
	if same, err := o.AssignTask(ctx, "api", "1", "ann", board.Terms{}); err != nil || same.Changed || same.Ordered {
		t.Errorf("again: %+v, %v", same, err)
	}
	for what, err := range map[string]error{
		"assign":  second(o.AssignTask(ctx, "api", "1", "bob", board.Terms{})),
		"release": second(o.ReleaseTask(ctx, "api", "1")),
		"done":    second(o.FinishTask(ctx, "api", "1", "bob")),
		"rm":      o.RemoveTask(ctx, "api", "1"),
	} {
		if operatortest.Fails(t, err, operator.Refused, "ann is working on task 1"); t.Failed() {
			t.Fatal(what)
		}
	}
	_, err := o.ClaimTask(ctx, "api", "1", "ann")
	operatortest.Fails(t, err, operator.Refused, "ann does only what it is ordered to do")
	_, err = o.AddTask(ctx, "api", board.NewTask{Subject: "x", Owner: "bob", Terms: board.Terms{Cwd: "sub"}})
	operatortest.Fails(t, err, operator.Usage, "waggle does not run bob")
	_, err = o.ReleaseAll(ctx, "api", "ann")
	operatortest.Fails(t, err, operator.Refused, "ann runs as process")
	inside := board.Of(tm.FromInside())
	_, err = inside.AddTask(ctx, "api", board.NewTask{Subject: "mine", Owner: "bob"})
	operatortest.Fails(t, err, operator.Refused, "task add was called from inside member ann")
	operatortest.Fails(t, inside.RemoveTask(ctx, "api", "1"), operator.Refused, "task rm was called from inside member ann")
	free()
	tm.Until("it is done", func(*control.Leader) bool { return show(t, tm, "1").Status == task.Completed })
}

// AssignTask does not repeat an order that stands, and the order keeps its terms. With other terms it
// makes another order.
func TestAnOrderThatStandsIsNotRepeated(t *testing.T) {
	op, tm := operatortest.API(t)
	tm.Join("ann")
	if res := add(t, tm, board.NewTask{Subject: "build", Owner: "ann", Terms: board.Terms{Timeout: time.Hour}}); !res.Ordered {
		t.Fatalf("%+v", res)
	}
	first := show(t, tm, "1").Order
	for _, c := range []struct {
		terms   board.Terms
		ordered bool
		timeout time.Duration
	}{
		{board.Terms{}, false, time.Hour},
		{board.Terms{Timeout: time.Hour}, false, time.Hour},
		{board.Terms{Timeout: time.Minute}, true, time.Minute},
	} {
		res, err := board.Of(op).AssignTask(t.Context(), "api", "1", "ann", c.terms)
		if err != nil || res.Ordered != c.ordered || res.Changed != c.ordered {
			t.Errorf("%+v: %+v, %v", c, res, err)
		}
		order, _ := tm.State().Lead.Assignment("1")
		if order == nil || (uint64(order.Seq) != first.Seq) != c.ordered || order.Commanded.Task.TimeoutMS != c.timeout.Milliseconds() {
			t.Errorf("%+v: %+v", c, order)
		}
	}
}

// An assignment that sets one of a task's terms keeps the others: a task whose own check decides does not go by
// its owner's because it got another timeout.
func TestAnAssignmentKeepsTheTermsThatItDoesNotSet(t *testing.T) {
	op, tm := operatortest.API(t)
	tm.Join("ann")
	tm.Join("bob")
	own, other := &record.Check{Command: "make check"}, &record.Check{Command: "true"}
	add(t, tm, board.NewTask{Subject: "build", Owner: "ann", Terms: board.Terms{Check: own, Plan: true}})
	for _, c := range []struct {
		terms board.Terms
		check *record.Check
		limit time.Duration
	}{
		{board.Terms{Timeout: time.Minute}, own, time.Minute},
		{board.Terms{Plan: true}, own, time.Minute},
		{board.Terms{Check: other}, other, time.Minute},
		{board.Terms{}, other, time.Minute},
	} {
		for _, owner := range []protocol.MemberName{"bob", "ann"} {
			testenv.Value(board.Of(op).AssignTask(t.Context(), "api", "1", owner, c.terms))(t)
			order, _ := tm.State().Lead.Assignment("1")
			if got := order.Commanded.Task; !reflect.DeepEqual(got.Check, c.check) || got.TimeoutMS != c.limit.Milliseconds() || !got.PlanRequired || got.Cwd != "" {
				t.Errorf("%+v, to %s: %+v", c.terms, owner, got)
			}
		}
	}
}

func second(_ *board.TaskResult, err error) error { return err }

// The Note of a task has what the board does not say: why the task failed, and that nobody ordered it.
func TestNotes(t *testing.T) {
	op, tm := operatortest.API(t)
	tm.Member("ann", func(context.Context, agent.Host, agent.Work) (agent.Result, error) {
		return agent.Result{Failed: true, Reason: "no such file"}, nil
	})
	tm.ByFile("bob")
	o, ctx := board.Of(op), t.Context()
	add(t, tm, board.NewTask{Subject: "fails", Owner: "ann"})
	tm.Until("its failure is noted", func(*control.Leader) bool { return show(t, tm, "1").Note.Text == "failed: no such file" })
	if again, err := o.AssignTask(ctx, "api", "1", "ann", board.Terms{}); err != nil || !again.Ordered {
		t.Errorf("what failed is ordered anew: %+v, %v", again, err)
	}
	file := filepath.Join(op.Root.TasksDir("api"), "9.json")
	testenv.Must(t, os.WriteFile(file, []byte(`{"id":"9","subject":"s","description":"","status":"pending","owner":"ann","blocks":[],"blockedBy":[]}`), 0o600))
	if note := show(t, tm, "9").Note.Text; !strings.HasPrefix(note, "nobody ordered it") {
		t.Errorf("%q", note)
	}
	if res := add(t, tm, board.NewTask{Subject: "s", Owner: "bob"}); res.Task.ID != "10" {
		t.Fatalf("%+v", res)
	}
	released, err := o.ReleaseAll(ctx, "api", "bob")
	if err != nil || !slices.Equal(released, []task.ID{"10"}) {
		t.Fatalf("%v, %v", released, err)
	}
	if d := show(t, tm, "10"); d.Owner != "" || d.Note.Text != "given back: bob was declared gone by the operator" {
		t.Errorf("%+v", d)
	}
	if again, err := o.ReleaseAll(ctx, "api", "bob"); err != nil || again == nil || len(again) != 0 {
		t.Errorf("%v, %v", again, err)
	}
}

// In another program's team an assignment is words in the owner's mailbox, signed by a member
// that was registered here.
func TestAssignForeign(t *testing.T) {
	op := operatortest.New(t)
	tm := operatortest.ForeignTeam(t, op, foreign, "theirs")
	res := add(t, tm, board.NewTask{Subject: "build", Description: "make", Owner: "theirs", Terms: board.Terms{Plan: true}})
	if !res.Changed || res.Ordered || res.Task.Owner != "theirs" {
		t.Fatalf("%+v", res)
	}
	in, err := mail.Of(op).Inbox(t.Context(), foreign, "theirs", true)
	if err != nil || len(in.Entries) != 1 || in.Entries[0].From != "waggle" || in.Entries[0].Kind != string(protocol.KindTaskAssignment) {
		t.Fatalf("%+v, %v", in, err)
	}
	var words struct {
		TaskID, AssignedBy, Subject string
		PlanModeRequired            bool
	}
	if err := json.Unmarshal([]byte(in.Entries[0].Text), &words); err != nil || words.TaskID != "1" || words.AssignedBy != "waggle" || words.Subject != "build" || !words.PlanModeRequired {
		t.Errorf("%+v, %v: %s", words, err, in.Entries[0].Text)
	}
	_, err = board.Of(op).AssignTask(t.Context(), foreign, "1", "theirs", board.Terms{As: "theirs"})
	operatortest.Fails(t, err, operator.Refused, "theirs was not registered here")
	_, err = board.Of(op).AssignTask(t.Context(), foreign, "1", "theirs", board.Terms{As: "a b"})
	operatortest.Fails(t, err, operator.Usage, "a b")
	// A member that no order can reach does not become an owner.
	testenv.Must(t, os.Remove(tm.Mailbox("theirs")))
	testenv.Must(t, os.Mkdir(tm.Mailbox("theirs"), 0o700))
	if _, err = board.Of(op).AddTask(t.Context(), foreign, board.NewTask{Subject: "ship", Owner: "theirs"}); err == nil || !strings.Contains(err.Error(), "the message to theirs failed") {
		t.Errorf("%v", err)
	}
	if d := show(t, tm, "2"); d.Owner != "" || d.Status != task.Pending {
		t.Errorf("%+v", d)
	}
}

// Artifacts lists the files that members have made, and OpenArtifact reads one by its path. Neither
// reaches a file outside of a member's directory.
func TestArtifacts(t *testing.T) {
	op, tm := operatortest.API(t)
	tm.ByFile("bob")
	o, ctx := board.Of(op), t.Context()
	for name, data := range map[string]string{"ann/output.log": "said", "ann/artifacts/report.md": "# Report", "bob/artifacts/a.txt": "a"} {
		path := filepath.Join(op.Root.TasksDir("api"), filepath.FromSlash(name))
		testenv.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		testenv.Must(t, os.WriteFile(path, []byte(data), 0o600))
	}
	list := func(member protocol.MemberName) (all []string) {
		rows, problems, err := o.Artifacts(ctx, "api", member)
		if err != nil || len(problems) != 0 {
			t.Fatal(problems, err)
		}
		for _, r := range rows {
			if r.Modified.IsZero() || r.Size == 0 {
				t.Errorf("%+v", r)
			}
			all = append(all, string(r.Member)+" "+r.Kind+" "+r.Path)
		}
		return all
	}
	if got := list(""); len(got) != 3 || !slices.Contains(got, "bob artifact artifacts/a.txt") {
		t.Errorf("%q", got)
	}
	got := list("ANN")
	if slices.Sort(got); !slices.Equal(got, []string{"ann artifact artifacts/report.md", "ann log output.log"}) {
		t.Errorf("%q", got)
	}
	f, err := o.OpenArtifact(ctx, "api", "ann", "artifacts/report.md")
	testenv.Must(t, err)
	data, err := io.ReadAll(f)
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if string(data) != "# Report" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	for _, c := range []struct {
		member protocol.MemberName
		path   string
		code   operator.Kind
		says   string
	}{
		{"ann", "artifacts/none", operator.NotFound, "ann has no file artifacts/none"},
		{"ann", "../bob/artifacts/a.txt", operator.Refused, "bob"},
		{"cas", "x", operator.NotFound, "cas"},
	} {
		_, err := o.OpenArtifact(ctx, "api", c.member, c.path)
		operatortest.Fails(t, err, c.code, c.says)
	}
	_, _, err = o.Artifacts(ctx, "gone", "")
	operatortest.Fails(t, err, operator.NotFound, "gone")
	testenv.Must(t, os.RemoveAll(op.Root.TasksDir("api")))
	if rows, _, err := o.Artifacts(ctx, "api", ""); err != nil || len(rows) != 0 {
		t.Errorf("%+v, %v", rows, err)
	}
	_, err = o.OpenArtifact(ctx, "api", "ann", "x")
	operatortest.Fails(t, err, operator.NotFound, "ann")
}

func TestTexts(t *testing.T) {
	if got := board.Texts([]task.ID{"1", "a\x1bb"}); len(got) != 2 || got[0] != "1" || strings.Contains(got[1], "\x1b") {
		t.Errorf("%q", got)
	}
}

// TestSaysItIsDone: of a task that an agent says is done people are told that nothing else says so, unless
// its check has passed. An exec member's command says it by its exit status.
func TestSaysItIsDone(t *testing.T) {
	tm := operatortest.Team(t, operatortest.New(t), "api", record.PolicySet{})
	done := func(context.Context, agent.Host, agent.Work) (agent.Result, error) { return agent.Result{}, nil }
	tm.Member("ann", done, func(m *teamfile.FileMember) { m.Agent = "home-made" })
	tm.Member("bob", done)
	add(t, tm, board.NewTask{Subject: "said", Owner: "ann"})
	add(t, tm, board.NewTask{Subject: "checked", Owner: "ann", Terms: board.Terms{Check: &record.Check{Command: "true"}}})
	add(t, tm, board.NewTask{Subject: "ran", Owner: "bob"})
	for id, want := range map[task.ID]string{"1": board.SaysItIsDone, "2": "", "3": ""} {
		tm.Until("task "+string(id)+" is done", func(*control.Leader) bool { return show(t, tm, id).Status == task.Completed })
		if note := show(t, tm, id).Note.Text; note != want {
			t.Errorf("task %s: %q, want %q", id, note, want)
		}
	}
}

// TestCheckedByNobodyElse: a member does not say over its check that a task is done, by its name or from inside of
// it; the operator does. A check without an owner is refused, and what the board alone says is noted.
func TestCheckedByNobodyElse(t *testing.T) {
	op, tm := operatortest.API(t)
	tm.Member("ann", func(context.Context, agent.Host, agent.Work) (agent.Result, error) { return agent.Result{}, nil })
	o, ctx := board.Of(op), t.Context()
	never := board.Terms{Check: &record.Check{Command: "false"}}
	add(t, tm, board.NewTask{Subject: "one", Owner: "ann", Terms: never})
	tm.Until("its check has failed", func(*control.Leader) bool {
		return show(t, tm, "1").Note.Text == "failed: its check failed (exit status 1): false"
	})
	if d := show(t, tm, "1"); d.Order == nil || d.Order.Check != "false" {
		t.Errorf("%+v", d.Order)
	}
	_, err := o.FinishTask(ctx, "api", "1", "ann")
	operatortest.Fails(t, err, operator.Refused, "task 1 has a check")
	_, err = board.Of(tm.FromInside()).FinishTask(ctx, "api", "1", "")
	operatortest.Fails(t, err, operator.Refused, "task 1 has a check")
	if _, err := o.FinishTask(ctx, "api", "1", ""); err != nil {
		t.Error(err)
	}
	if note := show(t, tm, "1").Note.Text; note != "completed on the board alone: its check failed (exit status 1): false" {
		t.Errorf("%q", note)
	}
	_, err = o.AddTask(ctx, "api", board.NewTask{Subject: "two", Terms: never})
	operatortest.Fails(t, err, operator.Usage, "are of an assignment")
}
