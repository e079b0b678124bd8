package spawn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"waggle/internal/test/testenv"
	_ "waggle/internal/test/testenv/seeded"
)

var sameStat = cmp.AllowUnexported(stat{}, Marked{})

// TestParseStatFields: each field is read from its place, one that must be a number and is none is
// refused by its number, and a line that ends before the last of them too.
func TestParseStatFields(t *testing.T) {
	line := func() []string {
		f := strings.Fields("7 (a) S 3 4 5 0 -1 0 1 2 3 4 10 200 3000 40000 20 0 6 0 99 9 10 0 0")
		return f
	}
	parse := func(f []string) (stat, error) { return parseStat(7, []byte(strings.Join(f, " "))) }
	good := stat{pid: 7, ppid: 3, pgid: 4, sid: 5, threads: 6, start: 99, cpu: 43210 * 10 * time.Millisecond, rss: 10 * uint64(os.Getpagesize())}
	got, err := parse(line())
	if d := cmp.Diff(good, got, sameStat); d != "" || err != nil {
		t.Errorf("%v: %s", err, d)
	}
	for field := 4; field <= 24; field++ {
		f := line()
		f[field-1] = "x"
		got, err := parse(f)
		switch field {
		case 4, 5, 6, 20, 22:
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("/proc/7/stat field %d: ", field)) || got != (stat{}) {
				t.Errorf("field %d: %+v, %v", field, got, err)
			}
		default:
			if err != nil || got.start != 99 {
				t.Errorf("field %d: %+v, %v", field, got, err)
			}
		}
	}
	for state, want := range map[string][2]bool{"R": {false, false}, "Z": {false, false}, "X": {true, false}, "T": {false, true}, "t": {false, true}} {
		f := line()
		f[2] = state
		if got, err := parse(f); err != nil || got.zombie != want[0] || got.stopped != want[1] {
			t.Errorf("%s with six threads: %+v, %v", state, got, err)
		}
	}
	for threads, zombie := range map[string]bool{"0": true, "1": true, "2": false} {
		f := line()
		f[2], f[19] = "Z", threads
		if got, err := parse(f); err != nil || got.zombie != zombie {
			t.Errorf("Z with %s threads: %+v, %v", threads, got, err)
		}
	}
	f := line()
	f[8] = fmt.Sprint(0x00200000 | 0x40)
	if got, err := parse(f); err != nil || !got.kernel {
		t.Errorf("a thread of the kernel: %+v, %v", got, err)
	}
	if _, err := parse(line()[:24]); err != nil {
		t.Errorf("with 24 fields: %v", err)
	}
	if _, err := parse(line()[:23]); err == nil || !strings.Contains(err.Error(), "has 23 fields") {
		t.Errorf("with 23 fields: %v", err)
	}
}

// TestBelow: below finds each process below the roots once, parents first; a child that is older
// than its parent has a recycled parent, and one that has ended is passed through.
func TestBelow(t *testing.T) {
	root := stat{pid: 10, start: 5}
	all := []stat{{pid: 2, ppid: 1, start: 1}, root, {pid: 11, ppid: 10, start: 5}, {pid: 12, ppid: 10, start: 4}, {pid: 13, ppid: 11, start: 9, zombie: true},
		{pid: 14, ppid: 13, start: 9}, {pid: 15, ppid: 12, start: 9}}
	numbers := func(found []stat) (n []int) {
		for _, s := range found {
			n = append(n, s.pid)
		}
		return n
	}
	if d := cmp.Diff([]int{11, 14}, numbers(below(all, root))); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]int{14}, numbers(below(all, root, all[2]))); d != "" {
		t.Errorf("with two roots: %s", d)
	}
	loop := []stat{{pid: 10, ppid: 11, start: 5}, {pid: 11, ppid: 10, start: 5}}
	if d := cmp.Diff([]int{11}, numbers(below(loop, loop[0]))); d != "" {
		t.Errorf("of a loop: %s", d)
	}
}

