package supervise

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"waggle/control"
	"waggle/internal/fs/logfile"
	"waggle/internal/screen"
	"waggle/leader"
	"waggle/machine"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/process"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/worker"
)

// readyWait is the default time for a start until the worker is ready.
const readyWait = 30 * time.Second

// started is one start of a member's process that is being waited for.
type started struct {
	member *control.Member
	proc   *spawn.Process
	after  uint64 // newest epoch before it
	policy uint64 // the policy version at that time
	until  time.Time
}

// note says that it was started.
func (st *started) note(more string) operator.Note {
	return operator.Note{What: "started", Member: string(st.member.Name), Text: fmt.Sprintf("pid %d, %s", st.proc.Identity().PID, more)}
}

// startAll starts the processes of members, all at the same time; those in panes one after the
// other, so that the panes have the order of the members. It returns the started ones, with the
// errors of the others. note gets the steps
// of worktrees that are prepared.
func (o Operator) startAll(ctx context.Context, l *leader.Leader, s *operator.State, ms []*control.Member, wait time.Duration, note func(operator.Note)) ([]*started, error) {
	var mu, notes sync.Mutex
	said := func(n operator.Note) {
		notes.Lock()
		defer notes.Unlock()
		note(n)
	}
	var wg sync.WaitGroup
	var list []*started
	var errs []error
	var shown []func()
	for _, m := range ms {
		after := uint64(0)
		if m.Process != nil {
			after = m.Process.Epoch
		}
		start := func() {
			p, err := o.startMember(ctx, l, s, m, said)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, fmt.Errorf("start %s: %w", m.Name, err))
				return
			}
			list = append(list, &started{m, p, after, s.Lead.Policy.Policy.Version, o.Minter.Now().Add(cmp.Or(wait, readyWait))})
		}
		if process.BackendType(m.Backend) == operator.BackendTmux || m.Backend == operator.BackendITerm2 {
			shown = append(shown, start)
		} else {
			wg.Go(start)
		}
	}
	for _, start := range shown {
		start()
	}
	wg.Wait()
	slices.SortFunc(list, func(a, b *started) int { return cmp.Compare(a.member.Name, b.member.Name) })
	return list, errors.Join(errs...)
}

