package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"waggle/control"
	"waggle/journal"
	"waggle/operator"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// Verified is the result of a check of a team's record (`audit verify`).
type Verified struct {
	Team     string            `json:"team"`
	ID       string            `json:"id"`
	OK       bool              `json:"ok"`
	Journals []JournalVerified `json:"journals"`
	Problems []BadRecord       `json:"problems"`
	// Acknowledged are breaks that the operator has acknowledged: the records after them have no
	// effect any more.
	Acknowledged []AcknowledgedBreak `json:"acknowledged"`
	Snapshots    int                 `json:"snapshots"` // the number of snapshots that were compared with the folds of their journals
	// Recomputed counts the decisions of the rules that this program's judge repeated,
	// NotRecomputed those of another or unknown version of the judge.
	Recomputed    int `json:"recomputed"`
	NotRecomputed int `json:"not_recomputed"`
}

// JournalVerified is one journal whose every line was read.
type JournalVerified struct {
	Name    string `json:"name"`
	Owner   string `json:"owner"` // leader, or the member
	Records uint64 `json:"records"`
	Head    string `json:"head"` // SHA-256 of the last line: to be stored elsewhere and compared
	OK      bool   `json:"ok"`
}

// AcknowledgedBreak is a break that a record of the leader's journal names.
type AcknowledgedBreak struct {
	BadRecord
	Lost int       `json:"lost_records"`
	Kept string    `json:"kept"` // the path of the unchanged journal
	At   time.Time `json:"at"`   // when it was acknowledged
}

// BadRecord is a record or file that is not as it was written, and its position.
type BadRecord struct {
	Journal string `json:"journal"`
	Owner   string `json:"owner"`
	File    string `json:"file"` // absolute; "" when the problem is not in one file
	Line    int    `json:"line"` // from 1; 0: the whole file
	Seq     uint64 `json:"seq"`
	Why     string `json:"why"`
}

