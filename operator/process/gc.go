package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"waggle/control"
	"waggle/home"
	"waggle/internal/fs/worktree"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/spawn/terminal"
	"waggle/team"
)

// Kinds of Garbage.
const (
	GarbageProcess  = "process"   // a member's process, after the member or its team has ended
	GarbageCommand  = "command"   // a program that a command of a member has left running
	GarbageHolder   = "holder"    // the holder of a terminal whose process is gone
	GarbagePane     = "pane"      // the pane of a process that is gone
	GarbageRecord   = "record"    // the record of a terminal that is gone
	GarbageHandover = "hand-over" // a hand-over that no holder will take; it contains an environment
	GarbageSocket   = "socket"    // a socket at which no process listens
	GarbageWorktree = "worktree"  // of a member that has left, and without changes
	GarbageMail     = "mail"      // mail that was written to a team that has ended
)

// Garbage is one process or file that a team has left behind.
type Garbage struct {
	Kind   string `json:"kind"`
	Team   string `json:"team"`
	Member string `json:"member"` // "" when it belongs to no member
	PID    int    `json:"pid"`    // 0: no process
	Start  string `json:"start"`  // the start time of the process, as recorded
	Argv   string `json:"argv"`   // what the process runs, in one line
	Path   string `json:"path"`   // of a file or a worktree; for a pane its server's socket too
	Why    string `json:"why"`
	Done   bool   `json:"done"` // it has been ended or removed
	Error  string `json:"error,omitempty"`
	// unused checks once more, right before end acts; gone checks the result.
	unused func(context.Context) bool
	gone   func() bool
	end    func(context.Context) error
}

// Kept is a process or file that GC found and did not end or remove, with the reason.
type Kept struct {
	Kind   string            `json:"kind"` // team, worktree, process, pane, command
	Team   string            `json:"team"`
	Member string            `json:"member"`
	Path   string            `json:"path"`
	Why    operator.Sentence `json:"why"` // with the next step
	ID     string            `json:"-"`   // of the team that has a worktree; "": of another kind
}

// Collected is what GC found (commands §4).
type Collected struct {
	Found []*Garbage `json:"found"`
	Kept  []Kept     `json:"kept"`
	// Unseen are members that may have left processes which cannot be found.
	Unseen []Unseen `json:"unseen"`
	// Living counts processes in Kept that run for a team whose journal cannot be read.
	Living int `json:"living"`
}

// Undone counts the items that could not be ended or removed.
func (c *Collected) Undone() (n int) {
	for _, g := range c.Found {
		if !g.Done {
			n++
		}
	}
	return n
}

// handoverAge is the age from which on no process will take a hand-over.
const handoverAge = time.Minute

// GC lists what the teams of this root have left behind, of one name or all, and, with all, the
// journals of sessions that ended long ago. With act it ends and removes them. It identifies
// processes by their records (pid, start time and boot), panes by server, id and holder, and what
// commands left behind by the marks in their environment; it identifies nothing by its name. It
// checks each item again right before it is ended. What a resume needs of dead members is in Kept.
//
// A journal that cannot be read is in Kept, and nothing of its team is touched. GC refuses inside of
// a member's process.
func (o Operator) GC(ctx context.Context, name protocol.TeamName, act bool) (*Collected, error) {
	c := &collector{o: o, out: &Collected{Found: []*Garbage{}, Kept: []Kept{}, Unseen: []Unseen{}}, seen: map[string]bool{}, all: name == ""}
	if err := c.open(ctx, name); err != nil {
		return nil, err
	}
	if act && c.all {
		if err := o.Guard(ctx, nil, "gc"); err != nil {
			return nil, err
		}
		decide.Of(o.Operator).TidySessions(ctx)
	}
	c.name = name
	return c.out, c.run(ctx, act)
}

// Sweep ends the processes that an ended team has left, and notes them. It leaves worktrees alone.
func (o Operator) Sweep(ctx context.Context, s *operator.State, note func(operator.Note)) error {
	c := &collector{o: o, teams: []*operator.State{s}, out: &Collected{Found: []*Garbage{}, Kept: []Kept{}, Unseen: []Unseen{}}, seen: map[string]bool{}, ended: true}
	Sweeps(s, note)
	err := c.run(ctx, true)
	for _, g := range c.out.Found {
		if g.Done && (g.Kind == GarbageCommand || g.Kind == GarbageProcess) {
			sweptOff(s, g.Member, g.PID, g.Argv, g.Why)
		}
		if !g.Done {
			err = errors.Join(err, fmt.Errorf("%s %s of %s is left: %s", g.Kind, g.Path, g.Member, g.Error))
		}
	}
	return err
}

