//go:build unix

package cli_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"waggle/control"
	"waggle/home"
	"waggle/internal/face/cli/app"
	"waggle/internal/face/view"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/inspect"
	"waggle/operator/process"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/team"
)

// homeTree is a wire tree and state of its own, and commands that run in it.
type homeTree struct {
	t       testing.TB
	program string
	dir     string // short: sockets lie below it
	work    string
	prefix  []string // of every command
	env     []string // added to its environment
}

// newHome makes a tree. It skips what is not the full run.
func newHome(t testing.TB, program string) *homeTree {
	t.Helper()
	testenv.Long(t)
	dir, err := os.MkdirTemp("", "wg")
	testenv.Must(t, err)
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		endBelow(t, dir)
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	path, err := exec.LookPath(program)
	testenv.Must(t, err)
	h := &homeTree{t: t, program: path, dir: dir, work: filepath.Join(dir, "w")}
	for _, d := range []string{"w", "root", "home"} {
		testenv.Must(t, os.Mkdir(filepath.Join(dir, d), 0o700))
	}
	return h
}

// newTeam is a home with a team that is up, until the end of the test.
func newTeam(t testing.TB, team, file string) *homeTree {
	t.Helper()
	h := newHome(t, "waggle")
	h.ends(team)
	h.must("up", h.write(team+".yaml", file), "--detach", "--quiet")
	return h
}

