//go:build unix

package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"waggle/home"
	"waggle/internal/face/cli/app"
	"waggle/internal/fs/atomicfile"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/operator"
	"waggle/record"
	"waggle/spawn"
)

// damage is one way to damage a path. do returns a function that ends the damage, if the end
// takes more than putting the file back.
type damage struct {
	name string
	do   func(t *testing.T, path string) (undo func())
}

// damages are the rows of the table.
var damages = []damage{
	{"absent", func(t *testing.T, path string) func() { drop(t, path); return nil }},
	{"empty", func(t *testing.T, path string) func() { put(t, path, nil); return nil }},
	{"garbage", func(t *testing.T, path string) func() { put(t, path, []byte("\x00\xff{[garbage\n")); return nil }},
	{"truncated", func(t *testing.T, path string) func() {
		data := had(path)
		put(t, path, data[:len(data)/2])
		return nil
	}},
	{"changed byte", func(t *testing.T, path string) func() {
		data := slices.Clone(had(path))
		if len(data) > 0 {
			data[len(data)/2] ^= 0x15
		}
		put(t, path, data)
		return nil
	}},
	{"newer version", func(t *testing.T, path string) func() {
		put(t, path, bytes.Replace(had(path), []byte("{"), []byte(`{"schemaVersion":"99.0.0","v":99,`), 1))
		return nil
	}},
	{"huge", func(t *testing.T, path string) func() {
		put(t, path, nil)
		testenv.Must(t, os.Truncate(path, 1<<40)) // a hole: it takes no room
		return nil
	}},
	{"directory", func(t *testing.T, path string) func() {
		drop(t, path)
		testenv.Must(t, os.Mkdir(path, 0o700))
		return nil
	}},
	{"FIFO", func(t *testing.T, path string) func() {
		drop(t, path)
		testenv.Must(t, syscall.Mkfifo(path, 0o600))
		return nil
	}},
	{"dangling link", func(t *testing.T, path string) func() {
		drop(t, path)
		testenv.Must(t, os.Symlink("/nowhere/at/all", path))
		return nil
	}},
	{"link", func(t *testing.T, path string) func() {
		drop(t, path)
		testenv.Must(t, os.Symlink("/etc/hostname", path))
		return nil
	}},
	{"held lock", func(t *testing.T, path string) func() {
		if private(path) { // a lock of ours is a flock on the file itself
			return fakeLock(t, path)
		}
		release, _, err := atomicfile.TryFlock(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".flk"), atomicfile.Options{})
		lock := path + ".lock"
		if merr := os.Mkdir(lock, 0o700); err != nil || merr != nil && !errors.Is(merr, fs.ErrExist) {
			t.Logf("no lock: %v %v", err, merr)
		}
		far := time.Now().Add(time.Hour)
		_ = os.Chtimes(lock, far, far) // it never gets stale
		return func() {
			if release != nil {
				_ = release()
			}
			_ = os.Remove(lock)
		}
	}},
}

// private reports a path in STATE or RUN.
func private(path string) bool { return strings.Contains(path, "/state/") }

// fakeLock puts a file in the place of path, or takes the one that is there, and holds
// the flock on it.
func fakeLock(t *testing.T, path string) func() {
	t.Helper()
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil // only a regular file is locked
	}
	release, held, err := atomicfile.TryFlock(path, atomicfile.Options{})
	if err == nil && !held { // a process of the team holds the lock: put another file in its place
		drop(t, path)
		release, held, err = atomicfile.TryFlock(path, atomicfile.Options{})
	}
	if err != nil || !held {
		t.Logf("no lock: %v", err)
		return nil
	}
	return func() { _ = release() }
}

// faultFile is a kind of file: where one is, and what each command may then end with.
type faultFile struct {
	name string
	wire bool // in the wire tree: anybody may write it
	// journal: its records are the authority, and nothing goes on without the file.
	journal bool
	path    func(f *faulty) string
	// except are the exit codes of commands that differ from what a whole team gives.
	except map[string][]int
}

// broken has the exit codes of commands that need a journal that cannot be used.
var broken = map[string][]int{"status": {0, 1}, "pending": {0, 1}, "approve": {0, 1, 6, 8, 9}, "send": {0, 1, 6, 8}, "stop": {0, 1, 4, 5, 8}, "resume": {0, 1, 5, 6, 8}}

