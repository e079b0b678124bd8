//go:build unix

package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/test/testenv"
	"waggle/mailbox"
	"waggle/protocol"
	"waggle/task"
	"waggle/team"
)

// victims is a store under kills: who works on it, what has to be true after each
// death, and the next operation of a survivor.
type victims interface {
	// prepare makes the store ready for the n-th victim and says what it does.
	prepare(t *testing.T, n int) child
	// check looks at the files before anybody has mended anything. said is what the
	// victim had acknowledged; it may have done one more.
	check(t *testing.T, said []string)
	// next is an operation on what the victim held.
	next(t *testing.T)
}

// Writers are killed at random moments of every change that stores make. No file is invalid, nothing
// acknowledged is lost, no task is claimed twice, and the next process does not wait.
func TestRandomKills(t *testing.T) {
	t.Parallel()
	testenv.Long(t)
	random := random(t)
	kinds := map[string]func(*testing.T) victims{
		"append":                func(t *testing.T) victims { return newAppends(t, mailbox.Array, 0) },
		"append to a large one": func(t *testing.T) victims { return newAppends(t, mailbox.Array, 1000) },
		"append in lines":       func(t *testing.T) victims { return newAppends(t, mailbox.JSONL, 0) },
		"mark":                  func(t *testing.T) victims { return newMarks(t, mailbox.Array, mailbox.Keep) },
		"prune":                 func(t *testing.T) victims { return newMarks(t, mailbox.Array, mailbox.Prune) },
		"take lines":            func(t *testing.T) victims { return newMarks(t, mailbox.JSONL, mailbox.Prune) },
		"take and truncate":     newTakes,
		"config":                newConfigs,
		"task":                  newTasks,
		"claim":                 newClaims,
	}
	each := (testenv.Scale(50, 1000) + len(kinds) - 1) / len(kinds)
	var all, calm []time.Duration
	done := 0
	for name, open := range kinds {
		t.Run(name, func(t *testing.T) {
			v := open(t)
			var waits, usual []time.Duration
			acked := 0
			for n := range each {
				said := untilKilled(t, v.prepare(t, n), random)
				acked += len(said)
				v.check(t, said)
				began := time.Now()
				v.next(t)
				waits = append(waits, time.Since(began))
				began = time.Now()
				v.next(t) // the same with nobody dead: what this machine takes today
				usual = append(usual, time.Since(began))
				if t.Failed() {
					t.Fatalf("after kill %d", n)
				}
			}
			all, calm, done = append(all, waits...), append(calm, usual...), done+acked
			testenv.Measured(t, "%d kills of a process at %s, %d acknowledged: 0 invalid, 0 lost; next operation %s; the one after that %s", each, name, acked, spread(waits), spread(usual))
		})
	}
	testenv.Measured(t, "%d random kills in all, %d operations acknowledged: 0 invalid, 0 lost, 0 double claims; next operation %s; the one after that, with nobody dead, %s", len(all), done, spread(all), spread(calm))
}

// spread sums up waiting times.
func spread(all []time.Duration) string {
	if len(all) == 0 {
		return "never"
	}
	slices.Sort(all)
	over := 0
	for _, d := range all {
		if d >= 100*time.Millisecond {
			over++
		}
	}
	at := func(p int) time.Duration { return all[(len(all)-1)*p/100].Round(10 * time.Microsecond) }
	return fmt.Sprintf("p50 %v, p99 %v, max %v, %d of %d at 100 ms or more", at(50), at(99), at(100), over, len(all))
}

// says prints an acknowledgement.
func says(what any) { fmt.Println(what) }

// quick is the deadline of the next process: it is shorter than the time after which a
// lock of another program counts as abandoned.
const quick = atomicfile.DefaultStale / 2

// append appends messages.
func (c child) append() error {
	b, err := openIn(c.Layout, c.Dir, mailbox.Options{})
	says("ready")
	for n := 0; err == nil; n++ {
		if err = b.Append(context.Background(), mail(c.Sender, n)); err == nil {
			says(n)
		}
	}
	return err
}

type appends struct {
	dir    string
	layout mailbox.Layout
	before int // so many lie there at first
	sender string
	want   map[string]int // so many of each sender
}