func (h *homeTree) command(args ...string) *exec.Cmd {
	argv := append(append(h.prefix[:len(h.prefix):len(h.prefix)], h.program), args...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = h.work
	for _, kv := range os.Environ() {
		switch name, _, _ := strings.Cut(kv, "="); name {
		case "TMUX", "TMUX_PANE", "XDG_RUNTIME_DIR", "WAGGLE_TEAM", spawn.MemberVar:
		default:
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, "HOME="+filepath.Join(h.dir, "home"), "WAGGLE_ROOT="+filepath.Join(h.dir, "root"), "WAGGLE_STATE="+filepath.Join(h.dir, "s"), "NO_COLOR=1")
	cmd.Env = append(cmd.Env, h.env...)
	return cmd
}

// waggle runs a command and returns its output and exit code.
func (h *homeTree) waggle(args ...string) (stdout, stderr string, code int) {
	h.t.Helper()
	var out, said bytes.Buffer
	cmd := h.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		h.t.Fatal(err)
	}
	return out.String(), said.String(), cmd.ProcessState.ExitCode()
}

// must runs a command that succeeds.
func (h *homeTree) must(args ...string) string {
	h.t.Helper()
	out, said, code := h.waggle(args...)
	if code != 0 {
		h.t.Fatalf("waggle %s: code %d\n%s%s", strings.Join(args, " "), code, out, said)
	}
	return out
}

func (h *homeTree) write(name, text string) string {
	h.t.Helper()
	path := filepath.Join(h.work, name)
	writeFile(h.t, path, text)
	return path
}

func (h *homeTree) status(team string) *view.StatusDocument {
	h.t.Helper()
	var st view.StatusDocument
	testenv.Must(h.t, testenv.Decode([]byte(h.must("status", "--team", team, "--json")), &st))
	return &st
}

// operator returns an Operator of this program on the same root and state.
func (h *homeTree) operator() operator.Operator {
	o := newOperator(h.t.(*testing.T))
	root := filepath.Join(h.dir, "root")
	o.Root, o.RootURL, o.Home = team.Root{Path: root}, (&url.URL{Scheme: "file", Path: root}).String(), home.Home{Path: filepath.Join(h.dir, "s")}
	return o
}

// stateOf is the directory of STATE that has what waggle keeps of a team.
func (h *homeTree) stateOf(team string) string {
	h.t.Helper()
	found, err := filepath.Glob(filepath.Join(h.dir, "s", "teams", team+"-*"))
	if err != nil || len(found) != 1 {
		h.t.Fatalf("state of the team: %q %v", found, err)
	}
	return found[0]
}

// ends registers a cleanup that ends the team and the processes which a failed test left behind.
func (h *homeTree) ends(team string, ids ...spawn.Identity) {
	h.t.Cleanup(func() {
		_, _, _ = h.waggle("down", team, "--force")
		for _, id := range ids {
			if id.Alive() {
				_ = syscall.Kill(id.PID, syscall.SIGKILL)
			}
		}
	})
}

// resistance is a way in which a member resists its end, and the result that the end must have.
type resistance struct {
	name   string
	member string // of the team file, but for its name and directory
	prompt string // its task
	turn   string // see stubborn
	signal syscall.Signal
	code   int
	how    string
	steps  []string
	said   string // part of the reason of its refusal
}

var resistances = []resistance{
	{name: "cooperative", member: "agent: exec", code: 0, how: record.LeftHandshake, steps: []string{"handshake"}},
	{name: "rejecting", member: "agent: exec", prompt: "while :; do sleep 0.2; done", code: app.ExitRefused, how: record.LeftStopped, steps: []string{"term"}, said: "busy"},
	{name: "silent", member: "agent: exec", signal: syscall.SIGSTOP, code: app.ExitTimeout, how: record.LeftStopped, steps: []string{"term"}},
	{name: "lines", member: "agent: exec", turn: "lines", code: app.ExitTimeout, how: record.LeftStopped, steps: []string{"stdin", "gone", "term"}},
	{name: "deaf", member: "agent: exec", turn: "deaf", code: app.ExitTimeout, how: record.LeftStopped, steps: []string{"kill"}},
	{name: "leaving", member: "agent: exec", turn: "leaving", code: app.ExitTimeout, how: record.LeftStopped, steps: []string{"kill"}},
	// The worker would end its command in order, but not within the time of the stop ladder.
	{name: "command", member: "agent: exec", prompt: `trap "" TERM HUP; (setsid sh -c 'trap "" TERM HUP; while :; do sleep 0.2; done' &) ; while :; do sleep 0.2; done`,
		code: app.ExitRefused, how: record.LeftStopped, steps: []string{"term", "kill"}, said: "busy"},
	// A process that its command has started goes on without the worker; only the mark tells whose it is.
	{name: "killed", member: "agent: exec, restart: never", prompt: `setsid sh -c 'trap "" TERM HUP; while :; do sleep 0.2; done'; true`, signal: syscall.SIGKILL,
		code: app.ExitDied, how: record.LeftDied, steps: []string{"gone"}},
	{name: "dead", member: "agent: exec, restart: never", signal: syscall.SIGKILL, code: app.ExitDied, how: record.LeftDied, steps: []string{"gone"}},
}

// stubbornTeam is a team with a member for every kind of resistance, and the processes that
// run for each.
type stubbornTeam struct {
	*homeTree
	team  string
	kinds []resistance
	below map[string][]spawn.Identity // by member: the worker, its holder, and the processes seen below it
}

func newStubbornTeam(t *testing.T, backend string, kinds []resistance) *stubbornTeam {
	t.Helper()
	s := &stubbornTeam{homeTree: newHome(t, "stubborn"), team: "stub", below: map[string][]spawn.Identity{}}
	file, tasks := "team: stub\npolicy: {allow: [Bash]}\nmembers:\n", "tasks:\n"
	for _, k := range kinds {
		if runtime.GOOS != "linux" && (k.name == "leaving" || k.name == "command" || k.name == "killed") {
			continue // setsid
		}
		s.kinds = append(s.kinds, k)
		s.write(k.name+"/.keep", "")
		file += fmt.Sprintf("  - {name: %s, %s, cwd: %s, backend: %s}\n", k.name, k.member, k.name, backend)
		if k.prompt != "" {
			text, err := json.Marshal(k.prompt)
			testenv.Must(t, err)
			tasks += fmt.Sprintf("  - {subject: %s, owner: %s, instructions: %s}\n", k.name, k.name, text)
		}
	}
	if tasks != "tasks:\n" {
		file += tasks
	}
	s.write("stub.yaml", file)
	s.ends(s.team)
	s.must("up", "stub.yaml", "--detach")
	for _, k := range s.kinds {
		s.resist(k)
	}
	return s
}

// resist brings a member into its kind of resistance, and stores the processes that run for it.
func (s *stubbornTeam) resist(k resistance) {
	s.t.Helper()
	if k.turn != "" {
		s.write(k.name+"/turn", k.turn)
		testenv.Eventually(s.t, k.name+" has turned", func() bool { return exists(s.work, k.name, "turned") })
	}
	if k.prompt != "" {
		testenv.Eventually(s.t, k.name+" works", func() bool {
			return strings.Contains(s.must("log", k.name, "--team", s.team, "--kind", "started"), "started")
		})
	}
	id := s.process(k.name)
	below, err := spawn.Descendants(id.PID)
	testenv.Must(s.t, err)
	up, err := spawn.Ancestors(id.PID)
	testenv.Must(s.t, err)
	s.below[k.name] = append([]spawn.Identity{id, up[0]}, below...) // its holder too
	for _, n := range []string{"marked", "clean"} {
		if b, err := os.ReadFile(filepath.Join(s.work, k.name, n+".pid")); err == nil {
			var pid int
			if _, err := fmt.Sscan(string(b), &pid); err != nil {
				s.t.Fatal(err)
			}
			id := identify(s.t, pid)
			s.below[k.name] = append(s.below[k.name], id)
		}
	}
	s.ends(s.team, s.below[k.name]...)
	if k.turn == "leaving" && len(s.below[k.name]) < 4 {
		s.t.Fatalf("%s has left nothing behind: %v", k.name, s.below[k.name])
	}
	if k.signal != 0 {
		testenv.Must(s.t, syscall.Kill(id.PID, k.signal))
	}
	if k.signal == syscall.SIGKILL {
		testenv.Eventually(s.t, k.name+" is dead", func() bool { return !id.Alive() })
	}
}

// lead is the team's present state, as this program reads it.
func (s *stubbornTeam) lead() *control.Leader {
	s.t.Helper()
	o := s.operator()
	known, err := o.Home.Find(o.RootURL, protocol.TeamName(s.team))
	if err != nil || len(known) == 0 {
		s.t.Fatalf("no journal: %v", err)
	}
	l := control.NewLeader(nil)
	if _, err := known[len(known)-1].Journals().Open("leader", l, journal.Options{Now: time.Now}); err != nil {
		s.t.Fatal(err)
	}
	return l
}

func (s *stubbornTeam) process(name string) spawn.Identity {
	s.t.Helper()
	m, ok := s.lead().Member(protocol.MemberName(name))
	if !ok || m.Process == nil {
		s.t.Fatalf("no process of %s", name)
	}
	return m.Process.ID
}

// outOfTime is how long down waits for the process that leads, beyond the grace, before down
// ends that process and does the rest itself.
const outOfTime = 10 * time.Second

// gentle is the time that a process has for the steps before SIGKILL: at least that of SIGTERM.
const gentle = 2 * time.Second

// check compares one end with the expected one, with the journal, the process table,
// and the time that it may take.
// slow is the longest run of a program that does nothing meanwhile (slowestRun).
func (s *stubbornTeam) check(k resistance, end process.MemberEnd, code int, took, grace, slow time.Duration) {
	s.t.Helper()
	fail := func(format string, args ...any) {
		s.t.Helper()
		s.t.Errorf("%s: %s (%+v, code %d, %s)", k.name, fmt.Sprintf(format, args...), end, code, took)
	}
	if k.signal == syscall.SIGSTOP && end.How == record.LeftHandshake {
		k.how, k.steps, k.code = end.How, []string{"handshake"}, 0 // after SIGCONT the worker may read the shutdown request before it handles SIGTERM
	}
	steps := k.steps
	loaded := slow > busy || !testenv.Full()
	if end.Step == "kill" && k.how == record.LeftStopped && loaded && took > grace+gentle {
		// The grace and the steps before SIGKILL had their time: SIGKILL is accepted as the last step. In
		// the full run, on a machine that is not loaded, it fails the test. The order and the time of the
		// steps are proved in synctest (spawn/ladder_test.go).
		steps = append(slices.Clone(steps), "kill")
	}
	if end.Step == spawn.RungGone && k.how == record.LeftStopped && loaded && took > grace+outOfTime {
		// The time of down was over, and down ended the process that led in the middle of the
		// steps: that process has not reported which step it had reached.
		steps = append(slices.Clone(steps), spawn.RungGone)
	}
	if end.How != k.how || !slices.Contains(steps, end.Step) || app.ExitCode(end.Kind()) != k.code || code != k.code {
		fail("want %s by %v, code %d (a program that does nothing took up to %s)", k.how, steps, k.code, slow)
	}
	if k.said == "" && end.Rejected != "" || !strings.Contains(end.Rejected, k.said) {
		fail("want the refusal %q", k.said)
	}
	limit := 10 * time.Second
	if !testenv.Soak() {
		limit = 40 * time.Second // other tests run beside this one
	}
	testenv.Within(s.t, "the end of "+k.name, took, grace+limit)
	for _, id := range s.below[k.name] {
		if id.Alive() {
			fail("process %d outlived it", id.PID)
		}
	}
	m, ok := s.lead().Member(protocol.MemberName(k.name))
	switch {
	case !ok || m.Left == nil:
		fail("it has not left on record")
	case m.Left.How != k.how || k.how == record.LeftStopped && cmp.Or(m.Left.Detail, spawn.RungGone) != end.Step:
		fail("the journal says %+v", m.Left)
	}
}

// cleaned checks what is left of members that have ended.
func (s *stubbornTeam) cleaned(except ...string) {
	s.t.Helper()
	o := s.operator()
	known, err := o.Home.Find(o.RootURL, protocol.TeamName(s.team))
	testenv.Must(s.t, err)
	holds, err := filepath.Glob(filepath.Join(known[len(known)-1].Processes(), "*.hold.json"))
	if err != nil || len(holds) != len(except) {
		s.t.Errorf("records of terminals: %v, %v; want those of %v", holds, err, except)
	}
	marked, err := spawn.AllMarked()
	if err != nil {
		return // this system does not tell
	}
	for _, m := range marked {
		if dir, _, _ := strings.Cut(m.Owner, "/"); dir == filepath.Base(known[len(known)-1].Path) {
			s.t.Errorf("process %d of %s runs", m.ID.PID, m.Owner)
		}
	}
}

// stubbornTeams are the teams that are ended.
var stubbornTeams = []struct {
	name, backend string
	led           bool
}{{"led", "process", true}, {"not led", "process", false}, {"panes", "tmux", true}}

// TestStubborn: waggle stop ends each kind of member, in the full run within the grace and ten seconds, all
// at once, with a leader and without. No process of the member is left, and the exit code,
// the output and the journal agree on how it ended.
func TestStubborn(t *testing.T) { eachStubbornTeam(t, (*stubbornTeam).stopAll) }

// eachStubbornTeam ends the teams, each as one test.
func eachStubbornTeam(t *testing.T, end func(s *stubbornTeam, grace time.Duration)) {
	testenv.Long(t)
	t.Parallel()
	for _, c := range testenv.Rows(t, stubbornTeams, 1) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.backend == "tmux" {
				testenv.Require(t, "tmux")
			}
			for range testenv.Scale(1, 5) {
				s := newStubbornTeam(t, c.backend, testenv.Rows(t, resistances, 5))
				if !c.led {
					s.killLeader()
				}
				end(s, 5*time.Second) // a refusal arrives within it on a busy machine too
			}
		})
	}
}