// startMember starts the process of a member that has joined.
func (o Operator) startMember(ctx context.Context, l *leader.Leader, s *operator.State, m *control.Member, note func(operator.Note)) (*spawn.Process, error) {
	if m.Process != nil && operator.Gone(m.Process.ID) {
		if err := process.Of(o.Operator).EndTools(ctx, s, m); err != nil {
			return nil, err
		}
	}
	dir := o.Root.MemberDir(s.Team, m.Name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := o.prepare(ctx, s, m, note); err != nil {
		return nil, err
	}
	return process.Of(o.Operator).StartWorker(ctx, l, s, m.Instance, m.Name, m.Cwd, filepath.Join(dir, "output.log"))
}

// ContractError reports a member whose worker differs from what was asked for.
type ContractError struct {
	Member  protocol.MemberName
	Differs []string // "model: asked for a, it is b"
}

// Error lists the differences.
func (e *ContractError) Error() string {
	return fmt.Sprintf("%s is not what was asked for: %s", e.Member, strings.Join(e.Differs, "; "))
}

// contract compares the settings of a member with the report of its worker.
func contract(m *control.Member, r record.Ready, policyVersion uint64) *ContractError {
	e := &ContractError{Member: m.Name}
	differs := func(what, asked, is string) {
		if asked != is {
			e.Differs = append(e.Differs, fmt.Sprintf("%s: asked for %s, it is %s", what, asked, cmp.Or(is, "none")))
		}
	}
	differs("agent", m.Agent, r.Agent)
	if m.Model != "" {
		differs("model", m.Model, r.Model)
	}
	if m.Joined.Mode != "" && m.Mode == m.Joined.Mode { // no other mode was set since
		differs("mode", string(decide.ModeName(m.Joined.Mode)), string(decide.ModeName(r.Mode)))
	}
	if dir, err := filepath.EvalSymlinks(m.Cwd); err == nil {
		differs("directory", dir, r.Cwd)
	} else {
		differs("directory", m.Cwd, r.Cwd)
	}
	if m.Worktree != nil {
		if top, err := filepath.EvalSymlinks(m.Worktree.Path); err != nil || top != r.Top {
			differs("worktree", m.Worktree.Path, r.Top)
		}
	}
	if r.Policy < policyVersion {
		differs("policy version", fmt.Sprint(policyVersion), fmt.Sprint(r.Policy))
	}
	if len(e.Differs) == 0 {
		return nil
	}
	return e
}

// readiness follows members' journals until each of some starts is ready.
type readiness struct {
	o     Operator
	s     *operator.State
	folds operator.WorkerFolds
}

func (o Operator) readiness(s *operator.State) *readiness { return &readiness{o: o, s: s} }

// ready returns the report of a member's newest start, nil before there is one.
func (r *readiness) ready(i record.Instance, after uint64) (*record.Ready, error) {
	w, err := r.folds.Worker(r.s, i)
	if err != nil || w.Ready == nil || w.Ready.Epoch <= after {
		return nil, err
	}
	return w.Ready, nil
}

// look returns how far a start has come: ready, or an error. Both empty: it is in progress.
func (r *readiness) look(st *started) (*record.Ready, error) {
	ended := false
	select {
	case <-st.proc.Done():
		ended = true // checked before the journal: the process may have written a last record
	default:
	}
	got, err := r.ready(st.member.Instance, st.after)
	switch {
	case operator.Broken(err):
		return nil, r.o.startFailed(operator.Died, r.s, st, err.Error())
	case err != nil || got != nil:
		return got, err
	case ended && (r.moot(st) || st.beaten() && r.o.Minter.Now().Before(st.until)):
		return nil, nil
	case ended:
		return nil, r.o.startFailed(operator.Died, r.s, st, fmt.Sprintf("its process ended before it was ready: %s", exitText(st.proc.Exit())))
	case r.o.Minter.Now().After(st.until):
		return nil, r.o.startFailed(operator.Timeout, r.s, st, "it was not ready in time")
	}
	return nil, nil
}

// settle reports whether nothing is to be waited for any more: the worker is ready (judge), the start has failed, or it
// does not matter.
func (r *readiness) settle(st *started, accept bool, note func(operator.Note)) (over bool, err error) {
	switch got, err := r.look(st); {
	case got != nil:
		return true, r.judge(st, got, accept, note)
	case err != nil:
		return true, err
	}
	return r.moot(st), nil
}

// beaten reports a worker that found its lease taken: another process of the member was started at
// the same time, and reports that it is ready as soon as it has the journal.
func (st *started) beaten() bool { return st.proc.Exit().Code == worker.ExitRunning }

// moot reports a start whose result does not matter any more: another process of the member takes
// work, or the member has agreed to its shutdown.
func (r *readiness) moot(st *started) bool {
	w, err := r.folds.Worker(r.s, st.member.Instance)
	return r.another(st) || err == nil && w.State() == machine.Terminated
}

// another reports a process of the member that is not the started one: a worker that found the
// lease taken has ended at once.
func (r *readiness) another(st *started) bool {
	m, ok := r.s.Lead.ByInstance(st.member.Instance)
	return ok && m.Process != nil && m.Process.ID != st.proc.Identity() && m.Process.ID.Alive()
}

func exitText(e spawn.Exit) string {
	switch {
	case e.Panic != "":
		return e.Panic
	case e.Signal == "" && e.Code < 0:
		return "nobody saw how"
	}
	return e.How()
}

// startFailed returns an error with the end of the member's log.
func (o Operator) startFailed(kind operator.Kind, s *operator.State, st *started, why string) error {
	dir := o.Root.MemberDir(s.Team, st.member.Name)
	e := &operator.Error{Kind: kind, Op: "start", Msg: fmt.Sprintf("%s did not start: %s", st.member.Name, why), Advice: "its log is " + filepath.Join(dir, "output.log")}
	if tail := LastLines(filepath.Join(dir, "output.log"), 3); tail != "" {
		e.Msg += ": " + tail
	}
	return e
}

// LastLines returns the last lines of a log as one visible line.
func LastLines(path string, lines int) string {
	f, err := logfile.OpenFile(filepath.Dir(path), filepath.Base(path), os.O_RDONLY) // a link or a pipe may be there: the member's
	if err != nil {
		return ""
	}
	defer f.Close()
	buf := make([]byte, 2<<10)
	if fi, err := f.Stat(); err == nil && fi.Size() > int64(len(buf)) {
		_, _ = f.Seek(-int64(len(buf)), 2)
	}
	n, _ := f.Read(buf)
	all := screen.Lines(bytes.TrimSpace(buf[:n])) // what a terminal kept may have colours
	all = all[max(0, len(all)-lines):]
	for i := len(all) - 1; i > 0; i-- { // what it said before its error is not why
		if strings.HasPrefix(all[i], "error: ") {
			all = all[i:]
			break
		}
	}
	return operator.Visible(strings.Join(all, " / "))
}

// await waits until every start is ready, or has failed. accept allows a member that differs from
// what was asked for. note gets each result.
func (r *readiness) await(ctx context.Context, list []*started, accept bool, note func(operator.Note)) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	var errs []error
	for left := slices.Clone(list); len(left) > 0; {
		if err := r.s.Journal.Refresh(ctx); err != nil {
			return err
		}
		left = slices.DeleteFunc(left, func(st *started) bool {
			got, err := r.look(st)
			if got == nil && err == nil && r.another(st) {
				got, err = r.ready(st.member.Instance, 0)
			}
			if got == nil && err == nil {
				return !r.another(st) && r.moot(st)
			}
			if got != nil {
				err = r.judge(st, got, accept, note)
			}
			if err != nil {
				errs = append(errs, err)
			}
			return true
		})
		if len(left) == 0 {
			break
		}
		select {
		case <-ctx.Done():
			return errors.Join(append(errs, ctx.Err())...)
		case <-tick.C:
		}
	}
	return errors.Join(errs...)
}