// unasked has the exit codes of commands that ask the process that leads, which serves no socket any more.
var unasked = map[string][]int{"resume": {0, 4, 8}}

// locked has the exit codes of commands that need the lock of the leader's journal, which
// another program may hold.
var locked = map[string][]int{"approve": {0, 8}, "send": {0, 8}, "stop": {0, 4, 6, 8}}

// faultFiles are the columns.
var faultFiles = []faultFile{
	{name: "config.json", wire: true, path: func(f *faulty) string { return f.op.Root.ConfigPath("api") }},
	{name: "team directory", wire: true, path: func(f *faulty) string { return f.op.Root.TeamDir("api") }},
	{name: "inboxes", wire: true, path: func(f *faulty) string { return f.op.Root.InboxesDir("api") }},
	{name: "lead's inbox", wire: true, path: func(f *faulty) string { return filepath.Join(f.op.Root.InboxesDir("api"), "team-lead.json") }},
	{name: "member's inbox", wire: true, path: func(f *faulty) string { return filepath.Join(f.op.Root.InboxesDir("api"), "ann.json") }},
	{name: "tasks directory", wire: true, path: func(f *faulty) string { return f.op.Root.TasksDir("api") }},
	{name: "task file", wire: true, path: func(f *faulty) string { return filepath.Join(f.op.Root.TasksDir("api"), "1.json") }},
	{name: "task lock", wire: true, path: func(f *faulty) string { return filepath.Join(f.op.Root.TasksDir("api"), ".lock") }},
	{name: "highwatermark", wire: true, path: func(f *faulty) string { return filepath.Join(f.op.Root.TasksDir("api"), ".highwatermark") }},
	{name: "mailbox queue", wire: true, path: func(f *faulty) string { return filepath.Join(f.op.Root.InboxesDir("api"), ".ann.json.flk") }},
	{name: "mailbox lock", wire: true, path: func(f *faulty) string { return filepath.Join(f.op.Root.InboxesDir("api"), "ann.json.lock") }},
	{name: "lead's mailbox lock", wire: true, path: func(f *faulty) string { return filepath.Join(f.op.Root.InboxesDir("api"), "team-lead.json.lock") }},
	{name: "registry lock", wire: true, path: func(f *faulty) string { return f.op.Root.ConfigPath("api") + ".lock" }},
	{name: "registry queue", wire: true, path: func(f *faulty) string { return filepath.Join(f.op.Root.TeamDir("api"), ".config.json.flk") }},
	{name: "member's directory", wire: true, path: func(f *faulty) string { return f.op.Root.MemberDir("api", "ann") }},
	{name: "task-status.json", wire: true, path: func(f *faulty) string { return f.member("task-status.json") }},
	{name: "output.log", wire: true, path: func(f *faulty) string { return f.member("output.log") }},
	{name: "artifacts", wire: true, path: func(f *faulty) string { return f.member("artifacts") }},

	{name: "journal lock", path: func(f *faulty) string { return filepath.Join(f.dir.LeaderJournal(), "lock") }, except: locked},
	{name: "member's journal lock", path: func(f *faulty) string { return filepath.Join(f.dir.JournalOf(string(f.ann)), "lock") }},
	{name: "bodies", path: func(f *faulty) string { return filepath.Join(f.dir.LeaderJournal(), "bodies") }},
	{name: "certain.json", path: func(f *faulty) string { return filepath.Join(f.dir.LeaderJournal(), journal.CertainName) }},
	{name: "member's certain.json", path: func(f *faulty) string { return filepath.Join(f.dir.JournalOf(string(f.ann)), journal.CertainName) }},
	{name: "snapshot", path: func(f *faulty) string { return f.snapshot("snapshot-") }},
	{name: "leader.lock", path: func(f *faulty) string { return f.dir.LeaderLease() }},
	{name: "process lease", path: func(f *faulty) string { return f.dir.ProcessLease(f.ann) }},
	{name: "processes", path: func(f *faulty) string { return f.dir.Processes() }},
	{name: "leader's process record", path: func(f *faulty) string { return f.state("started", "leader.json") }},
	{name: "member's process record", path: func(f *faulty) string { return f.state("started", string(f.ann)+".json") }},
	{name: "process records", path: func(f *faulty) string { return f.state("started") }},
	{name: "start command", path: func(f *faulty) string { return f.state("processes", "0123456789abcdef.start.json") }},
	{name: "hold record", path: func(f *faulty) string { return f.state("processes", "0123456789abcdef.hold.json") }},
	{name: "tool record", path: func(f *faulty) string { return f.state("tools", string(f.ann)+"-1-1.json") }},
	{name: "control group", path: func(f *faulty) string { return f.state("cgroups", string(f.ann)+".4711.0") }},
	{name: "token", path: func(f *faulty) string { return f.state("tokens", "00112233445566778899aabbccddeeff.json") }},
	{name: "worktree record", path: func(f *faulty) string { return f.state("worktrees", "ann.json") }},
	{name: "bridge.json", path: func(f *faulty) string { return f.dir.BridgeEndpoint() }},
	{name: "tool records", path: func(f *faulty) string { return f.dir.Tools() }},
	{name: "control groups", path: func(f *faulty) string { return f.state("cgroups") }},
	{name: "socket", path: func(f *faulty) string { return f.s.Dir.Sockets(f.op.RunPath()).Path("ann") }},
	{name: "operator's socket", path: func(f *faulty) string { return f.s.Dir.Sockets(f.op.RunPath()).Path("operator") }, except: unasked},
	{name: "RUN", path: func(f *faulty) string { return filepath.Dir(f.s.Dir.Sockets(f.op.RunPath()).Path("ann")) }, except: unasked},
	{name: "socket keys", path: func(f *faulty) string { return f.state("sockets") }},
	{name: "socket key", path: func(f *faulty) string { return f.state("sockets", "ann.json") }},
	{name: "socket lease", path: func(f *faulty) string { return f.state("sockets", "ann.lock") }},
	{name: "leader.log", path: func(f *faulty) string { return f.state("leader.log") }},
	{name: "team.json", path: func(f *faulty) string { return f.dir.Identity() }},
	{name: "team.yaml", path: func(f *faulty) string { return f.dir.TeamFile() }, except: map[string][]int{"resume": {0, 1, 2, 6, 8}}},
	{name: "team.yaml.from", path: func(f *faulty) string { return f.dir.TeamFile() + ".from" }, except: map[string][]int{"resume": {0, 1, 2, 6, 8}}},
	{name: "waggle.yaml", path: func(f *faulty) string { return f.file }, except: map[string][]int{"resume": {0, 3, 8}}},
	{name: "name lease", path: func(f *faulty) string { return f.op.Home.NameLease(f.op.RootURL, "api") }},
	{name: "told.json", path: func(f *faulty) string { return f.dir.ObserverCursor() }},
	{name: "notified.json", path: func(f *faulty) string { return f.dir.Notified() }},
	{name: "set-aside", path: func(f *faulty) string { return f.dir.Quarantine() }},
	{name: "archive", path: func(f *faulty) string { return f.dir.Archive() }},
	{name: "making", path: func(f *faulty) string { return f.dir.Making() }},
	{name: "tokens", path: func(f *faulty) string { return f.dir.Tokens() }},
	{name: "worktrees", path: func(f *faulty) string { return f.dir.Worktrees() }},

	{name: "leader's journal", journal: true, path: func(f *faulty) string { return filepath.Join(f.dir.LeaderJournal(), "00000001.jsonl") }, except: broken},
	{name: "member's journal", journal: true, path: func(f *faulty) string { return filepath.Join(f.dir.JournalOf(string(f.ann)), "00000001.jsonl") }, except: broken},
}

