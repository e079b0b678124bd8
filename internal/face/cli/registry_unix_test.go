//go:build unix

package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waggle/internal/test/testenv"
	"waggle/leader"
	"waggle/operator"
	"waggle/record"
	"waggle/team"
)

// edited is a team whose registry the test edits as another program would.
type edited struct {
	*faulty
	reg *team.Team
}

func newEdited(t *testing.T) *edited {
	t.Helper()
	f := newFaulty(t, "registry")
	reg, err := team.Open(f.op.Root, "api", team.Options{})
	testenv.Must(t, err)
	return &edited{f, reg}
}

func (e *edited) edit(fn func(*team.Config)) {
	e.t.Helper()
	testenv.Must(e.t, e.reg.Update(context.Background(), func(c *team.Config) error { fn(c); return nil }))
}

func (e *edited) listed(name string) *team.Member {
	c, err := e.reg.Load(context.Background())
	if err != nil {
		return nil
	}
	for _, m := range c.Members {
		if string(m.Name) == name {
			return &m
		}
	}
	return nil
}

// records are those of edits in the leader's journal.
func (e *edited) records() (why []string) {
	e.t.Helper()
	s, err := e.op.Open(context.Background(), "api", operator.Act)
	testenv.Must(e.t, err)
	for _, u := range s.Lead.Unverified {
		if u.Box == leader.RegistryBox {
			why = append(why, u.Why)
		}
	}
	return why
}

// TestRegistryEdits: the leader corrects another program's edit of a recorded member in the
// registry, once, with one record. Repeated edits stay and raise an
// alarm. An edit adds no member to the team, and commands find the members by name meanwhile.
func TestRegistryEdits(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	e := newEdited(t)
	right := func(name string) func() bool {
		return func() bool {
			m := e.listed(name)
			return m != nil && !m.Gone() && m.IsActive != nil && *m.IsActive
		}
	}
	began := time.Now()
	e.edit(func(c *team.Config) {
		c.Members = append(c.Members[:1:1], c.Members[2:]...) // ann
	})
	e.give([]int{0}, "send", "ann", "you are on record", "--team", "api")
	e.give([]int{0}, "task", "add", "nothing", "--instructions", "true", "--owner", "ann", "--team", "api")
	e.until("ann is there again", right("ann"))
	if why := e.records(); len(why) != 1 || !strings.Contains(why[0], "ann was removed") {
		t.Errorf("records: %q", why)
	}
	e.edit(func(c *team.Config) {
		m, _ := c.Member("bob")
		m.ShutdownAt = time.Now()
		c.Members = append(c.Members, team.Member{AgentID: "eve@api", Name: "eve", AgentType: "x", Subscriptions: []string{}})
	})
	e.give([]int{0}, "send", "bob", "you too", "--team", "api")
	e.until("bob is there again", right("bob"))
	e.edit(func(c *team.Config) { m, _ := c.Member("ann"); m.IsActive = new(false) })
	e.until("ann is active again", right("ann"))
	if why := e.records(); len(why) != 3 {
		t.Errorf("records: %q", why)
	}
	alarm := func() bool { why := e.records(); return strings.Contains(why[len(why)-1], "left as it is") }
	for n := 4; !alarm(); n++ {
		e.edit(func(c *team.Config) { m, _ := c.Member("ann"); m.ShutdownAt = time.Now() })
		if !e.until(fmt.Sprintf("edit %d is on record", n), func() bool { return len(e.records()) == n }) {
			break
		}
		switch {
		case alarm():
		case time.Since(began) < time.Minute || n == 20: // real clock: later, it goes on to the next edit
			t.Fatalf("edit %d raised no alarm: %q", n, e.records()) // three before it were corrected within a minute
		default: // the machine was busy: the first corrections are older than a minute
			e.until("ann is corrected", right("ann"))
		}
	}
	if right("ann")() {
		t.Error("corrected again after the alarm")
	}
	out := e.give([]int{0}, "status", "--team", "api")
	if strings.Contains(out, "authority") {
		t.Errorf("an edit of the registry is no message that claims authority:\n%s", out)
	}
	if !strings.Contains(out, "ann") || !strings.Contains(out, "config.json") {
		t.Errorf("status does not show it: %s", out)
	}
	s, err := e.op.Open(t.Context(), "api", operator.Act)
	testenv.Must(t, err)
	if _, ok := s.Lead.Member("eve"); ok {
		t.Error("eve became a member by an edit")
	}
	e.give([]int{0}, "stop", "ann", "--team", "api", "--force")
	e.give([]int{0}, "down", "api", "--force")
}