func newAppends(_ *testing.T, l mailbox.Layout, before int) victims {
	return &appends{layout: l, before: before}
}

func (a *appends) prepare(t *testing.T, n int) child {
	if n%50 == 0 {
		a.dir, a.want = t.TempDir(), map[string]int{} // a small file is changed faster
		if a.before > 0 {
			b, err := openIn(a.layout, a.dir, mailbox.Options{})
			testenv.Must(t, err)
			var list []protocol.Envelope
			for i := range a.before {
				list = append(list, mail("before", i))
			}
			testenv.Must(t, b.Append(t.Context(), list...))
			a.want["before"] = a.before
		}
	}
	a.sender = fmt.Sprint("victim", n)
	return child{Role: "append", Dir: a.dir, Layout: a.layout, Sender: a.sender}
}

func (a *appends) check(t *testing.T, said []string) {
	got := map[string]int{}
	if _, err := os.Lstat(filepath.Join(a.dir, "tester"+a.layout.Extension())); err != nil && len(said) == 0 {
		return // it was killed before its first
	}
	for i, e := range envelopes(t, a.layout, a.dir) {
		if e.Text != fmt.Sprintf("%s/%d", e.From, got[e.From]) {
			t.Fatalf("entry %d is %s where %d of it should come", i, e.Text, got[e.From])
		}
		got[e.From]++
	}
	if n := got[a.sender]; n < len(said) || n > len(said)+1 {
		t.Errorf("%d acknowledged, %d there", len(said), n)
	}
	a.want[a.sender] = got[a.sender]
	for sender, n := range a.want {
		if got[sender] != n {
			t.Errorf("%s: %d of %d", sender, got[sender], n)
		}
	}
}

func (a *appends) next(t *testing.T) {
	b, err := openIn(a.layout, a.dir, mailbox.Options{Deadline: quick})
	testenv.Must(t, err)
	testenv.Must(t, b.Append(t.Context(), mail("next", a.want["next"])))
	a.want["next"]++
}

// mark marks the messages of a mailbox read, one after the other.
func (c child) mark() error {
	o := mailbox.Options{Retention: mailbox.Keep}
	if c.Role == "prune" {
		o.Retention = mailbox.Prune
	}
	b, err := openIn(c.Layout, c.Dir, o)
	if err != nil {
		return err
	}
	list, err := b.Unread(context.Background())
	if err != nil {
		return err
	}
	says("ready")
	for _, e := range list {
		if err := b.MarkRead(context.Background(), e.ID); err != nil {
			return err
		}
		says(e.Envelope.Text)
	}
	return nil
}

type marks struct {
	dir       string
	layout    mailbox.Layout
	retention mailbox.Retention
	unread    []string
	all       int
}

func newMarks(t *testing.T, l mailbox.Layout, r mailbox.Retention) victims {
	return &marks{dir: t.TempDir(), layout: l, retention: r}
}

const markable = 1000 // more than is copied whole

func (m *marks) prepare(t *testing.T, n int) child {
	role := "keep"
	if m.retention == mailbox.Prune {
		role = "prune"
	}
	if len(m.unread) < markable/2 {
		m.dir, m.unread, m.all = t.TempDir(), nil, markable
		b, err := openIn(m.layout, m.dir, mailbox.Options{})
		testenv.Must(t, err)
		var list []protocol.Envelope
		for i := range markable {
			list = append(list, mail(fmt.Sprint("sender", n), i))
			m.unread = append(m.unread, list[i].Text)
		}
		testenv.Must(t, b.Append(t.Context(), list...))
	}
	return child{Role: role, Dir: m.dir, Layout: m.layout}
}

func (m *marks) check(t *testing.T, said []string) {
	var unread []string
	total := 0
	for _, e := range envelopes(t, m.layout, m.dir) {
		total++
		if !e.Read {
			unread = append(unread, e.Text)
		}
	}
	done := len(m.unread) - len(unread)
	if done < len(said) || done > len(said)+1 || !slices.Equal(m.unread[done:], unread) {
		t.Errorf("%d acknowledged as marked, %d of %d are unread", len(said), len(unread), len(m.unread))
	}
	want := m.all
	if m.retention == mailbox.Prune {
		want = len(unread)
	}
	if total != want {
		t.Errorf("%d entries of %d", total, want)
	}
	m.unread = unread
}

