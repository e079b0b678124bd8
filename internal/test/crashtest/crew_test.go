//go:build unix

package crashtest_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	mrand "math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"waggle/home"
	"waggle/internal/face/cli"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/operator"
	"waggle/poll"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/team"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"waggle": func() { os.Exit(cli.Main()) }})
}

// crew is a team of real processes, and all processes that were started for it.
type crew struct {
	t    *testing.T
	rng  *mrand.Rand
	op   operator.Operator // reads what is on disk
	name protocol.TeamName
	dir  string // of the members and of the team file
	bin  string
	mark spawn.Mark // in the environment of every process
	env  []string

	mu      sync.Mutex // of rng and of what follows
	running sync.WaitGroup

	killed, others int // processes of waggle, and of what members run, that kill has ended
}

// patience is the limit for one step on a busy machine.
const patience = 90 * time.Second

// marks gives every crew of this process another mark.
var marks struct {
	sync.Mutex
	n uint64
}

func newCrew(t *testing.T, rng *mrand.Rand, file string) *crew {
	t.Helper()
	testenv.Long(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testenv.Must(t, err)
	bin, err := exec.LookPath("waggle")
	testenv.Must(t, err)
	self, err := spawn.Identify(os.Getpid())
	testenv.Must(t, err)
	marks.Lock()
	marks.n++
	mark := spawn.Mark{PID: self.PID, Start: self.Start, Run: 1_000_000 + marks.n}
	marks.Unlock()
	root, state := filepath.Join(dir, "root"), filepath.Join(dir, "state")
	c := &crew{t: t, rng: rng, name: "crew", dir: filepath.Join(dir, "work"), bin: bin, mark: mark}
	c.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "WAGGLE_ROOT=" + root, "WAGGLE_STATE=" + state,
		"NO_COLOR=1", "WAGGLE_COMMAND=" + mark.String()}
	c.env = append(append(c.env, testenv.Race()...), "WAGGLE_WORKTREES="+filepath.Join(dir, "trees"))
	for _, d := range []string{c.dir, root, filepath.Join(dir, "home")} {
		testenv.Must(t, os.MkdirAll(d, 0o700))
	}
	c.op = operator.Operator{Root: team.Root{Path: root}, RootURL: (&url.URL{Scheme: "file", Path: root}).String(),
		Home: home.Home{Path: state}, Minter: poll.Minter{Now: time.Now, Rand: rand.Reader}, Self: bin, Version: "test", PID: os.Getpid()}
	c.write("waggle.yaml", file)
	c.write("work", fmt.Sprintf(workScript, c.dir))
	testenv.Must(t, os.Symlink("work", filepath.Join(c.dir, "ask"))) // the same, and no rule allows it
	t.Cleanup(c.close)
	return c
}

// workScript leaves a line for its name in the crew's directory, wherever it runs, and
// with a second word waits for that file.
const workScript = `#!/bin/sh
cd '%s' || exit 1
echo "$1" >>ran
[ -z "$2" ] || while [ ! -e "$2" ]; do sleep 0.05; done
echo "$1" >>finished
`

func (c *crew) write(name, text string) {
	c.t.Helper()
	testenv.Must(c.t, testenv.Executable(filepath.Join(c.dir, name), []byte(text)))
}

// between draws a number.
func (c *crew) between(low, high int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return low + c.rng.IntN(high-low+1)
}

// call is a run of the program.
type call struct {
	c    *crew
	cmd  *exec.Cmd
	args []string
	out  string // files: nobody waits for a pipe that a process in the background holds
	done chan struct{}
}

// start runs the program.
func (c *crew) start(args ...string) *call {
	c.t.Helper()
	f, err := os.CreateTemp(c.dir, ".out-*")
	testenv.Must(c.t, err)
	defer f.Close()
	e, err := os.Create(f.Name() + ".err")
	testenv.Must(c.t, err)
	defer e.Close()
	p := &call{c: c, args: args, out: f.Name(), done: make(chan struct{})}
	p.cmd = exec.Command(c.bin, args...)
	p.cmd.Env, p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = c.env, c.dir, f, e
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	testenv.Must(c.t, p.cmd.Start())
	c.running.Go(func() {
		_ = p.cmd.Wait() // its state says it
		close(p.done)
	})
	return p
}