func (p BadRecord) String() string {
	at := p.File
	if p.Line > 0 {
		at = fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s: seq %d: %s", cmp.Or(at, "journal of "+p.Owner), p.Seq, p.Why)
}

// Verify reads every line of every journal of a present, past or deleted team. It checks sums,
// chain and bodies, whether the records can follow each other, and whether the journals agree,
// which finds a removed end. It names the first bad record of each journal. Journals that seem to
// disagree are read again: while a team works, one grows before the next is read.
func (o Operator) Verify(ctx context.Context, of string) (v *Verified, err error) {
	r, err := o.Open(ctx, protocol.TeamName(of), operator.Read)
	if err != nil {
		return nil, err
	}
	names, err := r.Dir.Journals().Names()
	if err != nil {
		return nil, err
	}
	for range maxVerified {
		agreed := false
		if v, agreed, err = verify(ctx, r, names); agreed || err != nil {
			return v, err
		}
	}
	return v, nil
}

// maxVerified is how often journals are read that seem to disagree.
const maxVerified = 5

// verify reads all journals once. agreed is false where whole ones do not agree.
func verify(ctx context.Context, r *operator.State, names []journal.Name) (v *Verified, agreed bool, err error) {
	v = &Verified{Team: string(r.Team), ID: r.ID(), Journals: []JournalVerified{}, Problems: []BadRecord{}, Acknowledged: []AcknowledgedBreak{}}
	c := checked{r: r, last: map[journal.Name]journal.Seq{}, workers: map[record.Instance]*control.Worker{}, past: map[record.Instance]bool{}}
	// The leader's first: what it has seen of a member is in the member's journal by then.
	order := slices.DeleteFunc(slices.Clone(names), func(n journal.Name) bool { return n == r.JournalName })
	if len(order) < len(names) {
		order = slices.Insert(order, 0, r.JournalName)
	}
	for _, n := range order {
		j, p := c.journal(n)
		v.Journals = append(v.Journals, j)
		if p != nil {
			v.Problems = append(v.Problems, *p)
		}
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
	}
	slices.SortFunc(v.Journals, func(a, b JournalVerified) int { return cmp.Compare(a.Name, b.Name) })
	v.Acknowledged = append(v.Acknowledged, c.looked...)
	v.Problems = slices.DeleteFunc(v.Problems, c.acknowledged)
	agreed = true
	if len(v.Problems) == 0 { // a broken journal disagrees with everything
		v.Problems = append(v.Problems, c.agree()...)
		agreed = len(v.Problems) == 0
		v.Problems = append(v.Problems, c.recompute(v)...)
	}
	for _, n := range names {
		v.Problems = append(v.Problems, c.beside(n, v)...)
	}
	v.OK = len(v.Problems) == 0
	return v, agreed, nil
}

// checked is what Verify has read so far.
type checked struct {
	r       *operator.State
	lead    *control.Leader
	heard   []journal.Record // the leader's seen records
	last    map[journal.Name]journal.Seq
	workers map[record.Instance]*control.Worker
	ruled   []ruled
	sets    map[uint64]record.PolicySet // by version
	looked  []AcknowledgedBreak
	// past are instances that ended with an acknowledged break: their records about the leader's
	// journal refer to the removed part, or their own journal is broken.
	past map[record.Instance]bool
}

// acknowledge keeps a break that the operator has acknowledged.
func (c *checked) acknowledge(r journal.Record, k *record.KnownBreak) {
	c.looked = append(c.looked, AcknowledgedBreak{BadRecord: BadRecord{Journal: string(k.Journal), Owner: c.r.Owner(k.Journal),
		File: filepath.Join(c.r.Dir.JournalOf(string(k.Journal)), k.File), Line: k.Line, Seq: k.Seq, Why: k.Why},
		Lost: k.Records, Kept: filepath.Join(c.r.Dir.Path, k.Kept), At: r.Time})
	if k.Journal != c.r.JournalName {
		c.past[record.Instance(k.Journal)] = true
		return
	}
	for _, m := range c.lead.Members {
		c.past[m.Instance] = true
	}
}

// acknowledged reports a break of a member's journal that the operator has acknowledged.
func (c *checked) acknowledged(p BadRecord) bool {
	return p.Journal != string(c.r.JournalName) && slices.ContainsFunc(c.looked, func(k AcknowledgedBreak) bool { return k.BadRecord == p })
}

// journal reads one journal from its first line, without a cache.
func (c *checked) journal(n journal.Name) (JournalVerified, *BadRecord) {
	var fold journal.Tentative
	if n == c.r.JournalName {
		c.lead = control.NewLeader(nil)
		fold = c.lead
	} else {
		w := control.NewWorker(nil)
		c.workers[record.Instance(n)] = w
		fold = w
	}
	var at journal.Seq
	f, err := c.r.Dir.OpenJournal(n, recorded{fold, func(r journal.Record) {
		if r.Seq == 1 {
			c.begin(n)
		}
		at = r.Seq
		c.take(n, r)
	}}, c.r.JournalOptions)
	j := JournalVerified{Name: string(n), Owner: c.r.Owner(n), OK: err == nil}
	if f != nil {
		j.Records, j.Head = uint64(f.Seq()), f.Head()
		c.last[n] = f.Seq()
	}
	if err == nil {
		return j, nil
	}
	p := &BadRecord{Journal: string(n), Owner: j.Owner, Seq: uint64(at), Why: err.Error()}
	if broken, ok := errors.AsType[*journal.BrokenError](err); ok {
		p.File, p.Line, p.Seq, p.Why = filepath.Join(c.r.Dir.JournalOf(string(n)), broken.File), broken.Line, uint64(broken.Seq), broken.Why
	}
	return j, p
}

// recorded is a fold that passes each record to a function too.
type recorded struct {
	journal.Tentative
	look func(journal.Record)
}

func (f recorded) Apply(r journal.Record) error {
	f.look(r)
	return f.Tentative.Apply(r)
}

// agree compares the journals: a record that another journal refers to must exist.
func (c *checked) agree() []BadRecord {
	var ps []BadRecord
	if c.lead == nil {
		return []BadRecord{{Journal: string(c.r.JournalName), Owner: string(c.r.JournalName), File: c.r.Dir.JournalOf(string(c.r.JournalName)), Why: "there is no leader's journal"}}
	}
	short := map[record.Instance]uint64{}
	for _, r := range c.heard {
		if b, err := record.Body[record.Seen](r); err == nil && b.Ref > uint64(c.last[journal.Name(b.Instance)]) {
			short[b.Instance] = max(short[b.Instance], b.Ref)
		}
	}
	for _, m := range c.lead.Members {
		if c.past[m.Instance] {
			continue
		}
		if ref, ok := short[m.Instance]; ok {
			n := journal.Name(m.Instance)
			ps = append(ps, BadRecord{Journal: string(n), Owner: string(m.Name), File: c.r.Dir.JournalOf(string(n)), Seq: uint64(c.last[n]) + 1,
				Why: fmt.Sprintf("it ends at seq %d, and the leader has seen its seq %d: the end is missing", c.last[n], ref)})
		}
		w := c.workers[m.Instance]
		if w == nil || w.Epoch == 0 {
			continue
		}
		for _, d := range c.lead.Settle(w) {
			if b, ok := d.Body.(record.Diverged); ok {
				ps = append(ps, BadRecord{Journal: string(c.r.JournalName), Owner: string(c.r.JournalName), File: c.r.Dir.JournalOf(string(c.r.JournalName)), Seq: b.Leader, Why: b.Why})
			}
		}
	}
	if d := c.lead.Divergence; d != nil {
		ps = append(ps, BadRecord{Journal: string(c.r.JournalName), Owner: string(c.r.JournalName), File: c.r.Dir.JournalOf(string(c.r.JournalName)), Seq: uint64(d.Seq),
			Why: "found before, and nobody has acknowledged it: " + d.Why})
	}
	return ps
}

// ruled is a decision of the rules as a journal has it.
type ruled struct {
	journal  journal.Name
	seq      journal.Seq
	time     time.Time
	key      record.Key
	ask      *record.Ask // nil: the leader's journal has it
	decision string
	rule     string
	policy   uint64
	judged   record.Judged
}

// begin drops what was taken from a journal that is read again.
func (c *checked) begin(n journal.Name) {
	c.ruled = slices.DeleteFunc(c.ruled, func(r ruled) bool { return r.journal == n })
	if n == c.r.JournalName {
		c.heard, c.sets = nil, map[uint64]record.PolicySet{}
		c.looked, c.past = nil, map[record.Instance]bool{}
	}
}

// take keeps what a record says and what is compared with others later.
func (c *checked) take(n journal.Name, r journal.Record) {
	switch {
	case n == c.r.JournalName && r.Kind == record.KindSeen:
		c.heard = append(c.heard, r)
	case n == c.r.JournalName && r.Kind == record.KindAcknowledged && r.Writer.Operator:
		if b, err := record.Body[record.Acknowledged](r); err == nil && b.Break != nil {
			c.acknowledge(r, b.Break)
		}
	case n == c.r.JournalName && r.Kind == record.KindPolicy && r.Writer.Operator:
		if b, err := record.Body[record.PolicySet](r); err == nil {
			c.sets[b.Policy.Version] = b
		}
	case n == c.r.JournalName && r.Kind == record.KindDecided:
		if b, err := record.Body[record.Decided](r); err == nil && b.By == policy.RoleRules {
			c.ruled = append(c.ruled, ruled{n, r.Seq, r.Time, b.Key, nil, b.Decision, b.Rule, b.Policy, b.Judged})
		}
	case n != c.r.JournalName && r.Kind == record.KindAnswered:
		if b, err := record.Body[record.Answered](r); err == nil && b.By == policy.RoleRules && b.Ask != nil {
			c.ruled = append(c.ruled, ruled{n, r.Seq, r.Time, b.Key, b.Ask, b.Decision, b.Rule, b.Policy, b.Judged})
		}
	}
}

// recompute lets the rules judge the recorded calls again, where the same version of the judge
// decided them.
func (c *checked) recompute(v *Verified) (ps []BadRecord) {
	for _, r := range c.ruled {
		set, ok := c.sets[r.policy]
		if r.ask == nil && c.lead != nil {
			if req, known := c.lead.Request(r.key); known {
				r.ask = &req.Ask
			}
		}
		if !ok || r.ask == nil || c.past[r.key.Instance] || !policy.SameJudge(r.judged.Judge) {
			v.NotRecomputed++
			continue
		}
		v.Recomputed++
		set.Policy = set.Policy.Narrow(r.judged.Denied...)
		j := set.During(r.judged.Task).Judge(r.key.Instance, r.judged.Mode, r.key.Kind, *r.ask, r.time)
		now := map[policy.Decision]string{policy.Allow: record.DecisionAllow, policy.Deny: record.DecisionDeny}[j.Decision]
		if now != r.decision || j.Rule != r.rule {
			ps = append(ps, BadRecord{Journal: string(r.journal), Owner: c.r.Owner(r.journal), File: c.r.Dir.JournalOf(string(r.journal)), Seq: uint64(r.seq),
				Why: fmt.Sprintf("the rules of policy version %d say %s (%s) to %s, and on record is %s (%s)", r.policy, cmp.Or(now, "ask"), j.Rule, r.key.ID, r.decision, r.rule)})
		}
	}
	return ps
}

// beside checks the files beside a journal: certain.json, and the snapshots against the journal's folds.
func (c *checked) beside(n journal.Name, v *Verified) (ps []BadRecord) {
	if err := c.r.Dir.Journals().CheckCertain(n); err != nil {
		ps = append(ps, BadRecord{Journal: string(n), Owner: c.r.Owner(n), File: filepath.Join(c.r.Dir.JournalOf(string(n)), journal.CertainName), Why: err.Error()})
	}
	folds := []journal.Snapshotter{control.NewWorker(nil)}
	if n == c.r.JournalName {
		folds = []journal.Snapshotter{control.NewLeader(nil), control.NewBrief(nil)}
	}
	for _, f := range folds {
		there, err := c.r.Dir.Journals().CheckSnapshot(n, f, c.r.JournalOptions)
		if there {
			v.Snapshots++
		}
		var broken *journal.BrokenError
		if err != nil && !errors.As(err, &broken) {
			ps = append(ps, BadRecord{Journal: string(n), Owner: c.r.Owner(n), File: c.r.Dir.JournalOf(string(n)), Why: err.Error()})
		}
	}
	return ps
}
