package team_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"waggle/internal/test/testenv"
	_ "waggle/internal/test/testenv/seeded"
	"waggle/protocol"
	"waggle/team"
)

// FuzzParseConfig: ParseConfig never panics; an unchanged rewrite is the input in the layout of
// JSON.stringify; every key that was not edited survives an edit.
func FuzzParseConfig(f *testing.F) {
	for _, data := range fixtures(f) {
		f.Add(data)
	}
	f.Add([]byte(`{"members":[{"name":"w","name":"v","agentId":{"a":[]}},[]],"members":null,"createdAt":1e400}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		team.Validate(data)
		c, _, err := team.ParseConfig(data)
		if err != nil {
			if bad, ok := errors.AsType[*team.CorruptError](err); !ok || bad.Offset < 0 || bad.Offset > int64(len(data)) {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		var want bytes.Buffer
		testenv.Must(t, json.Indent(&want, bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))), "", "  "))
		if got := c.AppendJSON(nil); !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("%q\n%s\nwant\n%s", data, got, want.Bytes())
		}
		for i := range c.Members {
			if _, err := protocol.ParseMember(string(c.Members[i].Name)); err != nil {
				t.Fatalf("an invalid name got through: %v", err)
			}
			c.Members[i].Color = "edited"
		}
		c.Description = "edited"
		again, _, err := team.ParseConfig(c.AppendJSON(nil))
		testenv.Must(t, err)
		if again.Description != "edited" || len(again.Members) != len(c.Members) {
			t.Fatalf("%+v\nwant\n%+v", again, c)
		}
		sameUnknown(t, data, c.AppendJSON(nil), "description", "members")
	})
}

// sameUnknown compares the values of all top-level keys but the edited ones.
func sameUnknown(t *testing.T, before, after []byte, edited ...string) {
	t.Helper()
	var x, y map[string]json.RawMessage
	testenv.Must(t, errors.Join(json.Unmarshal(bytes.TrimPrefix(before, []byte("\xef\xbb\xbf")), &x), json.Unmarshal(after, &y)))
	for key, raw := range x {
		var a, b bytes.Buffer
		if slices.Contains(edited, key) {
			continue
		}
		if err := errors.Join(json.Compact(&a, raw), json.Compact(&b, y[key])); err != nil || a.String() != b.String() {
			t.Fatalf("%q: %s became %s (%v)", key, raw, y[key], err)
		}
	}
}

// TestConfigRoundTrip writes random configs, edits them after reading, and
// compares with the same edit on the original.
func TestConfigRoundTrip(t *testing.T) {
	t.Parallel()
	name := rapid.StringMatching(`[a-z][a-z0-9-]{0,12}`)
	rapid.Check(t, func(t *rapid.T) {
		c := team.Config{
			Name: "api", Description: rapid.String().Draw(t, "description"),
			CreatedAt: time.UnixMilli(rapid.Int64Range(1, 4e12).Draw(t, "created")).UTC(),
		}
		for i, n := range rapid.SliceOfNDistinct(name, 0, 5, rapid.ID).Draw(t, "names") {
			m := team.Member{Name: protocol.MemberName(fmt.Sprintf("m%d-%s", i, n)), Prompt: rapid.String().Draw(t, "prompt")}
			m.AgentID = protocol.NewAgentID(m.Name, c.Name)
			m.PlanModeRequired = rapid.Bool().Draw(t, "plan")
			if rapid.Bool().Draw(t, "flag") {
				m.IsActive = new(rapid.Bool().Draw(t, "active"))
			}
			m.Subscriptions = rapid.SliceOfN(rapid.String(), 0, 2).Draw(t, "subscriptions")
			c.Members = append(c.Members, m)
		}
		written := c.AppendJSON(nil)
		read, problems, err := team.ParseConfig(written)
		if err != nil || len(problems) > 0 {
			t.Fatalf("%v %q\n%s", err, problems, written)
		}
		edit := func(c *team.Config) {
			c.SchemaVersion = "2"
			for i := range c.Members {
				switch i % 3 {
				case 0:
					c.Members[i].IsActive = new(true)
				case 1:
					c.Members[i].Prompt = "new"
				}
			}
			if len(c.Members) > 1 {
				c.Members = append(slices.Clone(c.Members[1:]), team.Member{Name: "last", AgentID: "last@api"})
			}
		}
		edit(&c)
		edit(read)
		if got, want := string(read.AppendJSON(nil)), string(c.AppendJSON(nil)); got != want {
			t.Fatalf("read, edited, written:\n%s\nedited, written:\n%s", got, want)
		}
	})
}

// TestNoNameLeavesTheRoot tries any string as a name: no file is made outside the root, and inside
// it only under accepted names.
func TestNoNameLeavesTheRoot(t *testing.T) {
	t.Parallel()
	outer := t.TempDir()
	r := team.Root{Path: filepath.Join(outer, "root")}
	base := create(t, r, team.Config{Name: "base"})
	accepted := map[string]bool{"base": true, "team-lead": true}
	tries := 0
	rapid.Check(t, func(rt *rapid.T) {
		if tries++; tries > 60 {
			return // each string needs several file operations
		}
		hostile := rapid.OneOf(
			rapid.SampledFrom([]string{"..", ".", "../../x", "/etc/x", `..\x`, "a/../b", "con", "x\x00", "-rf", ".hidden", "config.json", strings.Repeat("a", 65), "42"}),
			rapid.String(), rapid.StringMatching(`[a-zA-Z0-9./_-]{1,20}`),
		).Draw(rt, "name")
		if m, _, err := base.Add(context.Background(), team.Member{Name: protocol.MemberName(hostile)}, true); err == nil {
			accepted[string(m.Name)] = true
		}
		_ = base.Remove(context.Background(), protocol.MemberName(hostile), noon)
		if _, err := team.Create(context.Background(), r, team.Config{Name: protocol.TeamName(hostile)}, team.Options{}); err == nil {
			accepted[hostile] = true
		}
		_, _ = team.Open(r, protocol.TeamName(hostile), team.Options{})
	})
	if got := children(t, outer); !slices.Equal(got, []string{"root"}) {
		t.Errorf("outside the root: %q", got)
	}
	for _, dir := range []string{"teams", "tasks"} {
		for _, name := range children(t, filepath.Join(r.Path, dir)) {
			if !accepted[name] {
				t.Errorf("%s/%s was never accepted", dir, name)
			}
		}
	}
	for _, file := range children(t, r.InboxesDir("base")) {
		name, isInbox := strings.CutSuffix(file, ".json")
		if isInbox && !accepted[name] {
			t.Errorf("mailbox %s was never accepted", file)
		}
	}
}