// wait returns the exit code, -1 after a signal, and the output.
func (p *call) wait() (code int, stdout, stderr string) {
	p.c.t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		_ = p.cmd.Process.Signal(syscall.SIGQUIT) // it tells where it stands
		<-p.done
		_, _, stderr := p.wait()
		p.c.t.Fatalf("waggle %v does not end\n%s", p.args, stderr)
	}
	out, err := os.ReadFile(p.out)
	testenv.Must(p.c.t, err)
	talk, err := os.ReadFile(p.out + ".err")
	testenv.Must(p.c.t, err)
	return p.cmd.ProcessState.ExitCode(), string(out), string(talk)
}

// waggle runs the program, which must exit with one of these codes.
func (c *crew) waggle(codes []int, args ...string) (stdout, stderr string) {
	c.t.Helper()
	code, stdout, stderr := c.start(args...).wait()
	if !slices.Contains(codes, code) {
		c.t.Fatalf("waggle %v: exit code %d, want one of %v\n%s%s", args, code, codes, stdout, stderr)
	}
	return stdout, stderr
}

var fine = []int{0}

// state opens what is on disk, nil when there is no team.
func (c *crew) state() *operator.State {
	c.t.Helper()
	s, err := c.op.Open(context.Background(), c.name, operator.Act)
	if operator.Unled(err) {
		return nil
	}
	testenv.Must(c.t, err)
	return s
}

// processes lists every process of the crew.
func (c *crew) processes() []spawn.Marked {
	c.t.Helper()
	all, err := spawn.AllMarked()
	testenv.Must(c.t, err)
	return slices.DeleteFunc(all, func(m spawn.Marked) bool { return len(m.Commands) == 0 || m.Commands[0] != c.mark })
}

// kill ends processes of the crew by SIGKILL, in random order, until none is left that which picks.
// frozen stops all of them first, so that none sees another one die.
func (c *crew) kill(frozen bool, which func(spawn.Marked) bool) {
	c.t.Helper()
	pick := func() []spawn.Marked {
		list := slices.DeleteFunc(c.processes(), func(m spawn.Marked) bool { return !which(m) })
		c.mu.Lock()
		defer c.mu.Unlock()
		c.rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		return list
	}
	if frozen {
		// A process that waits for a child to become another program, as it does while it starts one,
		// is not stopped before that child goes on.
		for moving, passes := true, 0; moving && passes < 20; passes++ {
			moving = false
			for _, m := range pick() {
				if l, err := m.ID.State(); err == nil && l == spawn.Running {
					moving = true
					c.signal(m.ID, syscall.SIGSTOP)
				}
			}
		}
	}
	var hit []spawn.Identity // one that dies has no environment any more, and is there for a moment
	seen := map[spawn.Identity]bool{}
	until := time.Now().Add(patience)
	for list := pick(); len(list) > 0 || slices.ContainsFunc(hit, spawn.Identity.Alive); list = pick() {
		for _, m := range list {
			if !seen[m.ID] {
				seen[m.ID] = true
				c.count(m.ID)
			}
			c.signal(m.ID, syscall.SIGKILL)
			hit = append(hit, m.ID)
		}
		if time.Now().After(until) {
			c.t.Fatalf("they do not die: %+v", list)
		}
	}
}

// count counts a process that is about to be killed, by its program.
func (c *crew) count(id spawn.Identity) {
	if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", id.PID)); err == nil && !strings.HasSuffix(exe, "/"+filepath.Base(c.bin)) {
		c.others++
		return
	}
	c.killed++
}

func (c *crew) signal(id spawn.Identity, sig syscall.Signal) {
	if !id.Alive() {
		return
	}
	if err := syscall.Kill(id.PID, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		c.t.Errorf("kill -%d %d: %v", sig, id.PID, err)
	}
}

// all picks every process.
func all(spawn.Marked) bool { return true }

// only picks these processes.
func only(ids ...spawn.Identity) func(spawn.Marked) bool {
	return func(m spawn.Marked) bool {
		return slices.ContainsFunc(ids, func(id spawn.Identity) bool { return m.ID.PID == id.PID && m.ID.Start == id.Start })
	}
}

// until looks until cond holds, more often than testenv.Eventually: the moments that it finds are short.
func (c *crew) until(what string, cond func() bool) {
	c.t.Helper()
	for end := time.Now().Add(patience); !cond(); time.Sleep(10 * time.Millisecond) { // real clock: other processes
		if time.Now().After(end) {
			c.dump()
			c.t.Fatalf("never: %s", what)
		}
	}
}

// lines counts the equal lines of a file of the crew.
func (c *crew) lines(name string) map[string]int {
	c.t.Helper()
	b, err := os.ReadFile(filepath.Join(c.dir, name))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	testenv.Must(c.t, err)
	n := map[string]int{}
	for _, l := range strings.Fields(string(b)) {
		n[l]++
	}
	return n
}