func (s *stubbornTeam) killLeader() {
	s.t.Helper()
	l := s.lead().Led
	if l == nil || l.ID.PID == os.Getpid() {
		s.t.Fatalf("led by %+v", l)
	}
	testenv.Must(s.t, syscall.Kill(l.ID.PID, syscall.SIGKILL))
	testenv.Eventually(s.t, "the leader is dead", func() bool { return !l.ID.Alive() })
}

// stopAll stops every member, each by a command of its own.
func (s *stubbornTeam) stopAll(grace time.Duration) {
	s.t.Helper()
	type result struct {
		end  process.MemberEnd
		code int
		took time.Duration
		said string
	}
	results := make([]result, len(s.kinds))
	slowest := slowestRun()
	var wg sync.WaitGroup
	for i, k := range s.kinds {
		wg.Go(func() {
			r := &results[i]
			began := time.Now()
			var out string
			out, r.said, r.code = s.waggle("stop", k.name, "--team", s.team, "--grace", grace.String(), "--json")
			r.took = time.Since(began)
			if err := json.Unmarshal([]byte(out), &r.end); err != nil {
				r.said += err.Error() + ": " + out
			}
		})
	}
	wg.Wait()
	slow := slowest()
	longest := time.Duration(0)
	for i, k := range s.kinds {
		s.check(k, results[i].end, results[i].code, results[i].took, grace, slow)
		longest = max(longest, results[i].took)
		if s.t.Failed() {
			s.t.Log(results[i].said)
		}
	}
	testenv.Measured(s.t, "%d kinds of members stopped at once with a grace of %s: the last had ended after %s, none of its processes left", len(s.kinds), grace, longest.Round(10*time.Millisecond))
	if st := s.status(s.team); len(slices.DeleteFunc(st.Members, func(m inspect.MemberStatus) bool { return m.State == inspect.StateDead })) > 0 {
		s.t.Errorf("members after all were stopped: %+v", st.Members)
	}
	var show struct {
		Active []string `json:"active_members"`
	}
	if err := json.Unmarshal([]byte(s.must("team", "show", s.team, "--json")), &show); err != nil || !slices.Equal(show.Active, []string{"team-lead"}) {
		s.t.Errorf("the registry has %v, %v", show.Active, err)
	}
	if _, said, code := s.waggle("down", s.team); code != s.left(operator.Failed) {
		s.t.Errorf("down: code %d\n%s", code, said)
	}
	s.cleaned()
}

