package teams_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/mailbox"
	"waggle/operator"
	"waggle/operator/board"
	"waggle/operator/mail"
	"waggle/operator/teamfile"
	"waggle/operator/teams"
	"waggle/protocol"
	"waggle/record"
	"waggle/task"
)

// Migrate moves mailboxes to another layout and back with all of their messages.
func TestMigrate(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	tm := operatortest.Team(t, op, "api", record.PolicySet{})
	tm.ByFile("bob")
	send(t, tm, "bob", "hi")
	o, ctx := teams.Of(op), t.Context()
	for _, c := range []struct {
		to      mailbox.Layout
		changed bool
	}{{mailbox.JSONL, true}, {mailbox.JSONL, false}, {mailbox.Array, true}} {
		m, err := o.Migrate(ctx, "api", c.to)
		if err != nil || m.Changed != c.changed || m.Layout != c.to.String() || m.Team != "api" || !slices.Equal(m.Members, []protocol.MemberName{"bob", "team-lead"}) || len(m.Notes) != 0 {
			t.Fatalf("%+v: %+v, %v", c, m, err)
		}
		in, err := mail.Of(op).Inbox(ctx, "api", "bob", true)
		if err != nil || len(in.Entries) != 1 || in.Entries[0].Text != "hi" || filepath.Ext(in.Path) != c.to.Extension() {
			t.Errorf("%+v, %v", in, err)
		}
	}
	operatortest.ForeignTeam(t, op, foreign)
	_, err := o.Migrate(ctx, foreign, mailbox.JSONL)
	operatortest.Fails(t, err, operator.Refused, "is not led by waggle")
	if m, err := o.Migrate(ctx, foreign, mailbox.Array); err != nil || m.Changed {
		t.Errorf("%+v, %v", m, err)
	}
	_, err = o.Migrate(ctx, "gone", mailbox.JSONL)
	operatortest.Fails(t, err, operator.NotFound, "gone")

	// The next process that leads finishes a change that was cut short; an intent that nobody can read stays.
	intent := filepath.Join(op.Root.TeamDir("api"), ".layout")
	for content, want := range map[string]mailbox.Layout{`{"to":"jsonl"}`: mailbox.JSONL, "?": mailbox.Array} {
		write(t, intent, content)
		if _, err := op.Pass(ctx, tm.State()); err != nil {
			t.Errorf("%s: %v", content, err)
		}
		now, err := op.Boxes("api").Layout()
		if _, missing := os.Lstat(intent); now != want || err != nil || (missing != nil) != (want == mailbox.JSONL) {
			t.Errorf("%s: %v, %v, the intent %v", content, now, err, missing)
		}
		testenv.Must(t, os.RemoveAll(intent))
		if _, err := o.Migrate(ctx, "api", mailbox.Array); err != nil {
			t.Fatal(err)
		}
	}

	// A process that leads, and then a member that runs, keep the layout as it is.
	release, held, err := tm.State().Dir.TryLead()
	if err != nil || !held {
		t.Fatal(held, err)
	}
	_, err = o.Migrate(ctx, "api", mailbox.JSONL)
	operatortest.Fails(t, err, operator.Locked, "only while their team is down")
	testenv.Must(t, release())
	tm.Member("ann", operatortest.Idle)
	_, err = o.Migrate(ctx, "api", mailbox.JSONL)
	operatortest.Fails(t, err, operator.Locked, "ann as process")
	_, err = teams.Of(tm.FromInside()).Migrate(ctx, "api", mailbox.JSONL)
	operatortest.Fails(t, err, operator.Refused, "team migrate was called from inside member ann")
}

const oldTeam = `{"name":"research","description":"Q4","members":[{"agentId":"analyst-1@research","name":"analyst-1","agentType":"general-purpose","model":"haiku","prompt":"p","color":"blue","tmuxPaneId":"%88","backendType":"tmux","isActive":false,"spawnedAt":"2026-02-16T10:35:00.000Z"}],"createdAt":"2026-02-16T10:30:00.000Z","schemaVersion":"`

