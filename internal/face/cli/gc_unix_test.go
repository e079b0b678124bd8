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
	"testing"

	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/process"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
)

// leavings is a team whose members' processes the test starts and records.
type leavings struct {
	*operatortest.Rig
	s *operator.State
}

func newLeavings(t *testing.T) *leavings {
	t.Helper()
	r := operatortest.Team(t, newOperator(t), "gone", record.PolicySet{})
	return &leavings{r, r.State()}
}

func (l *leavings) append(kind string, body any) {
	l.T.Helper()
	operatortest.Append(l.T, l.Op, l.s, journal.Draft{Kind: kind, Must: true, Body: body})
}

// member adds a member and records id as its process; left says that the member has left.
func (l *leavings) member(name protocol.MemberName, id spawn.Identity, left bool) {
	l.T.Helper()
	m := l.Enlist(l.s, name)
	l.Runs(l.s, m, id)
	if left {
		l.append(record.KindLeft, record.Left{Instance: m.Instance, How: record.LeftDied})
	}
}

// gc runs GC on the team and returns what it found: kind, member and pid of each.
func (l *leavings) gc(act bool) (*process.Collected, []string) {
	l.T.Helper()
	c, err := process.Of(l.Op).GC(l.T.Context(), "gone", act)
	testenv.Must(l.T, err)
	found := []string{}
	for _, g := range c.Found {
		if act && !g.Done {
			l.T.Errorf("not done: %+v", g)
		}
		found = append(found, fmt.Sprintf("%s %s %d", g.Kind, g.Member, g.PID))
	}
	slices.Sort(found)
	return c, found
}

func older(id spawn.Identity) spawn.Identity {
	n, _ := strconv.ParseUint(id.Start, 10, 64)
	id.Start = strconv.FormatUint(n-1, 10)
	return id
}

// TestGCOnlyOurs: GC ends the recorded process of a member that has left. It does not end
// a process that has such a pid by now, one of a member that has not left, one that
// somebody else started, or the one that a member lived in.
func TestGCOnlyOurs(t *testing.T) {
	l := newLeavings(t)
	left, stays, recycled, theirs := operatortest.Process(t), operatortest.Process(t), operatortest.Process(t), operatortest.Process(t)
	inside, err := spawn.Inside()
	testenv.Must(t, err)
	l.member("left", left, true)
	l.member("stays", stays, false)
	l.member("recycled", older(recycled), true)
	l.member("inside", inside, true)
	foreign := theirs
	foreign.Theirs = true
	l.member("theirs", foreign, true)
	want := []string{fmt.Sprintf("process left %d", left.PID)}
	if _, found := l.gc(false); !slices.Equal(found, want) {
		t.Errorf("dry run: %q, want %q", found, want)
	}
	if !left.Alive() {
		t.Fatal("a dry run ended it")
	}
	c, found := l.gc(true)
	if !slices.Equal(found, want) || left.Alive() {
		t.Errorf("%q, want %q; it runs: %v", found, want, left.Alive())
	}
	if len(c.Kept) != 1 || c.Kept[0].Member != "theirs" {
		t.Errorf("kept: %+v", c.Kept)
	}
	for name, id := range map[string]spawn.Identity{"stays": stays, "recycled": recycled, "theirs": theirs} {
		if !id.Alive() {
			t.Errorf("%s was ended", name)
		}
	}
	if _, found := l.gc(true); len(found) > 0 {
		t.Errorf("again: %q", found)
	}
	// After the team's end GC also ends the process of a member that has not left.
	l.append(record.KindEnded, record.Ended{How: "test"})
	if _, found := l.gc(true); !slices.Equal(found, []string{fmt.Sprintf("process stays %d", stays.PID)}) || !recycled.Alive() || !theirs.Alive() {
		t.Errorf("after the end: %q", found)
	}
}