// close ends the processes that a failed test has left.
func (c *crew) close() {
	if c.t.Failed() {
		c.dump()
	}
	c.kill(false, all)
	c.running.Wait()
	testenv.DropGroups(c.op.Home.Path)
}

// dump shows the end of every journal, the log of the leader, and what runs.
func (c *crew) dump() {
	s, err := c.op.Open(context.Background(), c.name, operator.Act)
	if err != nil {
		c.t.Log("no team:", err)
		return
	}
	recs, err := s.Records()
	if err != nil {
		c.t.Log(err)
	}
	for _, r := range recs[max(0, len(recs)-150):] {
		c.t.Logf("%s %s %d %s %.260s", r.Time.Format("05.000"), r.Name, r.Seq, r.Kind, r.Body)
	}
	for _, log := range []string{filepath.Join(s.Dir.Path, "leader.log")} {
		if b, err := os.ReadFile(log); err == nil {
			c.t.Logf("%s:\n%s", log, b[max(0, len(b)-4000):])
		}
	}
	for _, p := range c.processes() {
		argv, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.ID.PID))
		c.t.Logf("%d of %d: %s %s", p.ID.PID, p.Parent, p.Owner, bytes.ReplaceAll(argv, []byte{0}, []byte{' '}))
	}
}

// end ends the team as a person would, cleans up, and checks that nothing of the team is left. It
// counts the processes that only the cleaning ended.
func (c *crew) end() (orphans int) {
	c.t.Helper()
	c.waggle(ending, "down", "--grace", "1s")
	return c.clean()
}

// clean cleans up after a team that has ended.
func (c *crew) clean() (orphans int) {
	c.t.Helper()
	left := c.processes()
	laid, err := filepath.Glob(filepath.Join(c.op.Home.Path, "teams", "*", "processes", "*.start.json"))
	testenv.Must(c.t, err)
	for _, f := range laid { // nobody takes it, but for gc it is too young to say so
		old := time.Now().Add(-time.Hour)
		testenv.Must(c.t, os.Chtimes(f, old, old))
	}
	cleaned, _ := c.waggle(fine, "gc", "--yes")
	if rest := c.processes(); len(rest) > 0 {
		c.t.Errorf("still there: %+v", rest)
	}
	out, _ := c.waggle(fine, "gc", "--json")
	var found struct{ Found []json.RawMessage }
	testenv.Must(c.t, json.Unmarshal([]byte(out), &found))
	if len(found.Found) > 0 {
		c.t.Errorf("gc --yes said %s\nand has left %s", cleaned, out)
	}
	if files, err := filepath.Glob(filepath.Join(c.op.Home.Path, "teams", "*", "processes", "*.json")); err != nil || len(files) > 0 {
		c.t.Errorf("still there: %v %v", files, err)
	}
	return len(left)
}

// starts collects the processes of every instance from the leader's journal.
type starts map[record.Instance][]spawn.Identity

func (s starts) Apply(r journal.Record) error {
	if r.Kind != record.KindProcess {
		return nil
	}
	var p record.Process
	err := json.Unmarshal(r.Body, &p)
	s[p.Instance] = append(s[p.Instance], p.ID)
	return err
}

// watch tests all the time whether two processes of one instance live. stop ends it, and returns the
// number of tests.
func (c *crew) watch() (stop func() int) {
	done, ended := make(chan struct{}), make(chan struct{})
	looks := 0
	go func() {
		defer close(ended)
		var j *journal.File
		all := starts{}
		for tick := time.NewTicker(5 * time.Millisecond); ; {
			select {
			case <-done:
				tick.Stop()
				return
			case <-tick.C:
			}
			if j == nil {
				dirs, err := c.op.Home.Find(c.op.RootURL, c.name)
				if err != nil || len(dirs) == 0 {
					continue
				}
				if j, err = dirs[len(dirs)-1].Journals().Open(journal.Leader, all, journal.Options{}); err != nil {
					j = nil
					continue
				}
			}
			if err := j.Refresh(context.Background()); err != nil {
				c.t.Errorf("the journal cannot be read: %v", err)
				return
			}
			looks++
			for i, ids := range all {
				var alive []int
				for _, id := range ids {
					if id.Alive() {
						alive = append(alive, id.PID)
					}
				}
				if len(alive) > 1 {
					c.t.Errorf("instance %s lives %d times: %v", i, len(alive), alive)
					return
				}
			}
		}
	}()
	return func() int {
		close(done)
		<-ended
		return looks
	}
}