func (m *marks) next(t *testing.T) {
	b, err := openIn(m.layout, m.dir, mailbox.Options{Retention: m.retention, Deadline: quick})
	testenv.Must(t, err)
	list, err := b.Unread(t.Context())
	testenv.Must(t, err)
	testenv.Must(t, b.MarkRead(t.Context(), list[0].ID))
	m.unread = m.unread[1:]
}

// take sends itself two messages and takes them, over and over, from a mailbox of lines, which is cut
// to nothing each time.
func (c child) take() error {
	b, err := openIn(mailbox.JSONL, c.Dir, mailbox.Options{Retention: mailbox.Prune})
	if err != nil {
		return err
	}
	says("ready")
	for n := 0; ; n += 2 {
		if err := b.Append(context.Background(), mail(c.Sender, n), mail(c.Sender, n+1)); err != nil {
			return err
		}
		says("sent")
		list, err := b.Unread(context.Background())
		if err != nil {
			return err
		}
		var ids []mailbox.ID
		for _, e := range list {
			ids = append(ids, e.ID)
		}
		if err := b.MarkRead(context.Background(), ids...); err != nil {
			return err
		}
		says("taken")
	}
}

type takes struct {
	dir    string
	sender string
	more   int
}

func newTakes(t *testing.T) victims { return &takes{dir: t.TempDir()} }

func (k *takes) prepare(t *testing.T, n int) child {
	b, err := openIn(mailbox.JSONL, k.dir, mailbox.Options{Retention: mailbox.Prune})
	testenv.Must(t, err)
	if n == 0 { // a victim that dies before its first message leaves a mailbox all the same
		testenv.Must(t, b.Append(t.Context(), mail("first", 0)))
	}
	list, err := b.Entries(t.Context())
	testenv.Must(t, err)
	for _, e := range list {
		testenv.Must(t, b.MarkRead(t.Context(), e.ID))
	}
	k.sender = fmt.Sprint("victim", n)
	return child{Role: "take", Dir: k.dir, Sender: k.sender}
}

// check: the mailbox has the two messages that were sent last, or nothing once they were taken.
func (k *takes) check(t *testing.T, said []string) {
	var got []string
	for _, e := range envelopes(t, mailbox.JSONL, k.dir) {
		got = append(got, e.Text)
	}
	pair := func(n int) []string {
		return []string{fmt.Sprintf("%s/%d", k.sender, 2*n), fmt.Sprintf("%s/%d", k.sender, 2*n+1)}
	}
	round := len(said) / 2
	may := [][]string{nil, pair(round)} // taken, or sent and not said yet
	if len(said)%2 == 1 {
		may = [][]string{pair(round), nil} // sent, or taken and not said yet
	}
	if !slices.ContainsFunc(may, func(want []string) bool { return slices.Equal(want, got) }) {
		t.Errorf("%d said, left %q, want one of %q", len(said), got, may)
	}
}

func (k *takes) next(t *testing.T) {
	b, err := openIn(mailbox.JSONL, k.dir, mailbox.Options{Deadline: quick})
	testenv.Must(t, err)
	testenv.Must(t, b.Append(t.Context(), mail("next", k.more)))
	k.more++
}

// config adds members to a team and changes its settings.
func (c child) config() error {
	tm, err := team.Open(team.Root{Path: c.Dir}, "api", team.Options{Deadline: deadline})
	says("ready")
	for n := 0; err == nil; n++ {
		name := protocol.MemberName(fmt.Sprintf("%s-%d", c.Sender, n))
		if _, _, err = tm.Add(context.Background(), team.Member{Name: name}, false); err != nil {
			return err
		}
		says(name)
		err = tm.Update(context.Background(), func(cfg *team.Config) error {
			cfg.Description = strings.Repeat("d", n%100)
			return nil
		})
	}
	return err
}

type configs struct {
	root   team.Root
	tm     *team.Team
	sender string
	have   []string
	extra  int
}

func newConfigs(*testing.T) victims { return &configs{} }