// MigrateSchema brings files of an old version to the newest; a dry run only lists the steps. Files of
// a newer version are refused.
func TestMigrateSchema(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	o, ctx := teams.Of(op), t.Context()
	path := op.Root.ConfigPath("research")
	write(t, path, strings.Replace(oldTeam, `,"schemaVersion":"`, "", 1)+"}")
	before, err := os.ReadFile(path)
	testenv.Must(t, err)
	dry, err := o.MigrateSchema(ctx, "research", true)
	if err != nil || !dry.DryRun || dry.Team != "research" || dry.From == dry.To || len(dry.Steps) == 0 {
		t.Fatalf("%+v, %v", dry, err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("a dry run changed it: %s, %v", after, err)
	}
	done, err := o.MigrateSchema(ctx, "research", false)
	if err != nil || done.DryRun || done.To != dry.To || len(done.Steps) != len(dry.Steps) {
		t.Fatalf("%+v, %v", done, err)
	}
	cfg, err := op.Listing(ctx, "research")
	if err != nil || cfg.SchemaVersion != done.To {
		t.Errorf("%+v, %v", cfg, err)
	}
	if again, err := o.MigrateSchema(ctx, "research", false); err != nil || len(again.Steps) != 0 || again.From != again.To {
		t.Errorf("%+v, %v", again, err)
	}
	write(t, path, oldTeam+`99.0.0"}`)
	_, err = o.MigrateSchema(ctx, "research", false)
	operatortest.Fails(t, err, operator.Refused, "newer")
	_, err = o.MigrateSchema(ctx, "gone", false)
	operatortest.Fails(t, err, operator.NotFound, "gone")
}

// Validate reads every file of a team and reports each fault with its place. It changes nothing.
func TestValidate(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	tm := operatortest.Team(t, op, "api", record.PolicySet{})
	tm.ByFile("bob")
	o, ctx := teams.Of(op), t.Context()
	send(t, tm, "bob", "hi")
	if _, err := board.Of(op).AddTask(ctx, "api", board.NewTask{Subject: "one"}); err != nil {
		t.Fatal(err)
	}
	if found, err := o.Validate(ctx, "api"); err != nil || found == nil || len(found) != 0 {
		t.Fatalf("%v, %v", found, err)
	}
	tasks, lines := op.Root.TasksDir("api"), op.Root.MailboxDir("api")
	for path, data := range map[string]string{
		tm.Mailbox("a b"):                                "[]",
		tm.Mailbox("cas"):                                "{",
		filepath.Join(lines, "cas.jsonl"):                "7\n",
		filepath.Join(tasks, "notes.json"):               "{}",
		filepath.Join(tasks, "7.json"):                   `{"id":"7","subject":"s","description":"","status":"never","blocks":[],"blockedBy":[]}`,
		filepath.Join(tasks, "8.json"):                   `{"id":"8","subject":"s","description":"","status":"pending","blocks":["8"],"blockedBy":["8"]}`,
		filepath.Join(tasks, ".highwatermark"):           "many",
		filepath.Join(tasks, "bob", "task-status.json"):  "[]",
		filepath.Join(tasks, "bob", "artifacts", "x.md"): "x",
	} {
		write(t, path, data)
	}
	found, err := o.Validate(ctx, "api")
	testenv.Must(t, err)
	var all []string
	for _, p := range found {
		all = append(all, p.String())
	}
	text := strings.Join(all, "\n")
	for _, want := range []string{"a b.json: the name of the file", "cas.json", "cas.jsonl", "cas has a mailbox in both layouts", "notes.json: the name of the file is not a task id",
		"7.json#/status", "8.json#/blockedBy: leads back to the task itself", ".highwatermark", "task-status.json"} {
		if !strings.Contains(text, want) {
			t.Errorf("nothing of %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "x.md") || strings.Contains(text, "bob.json") || strings.Contains(text, "1.json") {
		t.Error(text)
	}
	if data, err := os.ReadFile(tm.Mailbox("cas")); err != nil || string(data) != "{" {
		t.Errorf("%q, %v", data, err)
	}
	testenv.Must(t, os.RemoveAll(tasks))
	write(t, tasks, "no directory")
	if found, err := o.Validate(ctx, "api"); err != nil || !slices.ContainsFunc(found, func(p teams.Problem) bool { return p.Path == tasks && p.Message == "is not a directory" }) {
		t.Errorf("%v, %v", found, err)
	}
	_, err = o.Validate(ctx, "gone")
	operatortest.Fails(t, err, operator.NotFound, "gone")
}

// ExportTeam returns the present and past members, the messages and the tasks.
func TestExportTeam(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	tm := operatortest.Team(t, op, "api", record.PolicySet{})
	o, ctx := teams.Of(op), t.Context()
	tm.ByFile("bob")
	join(t, tm, teamfile.FileMember{Name: "ann", Type: "builder", Prompt: "you build", Cwd: "/"})
	send(t, tm, "bob", "look at `this`")
	for _, n := range []board.NewTask{{Subject: "build"}, {Subject: "ship", After: []task.ID{"1"}}} {
		if _, err := board.Of(op).AddTask(ctx, "api", n); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(op.Root.MemberDir("api", "ann"), "artifacts", "report.md"), "# Report")
	write(t, filepath.Join(op.Root.TasksDir("api"), "9.json"), "{")
	e, err := o.ExportTeam(ctx, "api")
	if err != nil || e.Team != "api" || testenv.Value(protocol.ParseTime(e.Created))(t).IsZero() || e.TotalMembers != 3 || !slices.Equal(e.ActiveMembers, []protocol.MemberName{"team-lead", "bob", "ann"}) || e.Layout != "array" || e.Description != "a team of a test" {
		t.Fatalf("%+v, %v", e, err)
	}
	i := slices.IndexFunc(e.Members, func(m teams.TeamMember) bool { return m.Name == "ann" })
	if i < 0 || e.Members[i].Type != "builder" || e.Members[i].Prompt != "you build" || !slices.Equal(e.Members[i].Files, []string{"artifacts/report.md"}) || !e.Members[i].Left.IsZero() || e.Members[i].Joined.IsZero() {
		t.Errorf("%+v", e.Members)
	}
	i = slices.IndexFunc(e.Mailboxes, func(b teams.TeamMailbox) bool { return b.Member == "bob" })
	if i < 0 || len(e.Mailboxes[i].Entries) != 1 || e.Mailboxes[i].Entries[0].Text != "look at `this`" {
		t.Errorf("%+v", e.Mailboxes)
	}
	if len(e.Tasks) != 2 || e.Tasks[0].Blocked || !e.Tasks[1].Blocked || !slices.Equal(e.Tasks[1].BlockedBy, []task.ID{"1"}) {
		t.Errorf("%+v", e.Tasks)
	}
	if len(e.Problems) != 1 || !strings.Contains(e.Problems[0], "9.json") {
		t.Errorf("%q", e.Problems)
	}
	if in, err := mail.Of(op).Inbox(ctx, "api", "bob", true); err != nil || len(in.Entries) != 1 {
		t.Errorf("it consumed something: %+v, %v", in, err)
	}
	_, err = o.ExportTeam(ctx, "gone")
	operatortest.Fails(t, err, operator.NotFound, "gone")
}
