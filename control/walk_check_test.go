package control_test

import (
	"fmt"
	"slices"
	"sync"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"waggle/control"
	"waggle/journal"
	"waggle/machine"
	"waggle/protocol"
	"waggle/record"
)

// told is what observers of all processes were told in one walk.
type told struct {
	rt  *rapid.T
	all map[string]machine.Observation // by the identity of a transition
	at  map[string]machine.State       // of each machine
}

// observe checks that a transition continues from its machine's state, and that a transition that
// another process's fold reports again is the same.
func (s told) observe(o machine.Observation) {
	id := fmt.Sprint(o.Machine, " ", o.Instance, " ", o.Seq, " ", o.Request)
	if old, ok := s.all[id]; ok {
		if old != o {
			s.rt.Fatalf("told %+v, and again as %+v", old, o)
		}
		return
	}
	s.all[id] = o
	which := fmt.Sprint(o.Machine, " ", o.Instance)
	if o.Machine == machine.Request {
		which += " " + o.Request
	}
	at, ok := s.at[which]
	if !ok && o.Machine == machine.Worker {
		at = machine.Booting
	}
	if o.From != at {
		s.rt.Fatalf("%s was %q and moved from %q: %+v", which, at, o.From, o)
	}
	s.at[which] = o.To
	if o.Time.IsZero() || o.Member == "" || o.Row == "" || o.Seq == 0 {
		s.rt.Fatalf("%+v", o)
	}
}

// judged checks the records for one entry: one record that owns it, an audit record if its sender
// may not send it, and no record the second time.
func (w *walk) judged(who string, e entry, owned bool, recs []journal.Record, genuine bool) {
	key := who + e.id
	kind := protocol.Decode(e.env).Kind
	words := kind == protocol.KindText || kind == protocol.KindUnknown
	switch {
	case w.done[key] || owned || words:
		if len(recs) > 0 {
			w.t.Fatalf("%s judges %s again: %v", who, e.env.Text, recs[0].Kind)
		}
		return
	case len(recs) == 0:
		w.t.Fatalf("%s judged %s and recorded nothing", who, e.env.Text)
	case e.forged && !genuine && (len(recs) != 1 || recs[0].Kind != record.KindUnverified):
		w.t.Fatalf("%s: forged %s from %s became %s", who, e.env.Text, e.env.From, recs[0].Kind)
	}
	w.done[key] = true
}

// workerShape is what of a worker an audit record must not change.
func workerShape(m *member) string {
	tasks := 0
	for _, t := range m.w.Tasks {
		if t.Taken || t.Ended {
			tasks++
		}
	}
	s := fmt.Sprint(m.w.State(), len(m.w.Tasks), tasks, m.w.PolicyVersion, m.w.Turn(), m.w.Shutdown != nil, len(m.w.Outbox))
	for _, c := range m.w.Calls {
		s += fmt.Sprint(c.ID, c.Open(), c.Answer != nil, c.Started)
	}
	return s
}

func leaderShape(w *world) string {
	s := ""
	for _, m := range w.l.Members {
		s += fmt.Sprint(m.Name, m.State(), m.Shutdown != nil, m.Approved, m.Rejected, len(m.Done), len(m.Turns), m.Mode)
	}
	for _, r := range w.l.Requests {
		s += fmt.Sprint(r.ID, r.State, len(r.Votes))
	}
	return s + fmt.Sprint(len(w.l.Outbox()), w.l.Policy.Policy.Version)
}

// check holds after every step.
func (w *walk) check() {
	if len(w.l.Ignored) > 0 {
		w.t.Fatalf("a step drafted what the fold ignores: %+v", w.l.Ignored)
	}
	pending := map[record.Instance]int{}
	for _, r := range w.l.Requests {
		switch d := r.Decided; {
		case d == nil && w.decided[r.Key] != "":
			w.t.Fatalf("%s was decided and is not any more", r.ID)
		case d != nil && d.Decision != w.decided[r.Key]:
			w.t.Fatalf("%s was decided %q and is %q", r.ID, w.decided[r.Key], d.Decision)
		case r.State == machine.RequestPending:
			pending[r.Instance]++
		}
	}
	for _, m := range w.l.Members {
		if w.gone[m.Instance] = w.gone[m.Instance] || m.State() == machine.Terminated; w.gone[m.Instance] && m.State() != machine.Terminated {
			w.t.Fatalf("%s was terminated and is %s", m.Name, m.State())
		}
		if m.State() == machine.AwaitingDecision != (pending[m.Instance] > 0 && m.Shutdown == nil && !w.gone[m.Instance]) {
			w.t.Fatalf("%s is %s with %d open questions", m.Name, m.State(), pending[m.Instance])
		}
		if m.Left != nil && pending[m.Instance] > 0 {
			w.t.Fatalf("%s left and asks", m.Name)
		}
	}
	for _, m := range w.members {
		w.checkMember(m)
	}
}

