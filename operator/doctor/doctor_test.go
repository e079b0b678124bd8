package doctor_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"waggle/internal/operatortest"
	"waggle/operator"
	"waggle/operator/doctor"
	"waggle/record"
	"waggle/team"
)

// bench is a machine with a config directory of Claude Code.
type bench struct {
	t   *testing.T
	op  operator.Operator
	o   doctor.Options
	env map[string]string
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, op: operatortest.New(t), env: map[string]string{}}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "claude", "sessions"), 0o700); err != nil {
		t.Fatal(err)
	}
	b.o = doctor.Options{ClaudeDir: filepath.Join(dir, "claude"), Cwd: dir, Env: func(key string) string { return b.env[key] }}
	return b
}

// of are the findings about one thing.
func (b *bench) of(what string) (out []doctor.Finding) {
	b.t.Helper()
	fs, err := doctor.Of(b.op).Examine(b.t.Context(), b.o)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, f := range fs {
		if f.What == what {
			out = append(out, f)
		}
	}
	return out
}

// has wants a finding whose detail contains a text, and returns it.
func (b *bench) has(what string, s doctor.Status, text string) doctor.Finding {
	b.t.Helper()
	fs := b.of(what)
	for _, f := range fs {
		if f.Status == s && strings.Contains(f.Detail, text) {
			return f
		}
	}
	b.t.Errorf("%s: no %s with %q in %+v", what, s, text, fs)
	return doctor.Finding{}
}

func (b *bench) write(path, text string) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// TestPlaces: a state that is not there yet is fine, one that others can read is a problem
// with what to do about it; without a team there is a demo.
func TestPlaces(t *testing.T) {
	b := newBench(t)
	b.has("waggle", doctor.OK, "test, go")
	b.has("root", doctor.OK, b.op.Root.Path)
	b.has("state", doctor.OK, "made when it is needed")
	if f := b.has("teams", doctor.Note, "there is none"); f.Do.Step != operator.NextDemo {
		t.Errorf("%+v", f)
	}
	if err := os.MkdirAll(b.op.Home.Path, 0o700); err != nil {
		t.Fatal(err)
	}
	b.has("state", doctor.OK, b.op.Home.Path)
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.Chmod(b.op.Home.Path, 0o755); err != nil { //nolint:gosec // what is to be found
		t.Fatal(err)
	}
	if f := b.has("state", doctor.Problem, "is open to others"); f.Next != "chmod 700 "+b.op.Home.Path {
		t.Errorf("%+v", f)
	}
}

// TestTelemetry: an exporter that the environment asks for is missed, unless it is switched
// off.
func TestTelemetry(t *testing.T) {
	b := newBench(t)
	if got := b.of("opentelemetry"); got != nil {
		t.Errorf("nobody asks: %+v", got)
	}
	b.env["OTEL_TRACES_EXPORTER"] = "none"
	if got := b.of("opentelemetry"); got != nil {
		t.Errorf("none is asked for: %+v", got)
	}
	b.env["OTEL_METRICS_EXPORTER"] = "otlp"
	if f := b.has("opentelemetry", doctor.Note, "OTEL_METRICS_EXPORTER is set"); f.Do.Step != operator.NextTransitions {
		t.Errorf("%+v", f)
	}
	b.env["OTEL_SDK_DISABLED"] = "TRUE"
	if got := b.of("opentelemetry"); got != nil {
		t.Errorf("it is off: %+v", got)
	}
}

// TestTeam: a team of ours is well; mailboxes of nobody, entries that cannot be read, and a
// registry that cannot be read are found, each with where to look.
func TestTeam(t *testing.T) {
	b := newBench(t)
	operatortest.Team(t, b.op, "api", record.PolicySet{})
	b.has("team api", doctor.OK, "led by waggle, 1 members")
	if got := b.of("team api"); len(got) != 1 {
		t.Errorf("a new team: %+v", got)
	}
	if got := b.of("teams"); got != nil {
		t.Errorf("there is a team: %+v", got)
	}
	inboxes := filepath.Join(b.op.Root.TeamDir("api"), "inboxes")
	b.write(filepath.Join(inboxes, "ghost.json"), `[{"from":7}]`)
	if f := b.has("team api", doctor.Note, "mailbox ghost belongs to no member"); f.Do != (operator.Next{Step: operator.NextInboxOf, Team: "api", Member: "ghost"}) {
		t.Errorf("%+v", f)
	}
	b.has("team api", doctor.Problem, "mailbox ghost, entry 0")
	b.write(b.op.Root.ConfigPath("api"), "{")
	if f := b.has("team api", doctor.Problem, ""); f.Next != "look at "+b.op.Root.ConfigPath("api") {
		t.Errorf("%+v", f)
	}
}

// TestForeignTeam: a team of another program is said to be one.
func TestForeignTeam(t *testing.T) {
	b := newBench(t)
	if _, err := team.Create(t.Context(), b.op.Root, team.Config{Name: "other", CreatedAt: time.Now(), LeadAgentID: "team-lead@other"}, team.Options{}); err != nil {
		t.Fatal(err)
	}
	b.has("team other", doctor.OK, "another program's")
}

// TestHooks: without the hooks the next step is their install; a setting that keeps hooks
// from running is named with its file.
func TestHooks(t *testing.T) {
	b := newBench(t)
	if f := b.has("Claude hooks", doctor.Note, "sessions that you start yourself do not report"); f.Do.Step != operator.NextInstallHooks {
		t.Errorf("%+v", f)
	}
	settings := filepath.Join(b.o.ClaudeDir, "settings.json")
	b.write(settings, `{"disableAllHooks": true}`)
	if f := b.has("Claude hooks", doctor.Note, "disableAllHooks in "+settings); f.Next != "take disableAllHooks out of "+settings {
		t.Errorf("%+v", f)
	}
	b.write(settings, `{"hooks`)
	b.has("Claude hooks", doctor.Problem, settings)
}

// TestLock: a lock that is held is measured by the operator's clock.
func TestLock(t *testing.T) {
	b := newBench(t)
	operatortest.Team(t, b.op, "api", record.PolicySet{})
	box := filepath.Join(b.op.Root.TeamDir("api"), "inboxes", "team-lead.json")
	b.write(box, "[]")
	if err := os.Mkdir(box+".lock", 0o700); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(box + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	b.op.Minter.Now = func() time.Time { return st.ModTime().Add(90 * time.Second) }
	b.has("team api", doctor.Note, fmt.Sprintf("%s is locked since 1m30s", box))
}
