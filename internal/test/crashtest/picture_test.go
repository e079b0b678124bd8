//go:build unix

package crashtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"

	"waggle/boxes"
	"waggle/control"
	"waggle/internal/test/testenv"
	"waggle/journal"
	"waggle/mailbox"
	"waggle/protocol"
	"waggle/record"
	"waggle/spawn"
	"waggle/task"
	"waggle/team"
)

// picture is the state of a team at one moment, by its files alone: no process was asked.
type picture struct {
	members  map[record.Instance]*control.Member // that have not ended
	leaving  map[record.Instance]bool            // and are on their way out
	alive    map[record.Instance]spawn.Identity
	listed   map[protocol.MemberName]bool // in the registry
	board    map[task.ID]task.Task
	orders   map[string]order                        // by task
	entries  map[protocol.MemberName]map[string]bool // of mailboxes: whether the journal owns it
	pending  map[record.Key]record.Digest            // open questions, also those that only the asker's journal has
	decided  map[record.Key]journal.Seq
	calls    map[record.Key]*control.Call
	unready  []string       // why it is not up, when it should be
	takes    map[string]int // entries: how often they were given to a session
	began    map[string]int // calls: how often they were started
	unproved []string
}

// order names the member that is to do a task.
type order struct {
	to  record.Instance
	sha string
}

// picture reads all files of the team.
func (c *crew) picture() *picture {
	c.t.Helper()
	p := &picture{members: map[record.Instance]*control.Member{}, leaving: map[record.Instance]bool{}, alive: map[record.Instance]spawn.Identity{},
		listed: map[protocol.MemberName]bool{}, board: map[task.ID]task.Task{}, orders: map[string]order{}, entries: map[protocol.MemberName]map[string]bool{},
		pending: map[record.Key]record.Digest{}, decided: map[record.Key]journal.Seq{}, calls: map[record.Key]*control.Call{},
		takes: map[string]int{}, began: map[string]int{}}
	s := c.state()
	if s == nil {
		c.t.Fatal("there is no team")
	}
	ctx := context.Background()
	p.mail(c, protocol.Lead, s.Lead.Owns)
	for _, m := range s.Lead.Live() {
		p.members[m.Instance] = m
		w, err := s.Worker(m.Instance)
		testenv.Must(c.t, err)
		p.member(m, w, s.Lead)
		p.mail(c, m.Name, w.Owns)
	}
	for _, r := range s.Lead.Pending() {
		p.pending[r.Key] = r.Digest
	}
	for _, r := range s.Lead.Requests {
		if r.Decided != nil {
			p.decided[r.Key] = r.Order.Seq
		}
	}
	if l := s.Lead.Led; l == nil || !l.ID.Alive() || !l.Up {
		p.unready = append(p.unready, "nobody leads")
	}
	for _, o := range s.Lead.Assignments() {
		p.orders[o.Commanded.Task.ID] = order{o.Instance, o.Commanded.Task.SHA256}
	}
	for _, u := range s.Lead.Unverified {
		p.unproved = append(p.unproved, fmt.Sprintf("%+v", u))
	}
	reg, err := team.Open(c.op.Root, c.name, team.Options{})
	testenv.Must(c.t, err)
	cfg, err := reg.Load(ctx)
	testenv.Must(c.t, err)
	for _, n := range cfg.Present() {
		p.listed[n] = true
	}
	board, err := task.Open(c.op.Root.TasksDir(c.name), c.name, task.Options{})
	testenv.Must(c.t, err)
	tasks, _, err := board.All(ctx)
	testenv.Must(c.t, err)
	for _, t := range tasks {
		p.board[t.ID] = t
	}
	recs, err := s.Records()
	testenv.Must(c.t, err)
	for _, r := range recs {
		p.count(c, r.Record)
	}
	return p
}

// member adds one member and its journal.
func (p *picture) member(m *control.Member, w *control.Worker, lead *control.Leader) {
	p.leaving[m.Instance] = m.Stopping != nil || m.Approved || m.Shutdown != nil
	if m.Process != nil && m.Process.ID.Alive() {
		p.alive[m.Instance] = m.Process.ID
	}
	for _, call := range w.Calls {
		p.calls[call.Key] = call
		if r, seen := lead.Request(call.Key); call.Open() && !(seen && r.Decided != nil) {
			p.pending[call.Key] = call.Digest
			if !seen {
				p.unready = append(p.unready, fmt.Sprintf("question %s of %s has not come through", call.ID, m.Name))
			}
		}
	}
	switch {
	case p.leaving[m.Instance]:
	case m.Process == nil || !m.Process.ID.Alive():
		p.unready = append(p.unready, string(m.Name)+" does not run")
	case w.Ready == nil || w.Ready.Epoch != m.Process.Epoch:
		p.unready = append(p.unready, string(m.Name)+" is not ready")
	}
}

// mail reads a mailbox.
func (p *picture) mail(c *crew, name protocol.MemberName, owns func(string) bool) {
	c.t.Helper()
	b, err := boxes.Of(c.op.Root, c.name).Open(name, mailbox.Options{})
	testenv.Must(c.t, err)
	list, err := b.Entries(context.Background())
	testenv.Must(c.t, err)
	p.entries[name] = map[string]bool{}
	for _, e := range list {
		testenv.Must(c.t, e.Err)
		p.entries[name][e.ID.String()] = owns(e.ID.String())
	}
}