// TestGCRecycledPane: GC removes the records of panes that are gone, and leaves alone the
// pane that has the id of a recorded one by now.
func TestGCRecycledPane(t *testing.T) {
	program := testenv.Require(t, "tmux")
	socket := filepath.Join(t.TempDir(), "s")
	tmux := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(program, append([]string{"-S", socket}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	f := strings.Fields(tmux("-f", "/dev/null", "new-session", "-d", "-P", "-F", "#{pid} #{pane_id} #{pane_pid}", "sleep", "300"))
	t.Cleanup(func() { tmux("kill-server") })
	pid, err := strconv.Atoi(f[0])
	testenv.Must(t, err)
	server := identify(t, pid)
	l := newLeavings(t)
	gone := older(operatortest.Process(t))
	l.member("ann", gone, true)
	for name, now := range map[string]spawn.Identity{"server": server, "earlier": older(server)} {
		data, err := json.Marshal(map[string]any{"process": gone, "ended": true,
			"place": spawn.Place{Holder: &gone, Pane: &spawn.Pane{Server: now, Socket: socket, ID: f[1]}}})
		testenv.Must(t, err)
		testenv.Must(t, os.MkdirAll(l.s.Dir.Processes(), 0o700))
		writeFile(t, filepath.Join(l.s.Dir.Processes(), name+".hold.json"), data)
	}
	if _, found := l.gc(true); !slices.Equal(found, []string{"pane ann 0", "pane ann 0"}) {
		t.Errorf("%q", found)
	}
	if got := tmux("list-panes", "-a", "-F", "#{pane_id} #{pane_pid}"); got != f[1]+" "+f[2] {
		t.Errorf("the panes are %q, were %s %s", got, f[1], f[2])
	}
	if held, _ := filepath.Glob(filepath.Join(l.s.Dir.Processes(), "*.hold.json")); len(held) > 0 {
		t.Errorf("records: %q", held)
	}
}

// TestGCOrphans: GC ends all processes that the commands of a killed leader's members left
// behind in sessions of their own, and the team can still be brought back.
func TestGCOrphans(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what leaves its session is recognised by its environment, and sleep's is hidden on other systems")
	}
	n := testenv.Scale(5, 50)
	op := newOperator(t)
	work := t.TempDir()
	owns(t, work)
	const members = 5
	file := "team: gone\npolicy: {allow: [\"Bash\"]}\nmembers:\n"
	tasks := "tasks:\n"
	for i := range members {
		file += fmt.Sprintf("  - {name: m%d, agent: exec, backend: in-process}\n", i)
		tasks += fmt.Sprintf("  - {subject: s%d, owner: m%d, instructions: \"sh leave.sh %d\"}\n", i, i, i)
	}
	leave := fmt.Sprintf("i=0; while [ $i -lt %d ]; do setsid sleep 300 & echo $!; i=$((i+1)); done >$1.tmp; mv $1.tmp pids.$1; wait\n", n/members)
	for name, text := range map[string]string{"waggle.yaml": file + tasks, "leave.sh": leave} {
		writeFile(t, filepath.Join(work, name), text)
	}
	cmd := exec.Command(binary(t), "run", "waggle.yaml", "--root", op.Root.Path, "--state", op.Home.Path)
	cmd.Dir = work
	testenv.Must(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill() }()
	ids := left(t, work, members)
	if len(ids) != n/members*members {
		t.Fatalf("%d processes, want %d", len(ids), n)
	}
	if c, err := process.Of(op).GC(t.Context(), "gone", true); err != nil || len(c.Found) > 0 {
		t.Fatalf("while the leader runs: %+v, %v", c, err)
	}
	testenv.Must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	c, err := process.Of(op).GC(t.Context(), "gone", true)
	if err != nil || c.Undone() > 0 || len(c.Found) < n {
		t.Errorf("%d found, %d not done, %v", len(c.Found), c.Undone(), err)
	}
	for _, id := range ids {
		if id.Alive() {
			t.Errorf("%d runs on", id.PID)
		}
	}
	if len(c.Kept) != 1 || c.Kept[0].Kind != "team" {
		t.Errorf("kept: %+v", c.Kept)
	}
	testenv.Measured(t, "a killed leader's members left %d processes behind: gc ended all, none of anybody else's", n)
}

// left waits for the processes that the commands of a team have noted.
func left(t *testing.T, dir string, members int) (ids []spawn.Identity) {
	t.Helper()
	var files []string
	testenv.Eventually(t, fmt.Sprintf("all %d have noted theirs", members), func() bool {
		var err error
		if files, err = filepath.Glob(filepath.Join(dir, "pids.*")); err != nil {
			t.Fatal(err)
		}
		return len(files) >= members
	}, func() string { return fmt.Sprintf("noted: %q", files) })
	for _, f := range files {
		b := readFile(t, f)
		for _, s := range strings.Fields(string(b)) {
			pid, err := strconv.Atoi(s)
			testenv.Must(t, err)
			id := identify(t, pid)
			ids = append(ids, id)
		}
	}
	return ids
}
