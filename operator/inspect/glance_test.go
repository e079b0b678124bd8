package inspect_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"waggle/control"
	"waggle/internal/fs/worktree"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
	"waggle/operator/proposal"
	"waggle/operator/teamfile"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
)

// TestGlance: open requests, members with work, dead members, over all teams and of one.
func TestGlance(t *testing.T) {
	t.Parallel()
	op := operatortest.New(t)
	in := inspect.Of(op)
	if g, err := in.Glance(t.Context(), ""); err != nil || g != (inspect.Glance{}) {
		t.Errorf("no team: %+v, %v", g, err)
	}
	api := operatortest.Team(t, op, "api", record.PolicySet{})
	api.Asks("ann", operatortest.Bash("make"))
	api.Asks("bob", operatortest.Bash("make it"))
	api.Pending(2)
	web := operatortest.Team(t, op, "web", record.PolicySet{})
	web.Asks("cid", operatortest.Bash("make"))
	web.Pending(1)
	s := web.State()
	dead := web.Enlist(s, "dan")
	gone := operatortest.Shell(t, "exit 0")
	testenv.Eventually(t, "its process has ended", func() bool { return !gone.Alive() })
	web.Runs(s, dead, gone)
	for name, want := range map[protocol.TeamName]inspect.Glance{"": {Waiting: 3, Failed: 1}, "api": {Waiting: 2}, "web": {Waiting: 1, Failed: 1}, "none": {}} {
		if g, err := in.Glance(t.Context(), name); err != nil || g != want {
			t.Errorf("%q: %+v, %v, want %+v", name, g, err, want)
		}
	}
}

// BenchmarkGlance is what waggle status --line does, by the records of its one team. An acting command
// has kept the snapshot.
func BenchmarkGlance(b *testing.B) {
	for _, records := range []int{0, 50, 5000} {
		b.Run(fmt.Sprint(records), func(b *testing.B) {
			op := operatortest.New(b)
			rig := operatortest.Team(b, op, "one", record.PolicySet{})
			if records > 0 {
				s := rig.State()
				m := rig.Enlist(s, "ann")
				for range records / 50 {
					ds := make([]journal.Draft, 50)
					for i := range ds {
						ds[i] = journal.Draft{Kind: record.KindUnverified, Body: record.Unverified{Entry: "e", Box: "ann", From: string(m.Name), Why: "no record"}}
					}
					operatortest.Append(b, op, s, ds...)
				}
				op.KeepBrief("one")
			}
			for b.Loop() {
				testenv.Value(inspect.Of(op).Glance(b.Context(), ""))(b)
			}
		})
	}
}

// BenchmarkGlanceLarge is what waggle status --line does for 40 idle members with worktrees, 10,000 records and five
// proposals.
func BenchmarkGlanceLarge(b *testing.B) {
	h := newShop(b)
	op, live := h.op, operatortest.Process(b)
	for i := range 40 {
		h.idle(protocol.MemberName(fmt.Sprint("m", i)), live)
	}
	s := h.rig.State()
	for i := range 200 {
		ds := make([]journal.Draft, 50)
		for j := range ds {
			name := fmt.Sprint("m", (i+j)%40)
			ds[j] = journal.Draft{Kind: record.KindUnverified, Body: record.Unverified{Entry: "e", Box: name, From: name, Why: "no record"}}
		}
		operatortest.Append(b, op, s, ds...)
	}
	op.KeepBrief("api")
	for range proposal.MaxOpen {
		p := proposal.Proposal{Dir: "/src", Asked: proposal.Asked{Agent: "claude", Task: "fix the flaky test"}}
		testenv.Value(decide.Of(op).Proposals().Put(b.Context(), p, op.Minter.Rand))(b)
	}
	for b.Loop() {
		if g, err := inspect.Of(op).Glance(b.Context(), ""); err != nil || g.Waiting != proposal.MaxOpen || g.Failed != 0 {
			b.Fatal(g, err)
		}
	}
}

// shop is a repository with one commit, and a team of which each member has a worktree of it.
type shop struct {
	t    testing.TB
	op   operator.Operator
	repo string
	rig  *operatortest.Rig
}

func newShop(t testing.TB) *shop {
	t.Helper()
	testenv.Require(t, "git")
	op := operatortest.New(t)
	home := filepath.Dir(op.Root.Path)
	op.Worktrees = filepath.Join(home, "trees")
	op.Environ = append(op.Environ, "GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com")
	h := &shop{t: t, op: op, repo: filepath.Join(home, "repo")}
	testenv.Must(t, os.Mkdir(h.repo, 0o755))
	h.git(h.repo, "init", "--quiet", "--initial-branch=main")
	h.git(h.repo, "commit", "--quiet", "--allow-empty", "--message", "first")
	h.rig = operatortest.Team(t, op, "api", record.PolicySet{})
	return h
}

