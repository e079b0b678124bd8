package storetest_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"waggle/internal/test/protocoltest"
	"waggle/internal/test/testenv"
	"waggle/task"
	"waggle/team"
)

var update = flag.Bool("update", false, "write testdata/mutations.txt anew")

// TestMutations is a table of the readers' results for each written field of the files that are no
// mail when the field is missing, spelled in another case, or of another type: the registry and its
// entries, a task, and the files that a member writes of itself. It is written anew with: go test
// ./internal/test/storetest -run TestMutations -update. The words are those of the table of the protocol's
// root; hidden: an entry that is not shown, which a problem reports.
func TestMutations(t *testing.T) {
	t.Parallel()
	const file = "testdata/mutations.txt"
	var b strings.Builder
	mutateRegistry(t, &b)
	mutateTask(t, &b)
	mutateStatus(t, &b)
	if *update {
		testenv.Must(t, os.WriteFile(file, []byte(b.String()), 0o666))
	}
	want, err := os.ReadFile(file)
	testenv.Must(t, err)
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", file, diff)
	}
}

// otherForm are fields whose other type is a form that some writer uses.
var otherForm = map[string]bool{
	"team createdAt":    true, // milliseconds
	"member spawnedAt":  true, // milliseconds
	"member shutdownAt": true,
	"task id":           true, // a number
}

// mutateKeys writes a row for every key of a file: the result of read for the spoiled one.
func mutateKeys(t *testing.T, b *strings.Builder, file, what, text string, read func(spoiled string) string) {
	for _, key := range protocoltest.Keys(text) {
		for _, m := range protocoltest.Mutations {
			how := read(m.Of(text, key))
			fmt.Fprintf(b, "%-12s %-32s %-34s %-8s %s\n", file, what, key, m.Name, how)
			if m.Name == "type" && how == "changed, silent" && !otherForm[what+" "+key] {
				t.Errorf("%s: %s of a %s is of another type and that is not said", file, key, what)
			}
		}
	}
}

// filled fails when a field that is written has its zero value: then a key is missing
// from the table.
func filled(t *testing.T, v any) {
	t.Helper()
	r := reflect.ValueOf(v)
	for i := range r.NumField() {
		if f := r.Type().Field(i); f.IsExported() && r.Field(i).IsZero() {
			t.Errorf("%s.%s is not set, so its key is in no row", r.Type(), f.Name)
		}
	}
}

// change describes the change of a value: the same or another, with problems or without.
func change(was, is any, problems int, opts ...cmp.Option) string {
	switch same := cmp.Equal(was, is, opts...); {
	case same && problems == 0:
		return "same"
	case same:
		return "said"
	case problems > 0:
		return "changed"
	}
	return "changed, silent"
}

func mutateRegistry(t *testing.T, b *strings.Builder) {
	at := time.UnixMilli(1795193125905).UTC()
	active := true
	member := team.Member{AgentID: "w@api", Name: "w", AgentType: "general-purpose", Model: "haiku", Prompt: "p", Color: "blue",
		PlanModeRequired: true, JoinedAt: at, TmuxPaneID: "%1", Cwd: "/w", WorktreePath: "/w/t", SessionID: "s", Mode: "plan",
		Subscriptions: []string{"x"}, BackendType: "tmux", IsActive: &active, SpawnedAt: at, ShutdownAt: at, Metadata: json.RawMessage(`{"k":1}`)}
	config := team.Config{Name: "api", Description: "d", CreatedAt: at, LeadAgentID: "team-lead@api", LeadSessionID: "s",
		Members: []team.Member{member}, SchemaVersion: "1.4.0", Metadata: json.RawMessage(`{"k":1}`)}
	filled(t, member)
	filled(t, config)
	text := string(config.AppendJSON(nil))
	opts := cmp.Options{cmpopts.IgnoreUnexported(team.Config{}, team.Member{}), cmpopts.EquateEmpty()}
	was, problems, err := team.ParseConfig([]byte(text))
	if err != nil || len(problems) > 0 {
		t.Fatalf("%v %q", err, problems)
	}
	read := func(spoiled string) string {
		c, problems, err := team.ParseConfig([]byte(spoiled))
		switch {
		case err != nil:
			return "invalid"
		case len(c.Members) == 0 && len(problems) > 0:
			return "hidden, said"
		}
		return change(was, c, len(problems), opts)
	}
	mutateKeys(t, b, "config.json", "team", text, read)
	var shape struct{ Members []json.RawMessage }
	testenv.Must(t, json.Unmarshal([]byte(text), &shape))
	entry := string(shape.Members[0])
	mutateKeys(t, b, "config.json", "member", entry, func(spoiled string) string {
		return read(strings.Replace(text, entry, spoiled, 1))
	})
}

func mutateTask(t *testing.T, b *strings.Builder) {
	whole := task.Task{ID: "3", Subject: "s", Description: "d", ActiveForm: "Doing", Owner: "w", Status: task.Pending,
		Blocks: []task.ID{"4"}, BlockedBy: []task.ID{"1"}, Metadata: map[string]json.RawMessage{"k": json.RawMessage("1")}}
	filled(t, whole)
	text := string(whole.AppendJSON(nil))
	opts := cmp.Options{cmpopts.IgnoreUnexported(task.Task{}), cmpopts.EquateEmpty()}
	mutateKeys(t, b, "N.json", "task", text, func(spoiled string) string {
		got, problems, err := task.Parse([]byte(spoiled))
		if err != nil {
			return "invalid"
		}
		return change(whole, got, len(problems), opts)
	})
}

func mutateStatus(t *testing.T, b *strings.Builder) {
	dir := filepath.Join(t.TempDir(), "w")
	whole := task.State{AgentID: "w@api", Status: task.MemberRunning, StartedAt: protocoltest.At, LastActiveAt: protocoltest.At,
		CompletedAt: protocoltest.At, ErrorMessage: "no", Metrics: &task.Metrics{TokensUsed: 1, TasksCompleted: 2, AvgResponseTime: 3}}
	filled(t, whole)
	filled(t, *whole.Metrics)
	testenv.Must(t, task.WriteState(dir, whole))
	path := filepath.Join(dir, "task-status.json")
	text, err := os.ReadFile(path)
	testenv.Must(t, err)
	mutateKeys(t, b, "task-status", "member", string(text), func(spoiled string) string {
		testenv.Must(t, os.WriteFile(path, []byte(spoiled), 0o600))
		got, err := task.ReadState(dir)
		var bad *task.CorruptError
		switch {
		case errors.As(err, &bad):
			return "invalid"
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			t.Fatal(err)
		}
		return change(whole, got, 0)
	})
}
