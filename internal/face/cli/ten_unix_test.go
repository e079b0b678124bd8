//go:build unix

package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"waggle/internal/face/cli/app"
	"waggle/internal/test/testenv"
	"waggle/operator/inspect"
	"waggle/operator/supervise"
	"waggle/spawn"
)

// twoCores confines the commands of a home to two cores, for figures that compare.
func (h *homeTree) twoCores() string {
	path, err := exec.LookPath("taskset")
	if err != nil || runtime.NumCPU() < 2 {
		return fmt.Sprintf("%d cores", runtime.NumCPU())
	}
	h.prefix = []string{path, "-c", "0,1"}
	return "two cores (taskset -c 0,1)"
}

// shipped is the program as people get it: the test binary is larger.
func shipped(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "waggle")
	testenv.Must(t, testenv.Program(path))
	return path
}

// fakeITerm puts the it2 of the scripts on the path of a home.
func (h *homeTree) fakeITerm() {
	h.t.Helper()
	testenv.Require(h.t, "setsid")
	a, err := txtar.ParseFile("testdata/script/iterm2.txtar")
	testenv.Must(h.t, err)
	for _, f := range a.Files {
		if f.Name == "bin/it2" {
			testenv.Must(h.t, os.Chmod(h.write("bin/it2", string(f.Data)), 0o700))
		}
	}
	profiles := filepath.Join(h.dir, "home/Library/Application Support/iTerm2/DynamicProfiles")
	for _, d := range []string{profiles, filepath.Join(h.work, "panes")} {
		testenv.Must(h.t, os.MkdirAll(d, 0o700))
	}
	h.env = append(h.env, "PATH="+filepath.Join(h.work, "bin")+":"+os.Getenv("PATH"), "WORK="+h.work,
		"ITERM_SESSION_ID=w0t0p0:00000000-0000-4000-8000-000000000000")
}

// crew is a team file of n members in a backend.
func crew(team, backend string, n int) string {
	file := "team: " + team + "\nmembers:\n"
	for i := range n {
		file += fmt.Sprintf("  - {name: m%d, agent: exec, backend: %s}\n", i, backend)
	}
	return file
}

var backends = []string{"in-process", "process", "tmux", "tmux-window", "iterm2"}

// TestTenWorkers brings up ten workers at once in each backend: all are ready, and it
// is measured how long that takes, from the start of the command, and what memory a
// worker needs with the holder of its terminal. The sources of this design claim 500 ms
// for a worker in tmux, 800 ms in iTerm2, and under 10 ms in-process.
func TestTenWorkers(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	program := ""
	if testenv.Soak() {
		program = shipped(t)
	}
	for _, backend := range testenv.Rows(t, backends, 2) {
		t.Run(backend, func(t *testing.T) {
			if strings.HasPrefix(backend, "tmux") {
				testenv.Require(t, "tmux")
			}
			n, times := testenv.Scale(2, 10), testenv.Scale(1, 9)
			var one, all []time.Duration
			var rss, pss []uint64
			var on string
			for range times {
				h := newHome(t, "waggle")
				if testenv.Soak() {
					h.program = program
					on = h.twoCores()
				}
				if backend == "iterm2" {
					h.fakeITerm()
				}
				first := h.bringUp("one", backend, 1)
				r, p, took := first.rss, first.pss, first.took
				one = append(one, took)
				many := h.bringUp("all", backend, n)
				all = append(all, many.took)
				if backend == "in-process" { // the memory that more members add to the leader
					r, p = (many.rss-min(many.rss, r))/uint64(n-1), (many.pss-min(many.pss, p))/uint64(n-1)
				} else {
					r, p = many.rss/uint64(n), many.pss/uint64(n)
				}
				rss, pss = append(rss, r), append(pss, p)
			}
			mb := func(b []uint64) string { return strconv.FormatFloat(float64(middle(b))/(1<<20), 'f', 1, 64) + " MB" }
			memory := mb(rss) + " resident"
			if middle(pss) > 0 {
				memory += ", " + mb(pss) + " without its part of what is shared"
			}
			testenv.Measured(t, "%d workers on %s, %d times: waggle up --detach until all are ready, median %s; with one worker %s; a worker with its holder %s",
				n, on, times, middle(all).Round(time.Millisecond), middle(one).Round(time.Millisecond), memory)
		})
	}
}

// BenchmarkTenWorkers is TestTenWorkers for a change at hand: the time until all ten
// are ready, without that of their end, and the memory of all.
func BenchmarkTenWorkers(b *testing.B) {
	program := shipped(b)
	for _, backend := range backends {
		b.Run(backend, func(b *testing.B) {
			if strings.HasPrefix(backend, "tmux") {
				testenv.Require(b, "tmux")
			}
			h := newHome(b, "waggle")
			h.program = program
			if backend == "iterm2" {
				h.fakeITerm()
			}
			var took time.Duration
			var last broughtUp
			n := 0
			for ; b.Loop(); n++ {
				last = h.bringUp(fmt.Sprintf("bench%d", n), backend, 10)
				took += last.took
			}
			b.ReportMetric(float64(took.Milliseconds())/float64(n), "ready-ms")
			b.ReportMetric(float64(last.rss)/(1<<20), "resident-MB")
		})
	}
}

func middle[T int64 | uint64 | time.Duration](list []T) T {
	slices.Sort(list)
	return list[len(list)/2]
}

// broughtUp is the start time and the memory of a team.
type broughtUp struct {
	took     time.Duration
	rss, pss uint64 // of all workers and holders, or of the process that they live in
}