// run searches, and ends what it finds when act is set. It repeats: an ended process may leave
// others behind, and something in use becomes garbage when its user is gone.
func (c *collector) run(ctx context.Context, act bool) error {
	if err := c.look(ctx); err != nil || !act {
		return err
	}
	const rounds = 4
	for range rounds {
		if c.act(ctx) == 0 {
			break
		}
		if err := c.look(ctx); err != nil {
			return err
		}
	}
	for _, s := range c.teams {
		DropLeft(s)
	}
	return ctx.Err()
}

// collector is one GC.
type collector struct {
	o     Operator
	teams []*operator.State
	aside []*operator.State // whose journals were set aside: only their worktrees are looked at
	out   *Collected
	seen  map[string]bool   // what out contains, by kind and identity
	acted int               // how many of Found have been acted on
	all   bool              // sessions too, which belong to no team
	name  protocol.TeamName // "": all teams
	ended bool              // the caller ends the team and handles worktrees itself

	mu sync.Mutex // held while a journal is read: items that are ended at the same time are checked at the same time
}

// open reads the journals.
func (c *collector) open(ctx context.Context, name protocol.TeamName) error {
	known, err := c.o.Home.List()
	if err != nil {
		return err
	}
	known = slices.DeleteFunc(known, func(k home.Known) bool {
		return k.Root != c.o.RootURL && k.Root != "" || name != "" && k.Team != name
	})
	if left, err := c.o.LeftMail(ctx, name); name != "" && len(known) == 0 && len(left) == 0 {
		if err != nil {
			return err
		}
		return &team.NotFoundError{What: "team", Name: string(name), Near: team.Near(string(name), c.o.everLed())}
	}
	for _, k := range known {
		if k.Broken != nil {
			c.keep(Kept{Kind: "team", Team: string(k.Team), Path: k.Dir.Path, Why: operator.Sentence{Text: k.Broken.Error()}})
			continue
		}
		if k.Dir.Aside {
			if err := c.setAside(ctx, k); err != nil {
				return err
			}
			continue
		}
		s := c.o.OpenKnown(k)
		err := s.Damaged
		if err == nil {
			err = s.Journal.Refresh(ctx)
		}
		if err != nil {
			c.keep(Kept{Kind: "team", Team: string(k.Team), Path: k.Dir.Path, Why: operator.Sentence{Text: "its journal cannot be read, so nothing of it is touched: " + err.Error()}})
			if err := c.unreadable(ctx, k, err); err != nil {
				return err
			}
			continue
		}
		if err := c.o.Guard(ctx, s, "gc"); err != nil {
			return err
		}
		c.teams = append(c.teams, s)
	}
	return nil
}

// setAside opens a team that was ended without its journal, which was set aside: its worktrees have what its members did.
func (c *collector) setAside(ctx context.Context, k home.Known) error {
	s, err := c.o.salvage(ctx, k.Dir, k.Team, nil)
	if err == nil {
		err = s.Put(ctx, c.o.Writer(), record.KindEnded, record.Ended{How: EndedDown}) // in memory
	}
	if err == nil {
		err = c.o.Guard(ctx, s, "gc")
	}
	c.aside = append(c.aside, s)
	return err
}

// unreadable keeps the processes of a team whose journal cannot be read.
func (c *collector) unreadable(ctx context.Context, k home.Known, why error) error {
	s, err := c.o.salvage(ctx, k.Dir, k.Team, why)
	if err != nil {
		return err
	}
	if err := c.o.Guard(ctx, s, "gc"); err != nil {
		return err
	}
	for _, p := range living(s) {
		c.out.Living++
		c.keep(Kept{Kind: GarbageProcess, Team: string(k.Team), Why: operator.Sentence{Text: p + " runs", Do: operator.Next{Step: operator.NextDownForceIt, Team: k.Team}}})
	}
	return nil
}

// everLed returns the teams that have a journal for this root.
func (o Operator) everLed() (names []string) {
	known, _ := o.Home.List()
	for _, k := range known {
		if k.Root == o.RootURL && !slices.Contains(names, string(k.Team)) {
			names = append(names, string(k.Team))
		}
	}
	return names
}