func (c *configs) prepare(t *testing.T, n int) child {
	if n%20 == 0 {
		c.root, c.have = team.Root{Path: t.TempDir()}, nil
		var err error
		c.tm, err = team.Create(t.Context(), c.root, team.Config{Name: "api"}, team.Options{Deadline: quick})
		testenv.Must(t, err)
		c.have = append(c.have, string(protocol.Lead))
	}
	c.sender = fmt.Sprint("victim", n)
	return child{Role: "config", Dir: c.root.Path, Sender: c.sender}
}

func (c *configs) check(t *testing.T, said []string) {
	cfg, err := c.tm.Load(t.Context())
	testenv.Must(t, err)
	if p := cfg.Problems(); len(p) > 0 {
		t.Errorf("problems: %q", p)
	}
	var names []string
	for _, m := range cfg.Members {
		names = append(names, string(m.Name))
	}
	want := append(c.have, said...)
	if n := len(names); n < len(want) || n > len(want)+1 || !slices.Equal(names[:len(want)], want) {
		t.Errorf("members %q, want %q and perhaps one more", names, want)
	}
	for _, name := range names[1:] {
		if list := validArray(t, filepath.Join(c.tm.InboxesDir(), name+".json")); len(list) > 0 {
			t.Errorf("%s has %d messages", name, len(list))
		}
	}
	c.have = names
}

func (c *configs) next(t *testing.T) {
	name := fmt.Sprint("next", c.extra)
	c.extra++
	tm, err := team.Open(c.root, "api", team.Options{Deadline: quick})
	testenv.Must(t, err)
	_, _, err = tm.Add(t.Context(), team.Member{Name: protocol.MemberName(name)}, false)
	testenv.Must(t, err)
	c.have = append(c.have, name)
}

// task adds tasks that wait for each other and changes them.
func (c child) task() error {
	l, err := task.Open(c.Dir, "api", task.Options{Deadline: deadline})
	says("ready")
	for n := 0; err == nil; n++ {
		var t task.Task
		t, err = l.Create(context.Background(), task.Task{Subject: fmt.Sprintf("%s/%d", c.Sender, n), BlockedBy: []task.ID{"1"}})
		if err != nil {
			return err
		}
		says(t.ID)
		_, err = l.Update(context.Background(), t.ID, func(t *task.Task) error {
			t.Description = "changed"
			return nil
		})
	}
	return err
}

type tasks struct {
	dir    string
	sender string
	have   map[task.ID]string // subjects
	given  map[task.ID]bool
}

func newTasks(*testing.T) victims { return &tasks{} }

func (k *tasks) list(t *testing.T) *task.List {
	l, err := task.Open(k.dir, "api", task.Options{Deadline: quick})
	testenv.Must(t, err)
	return l
}

func (k *tasks) prepare(t *testing.T, n int) child {
	if n%10 == 0 {
		k.dir, k.have, k.given = filepath.Join(t.TempDir(), "tasks", "api"), map[task.ID]string{}, map[task.ID]bool{}
		testenv.Must(t, os.MkdirAll(k.dir, 0o700))
		k.add(t, "first")
	}
	k.sender = fmt.Sprint("victim", n)
	return child{Role: "task", Dir: k.dir, Sender: k.sender}
}

func (k *tasks) add(t *testing.T, subject string) {
	made, err := k.list(t).Create(t.Context(), task.Task{Subject: subject})
	testenv.Must(t, err)
	if k.given[made.ID] {
		t.Errorf("id %s was given twice", made.ID)
	}
	k.have[made.ID], k.given[made.ID] = subject, true
}

func (k *tasks) check(t *testing.T, said []string) {
	all, problems, err := k.list(t).All(t.Context())
	testenv.Must(t, err)
	if len(problems) > 0 {
		t.Errorf("problems: %q", problems)
	}
	for i, id := range said {
		if k.given[task.ID(id)] {
			t.Errorf("id %s was given twice", id)
		}
		k.have[task.ID(id)], k.given[task.ID(id)] = fmt.Sprintf("%s/%d", k.sender, i), true
	}
	more := 0
	for _, x := range all {
		if k.have[x.ID] == "" {
			more++
			k.have[x.ID], k.given[x.ID] = x.Subject, true
		}
		if x.Subject != k.have[x.ID] {
			t.Errorf("task %s is %q, want %q", x.ID, x.Subject, k.have[x.ID])
		}
	}
	if more > 1 || len(all) != len(k.have) {
		t.Errorf("%d tasks, %d known, %d nobody was told of", len(all), len(k.have), more)
	}
}