// bringUp brings a team up, measures the memory of its processes, and ends it.
func (h *homeTree) bringUp(team, backend string, n int) broughtUp {
	h.t.Helper()
	file := h.write(team+".yaml", crew(team, backend, n))
	h.ends(team)
	began := time.Now()
	h.must("up", file, "--detach", "--quiet")
	b := broughtUp{took: time.Since(began)}
	st := h.status(team)
	pids := map[int]bool{}
	for _, m := range st.Members {
		if m.Ready == nil || m.PID == 0 || m.Backend != backend {
			h.t.Fatalf("%s is not ready in %s: %+v", m.Name, backend, m)
		}
		pids[m.PID] = true
		if m.PID != st.Leader.PID { // its parent holds its terminal
			up, err := spawn.Ancestors(m.PID)
			testenv.Must(h.t, err)
			pids[up[0].PID] = true
		}
	}
	if len(st.Members) != n || backend == "in-process" && len(pids) != 1 || backend != "in-process" && len(pids) != 2*n {
		h.t.Fatalf("%d members in %d processes", len(st.Members), len(pids))
	}
	for pid := range pids {
		rss, pss := residence(pid)
		b.rss, b.pss = b.rss+rss, b.pss+pss
	}
	h.must("down", team)
	return b
}

// residence is the memory of a process, in bytes: the resident memory, and the resident
// memory with only its share of the pages that other processes use too; 0 if the system
// does not report it.
func residence(pid int) (rss, pss uint64) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		if id, ierr := spawn.Identify(pid); ierr == nil {
			id.Inside = true // without the processes below it
			if u, uerr := spawn.UsageOf(id); uerr == nil {
				return u[0].RSS, 0
			}
		}
		return 0, 0
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		kb, _ := strconv.ParseUint(f[1], 10, 64)
		switch f[0] {
		case "Rss:":
			rss = kb << 10
		case "Pss:":
			pss = kb << 10
		}
	}
	return rss, pss
}

// TestSlowShells brings up a team, and starts members by as many commands at once, for
// a user whose shells take ten seconds to start: all members come up, and waggle waits
// for no shell.
func TestSlowShells(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	for _, backend := range testenv.Rows(t, []string{"process", "tmux"}, 1) {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			if backend == "tmux" {
				testenv.Require(t, "tmux")
			}
			n := testenv.Scale(4, 20)
			h := newHome(t, "waggle")
			h.slowShells()
			h.ends("slow")
			began := time.Now()
			h.must("up", h.write("slow.yaml", crew("slow", backend, n)), "--detach")
			up := time.Since(began)
			began = time.Now()
			var wg sync.WaitGroup
			for i := range n {
				wg.Go(func() {
					out, said, code := h.waggle("spawn", fmt.Sprintf("s%d", i), "--team", "slow", "--backend", backend, "--json")
					var sp supervise.Spawned
					if err := json.Unmarshal([]byte(out), &sp); code != 0 || err != nil || sp.Ready == nil || sp.PID == 0 {
						t.Errorf("spawn %d: code %d, %v\n%s%s", i, code, err, out, said)
					}
				})
			}
			wg.Wait()
			spawned := time.Since(began)
			ready := 0
			for _, m := range h.status("slow").Members {
				if m.Ready != nil && m.State == inspect.StateIdle {
					ready++
				}
			}
			if ready != 2*n {
				t.Errorf("%d of %d are ready and idle", ready, 2*n)
			}
			if b, err := os.ReadFile(filepath.Join(h.dir, "shells")); err == nil {
				t.Errorf("a shell was started: %s", b)
			}
			testenv.Measured(t, "%d of %d members of one file ready in %s, and %d of %d by as many commands at once in %s, beside shells that need 10 s",
				n, n, up.Round(time.Millisecond), ready-n, n, spawned.Round(time.Millisecond))
			h.must("down", "slow")
		})
	}
}

// slowShells makes every shell of a home slow, and has it write down that it ran.
func (h *homeTree) slowShells() {
	h.t.Helper()
	slow := "echo $0 >> " + filepath.Join(h.dir, "shells") + "\nsleep 10\n"
	for _, f := range []string{".zshrc", ".zshenv", ".bashrc", ".bash_profile", ".profile"} {
		writeFile(h.t, filepath.Join(h.dir, "home", f), slow)
	}
	shell := h.write("slowsh", "#!/bin/sh\n"+slow+"exec /bin/sh \"$@\"\n")
	testenv.Must(h.t, os.Chmod(shell, 0o700))
	h.env = append(h.env, "SHELL="+shell, "BASH_ENV="+filepath.Join(h.dir, "home", ".bashrc"), "ENV="+filepath.Join(h.dir, "home", ".profile"))
}

// TestSameNameAtOnce: of several commands that start a member of one name exactly one
// does, the others say that it is taken, and only one process runs.
func TestSameNameAtOnce(t *testing.T) {
	t.Parallel()
	n := testenv.Scale(4, 20)
	h := newTeam(t, "same", crew("same", "process", 1))
	codes, said := make([]int, n), make([]string, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { _, said[i], codes[i] = h.waggle("spawn", "bob", "--team", "same") })
	}
	wg.Wait()
	won := 0
	for i, code := range codes {
		switch {
		case code == 0:
			won++
		case code != app.ExitRefused || !strings.Contains(said[i], "name is taken"):
			t.Errorf("code %d: %s", code, said[i])
		}
	}
	if won != 1 {
		t.Errorf("%d of %d commands started it", won, n)
	}
	st := h.status("same")
	if len(st.Members) != 2 || st.Members[0].Name != "bob" && st.Members[1].Name != "bob" {
		t.Errorf("members: %+v", st.Members)
	}
	testenv.Measured(t, "%d commands at once for one name: %d started it, the others said that it is taken", n, won)
	h.must("down", "same")
}