// class is what a file is part of: wire, state or journal.
func (f faultFile) class() string {
	switch {
	case f.wire:
		return "wire"
	case f.journal:
		return "journal"
	}
	return "state"
}

func (f *faulty) state(of ...string) string {
	return filepath.Join(append([]string{f.dir.Path}, of...)...)
}

func (f *faulty) member(of string) string {
	return filepath.Join(f.op.Root.MemberDir("api", "ann"), of)
}

// snapshot is where a fold of the leader's journal is kept.
func (f *faulty) snapshot(prefix string) string {
	found, _ := filepath.Glob(filepath.Join(f.dir.LeaderJournal(), prefix+"*"))
	if len(found) > 0 {
		return found[0]
	}
	return filepath.Join(f.dir.LeaderJournal(), "snapshot-leader")
}

// usual has the exit codes of each command in a team without damage.
var usual = map[string][]int{"status": {0}, "pending": {0}, "approve": {0}, "send": {0}, "stop": {0, 4, 6}, "resume": {0, 8}}

// faulty is one team of the table.
type faulty struct {
	t    *testing.T
	op   operator.Operator
	s    *operator.State
	dir  home.Dir
	file string // the team file
	ann  record.Instance
	hint hints
	seen map[string][]outcome // of each command
	cell string
	bad  []string
	slow time.Duration
	n    int // of commands
}