// look adds the present garbage.
func (c *collector) look(ctx context.Context) error {
	marked, err := spawn.AllMarked()
	if errors.Is(err, errors.ErrUnsupported) {
		c.keep(Kept{Kind: GarbageCommand, Why: operator.Sentence{Text: "this system does not tell what commands have left behind"}})
		err = nil
	}
	if err != nil {
		return err
	}
	for _, s := range c.teams {
		if err := s.Journal.Refresh(ctx); err != nil {
			return err
		}
		c.processes(s)
		err := errors.Join(c.commands(s, marked), c.cgroups(s), c.terminals(s), c.handovers(s), c.sockets(s))
		if !c.ended {
			err = errors.Join(err, c.worktrees(ctx, s))
		}
		if err != nil {
			return fmt.Errorf("gc of %s: %w", s.Team, err)
		}
		c.interrupted(s)
		c.unseenOf(s)
	}
	for _, s := range c.aside {
		if err := c.worktrees(ctx, s); err != nil {
			return fmt.Errorf("gc of %s: %w", s.Team, err)
		}
	}
	if !c.ended {
		if err := c.leftMail(ctx, c.name); err != nil {
			return err
		}
	}
	if c.all {
		c.sessions()
	}
	return nil
}

// find adds an item that is not in out yet; id distinguishes it from others of its kind.
func (c *collector) find(s *operator.State, id string, g Garbage) {
	id = g.Kind + " " + id
	if c.seen[id] {
		return
	}
	c.seen[id] = true
	g.Team = string(s.Team)
	c.out.Found = append(c.out.Found, &g)
}

func (c *collector) keep(k Kept) {
	if !slices.Contains(c.out.Kept, k) {
		c.out.Kept = append(c.out.Kept, k)
	}
}

// over returns why nothing of a member is needed any more, "" when something may be. m is nil for
// an item of no member.
func over(s *operator.State, m *control.Member) string {
	switch {
	case s.Lead.Ended != nil:
		return "its team has ended"
	case m != nil && m.Left != nil:
		return "its member has left"
	}
	return ""
}

// isOver is over for a member, with the journal read again.
func (c *collector) isOver(ctx context.Context, s *operator.State, i record.Instance) bool {
	return c.now(ctx, s, func() bool {
		m, _ := s.Lead.ByInstance(i)
		return over(s, m) != ""
	})
}

// now calls a check with the journal read again; false when it cannot be read.
func (c *collector) now(ctx context.Context, s *operator.State, ask func() bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return s.Journal.Refresh(ctx) == nil && ask()
}

// processes finds recorded processes of members that have ended.
func (c *collector) processes(s *operator.State) {
	for _, m := range s.Lead.Members {
		why := over(s, m)
		if m.Process == nil || why == "" || m.Process.ID.Inside || !m.Process.ID.Alive() {
			continue
		}
		if id := m.Process.ID; id.Theirs || m.Channel != "" {
			c.keep(Kept{Kind: GarbageProcess, Team: string(s.Team), Member: string(m.Name), Why: operator.Sentence{Text: fmt.Sprintf("pid %d was started by another program", id.PID)}})
			continue
		}
		c.process(s, m, GarbageProcess, m.Process.ID, why, func(ctx context.Context) bool { return c.isOver(ctx, s, m.Instance) })
	}
}

// process adds one process; unused is called right before it is ended.
func (c *collector) process(s *operator.State, m *control.Member, kind string, id spawn.Identity, why string, unused func(context.Context) bool) {
	g := Garbage{Kind: kind, PID: id.PID, Start: id.Start, Argv: program(spawn.Argv(id.PID)), Why: why,
		unused: unused, gone: func() bool { return !id.Alive() },
		end: func(ctx context.Context) error {
			g := spawn.Grace{}
			if c.ended {
				g = leftovers // the process that ends a team waits for it
			}
			_, err := spawn.StopTree(ctx, id, g)
			return err
		}}
	if m != nil {
		g.Member = string(m.Name)
	}
	// one process may be found in two ways
	at := fmt.Sprintf("%d %s", id.PID, id.Start)
	if c.seen[at] {
		return
	}
	c.seen[at] = true
	c.find(s, at, g)
}