// count counts a record of an event that may happen once.
func (p *picture) count(c *crew, r journal.Record) {
	var b struct {
		record.Key
		Entries []string
	}
	switch r.Kind {
	case record.KindTaken, record.KindStarted:
		testenv.Must(c.t, json.Unmarshal(r.Body, &b))
	default:
		return
	}
	for _, e := range b.Entries {
		p.takes[string(r.Journal)+" "+e]++
	}
	if r.Kind == record.KindStarted {
		p.began[fmt.Sprintf("%s %s", r.Journal, b.ID)]++
	}
}

// same compares the picture before the kill with the present one: nothing is lost, nothing was
// decided, nothing is done twice. grows says that there may be more members and tasks now.
func (c *crew) same(was, is *picture, grows bool) {
	c.t.Helper()
	for i, m := range was.members {
		now, here := is.members[i]
		switch {
		case was.leaving[i]:
			continue
		case !here:
			c.t.Errorf("%s, instance %s, is gone", m.Name, i)
			continue
		case now.Name != m.Name || !is.listed[m.Name]:
			c.t.Errorf("%s is %s now; in the registry: %t", m.Name, now.Name, is.listed[m.Name])
		}
		if id, lived := was.alive[i]; lived && now.Process.ID != id {
			c.t.Errorf("%s lived as process %d and was started again as %d", m.Name, id.PID, now.Process.ID.PID)
		}
	}
	for i, m := range is.members {
		if was.members[i] == nil && !grows {
			c.t.Errorf("%s, instance %s, was not there", m.Name, i)
		}
	}
	c.sameTasks(was, is, grows)
	c.sameMail(was, is)
	c.sameQuestions(was, is)
	c.once(is)
}

func (c *crew) sameTasks(was, is *picture, grows bool) {
	c.t.Helper()
	for id, t := range was.board {
		now, here := is.board[id]
		switch {
		case !here:
			c.t.Errorf("task %s is not on the board any more", id)
		case now.Subject != t.Subject || now.Description != t.Description || now.Owner != t.Owner && !c.releases(was, t):
			c.t.Errorf("task %s was %+v and is %+v", id, t, now)
		case t.Status == task.Completed && now.Status != task.Completed:
			c.t.Errorf("task %s was completed and is %s", id, now.Status)
		}
	}
	for id, o := range was.orders {
		if is.orders[id] != o {
			c.t.Errorf("task %s was ordered of %+v and is of %+v", id, o, is.orders[id])
		}
	}
	if len(is.board) != len(was.board) && !grows || len(is.orders) < len(was.orders) {
		c.t.Errorf("%d tasks and %d orders became %d and %d", len(was.board), len(was.orders), len(is.board), len(is.orders))
	}
}

// releases reports a task whose owner had left or was on its way out: then the task has no owner.
func (c *crew) releases(was *picture, t task.Task) bool {
	for i, m := range was.members {
		if string(m.Name) == t.Owner {
			return was.leaving[i]
		}
	}
	return true
}

func (c *crew) sameMail(was, is *picture) {
	c.t.Helper()
	for name, entries := range was.entries {
		if is.entries[name] == nil {
			continue // it was on its way out, and the members are compared
		}
		for id, owned := range entries {
			now, here := is.entries[name][id]
			if !here || owned && !now {
				c.t.Errorf("entry %s of %s: there %t, its journal had it %t and has it %t", id, name, here, owned, now)
			}
		}
	}
	for e, n := range is.takes {
		if n > 1 {
			c.t.Errorf("entry %s was given to a session %d times", e, n)
		}
	}
}

func (c *crew) sameQuestions(was, is *picture) {
	c.t.Helper()
	for k, d := range was.pending {
		if now, open := is.pending[k]; (!open || now != d) && !was.leaving[k.Instance] {
			c.t.Errorf("question %s of %s was open with digest %.8s: open now %t, digest %.8s", k.ID, k.Instance, d, open, now)
		}
	}
	for k, seq := range is.decided {
		if was.decided[k] != seq && !was.leaving[k.Instance] {
			c.t.Errorf("question %s was decided by nobody who was asked, at %d", k.ID, seq)
		}
	}
	for k, call := range was.calls {
		now := is.calls[k]
		_, lived := was.alive[k.Instance]
		if call.Started && call.Finished == nil && !lived && !was.leaving[k.Instance] && (now == nil || !now.Unknown) {
			c.t.Errorf("call %s was running when its process died, and is not shown as unknown: %+v", k.ID, now)
		}
	}
}

// workOf finds the name of a call's work.
var workOf = regexp.MustCompile(`\./(?:work|ask) ([a-z0-9-]+)`)

// once checks the events that happen at most once, or exactly once.
func (c *crew) once(is *picture) {
	c.t.Helper()
	for k, n := range is.began {
		if n > 1 {
			c.t.Errorf("call %s was started %d times", k, n)
		}
	}
	ran := c.lines("ran")
	for name, n := range ran {
		if n > 1 {
			c.t.Errorf("%s ran %d times", name, n)
		}
	}
	for k, call := range is.calls {
		if f := call.Finished; f != nil && call.Kind == protocol.KindPermissionRequest && !call.Unknown {
			if word := workOf.FindStringSubmatch(call.Input()); word != nil && ran[word[1]] != 1 {
				c.t.Errorf("call %s (%s) is finished and ran %d times", k.ID, call.Input(), ran[word[1]])
			}
		}
	}
	if len(is.unproved) > 0 {
		c.t.Errorf("taken for forged: %v", is.unproved)
	}
}