// drop takes away what is at a path at once: the program may be writing there.
func drop(t *testing.T, path string) {
	t.Helper()
	err := os.Rename(path, filepath.Join(t.TempDir(), "dropped"))
	if errors.Is(err, syscall.EXDEV) { // the files of tests may be in memory, and sockets are not
		err = os.Rename(path, filepath.Join(testenv.DiskDir(t), "dropped"))
	}
	if !errors.Is(err, fs.ErrNotExist) {
		testenv.Must(t, err)
	}
}

// had is the content of a file; a directory has none.
func had(path string) []byte {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > 64<<20 {
		return nil // not a FIFO, and not a hole
	}
	data, _ := os.ReadFile(path)
	return data
}

func put(t *testing.T, path string, data []byte) {
	t.Helper()
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		drop(t, path)
	}
	testenv.Must(t, os.WriteFile(path, data, 0o600))
}

// TestFaultTable damages one file of a living team in one way, gives every command, puts
// the file back and lets the team work on; then damages it again and ends the team. Each
// cell says with which code a command ends, and in the full run how fast.
func TestFaultTable(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	type pair struct {
		f faultFile
		d damage
	}
	var pairs []pair
	only := os.Getenv("WAGGLE_FAULT") // "damage/file/class", or a part of it
	for _, f := range faultFiles {
		for _, d := range damages {
			if only == "" || strings.Contains(d.name+"/"+f.name+"/"+f.class(), only) {
				pairs = append(pairs, pair{f, d})
			}
		}
	}
	rng := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	if !testenv.Soak() && only == "" {
		pairs = slices.DeleteFunc(pairs, func(p pair) bool { return p.f.journal })
		rng.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
		slices.SortStableFunc(pairs, func(a, b pair) int { return bools(b.f.wire) - bools(a.f.wire) })
		pairs = []pair{pairs[0], pairs[len(pairs)-1]} // one of the wire tree, one of STATE
	}
	table := &faultTable{rows: map[string]map[string][]outcome{}}
	t.Run("pairs", func(t *testing.T) {
		for _, p := range pairs {
			t.Run(p.d.name+"/"+p.f.name, func(t *testing.T) {
				if testenv.Soak() || only != "" {
					t.Parallel()
				}
				f := newFaulty(t, p.d.name+"/"+p.f.name)
				f.run(p.f, p.d)
				table.add(p.f.name, f)
			})
		}
	})
	testenv.Measured(t, "%d pairs of damage and file, %d cells, %d not as stated, slowest %v", len(pairs), table.cells, table.failed, table.slowest.Round(10*time.Millisecond))
	if path := os.Getenv("WAGGLE_FAULT_TABLE"); path != "" {
		writeFile(t, path, table.String())
	}
}

func bools(b bool) int {
	if b {
		return 1
	}
	return 0
}

const faultyTeam = `team: api
sandbox: {mode: off}
members:
  - {name: ann, agent: exec}
  - {name: bob, agent: exec}
`

func newFaulty(t *testing.T, cell string) *faulty {
	t.Helper()
	f := &faulty{t: t, op: newOperator(t), cell: cell, hint: hints{}, seen: map[string][]outcome{}}
	t.Cleanup(func() {
		for _, b := range f.bad {
			t.Error(b)
		}
	})
	work := t.TempDir()
	file := filepath.Join(work, "waggle.yaml")
	f.file = file
	writeFile(t, file, faultyTeam)
	owns(t, f.op.Home.Path, work)
	if code, out, _ := f.waggle("up", file, "--detach"); code != 0 {
		t.Fatalf("up: exit %d: %s", code, out)
	}
	s, err := f.op.Open(t.Context(), "api", operator.Act)
	testenv.Must(t, err)
	f.s, f.dir = s, s.Dir
	for _, m := range s.Lead.Live() {
		if m.Name == "ann" {
			f.ann = m.Instance
		}
	}
	return f
}