// commands finds the processes that carry the mark of a member that has ended, and those that the
// commands of a dead process left behind. Processes below a living process of a member that may
// continue are in use. A process that only carries the mark is kept.
func (c *collector) commands(s *operator.State, marked []spawn.Marked) error {
	recorded, _, err := c.o.recorded(s)
	for _, m := range s.Lead.Members {
		err = errors.Join(err, c.groups(s, m))
	}
	for _, p := range marked {
		dir, instance, ok := strings.Cut(p.Owner, "/")
		m, member := s.Lead.ByInstance(record.Instance(instance))
		if !ok || !member || dir != filepath.Base(s.Dir.Path) || m.Channel != "" {
			continue
		}
		kind, why := GarbageCommand, over(s, m)
		if len(p.Commands) == 0 {
			kind = GarbageProcess
		}
		unused := func(ctx context.Context) bool { return c.isOver(ctx, s, m.Instance) }
		if by, orphan := p.Orphan(); orphan {
			why = fmt.Sprintf("pid %d, whose command left it behind, is dead", by.PID)
			unused = func(context.Context) bool { _, orphan := p.Orphan(); return orphan }
		}
		switch {
		case why == "":
		case !p.Ours(recorded...):
			c.keep(Kept{Kind: kind, Team: string(s.Team), Member: string(m.Name), Why: operator.Sentence{Text: notMarked(p)}})
			leftAlone(s, string(m.Name), p)
		default:
			c.process(s, m, kind, p.ID, why, unused)
		}
	}
	return err
}

// groups finds the processes in the recorded process groups of a member's commands when its process
// is dead. It needs no mark.
func (c *collector) groups(s *operator.State, m *control.Member) error {
	if m.Process == nil || m.Channel != "" || !operator.Gone(m.Process.ID) {
		return nil
	}
	ids, err := inGroups(s, m)
	for _, id := range ids {
		c.process(s, m, GarbageCommand, id, fmt.Sprintf("it is in the group of a command whose worker, pid %d, is dead", m.Process.ID.PID),
			func(context.Context) bool { return operator.Gone(m.Process.ID) })
	}
	return err
}

// terminals finds holders, panes and records of processes that are gone.
func (c *collector) terminals(s *operator.State) error {
	list, err := c.o.Terminals(s)
	for _, h := range list {
		m := owns(s, h.Process)
		why := over(s, m)
		if m == nil && why == "" {
			why = "its process is gone, and its member has another"
		}
		if why == "" || h.Process.Alive() {
			continue // in use, or found as a process already
		}
		unused := func(ctx context.Context) bool {
			return !h.Process.Alive() && c.now(ctx, s, func() bool { m := owns(s, h.Process); return m == nil || over(s, m) != "" })
		}
		if h.Place.Holder != nil && h.Place.Holder.Alive() {
			c.process(s, m, GarbageHolder, *h.Place.Holder, why, unused)
			continue // its pane and its record are garbage after it has ended
		}
		g := Garbage{Kind: GarbageRecord, Path: h.Record(), Why: why, unused: unused, gone: missing(h.Record())}
		program := ""
		if p := h.Place.Pane; p != nil {
			g.Kind, g.Path = GarbagePane, p.ID
			if p.Socket != "" {
				g.Path += " of " + p.Socket
			}
			if program, err = c.o.muxProgram(*p); err != nil {
				c.keep(Kept{Kind: GarbagePane, Team: string(s.Team), Path: p.ID, Why: operator.Sentence{Text: err.Error()}})
				continue
			}
		}
		if m != nil {
			g.Member = string(m.Name)
		}
		g.end = func(ctx context.Context) error { return h.Close(ctx, program, c.o.Environ) }
		c.find(s, h.Record(), g)
	}
	return err
}

// owns returns the member whose newest process this is, nil for none.
func owns(s *operator.State, id spawn.Identity) *control.Member {
	for _, m := range s.Lead.Members {
		if m.Process != nil && m.Process.ID.Is(id) {
			return m
		}
	}
	return nil
}

// handovers finds the hand-overs that no holder will take.
func (c *collector) handovers(s *operator.State) error {
	old := c.o.Minter.Now().Add(-handoverAge)
	files, err := terminal.Untaken(s.Dir.Processes(), old)
	for _, path := range files {
		c.find(s, path, Garbage{Kind: GarbageHandover, Path: path, Why: "nobody has taken it for a minute, and it has an environment in it",
			unused: always, gone: missing(path), end: func(context.Context) error { return os.Remove(path) }})
	}
	return err
}

