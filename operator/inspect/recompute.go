package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"waggle/control"
	"waggle/journal"
	"waggle/policy"
	"waggle/record"
)

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