// waggle gives a command.
func (f *faulty) waggle(args ...string) (code int, out string, took time.Duration) {
	began := time.Now()
	code, out = at(f.op, args...)
	return code, out, time.Since(began)
}

func (f *faulty) wrong(format string, args ...any) {
	f.bad = append(f.bad, fmt.Sprintf(format, args...))
}

// faultLimit is how long a command may take in the full run: commands wait for locks.
const faultLimit = 10 * time.Second

// within checks how long a command took.
func (f *faulty) within(args []string, took time.Duration) {
	f.t.Helper()
	if took > faultLimit {
		testenv.Within(f.t, f.cell+": waggle "+strings.Join(args, " "), took, faultLimit)
	}
}

// give runs a command that may end with these codes, and follows the hints of its error.
func (f *faulty) give(codes []int, args ...string) string {
	code, out, took := f.waggle(args...)
	f.n++
	f.slow = max(f.slow, took)
	f.seen[args[0]] = append(f.seen[args[0]], outcome{code, took})
	f.within(args, took)
	if !slices.Contains(codes, code) {
		f.wrong("%s: waggle %s: exit %d after %v, want %v: %.600s", f.cell, strings.Join(args, " "), code, took.Round(time.Millisecond), codes, tailOf(out))
	}
	if code != 0 {
		f.follow(out, args)
	}
	return out
}

// until waits until ok is true, and reports a wrong cell when it is not within a minute.
func (f *faulty) until(what string, ok func() bool) bool {
	came := testenv.WaitFor(time.Minute, ok)
	if !came {
		_, status, _ := f.waggle("status", "--team", "api")
		f.wrong("%s: never: %s; processes %v; status: %s", f.cell, what, testenv.Processes(f.op.Home.Path), status)
	}
	return came
}

// ask gives ann work that needs an answer, and returns the handle of its question.
func (f *faulty) ask(subject string) (task, handle string) {
	code, out, _ := f.waggle("task", "add", subject, "--instructions", "touch "+subject, "--owner", "ann", "--team", "api", "--json")
	var added struct {
		Task struct {
			ID string `json:"id"`
		} `json:"task"`
	}
	if err := json.Unmarshal([]byte(out), &added); code != 0 || err != nil {
		f.wrong("%s: task add %s: exit %d %v: %s", f.cell, subject, code, err, out)
		return "", ""
	}
	f.until("a question for "+subject, func() bool {
		if open := f.questions(); len(open) > 0 {
			handle = open[len(open)-1]
		}
		return handle != ""
	})
	return added.Task.ID, handle
}

// questions are the ids of those that are open.
func (f *faulty) questions() (ids []string) {
	_, out, _ := f.waggle("pending", "--team", "api", "--json")
	var p struct{ Pending []struct{ ID string } }
	if json.Unmarshal([]byte(out), &p) != nil {
		return nil
	}
	for _, q := range p.Pending {
		ids = append(ids, q.ID)
	}
	return ids
}