// judge notes the report of a member's worker, and returns an error for a difference.
func (r *readiness) judge(st *started, got *record.Ready, accept bool, note func(operator.Note)) error {
	m := st.member
	if now, ok := r.s.Lead.ByInstance(m.Instance); ok {
		m = now
	}
	note(operator.Note{What: "ready", Member: string(m.Name), Text: readyText(got)})
	e := contract(m, *got, st.policy)
	if e == nil {
		return nil
	}
	if accept {
		note(operator.Note{What: "accepted", Member: string(m.Name), Text: strings.Join(e.Differs, "; ")})
		return nil
	}
	return &operator.Error{Kind: operator.Refused, Op: "start", Err: e, Next: operator.NextAccept.With()}
}

func readyText(r *record.Ready) string {
	parts := []string{"agent " + r.Agent}
	if r.Model != "" {
		parts = append(parts, "model "+r.Model)
	}
	parts = append(parts, "mode "+string(decide.ModeName(r.Mode)), fmt.Sprintf("policy v%d", r.Policy), "in "+r.Cwd)
	if r.Top != "" {
		parts = append(parts, "worktree "+r.Top)
	}
	return strings.Join(parts, ", ")
}

// prepare prepares the worktree of a member as its record says, before the member's first start.
func (o Operator) prepare(ctx context.Context, s *operator.State, m *control.Member, note func(operator.Note)) error {
	if m.Worktree == nil {
		return nil
	}
	want, err := o.PreparationOf(ctx, s, m)
	if err != nil {
		return err
	}
	return process.Of(o.Operator).Prepare(ctx, s, m, want, note)
}

// PreparationOf is what the worktree of a member gets, as the operator accepted it.
func (o Operator) PreparationOf(ctx context.Context, s *operator.State, m *control.Member) (record.Preparation, error) {
	if m.Prepare != nil {
		return *m.Prepare, nil
	}
	return o.preparedBefore(ctx, s, m)
}

// preparedBefore is the preparation of a member whose record is of a version that did not write it.
func (o Operator) preparedBefore(ctx context.Context, s *operator.State, m *control.Member) (want record.Preparation, err error) {
	f, err := o.from(s)
	if err != nil {
		return want, err
	}
	want = f.Prepared(string(m.Name))
	files, err := process.Of(o.Operator).Included(ctx, m.Worktree.Repo)
	want.Copy = append(files, want.Copy...)
	return want, err
}

// unblocked takes out of the errors of starts those of members whose setup failed, and notes them:
// such a member stays in the team, blocked, and waits for a resume.
func (k *keeper) unblocked(err error) error {
	var setup *process.SetupError
	joined, many := err.(interface{ Unwrap() []error })
	if !many {
		if errors.As(err, &setup) {
			k.Note(operator.Note{What: "blocked", Member: setup.Member, Text: "setup: " + setup.Why + "; its log is " + setup.Log})
			return nil
		}
		return err
	}
	var rest []error
	for _, e := range joined.Unwrap() {
		rest = append(rest, k.unblocked(e))
	}
	return errors.Join(rest...)
}