func (h *shop) git(dir string, args ...string) {
	h.t.Helper()
	c := exec.Command("git", append([]string{"-C", dir}, args...)...)
	c.Env = h.op.Environ
	if out, err := c.CombinedOutput(); err != nil {
		h.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// idle adds a member that has a worktree and no work.
func (h *shop) idle(name protocol.MemberName, id spawn.Identity) *control.Member {
	h.t.Helper()
	s := h.rig.State()
	m := h.rig.Enlist(s, name, func(m *teamfile.FileMember) { m.Worktree, m.Cwd = true, h.repo })
	h.rig.Runs(s, m, id)
	h.ends(m, nil)
	return m
}

// ends puts on record that a member has ended a turn without a result, of an order or of none.
func (h *shop) ends(m *control.Member, order *control.Order) {
	h.t.Helper()
	b := record.Seen{Instance: m.Instance, Kind: protocol.KindIdleNotification, Entry: string(m.Name) + " idle", Ref: 1}
	if order != nil {
		b.Entry, b.Ref = b.Entry+" again", 2
		b.Task, b.Assignment = order.Commanded.Task.ID, uint64(order.Seq)
	}
	operatortest.Append(h.t, h.op, h.rig.State(), journal.Draft{Kind: record.KindSeen, Must: true, Body: b})
}

// refuse puts on record that the last merge of a member's work was refused.
func (h *shop) refuse(m *control.Member) {
	h.t.Helper()
	git := testenv.Value(worktree.Find(h.op.Environ))(h.t)
	store := worktree.Store{Git: git, Records: h.rig.State().Dir.Worktrees()}
	testenv.Must(h.t, store.SetRefused(h.t.Context(), worktree.Tree(*m.Worktree), &worktree.Refused{Why: "conflict", Into: "main"}))
}

// A refused merge waits for a person until the member's branch is elsewhere, and once beside what else a
// member needs a person for.
func TestGlanceRefused(t *testing.T) {
	t.Parallel()
	h := newShop(t)
	is := func(what string, want inspect.Glance) {
		t.Helper()
		if g, err := inspect.Of(h.op).Glance(t.Context(), ""); err != nil || g != want {
			t.Errorf("%s: %+v, %v, want %+v", what, g, err, want)
		}
	}
	process := operatortest.Process(t)
	ann, bob := h.idle("ann", process), h.idle("bob", process)
	is("two idle members", inspect.Glance{})
	h.refuse(ann)
	h.refuse(bob)
	is("two refused merges", inspect.Glance{Waiting: 2})
	h.git(h.repo, "pack-refs", "--all")
	is("their branches are packed", inspect.Glance{Waiting: 2})
	h.git(bob.Worktree.Path, "commit", "--quiet", "--allow-empty", "--message", "more")
	is("bob's branch is elsewhere", inspect.Glance{Waiting: 1})
	h.git(h.repo, "update-ref", "refs/heads/elsewhere", "refs/heads/"+ann.Worktree.Branch)
	h.git(h.repo, "symbolic-ref", "refs/heads/"+ann.Worktree.Branch, "refs/heads/elsewhere")
	is("ann's branch is another name", inspect.Glance{Waiting: 1})

	gone := operatortest.Shell(t, "exit 0")
	testenv.Eventually(t, "its process has ended", func() bool { return !gone.Alive() })
	h.refuse(h.idle("cid", gone))
	is("cid is dead", inspect.Glance{Waiting: 1, Failed: 1})
	h.rig.Task("ann", "something")
	order := h.rig.Until("ann has work", func(l *control.Leader) bool { return len(l.Assignments()) > 0 }).Lead.Assignments()[0]
	is("ann has work", inspect.Glance{Working: 1, Failed: 1})
	h.ends(ann, order)
	is("ann's task failed", inspect.Glance{Failed: 2})
}

// BenchmarkGlanceRefused is what waggle status --line does where the merges of ten members were refused.
func BenchmarkGlanceRefused(b *testing.B) {
	h := newShop(b)
	process := operatortest.Process(b)
	for i := range 10 {
		h.refuse(h.idle(protocol.MemberName(fmt.Sprint("ann", i)), process))
	}
	h.op.KeepBrief("api")
	for b.Loop() {
		if g, err := inspect.Of(h.op).Glance(b.Context(), ""); err != nil || g.Waiting != 10 {
			b.Fatal(g, err)
		}
	}
}

// A glance writes nothing, also where a snapshot is missing, old or broken, and waits for no lock. It
// reads the snapshot of an acting command.
func TestGlanceWritesNothing(t *testing.T) {
	t.Parallel()
	op, rig := operatortest.API(t)
	rig.Join("ann")
	for range 120 {
		rig.Task("ann", "something")
	}
	s := rig.State()
	files := func() (list []string) {
		for _, tree := range []string{op.Home.Path, op.Root.Path} {
			testenv.Must(t, filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				info, err := d.Info()
				list = append(list, fmt.Sprint(path, info.Size(), info.Mode(), info.ModTime()))
				return err
			}))
		}
		return list
	}
	look := func(when string) {
		t.Helper()
		before := files()
		if g, err := inspect.Of(op).Glance(t.Context(), ""); err != nil || g.Failed != 0 {
			t.Errorf("%s: %+v, %v", when, g, err)
		}
		if after := files(); !slices.Equal(before, after) {
			t.Errorf("%s: it wrote\n%v\n%v", when, before, after)
		}
	}
	testenv.Value(s.Journal.Append(t.Context(), op.Writer(), func() ([]journal.Draft, error) {
		look("while another process holds the journal's lock, without a snapshot")
		return nil, nil
	}))(t)
	snapshots := func() []string {
		return testenv.Value(filepath.Glob(filepath.Join(s.Dir.LeaderJournal(), "snapshot-*")))(t)
	}
	for _, old := range snapshots() {
		testenv.Must(t, os.Remove(old))
	}
	op.KeepBrief("api")
	kept := snapshots()
	if len(kept) != 1 {
		t.Fatalf("an acting command kept %v", kept)
	}
	look("with a snapshot")
	testenv.Must(t, os.WriteFile(kept[0], []byte("broken"), 0o600))
	look("with a broken snapshot")
}