// TestWalkUp: the ancestors go up to the first process, which has none; one that cannot be read ends
// the walk with those below it.
func TestWalkUp(t *testing.T) {
	table := map[int]stat{5: {pid: 5, ppid: 4}, 4: {pid: 4, ppid: 1}, 1: {pid: 1}}
	read := func(pid int) (stat, error) {
		if s, ok := table[pid]; ok {
			return s, nil
		}
		return stat{}, os.ErrPermission
	}
	up, err := ancestorsIn(read, 5)
	if d := cmp.Diff([]stat{table[4], table[1]}, up, sameStat); d != "" || err != nil {
		t.Errorf("%v: %s", err, d)
	}
	if up, err := ancestorsIn(read, 1); len(up) != 0 || err != nil {
		t.Errorf("of the first: %v, %v", up, err)
	}
	delete(table, 1)
	if up, err := ancestorsIn(read, 5); len(up) != 1 || !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "parent 1: ") {
		t.Errorf("%v, %v", up, err)
	}
	if up, err := ancestorsIn(read, 9); up != nil || !errors.Is(err, os.ErrPermission) {
		t.Errorf("%v, %v", up, err)
	}
}

// TestTrace: the process above a marked one is the first without its mark; one that gets orphans is
// none, a parent that is younger is another's, and one that is hidden has only its number.
func TestTrace(t *testing.T) {
	mark := Mark{PID: 3, Start: "1", Run: 1}
	owned := func(pid int, owner string) Marked { return Marked{ID: Identity{PID: pid}, Owner: owner} }
	run := func(pid int, run uint64) Marked {
		return Marked{ID: Identity{PID: pid}, Commands: []Mark{{PID: mark.PID, Start: mark.Start, Run: run}}}
	}
	chain := []stat{{pid: 30, ppid: 20, start: 3}, {pid: 20, ppid: 10, start: 2}, {pid: 10, ppid: 1, start: 1}, {pid: 1}}
	for what, c := range map[string]struct {
		all     []stat
		marks   []Marked
		foreign int
		above   int
	}{
		"below another":             {chain, []Marked{owned(30, "a")}, 20, 3},
		"below its own":             {chain, []Marked{owned(30, "a"), owned(20, "a")}, 10, 3},
		"of another member":         {chain, []Marked{owned(30, "a"), owned(20, "b")}, 20, 3},
		"all its own":               {chain, []Marked{owned(30, "a"), owned(20, "a"), owned(10, "a")}, 0, 3},
		"of the same run":           {chain, []Marked{run(30, 1), run(20, 1)}, 10, 3},
		"of another run":            {chain, []Marked{run(30, 1), run(20, 2)}, 20, 3},
		"a member in a run":         {chain, []Marked{owned(30, "a"), run(20, 1)}, 20, 3},
		"an orphan":                 {[]stat{{pid: 30, ppid: 1, start: 3}, {pid: 1}}, []Marked{owned(30, "a")}, 0, 1},
		"its parent has ended":      {[]stat{{pid: 30, ppid: 20, start: 3}, {pid: 20, ppid: 1, start: 4}, {pid: 1}}, []Marked{owned(30, "a")}, 0, 0},
		"its parent is as old":      {[]stat{{pid: 30, ppid: 20, start: 3}, {pid: 20, ppid: 1, start: 3}, {pid: 1}}, []Marked{owned(30, "a")}, 20, 2},
		"its parent is hidden":      {[]stat{{pid: 30, ppid: 20, start: 3}}, []Marked{owned(30, "a")}, 20, 0},
		"it is the first itself":    {[]stat{{pid: 30}}, []Marked{owned(30, "a")}, 0, 0},
		"its grandparent is hidden": {chain[:2], []Marked{owned(30, "a"), owned(20, "a")}, 10, 1},
	} {
		l := lineage{all: map[int]stat{}, marks: map[int]Marked{}}
		for _, s := range c.all {
			l.all[s.pid] = s
		}
		for _, m := range c.marks {
			l.marks[m.ID.PID] = m
		}
		got := c.marks[0]
		l.trace(&got)
		if got.Foreign.PID != c.foreign || len(got.above) != c.above {
			t.Errorf("%s: below %d, %d above, want %d and %d", what, got.Foreign.PID, len(got.above), c.foreign, c.above)
		}
	}
	l := lineage{}
	if !l.adopts(stat{pid: 1}) || !l.adopts(stat{}) || !l.adopts(stat{pid: os.Getpid()}) || l.adopts(stat{pid: 2, ppid: 2}) {
		t.Error("who gets orphans")
	}
}

