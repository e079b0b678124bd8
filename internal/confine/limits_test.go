//go:build linux

package confine_test

import (
	"context"
	"strings"
	"testing"

	"waggle/agent"
	"waggle/internal/test/testenv"
	"waggle/record"
	"waggle/spawn"
)

// whole is a resident agent whose program is the command of a test.
type whole struct {
	agent.Agent
	settled chan agent.Place
}

func (w whole) Needs([]string, string) agent.Needs { return agent.Needs{Start: []string{"true"}} }
func (w whole) Settle(p agent.Place)               { w.settled <- p }

// limited is a block with these limits, which starts also where this machine cannot hold all of them.
func limited(l record.SandboxLimits) record.Sandbox {
	return record.Sandbox{Mode: record.SandboxAuto, Limits: &l}
}

// held reports whether a member is held to a limit, and logs one that this machine cannot hold.
func (m *member) held(limit string) bool {
	m.r.T.Helper()
	h := m.fold().Ready.Sandbox
	if h == nil || h.Level != record.HeldEnforced {
		m.r.T.Fatalf("held %+v", h)
	}
	for _, gap := range h.Gaps {
		if strings.HasPrefix(gap, limit) {
			m.r.T.Logf("not tried, because it is not held here: %s", gap)
			return false
		}
	}
	return true
}

const (
	manyProcesses = `i=0; while [ $i -lt 200 ]; do sleep 5 & i=$((i+1)); done; echo all of them`
	muchMemory    = `head -c 400000000 /dev/zero | tail -c 350000000 >/dev/null && echo all of it`
	longWork      = `while :; do :; done; echo done`
)

// A command of a member is held to its limits: processor time, memory, processes and time.
func TestMemberLimits(t *testing.T) {
	testenv.Long(t)
	r := newRig(t)
	limits := record.SandboxLimits{CPU: 1000, Memory: 256 << 20, Processes: 60, Time: 40_000}
	busy := r.member("ann", limited(limits))
	limits.CPU = 60_000 // what takes much memory needs a second of a slow processor, too
	m := r.member("max", limited(limits))
	if got := m.run("echo alive"); got.out != "alive\n" {
		t.Fatalf("%+v", got)
	}
	if got := busy.run(longWork); got.err != nil || got.exit.Signal == "" && got.exit.Code == 0 || strings.Contains(got.out, "done") {
		t.Errorf("processor time: %+v", got)
	}
	if got := m.run(muchMemory); strings.Contains(got.out, "all of it") {
		t.Errorf("memory: %+v", got)
	}
	if m.held("the number of processes") {
		if got := m.run(manyProcesses); strings.Contains(got.out, "all of them") {
			t.Errorf("processes: %+v", got)
		}
	}
	for _, c := range []struct {
		m             *member
		limit, script string
	}{
		{busy, "processor time that it may, 1s: `sandbox: {limits: {cpu: …}}`", longWork},
		{m, "256MiB", muchMemory + " || exit 1"},
	} {
		if got := c.m.run(c.script); !strings.Contains(got.out, c.limit) || strings.Count(got.out, "limits: {") != 1 {
			t.Errorf("the limit %s is not named: %+v", c.limit, got)
		}
	}
	// What ends by itself has met no limit.
	for _, script := range []string{`kill -KILL $$`, `kill -SEGV $$`, `kill -XCPU $$`, `sh -c 'kill -KILL $$'; exit 137`, `exit 152`, `exit 1`, `echo "Cannot allocate memory; Cannot fork"`} {
		if got := m.run(script); strings.Contains(got.out, "limits: {") {
			t.Errorf("%s met a limit: %+v", script, got)
		}
	}
	free := r.member("eve", required)
	if got := free.run(muchMemory + " && " + manyProcesses); !strings.Contains(got.out, "all of it") || !strings.Contains(got.out, "all of them") {
		t.Errorf("without limits: %+v", got)
	}
	quick := r.member("bob", limited(record.SandboxLimits{Time: 300}))
	if got := quick.run("sleep 600"); got.err == nil || !strings.Contains(got.err.Error(), "the limit of 300ms") {
		t.Errorf("time: %+v", got)
	}
}

// A program that is in the sandbox as a whole is held to memory and processes. Only its calls are held
// to time and processor time, and the program gets these limits.
func TestWholeLimits(t *testing.T) {
	testenv.Long(t)
	r := newRig(t)
	settled := make(chan agent.Place, 1)
	r.agent = func(a agent.Agent) agent.Agent { return whole{a, settled} }
	m := r.member("ann", limited(record.SandboxLimits{CPU: 1000, Memory: 256 << 20, Processes: 60, Time: 300}))
	place := <-settled
	if place.Box == nil || place.Limits.CPU.Milliseconds() != 1000 || place.Limits.Time.Milliseconds() != 300 {
		t.Fatalf("%+v", place)
	}
	run := func(script string) ran {
		done := make(chan ran, 1)
		m.do <- func(ctx context.Context, h agent.Host) {
			go func() {
				var out testenv.Buffer
				exit, err := place.Exec.Run(ctx, spawn.Command{Argv: []string{"sh", "-c", script}, Dir: m.work, Env: h.Environ(), Output: &out})
				done <- ran{exit, out.String(), err}
			}()
		}
		return m.wait(done)
	}
	const work = `sleep 0.5; echo alive`
	if got := run(work); got.err != nil || !strings.Contains(got.out, "alive") {
		t.Errorf("a program that goes on for longer than a call may: %+v", got)
	}
	if got := run(muchMemory); strings.Contains(got.out, "all of it") {
		t.Errorf("memory: %+v", got)
	}
	if m.held("the number of processes") {
		if got := run(manyProcesses); strings.Contains(got.out, "all of them") {
			t.Errorf("processes: %+v", got)
		}
	}
}