// sockets finds the sockets of an ended team at which no process listens.
func (c *collector) sockets(s *operator.State) error {
	if s.Lead.Ended == nil {
		return nil
	}
	place := s.Dir.Sockets(c.o.RunPath())
	dead, err := place.Dead()
	for _, path := range dead {
		c.find(s, path, Garbage{Kind: GarbageSocket, Path: path, Why: "nobody answers there, and its team has ended",
			unused: always, gone: missing(path), end: func(context.Context) error { _, err := place.RemoveDead(path); return err }})
	}
	return err
}

// worktrees finds the worktrees without changes of members that have ended; it keeps the others
// with the reason.
func (c *collector) worktrees(ctx context.Context, s *operator.State) error {
	store := c.o.worktrees(s)
	recs, err := store.List()
	if err != nil {
		return err
	}
	for _, r := range recs {
		i := record.Instance(r.Owner)
		m, ok := s.Lead.ByInstance(i)
		why := over(s, m)
		if !ok && s.Lead.Ended == nil || why == "" {
			continue // a join is in progress, or a process works there
		}
		k := Kept{Kind: GarbageWorktree, Team: string(s.Team), ID: filepath.Base(s.Dir.Path), Member: r.Member, Path: r.Tree.Path}
		st, err := store.Git.Status(ctx, r.Tree)
		switch {
		case err != nil:
			k.Why.Text = err.Error()
		case !st.Clean():
			k.Why.Text = st.String()
		default:
			k.Why.Text = taken(m)
		}
		if k.Why.Text != "" {
			if s.Dir.Aside {
				k.Why.Do = mergeByHand(r.Tree.Branch)
			}
			c.keep(k)
			continue
		}
		c.find(s, r.Tree.Path, Garbage{Kind: GarbageWorktree, Member: r.Member, Path: r.Tree.Path, Why: why + ", and nothing in it would be lost",
			unused: func(ctx context.Context) bool { return c.isOver(ctx, s, i) && taken(m) == "" }, gone: missing(r.Tree.Path),
			end: func(ctx context.Context) error {
				err := store.Remove(ctx, r.Tree)
				var unknown *worktree.UnknownError
				if errors.As(err, &unknown) { // another process has removed it
					return nil
				}
				return err
			}})
	}
	return nil
}

// interrupted keeps a team whose processes are dead and that a resume can continue.
func (c *collector) interrupted(s *operator.State) {
	if s.Lead.Ended != nil {
		return
	}
	dead := 0
	for _, m := range s.Lead.Live() {
		if m.Process != nil && m.Process.ID.Alive() {
			return
		}
		dead++
	}
	if dead > 0 {
		c.keep(Kept{Kind: "team", Team: string(s.Team), Path: s.Dir.Path,
			Why: operator.Sentence{Text: fmt.Sprintf("it was interrupted: none of its %d members runs", dead), Do: operator.Next{Step: operator.NextResumeOrDown, Team: s.Team}}})
	}
}

// act ends the items that were found since the last call: processes first, all at once, then what
// they may have held. It returns their number.
func (c *collector) act(ctx context.Context) int {
	fresh := c.out.Found[c.acted:]
	c.acted = len(c.out.Found)
	// Each waits for its grace. The bound limits the cost of reading the process table.
	const atOnce = 16
	room := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for _, g := range fresh {
		if g.PID == 0 {
			continue
		}
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			g.act(ctx)
		})
	}
	wg.Wait()
	for _, g := range fresh {
		if g.PID == 0 {
			g.act(ctx)
		}
	}
	return len(fresh)
}

// act ends one item, if it is still garbage. An item that is gone already counts as done.
func (g *Garbage) act(ctx context.Context) {
	var err error
	switch {
	case g.gone():
	case !g.unused(ctx):
		err = errors.New("it is in use again")
	default:
		err = g.end(ctx)
	}
	if err == nil && !g.gone() {
		err = errors.New("it is still there")
	}
	if err != nil {
		g.Error = err.Error()
	}
	g.Done = err == nil
}

// missing returns a check that a path does not exist.
func missing(path string) func() bool {
	return func() bool {
		_, err := os.Lstat(path)
		return errors.Is(err, fs.ErrNotExist)
	}
}

func always(context.Context) bool { return true }
