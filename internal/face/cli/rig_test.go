package cli_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waggle/control"
	"waggle/home"
	"waggle/internal/test/testenv"
	"waggle/leader"
	"waggle/mailbox"
	"waggle/operator"
	"waggle/operator/process"
	"waggle/operator/supervise"
	"waggle/operator/teamfile"
	"waggle/operator/teams"
	"waggle/poll"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/team"
)

// rig is a team with real worker processes, led by the test.
type rig struct {
	t     *testing.T
	op    operator.Operator
	file  *teamfile.File
	state *operator.State
	lead  *leader.Leader
	inst  map[protocol.MemberName]record.Instance
	pids  map[protocol.MemberName]int
}

// binary is the program under test: this test binary, which testscript has put
// on the path under its own name.
func binary(t testing.TB) string {
	t.Helper()
	p, err := exec.LookPath("waggle")
	testenv.Must(t, err)
	return p
}

// writeFile writes a file, and makes the directories that it is in.
func writeFile[T string | []byte](t testing.TB, path string, text T) {
	t.Helper()
	testenv.Must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)))
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	testenv.Must(t, err)
	return b
}

func identify(t testing.TB, pid int) spawn.Identity {
	t.Helper()
	id, err := spawn.Identify(pid)
	testenv.Must(t, err)
	return id
}

// exists reports that there is a file of this path.
func exists(path ...string) bool {
	_, err := os.Stat(filepath.Join(path...))
	return err == nil
}

// owns ends at the end of a test every process that works below the directories: leaders, workers,
// holders, and what they started. A process that still writes makes the removal of its directory fail.
// It is called after the directories are made, so that it is done before they are removed.
func owns(t testing.TB, dirs ...string) {
	t.Helper()
	t.Cleanup(func() { endBelow(t, dirs...) })
}

// endBelow ends the processes that work below the directories, and removes the control groups that are
// on record there.
func endBelow(t testing.TB, dirs ...string) {
	t.Helper()
	testenv.EndAll(t, dirs...)
	for _, dir := range dirs {
		testenv.DropGroups(dir)
		testenv.DropGroups(filepath.Join(dir, "state"))
		testenv.DropGroups(filepath.Join(dir, "s"))
	}
}

func newOperator(t *testing.T) operator.Operator {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testenv.Must(t, err)
	root := filepath.Join(dir, "root")
	testenv.Must(t, os.MkdirAll(root, 0o700))
	owns(t, dir)
	return operator.Operator{Root: team.Root{Path: root}, RootURL: (&url.URL{Scheme: "file", Path: root}).String(),
		Home: home.Home{Path: filepath.Join(dir, "state")}, Minter: poll.Minter{Now: time.Now, Rand: rand.Reader},
		Self: binary(t), Environ: os.Environ(), ClaudeDir: os.Getenv("CLAUDE_CONFIG_DIR"), Version: "test", PID: os.Getpid()}
}

// newRig brings up a team file's members and assigns its tasks.
func newRig(t *testing.T, yaml string) *rig {
	t.Helper()
	return newRigOf(t, newOperator(t), yaml)
}

// newRigOf is newRig for an operator of the test's.
func newRigOf(t *testing.T, op operator.Operator, yaml string) *rig {
	t.Helper()
	ctx := t.Context()
	r := &rig{t: t, op: op, inst: map[protocol.MemberName]record.Instance{}, pids: map[protocol.MemberName]int{}}
	work := t.TempDir()
	owns(t, work)
	var err error
	if r.file, err = teamfile.ParseFile(filepath.Join(work, "waggle.yaml"), []byte(yaml)); err != nil {
		t.Fatal(err)
	}
	if r.state, err = teams.Of(r.op).Create(ctx, r.file.Team, "", record.PolicySet{Policy: r.file.Policy, Decide: r.file.Decide}); err != nil {
		t.Fatal(err)
	}
	if r.lead, err = process.Of(r.op).Lead(ctx, r.state); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.close)
	for _, m := range r.file.Members {
		_, i, err := teams.Of(r.op).Join(ctx, r.state, m)
		testenv.Must(t, err)
		r.inst[m.Name] = i
		testenv.Must(t, r.lead.Refresh(ctx))
		p, err := process.Of(r.op).StartWorker(ctx, r.lead, r.state, i, m.Name, m.Cwd, filepath.Join(r.op.Root.MemberDir(r.file.Team, m.Name), "output.log"))
		testenv.Must(t, err)
		r.pids[m.Name] = p.Identity().PID
	}
	return r
}

func (r *rig) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if r.lead == nil {
		return
	}
	if err := process.Of(r.op).EndTeam(ctx, r.lead, r.state, process.TeamEnd{Reason: "test over", Grace: 500 * time.Millisecond}, func() {}); err != nil {
		r.t.Error(err)
	}
	if err := r.lead.Close(); err != nil {
		r.t.Error(err)
	}
}

// assign orders every task of the file.
func (r *rig) assign() {
	r.t.Helper()
	testenv.Must(r.t, supervise.Of(r.op).AssignAll(r.t.Context(), r.state, r.file, r.lead))
}

// until runs leader passes until cond holds.
func (r *rig) until(what string, cond func(l *control.Leader) bool) {
	r.t.Helper()
	testenv.Eventually(r.t, what, func() (ok bool) {
		testenv.Must(r.t, r.lead.Pass(r.t.Context()))
		r.lead.View(func(l *control.Leader) { ok = cond(l) })
		return ok
	}, r.dump)
}

// worker calls fn with the control.Worker of a member's journal.
func (r *rig) worker(name protocol.MemberName, fn func(*control.Worker)) {
	r.t.Helper()
	w, err := r.state.Worker(r.inst[name])
	testenv.Must(r.t, err)
	fn(w)
}

// dump is what the journals have.
func (r *rig) dump() string {
	recs, err := r.state.Records()
	var b strings.Builder
	for _, rec := range recs {
		fmt.Fprintf(&b, "%s %d %s %.300s\n", rec.Name, rec.Seq, rec.Kind, rec.Body)
	}
	return fmt.Sprint(b.String(), err)
}

// inject appends an entry to a mailbox as any program of this user could.
func (r *rig) inject(box protocol.MemberName, env protocol.Envelope) {
	r.t.Helper()
	b, err := mailbox.Dir{Path: r.op.Root.InboxesDir(r.file.Team)}.Open(box, mailbox.Options{})
	testenv.Must(r.t, err)
	testenv.Must(r.t, b.Append(r.t.Context(), env))
}