func (k *tasks) next(t *testing.T) { k.add(t, "next") }

// claim claims every task that it can get, and completes every other one.
func (c child) claim() error {
	l, err := task.Open(c.Dir, "api", task.Options{Deadline: deadline})
	if err != nil {
		return err
	}
	all, _, err := l.All(context.Background())
	if err != nil {
		return err
	}
	starter := filepath.Join(filepath.Dir(c.Dir), "go")
	for c.Wait {
		if _, err := os.Lstat(starter); err == nil {
			break
		}
		time.Sleep(time.Millisecond) // real clock: another process makes the file
	}
	if err := os.WriteFile(starter, nil, 0o600); err != nil {
		return err
	}
	says("ready")
	for i, t := range all {
		_, err := l.Claim(context.Background(), t.ID, protocol.MemberName(c.Sender))
		var refused *task.StateError
		switch {
		case errors.As(err, &refused):
			continue
		case err != nil:
			return err
		}
		says(t.ID)
		if i%2 == 0 {
			if _, err := l.Complete(context.Background(), t.ID, protocol.MemberName(c.Sender)); err != nil {
				return err
			}
		}
	}
	return nil
}

// claims lets two processes claim beside each other; one is killed, the other
// ends by itself.
type claims struct {
	tasks
	owner map[task.ID]string // as acknowledged
	rival *process
}

func newClaims(*testing.T) victims { return &claims{owner: map[task.ID]string{}} }

func (c *claims) prepare(t *testing.T, n int) child {
	c.dir = filepath.Join(t.TempDir(), "tasks", "api")
	testenv.Must(t, os.MkdirAll(c.dir, 0o700))
	c.have, c.given, c.owner = map[task.ID]string{}, map[task.ID]bool{}, map[task.ID]string{}
	for range 20 {
		c.add(t, "work")
	}
	c.sender = fmt.Sprint("victim", n)
	c.rival = child{Role: "claim", Dir: c.dir, Sender: fmt.Sprint("rival", n), Wait: true}.start(t)
	return child{Role: "claim", Dir: c.dir, Sender: c.sender}
}

func (c *claims) check(t *testing.T, said []string) {
	who := map[string][]string{c.sender: said, strings.Replace(c.sender, "victim", "rival", 1): c.rival.rest()}
	if err := c.rival.Wait(); err != nil {
		t.Errorf("the rival: %v", err)
	}
	for owner, ids := range who {
		for _, id := range ids {
			if id == "ready" {
				continue
			}
			if other := c.owner[task.ID(id)]; other != "" {
				t.Errorf("task %s was claimed by %s and by %s", id, other, owner)
			}
			c.owner[task.ID(id)] = owner
		}
	}
	all, problems, err := c.list(t).All(t.Context())
	testenv.Must(t, err)
	if len(problems) > 0 || len(all) != len(c.have) {
		t.Errorf("%d tasks, problems %q", len(all), problems)
	}
	for _, x := range all {
		if told := c.owner[x.ID]; told != "" && x.Owner != told {
			t.Errorf("task %s is %q's, %s was told it has it", x.ID, x.Owner, told)
		}
		if x.Owner == "" && x.Status != task.Pending {
			t.Errorf("task %s is nobody's and %s", x.ID, x.Status)
		}
	}
}

// next changes the task that the killed process claimed last, which may have held that task's
// lock, and the list's.
func (c *claims) next(t *testing.T) {
	id := task.ID("1")
	for claimed, owner := range c.owner {
		if owner == c.sender {
			id = max(id, claimed)
		}
	}
	_, err := c.list(t).Update(t.Context(), id, func(t *task.Task) error {
		t.Description = "who had it is dead"
		return nil
	})
	testenv.Must(t, err)
}