// TestMarksOf: a mark is a pid above 1, a time and a number; another spelling is no mark.
func TestMarksOf(t *testing.T) {
	for chain, want := range map[string][]Mark{
		"": nil, "7.99.1": {{7, "99", 1}}, "7.99.1:8.100.2": {{7, "99", 1}, {8, "100", 2}}, "2.9.0": {{2, "9", 0}},
		"1.99.1": nil, "0.9.1": nil, "-7.9.1": nil, "7..1": nil, "7.99": nil, "7.99.1.2": nil, "x.99.1": nil, "7.99.x": nil, "7.99.-1": nil, "x:7.99.1": {{7, "99", 1}},
	} {
		m, ok := marksOf([]string{"PATH=/bin", markName + "=" + chain})
		if d := cmp.Diff(want, m.Commands); d != "" || ok != (want != nil) || m.Owner != "" {
			t.Errorf("%q: %v, %s", chain, ok, d)
		}
	}
	if m, ok := marksOf([]string{MemberMark("api/ada")}); !ok || m.Owner != "api/ada" || m.Commands != nil {
		t.Errorf("a member: %+v, %v", m, ok)
	}
}

// TestReadError: a process table that cannot be read is an error of every look at it, and of a stop.
func TestReadError(t *testing.T) {
	id, err := Identify(os.Getpid())
	testenv.Must(t, err)
	broken := errors.New("no table")
	read := func() ([]stat, error) { return nil, broken }
	other := id
	other.PGID = id.PID + 1
	for what, target := range map[string]target{"group": group{id}, "in another's": groupOf(other)} {
		if live, err := (watched{target, &tree{root: id}}).liveAt(read); live != nil || !errors.Is(err, broken) {
			t.Errorf("%s, watched: %v, %v", what, live, err)
		}
		if live, err := target.liveAt(read); live != nil || !errors.Is(err, broken) && what != "group" {
			t.Errorf("%s: %v, %v", what, live, err)
		}
	}
	signalled := false
	failing := each{func() ([]stat, error) { return nil, broken }}
	if rung, err := stop(t.Context(), Identity{PID: 1 << 30, PGID: 1 << 30}, failing, Grace{}); rung != "" || !errors.Is(err, broken) || signalled {
		t.Errorf("stop: %q, %v", rung, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if rung, err := stop(ctx, Identity{PID: 1 << 30, PGID: 1 << 30}, failing, Grace{}); rung != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("stop after its end: %q, %v", rung, err)
	}
	self := each{func() ([]stat, error) { return []stat{{pid: id.PID}}, nil }}
	if _, err := stop(t.Context(), id, self, Grace{}); !errors.Is(err, ErrNotOurs) {
		t.Errorf("stop of this process: %v", err)
	}
}

// TestNoNumbers: no group is looked for under the numbers that a signal means otherwise, and the
// text of those who are left has their numbers only.
func TestNoNumbers(t *testing.T) {
	self, err := Identify(os.Getpid())
	testenv.Must(t, err)
	if ids, err := GroupOf(self); err != nil || len(ids) == 0 {
		t.Errorf("of this process: %v, %v", ids, err)
	}
	for what, change := range map[string]func(*Identity){
		"pid 1": func(id *Identity) { id.PID = 1 }, "group 1": func(id *Identity) { id.PGID = 1 }, "inside": func(id *Identity) { id.Inside = true },
		"theirs": func(id *Identity) { id.Theirs = true }, "group 0": func(id *Identity) { id.PGID = 0 },
	} {
		id := self
		change(&id)
		if ids, err := GroupOf(id); ids != nil || err != nil {
			t.Errorf("%s: %v, %v", what, ids, err)
		}
	}
	if first, err := Identify(1); err == nil {
		first.PGID = self.PGID
		if ids, err := GroupOf(first); ids != nil || err != nil {
			t.Errorf("the first process: %v, %v", ids, err)
		}
	}
	if got := pids([]stat{{pid: 12}, {pid: 3}}); got != "pids [3 12]" {
		t.Error(got)
	}
	if _, err := readStat(1); err != nil {
		return // a mount with hidepid hides it
	}
	if found, err := Descendants(1); err != nil || len(found) == 0 {
		t.Errorf("below the first process: %d, %v", len(found), err)
	}
}

// TestOwnerOf: a process that is gone has no owner, and nothing of it is of this user or namespace;
// neither is a thread of the kernel, whoever owns it.
func TestOwnerOf(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	testenv.Must(t, cmd.Start())
	pid := cmd.Process.Pid
	if uid, err := owner(pid); err != nil || int(uid) != os.Getuid() {
		t.Errorf("%d, %v", uid, err)
	}
	if !ownUser(stat{pid: pid}) || ownUser(stat{pid: pid, kernel: true}) || !sameNamespace(pid) {
		t.Error("a child of this process")
	}
	if serviceManager(stat{pid: pid, ppid: 1}) || serviceManager(stat{pid: pid, ppid: 2}) {
		t.Error("a program of this process is the service manager")
	}
	testenv.Must(t, cmd.Process.Signal(syscall.SIGKILL))
	_ = cmd.Wait()
	if uid, err := owner(pid); !errors.Is(err, ErrGone) || uid != 0 {
		t.Errorf("gone: %d, %v", uid, err)
	}
	if ownUser(stat{pid: pid}) || sameNamespace(pid) {
		t.Error("a process that is gone is of this user")
	}
	if s, err := readStat(pid); !errors.Is(err, ErrGone) || s != (stat{}) {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestNewMark: a mark names this process by its start, and its runs count up.
func TestNewMark(t *testing.T) {
	id, err := Identify(os.Getpid())
	testenv.Must(t, err)
	m, _ := marksOf([]string{markName + "=" + newMark() + ":" + newMark()})
	if len(m.Commands) != 2 || m.Commands[0].PID != id.PID || m.Commands[0].Start != id.Start || m.Commands[1].Run <= m.Commands[0].Run {
		t.Errorf("%+v", m.Commands)
	}
	for _, one := range m.Commands {
		if alive, err := one.alive(); !alive || err != nil {
			t.Errorf("%s: %v, %v", one, alive, err)
		}
	}
	if _, orphan := m.Orphan(); orphan {
		t.Error("its program runs")
	}
	env := withMark([]string{"A=1", markName + "=7.9.1"}, "8.9.2")
	if last := env[len(env)-1]; last != markName+"=7.9.1:8.9.2" || !hasMark([]string{last}, "8.9.2") || !hasMark([]string{last}, "7.9.1") || hasMark([]string{last}, "9.2") {
		t.Error(env)
	}
	if env := withMark(nil, "8.9.2"); len(env) != 1 || env[0] != markName+"=8.9.2" {
		t.Error(env)
	}
}

// TestSignals: the polite signal is followed by the one that wakes a stopped process; a process that
// is gone is no error; a signal that is refused is an error, and the last one sent.
func TestSignals(t *testing.T) {
	no := errors.New("no")
	for what, c := range map[string]struct {
		kill bool
		err  map[syscall.Signal]error
		sent string
		want error
	}{
		"polite":            {false, nil, "terminated continued", nil},
		"kill":              {true, nil, "killed", nil},
		"gone":              {false, map[syscall.Signal]error{syscall.SIGTERM: syscall.ESRCH, syscall.SIGCONT: os.ErrProcessDone}, "terminated continued", nil},
		"gone, kill":        {true, map[syscall.Signal]error{syscall.SIGKILL: syscall.ESRCH}, "killed", nil},
		"refused":           {false, map[syscall.Signal]error{syscall.SIGTERM: no}, "terminated", no},
		"refused, kill":     {true, map[syscall.Signal]error{syscall.SIGKILL: no}, "killed", no},
		"refused to resume": {false, map[syscall.Signal]error{syscall.SIGCONT: no}, "terminated continued", no},
	} {
		var sent []string
		err := signals(c.kill, func(s syscall.Signal) error { sent = append(sent, s.String()); return c.err[s] })
		if got := strings.Join(sent, " "); got != c.sent || !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %s, %v", what, got, err)
		}
	}
}

// TestReadProc: readProc reads a file of /proc of any length whole, and reports a missing one as
// fs.ErrNotExist.
func TestReadProc(t *testing.T) {
	for _, n := range []int{1, 1000, 5000, 70_000} {
		cmd := exec.Command("cat")
		cmd.Env = []string{"LONG=" + strings.Repeat("x", n)}
		in, err := cmd.StdinPipe()
		testenv.Must(t, err)
		testenv.Must(t, cmd.Start())
		path := fmt.Sprintf("/proc/%d/environ", cmd.Process.Pid)
		var got []byte
		// A program that is just being started has no environment yet.
		testenv.Eventually(t, "the environment is there", func() bool {
			got, err = readProc(path)
			return err != nil || len(got) > 0
		})
		if want := []byte(cmd.Env[0] + "\x00"); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: %d were read, %v", len(want), len(got), err)
		}
		testenv.Must(t, errors.Join(in.Close(), cmd.Wait()))
	}
	if _, err := readProc("/proc/self/nothing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// The name of a program cannot move the fields behind it.
func TestParseStatAnyName(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ ()\nZ0-9]{0,15}`)).Draw(t, "name")
		state := rapid.SampledFrom([]string{"R", "S", "D", "T", "t", "Z", "X"}).Draw(t, "state")
		n := rapid.IntRange(1, 1<<22)
		want := stat{
			pid: n.Draw(t, "pid"), ppid: n.Draw(t, "ppid"), pgid: n.Draw(t, "pgid"), sid: n.Draw(t, "sid"),
			start: rapid.Uint64().Draw(t, "start"),
		}
		threads := rapid.IntRange(0, 3).Draw(t, "threads")
		want.threads, want.cpu, want.rss = threads, (5+6+7+8)*clockTick, 10*uint64(os.Getpagesize())
		want.zombie = state == "X" || state == "Z" && threads < 2
		want.stopped = state == "T" || state == "t"
		line := fmt.Sprintf("%d (%s) %s %d %d %d 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 %d 0 %d 9 10%s\n",
			want.pid, name, state, want.ppid, want.pgid, want.sid, threads, want.start, strings.Repeat(" 0", 28))
		got, err := parseStat(want.pid, []byte(line))
		if err != nil || got != want {
			t.Fatalf("%q: %+v, %v, want %+v", line, got, err, want)
		}
	})
}

func TestParseStatBroken(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"", "1", "1 (", "1 (a)", "1 (a) S 1 2 3", "1 (a) S" + strings.Repeat(" x", 40)} {
		if s, err := parseStat(1, []byte(line)); err == nil {
			t.Errorf("%q: %+v", line, s)
		}
	}
}
