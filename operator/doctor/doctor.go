package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"waggle/internal/claude"
	"waggle/internal/notice"
	"waggle/internal/sandbox"
	"waggle/operator"
	"waggle/operator/process"
	"waggle/protocol"
)

// toolWait is the time limit for a program to print its version.
const toolWait = 5 * time.Second

// Examine makes all checks: the program, the directories, the programs that members need, the
// sessions of Claude Code, and every team of the root.
func (o Operator) Examine(ctx context.Context, eo Options) ([]Finding, error) {
	d := &doctor{op: o.Operator, o: eo}
	out := []Finding{found("waggle", OK, fmt.Sprintf("%s, %s %s/%s", o.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)),
		found("root", OK, o.Root.Path), stateFinding(o.Home.Path)}
	for _, t := range []struct{ name, arg, use string }{
		{"tmux", "-V", "panes for members"}, {"bwrap", "--version", "a sandbox for members' tools"},
		{"git", "--version", "worktrees of members"}, {"claude", "--version", "Claude Code members"}, {"codex", "--version", "Codex members"}, {"node", "--version", ""},
	} {
		out = append(out, tool(ctx, t.name, t.arg, t.use))
	}
	out = slices.Concat(out, d.sandbox(ctx), d.claude(), d.others(), telemetry(eo.Env), []Finding{d.notices()})
	names, err := o.Root.Names()
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		out = append(append(out, d.team(ctx, n)...), d.reached(ctx, n)...)
	}
	late, err := process.Of(o.Operator).LeftMail(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, n := range late {
		out = append(out, todo(teamWhat(n), Note, o.Root.TeamDir(n)+" has no config.json: somebody wrote to the team after its end", operator.NextCollect.With()))
	}
	unnamed, err := o.Root.Unnamed()
	if err != nil {
		return nil, err
	}
	for _, e := range unnamed {
		out = append(out, found("teams", Note, "waggle cannot reach a team of another program: "+e.Error()))
	}
	if len(names)+len(unnamed) == 0 {
		out = append(out, todo("teams", Note, "there is none in "+o.Root.Path, operator.NextDemo.With()))
	}
	return out, nil
}

func teamWhat(n protocol.TeamName) string { return "team " + string(n) }

func found(what string, s Status, detail string) Finding {
	return Finding{What: what, Status: s, Detail: detail}
}

// advised is found with a text about what to do outside of this program.
func advised(what string, s Status, detail, next string) Finding {
	return Finding{What: what, Status: s, Detail: detail, Next: operator.Sentence{Text: next}}
}

// todo is found with the next step.
func todo(what string, s Status, detail string, do operator.Next) Finding {
	return Finding{What: what, Status: s, Detail: detail, Next: operator.Sentence{Do: do}}
}

func stateFinding(path string) Finding {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return found("state", OK, path+" (made when it is needed)")
	case err != nil:
		return found("state", Problem, err.Error())
	case runtime.GOOS != "windows" && st.Mode().Perm()&0o077 != 0:
		return advised("state", Problem, fmt.Sprintf("%s is open to others (%v)", path, st.Mode().Perm()), "chmod 700 "+path)
	}
	return found("state", OK, path)
}

// tool reports a program's version. The finding for a missing program is a note.
func tool(ctx context.Context, name, arg, use string) Finding {
	path, err := exec.LookPath(name)
	if err != nil {
		d := "not found"
		if use != "" {
			d += "; it is for " + use
		}
		return found(name, Note, d)
	}
	ctx, cancel := context.WithTimeout(ctx, toolWait)
	defer cancel()
	b, err := exec.CommandContext(ctx, path, arg).CombinedOutput()
	first, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	if err != nil {
		return found(name, Note, path+": "+err.Error())
	}
	if v, err := claude.ParseVersion(first); name == "claude" && err == nil && !v.Usable() {
		return found(name, Note, fmt.Sprintf("%s, and members need %s or newer: claude update", first, claude.Oldest))
	}
	return found(name, OK, first)
}

// sandbox reports the highest level of a sandbox on this machine: an installed bubblewrap may not be
// permitted to make namespaces.
func (d *doctor) sandbox(ctx context.Context) []Finding {
	if d.o.Relay == "" {
		return nil
	}
	kit := sandbox.Kit{Relay: d.o.Relay}
	if path, err := exec.LookPath("bwrap"); err == nil {
		kit.Bwrap = path
	}
	s := kit.Detect(ctx)
	if s.Level == sandbox.Enforced {
		return []Finding{found("sandbox", OK, string(s.Level))}
	}
	return []Finding{advised("sandbox", Note, fmt.Sprintf("%s: %s", s.Level, s.Why), s.Fix)}
}

// notices reports how the person learns that somebody waits. It shows none.
func (d *doctor) notices() Finding {
	s := notice.Settings{State: d.op.Home.Path}
	on, err := s.On()
	if err != nil {
		return advised("notices", Problem, err.Error(), s.Advice())
	}
	if !on {
		return todo("notices", Note, "they are off: nothing tells you that somebody waits", operator.NextNotifyOn.With())
	}
	if t := s.LastTrouble(); t != "" {
		return todo("notices", Note, "the last one failed: "+t, operator.NextNotifyTest.With())
	}
	place := notice.Place{Env: d.op.Environ}
	var here, why []string
	for _, c := range []notice.Channel{notice.Tmux(place), notice.Desktop(place)} {
		if c.Missing != nil {
			why = append(why, c.Name+": "+c.Missing.Error())
		} else {
			here = append(here, c.Name)
		}
	}
	if len(here) == 0 {
		return found("notices", Note, "a team in the background has no way to tell you that somebody waits ("+strings.Join(why, "; ")+")")
	}
	return found("notices", OK, strings.Join(here, ", "))
}

// exporters are the environment variables that make programs with OpenTelemetry export.
var exporters = []string{
	"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
	"OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER",
}

// telemetry reports that the environment asks for an exporter and this build has none.
func telemetry(env func(string) string) []Finding {
	if strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") {
		return nil
	}
	for _, name := range exporters {
		if v := env(name); v != "" && v != "none" {
			return []Finding{todo("opentelemetry", Note, name+" is set, and this build exports nothing: the module waggle/otel is for programs that embed waggle",
				operator.NextTransitions.With())}
		}
	}
	return nil
}