// TestLateMail: gc and doctor report mail that is written to a team after its end. gc, team
// create and up put it into the archive, and the team's name can be used again.
func TestLateMail(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	f := newFaulty(t, "late mail")
	f.give([]int{0}, "down", "api", "--force")
	late := func(text string) {
		dir := f.op.Root.InboxesDir("api")
		testenv.Must(t, os.MkdirAll(dir, 0o700))
		writeFile(t, filepath.Join(dir, "ann.json"), `[{"from":"x","text":"`+text+`","timestamp":"t"}]`)
	}
	kept := func(text string) {
		t.Helper()
		files, _ := filepath.Glob(filepath.Join(f.op.Home.Path, "teams", "*", "archive", "*", "team", "inboxes", "ann.json"))
		for _, p := range files {
			if bytes.Contains(had(p), []byte(text)) {
				return
			}
		}
		t.Errorf("%q is not in the archive: %v", text, files)
	}
	late("one")
	if out := f.give([]int{0}, "gc"); !strings.Contains(out, "mail") || !strings.Contains(out, f.op.Root.TeamDir("api")) {
		t.Errorf("gc: %s", out)
	}
	if _, out, _ := f.waggle("doctor"); !strings.Contains(out, "after its end") {
		t.Errorf("doctor: %s", out)
	}
	f.give([]int{0}, "gc", "api", "--yes")
	kept("one")
	late("two")
	f.give([]int{0}, "team", "create", "api")
	kept("two")
	f.give([]int{0}, "team", "delete", "api")
	late("three")
	file := filepath.Join(t.TempDir(), "waggle.yaml")
	writeFile(t, file, faultyTeam)
	f.give([]int{0}, "up", file, "--detach")
	kept("three")
	f.give([]int{0}, "down", "api", "--force")
}

// TestStateLost: if a team's records are lost and its files are there, up fails and says so.
// After team delete --archive, up makes the team again.
func TestStateLost(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	f := newFaulty(t, "state lost")
	file := filepath.Join(t.TempDir(), "waggle.yaml")
	writeFile(t, file, faultyTeam)
	testenv.EndAll(t, f.op.Home.Path, filepath.Dir(f.file)) // a holder writes into STATE until it ends
	testenv.Must(t, os.RemoveAll(f.dir.Path))
	code, out, _ := f.waggle("up", file, "--detach")
	if code != 6 || !strings.Contains(out, "are lost") || !strings.Contains(out, "waggle team delete api --archive") {
		t.Errorf("up: exit %d: %s", code, out)
	}
	f.give([]int{0}, "team", "delete", "api", "--archive")
	f.give([]int{0}, "up", file, "--detach")
	f.give([]int{0}, "down", "api", "--force")
}

// TestRegistryRebuilt: a registry of no bytes, or of garbage, is set aside and made again of
// the record; one that was never damaged is the same.
func TestRegistryRebuilt(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	e := newEdited(t)
	path := e.op.Root.ConfigPath("api")
	for _, data := range []string{"", "garbage"} {
		put(t, path, []byte(data))
		e.give([]int{0}, "send", "ann", "on record", "--team", "api")
		e.until("it is made again", func() bool { return json.Valid(had(path)) })
		c, err := e.reg.Load(t.Context())
		if err != nil || len(c.Present()) != 3 || len(c.Problems()) != 0 || string(record.TeamUID(strings.ReplaceAll(c.LeadSessionID, "-", ""))) != string(e.dir.UID) {
			t.Errorf("%+v %v", c, err)
		}
	}
	kept, _ := filepath.Glob(filepath.Join(e.dir.Quarantine(), "config.json-*"))
	if len(kept) != 2 {
		t.Errorf("set aside: %v", kept)
	}
	if out := e.give([]int{0}, "status", "--team", "api"); !strings.Contains(out, "set-aside") {
		t.Errorf("status does not show it: %s", out)
	}
	e.give([]int{0}, "down", "api", "--force")
}