// left is the exit code of the end of a team of which one member was killed while it had a task, where it has that kind of
// member, else that of another kind.
func (s *stubbornTeam) left(other operator.Kind) int {
	if slices.ContainsFunc(s.kinds, func(k resistance) bool { return k.name == "killed" }) {
		return app.ExitDied
	}
	return app.ExitCode(other)
}

// TestStopCutShort: when the process that ends a member dies between the end of the member's process and that of what
// the member has left, the next one ends that too, also what no mark names any more.
func TestStopCutShort(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs setsid and a subreaper")
	}
	s := newStubbornTeam(t, "process", resistances[slices.IndexFunc(resistances, func(k resistance) bool { return k.name == "leaving" }):][:1])
	s.killLeader()
	id, stop := s.process("leaving"), s.command("stop", "leaving", "--team", s.team, "--force")
	testenv.Must(t, stop.Start())
	testenv.Eventually(t, "the member's process has ended", func() bool { return !id.Alive() })
	_ = stop.Process.Kill()
	_ = stop.Wait()
	left := slices.IndexFunc(s.below["leaving"], spawn.Identity.Alive) >= 0
	if apart, err := filepath.Glob(filepath.Join(s.stateOf(s.team), "tools", "*-apart-*.json")); err != nil || len(apart) != 2 {
		t.Errorf("on record are %v, %v; want what was left, and nothing that is below that", apart, err)
	}
	out, said, code := s.waggle("down", s.team, "--force")
	for _, id := range s.below["leaving"] {
		if id.Alive() {
			t.Errorf("process %d outlived it: down: code %d\n%s%s", id.PID, code, out, said)
		}
	}
	s.cleaned()
	testenv.Measured(t, "the stop was cut short while processes of the member ran: %v", left)
}