func (w *walk) checkMember(m *member) {
	if w.over[m.instance] = w.over[m.instance] || m.w.State() == machine.Terminated; w.over[m.instance] && m.w.State() != machine.Terminated {
		w.t.Fatalf("worker %s was terminated and is %s", m.name, m.w.State())
	}
	if m.w.PolicyVersion < w.versions[m.instance] {
		w.t.Fatalf("policy of %s fell to %d", m.name, m.w.PolicyVersion)
	}
	w.versions[m.instance] = m.w.PolicyVersion
	planned := false
	for _, c := range m.w.Calls {
		if c.Started != (w.runs[c.Key] == 1) {
			w.t.Fatalf("%s started %t and ran %d times", c.ID, c.Started, w.runs[c.Key])
		}
		if c.Answer == nil || c.Answer.Leader == 0 {
			continue
		}
		r, ok := w.l.Request(c.Key)
		if !ok || r.Decided == nil || r.Decided.Decision != c.Answer.Decision || r.Decided.UpdatedInput != c.Answer.UpdatedInput ||
			r.Decided.Digest != c.Digest || uint64(r.Order.Seq) != c.Answer.Leader {
			w.t.Fatalf("%s took %+v, the leader has %+v", m.name, c.Answer, r)
		}
		planned = planned || c.Kind == plan && c.Answer.Decision == record.DecisionAllow
		if planned && c.Kind == plan && m.w.Turn() != nil {
			w.plans[m.instance] = c.Key
		}
	}
	// Out of a turn that owes a plan there is only one way: a plan that was
	// approved and asked in this turn.
	if s := m.w.State(); s == machine.Executing && m.w.Turn().Plan && !planned {
		w.t.Fatalf("%s executes and no plan was approved", m.name)
	}
	if slices.ContainsFunc(m.w.Blocking(), func(c *control.Call) bool { return !c.Open() }) {
		w.t.Fatalf("%s waits for what was answered", m.name)
	}
}

// settleAll brings everything to an end: all mail arrives, and then every entry
// is owned and every fold is what its journal says.
func (w *walk) settleAll() {
	for range 2 {
		for _, m := range w.members {
			m.flush()
		}
		w.doPass()
		w.deliver()
		for _, m := range w.members {
			if !w.left(m) {
				w.fetch(m)
				for _, e := range m.box.entries {
					w.receive(m, e)
				}
			}
		}
		w.doPass()
		w.check()
	}
	for _, r := range w.l.Requests {
		m := w.byInstance(r.Instance)
		c, ok := m.w.Call(r.Key)
		if !ok || r.Decided != nil && !w.left(m) && m.w.State() != machine.Terminated && c.Open() {
			w.t.Fatalf("%s is decided and its member does not know", r.ID)
		}
	}
	w.toldAll()
	for _, m := range w.members {
		fresh := folded(w.t, control.NewWorker(nil), m.mem.Records())
		if !w.left(m) && len(m.mem.Records()) < 30 && len(m.mem.Records())%4 == 0 {
			if d := cmp.Diff(m.w, fresh, sameFold); d != "" {
				w.t.Fatalf("%s folded anew: %s", m.name, d)
			}
		}
	}
}

// openShape is what of a leader a brief fold must have too.
func openShape(l *control.Leader) string {
	s := fmt.Sprint(l.Policy.Policy.Version, len(l.Outbox()))
	for _, m := range l.Members {
		s += fmt.Sprint(m.Name, m.State(), m.Mode, len(l.Unclosed(m.Instance)))
	}
	for _, r := range l.Pending() {
		s += fmt.Sprint(r.ID, r.Digest, r.State, len(r.Votes), r.Escalated != nil)
	}
	return s
}

// toldAll checks that the processes together told every transition that is on
// record, and none besides.
func (w *walk) toldAll() {
	n := 0
	count := func(o machine.Observation) {
		n++
		if id := fmt.Sprint(o.Machine, " ", o.Instance, " ", o.Seq, " ", o.Request); w.told.all[id] != o {
			w.t.Fatalf("on record is %+v, and told was %+v", o, w.told.all[id])
		}
	}
	l, brief := folded(w.t, control.NewLeader(count), w.mem.Records()), folded(w.t, control.NewBrief(nil), w.mem.Records())
	if a, b := openShape(l), openShape(brief); a != b {
		w.t.Fatalf("what is open is %s, and in brief %s", a, b)
	}
	for _, m := range w.members {
		folded(w.t, control.NewWorker(count), m.mem.Records())
	}
	if n != len(w.told.all) {
		w.t.Fatalf("%d transitions on record, %d were told", n, len(w.told.all))
	}
}

// sum is what all walks together came to.
type sum struct {
	mu    sync.Mutex
	total map[string]int
}

func (s *sum) add(w *walk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total["walks"]++
	for _, n := range w.runs {
		s.total["runs"] += n
	}
	s.total["transitions"] += len(w.told.all)
	s.total["decided"] += len(w.decided)
	s.total["unverified"] += len(w.l.Unverified)
	for _, m := range w.members {
		s.total["unverified by members"] += m.w.Unverified
		for _, c := range m.w.Calls {
			if c.Unknown {
				s.total["unknown ends"]++
			}
		}
	}
}