// run runs one pair of a file and a damage.
func (f *faulty) run(file faultFile, d damage) {
	path := file.path(f)
	want := func(command string) []int {
		if codes, ok := file.except[command]; ok {
			return codes
		}
		return usual[command]
	}
	_, question := f.ask("first")
	if question == "" {
		return
	}
	if private(path) {
		testenv.Must(f.t, os.MkdirAll(filepath.Dir(path), 0o700))
	}
	copyTo := filepath.Join(f.t.TempDir(), "before")
	kept := keep(path, copyTo)
	more := d.do(f.t, path)
	f.give(want("status"), "status", "--team", "api")
	f.give(want("pending"), "pending", "--team", "api")
	f.give(want("approve"), "approve", question, "--team", "api")
	f.give(want("send"), "send", "ann", "hello", "--team", "api")
	f.give(want("stop"), "stop", "bob", "--team", "api", "--grace", "1s")
	f.give(want("resume"), "resume", "api", "--detach")
	s, err := f.op.Open(f.t.Context(), "api", operator.Act)
	if err == nil && s.Lead.Led != nil {
		if !s.Lead.Led.ID.Alive() {
			f.wrong("%s: the leader has ended", f.cell)
		}
		if m, ok := s.Lead.Member("ann"); !file.journal && (!ok || m.Process == nil || !m.Process.ID.Alive()) {
			f.wrong("%s: ann's process has ended", f.cell)
		}
	} else if !file.journal {
		f.wrong("%s: the record cannot be read: %v", f.cell, err)
	}
	if more != nil {
		more()
	}
	if kept {
		restoreTo(f.t, copyTo, path, d)
	}
	f.n += 3 // the leader, the worker, and what follows
	if task, q := f.ask("second"); q != "" {
		f.until("the second task completes", func() bool {
			for _, q := range f.questions() { // the first too, where it could not be answered
				f.waggle("approve", q, "--team", "api")
			}
			_, out, _ := f.waggle("task", "show", task, "--team", "api", "--json")
			if !strings.Contains(out, `"status": "completed"`) || file.journal && file.name != "member's journal" {
				return strings.Contains(out, `"status": "completed"`)
			}
			s, err := f.op.Open(f.t.Context(), "api", operator.Act) // and the leader has it, who tells down how the team ends
			if err != nil {
				return false
			}
			m, ok := s.Lead.Member("ann")
			return ok && m.Done[task] != nil
		})
	}
	more = d.do(f.t, path)
	ends := []int{0}
	switch {
	case file.wire && d.name == "held lock":
		ends = append(ends, app.ExitLocked) // the members have ended; the files wait until the lock is released
	case file.name == "journal lock" && d.name == "held lock", // the end has no report (commands §6)
		file.name == "waggle.yaml" && strings.HasSuffix(d.name, "link"): // the first call led elsewhere at its start, and was denied
		ends = []int{app.ExitFailed}
	}
	f.give(ends, "down", "api", "--force")
	if more != nil {
		more()
	}
	if left := f.processes(); len(left) > 0 {
		f.wrong("%s: down left processes: %v", f.cell, left)
	}
	f.until("every process of the team, also each holder, ends by itself after down", func() bool { return len(testenv.Processes(f.op.Home.Path)) == 0 })
}

// keep copies what is at a path; false when there is nothing.
func keep(path, to string) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return false
	}
	if info.IsDir() {
		return os.CopyFS(to, os.DirFS(path)) == nil
	}
	data, err := os.ReadFile(path)
	return err == nil && os.WriteFile(to, data, 0o600) == nil
}

// restoreTo puts back what was there, unless the program has put something usable there
// by itself.
func restoreTo(t *testing.T, from, path string, d damage) {
	t.Helper()
	info, err := os.Lstat(from)
	testenv.Must(t, err)
	now, err := os.Lstat(path)
	if d.name == "held lock" {
		return
	}
	if info.IsDir() {
		if err == nil && now.IsDir() && d.name != "directory" {
			return
		}
		// The program works on, and may make it anew meanwhile.
		whole := path + ".whole"
		testenv.Must(t, os.CopyFS(whole, os.DirFS(from)))
		for try := 0; ; try++ {
			drop(t, path)
			if err := os.Rename(whole, path); err == nil || try == 20 {
				testenv.Must(t, err)
				return
			}
		}
	}
	if strings.Contains(path, "/teams/api/") && err == nil && now.Mode().IsRegular() && json.Valid(had(path)) && now.Size() > 0 {
		return
	}
	_ = os.MkdirAll(filepath.Dir(path), 0o700)
	data := readFile(t, from)
	put(t, path, data)
}

// processes lists the leaders, workers and commands that run: they are this program and have STATE or
// the team's directory as an argument. Holders are not in the list: each ends itself after its process.
func (f *faulty) processes() (ids []spawn.Identity) {
	dirs, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, p := range dirs {
		var pid int
		if _, err := fmt.Sscanf(p, "/proc/%d/", &pid); err != nil || pid == os.Getpid() {
			continue
		}
		id, err := spawn.Identify(pid)
		argv := strings.Split(string(had(p)), "\x00")
		ours := slices.Contains(argv, f.op.Home.Path) || f.dir.Path != "" && slices.Contains(argv, f.dir.Path)
		if err == nil && argv[0] == f.op.Self && ours && id.Alive() {
			ids = append(ids, id)
		}
	}
	return ids
}

// tailOf is the output of a command from its error on, 600 bytes at most.
func tailOf(out string) string {
	out = strings.TrimSpace(out)
	if at := strings.Index(out, "error:"); at >= 0 {
		out = out[at:]
	}
	return out[:min(600, len(out))]
}