// TestStubbornDown: waggle down ends a team of every kind, in the full run within the grace and ten
// seconds, with a leader and without.
func TestStubbornDown(t *testing.T) { eachStubbornTeam(t, (*stubbornTeam).down) }

func (s *stubbornTeam) down(grace time.Duration) {
	s.t.Helper()
	began, slowest := time.Now(), slowestRun()
	out, said, code := s.waggle("down", s.team, "--grace", grace.String(), "--json")
	took, slow := time.Since(began), slowest()
	var d process.DownResult
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != s.left(d.Kind()) || len(d.Members) != len(s.kinds) {
		s.t.Fatalf("down: code %d, %v\n%s%s", code, err, out, said)
	}
	for _, end := range d.Members {
		i := slices.IndexFunc(s.kinds, func(k resistance) bool { return k.name == end.Member })
		s.check(s.kinds[i], end, app.ExitCode(end.Kind()), took, grace, slow)
	}
	if names := s.must("team", "list"); strings.Contains(names, s.team) {
		s.t.Errorf("the registry still has the team: %s", names)
	}
	s.cleaned()
	testenv.Measured(s.t, "a team of %d kinds ended with a grace of %s: after %s, no process left", len(s.kinds), grace, took.Round(10*time.Millisecond))
}

// slowestRun measures from now on how long this machine takes to run a program that does
// nothing, over and over. The result ends that and returns the longest run: a few
// milliseconds on a machine with time to spare, much more on one without.
func slowestRun() (end func() time.Duration) {
	stop, worst := make(chan struct{}), make(chan time.Duration)
	go func() {
		longest := time.Duration(0)
		for {
			began := time.Now()
			_ = exec.Command("true").Run()
			longest = max(longest, time.Since(began))
			select {
			case <-stop:
				worst <- longest
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return func() time.Duration {
		close(stop)
		return <-worst
	}
}
