package process

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"

	"waggle"
	"waggle/control"
	"waggle/journal"
	"waggle/mailbox"
	"waggle/operator"
	"waggle/policy"
	"waggle/record"
	"waggle/task"
)

// Broken is a break in a journal, and what continues without the records after it.
type Broken struct {
	Team         string   `json:"team"`
	Journal      string   `json:"journal"` // leader, or the instance of a member
	Member       string   `json:"member"`  // the owner; "": the leader
	File         string   `json:"file"`
	Line         int      `json:"line"`
	Seq          uint64   `json:"seq"` // of the bad record: the argument of AcknowledgeBreak
	Why          string   `json:"why"`
	Readable     uint64   `json:"readable_records"` // how many records stand before it
	Lost         int      `json:"lost_records"`     // the bad record and those after it
	Bytes        int64    `json:"lost_bytes"`
	SHA256       string   `json:"lost_sha256"`
	Kept         string   `json:"kept"`    // the path of the unchanged journal
	Members      []string `json:"members"` // members that continue, each as a new instance
	Dropped      []string `json:"dropped"` // members that do not continue; all are empty until it is acknowledged
	Acknowledged bool     `json:"acknowledged"`
}

// Break finds a broken journal of a team: the leader's, else that of the first member that has one,
// or of this member. Nil: none is broken.
func (o Operator) Break(ctx context.Context, name waggle.TeamName, member string) (*Broken, error) {
	s, err := o.Open(ctx, name, operator.Act)
	if operator.Broken(err) {
		b, _, err := o.LeaderBreak(name)
		return b, err
	}
	if operator.Unled(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, m := range s.Lead.Live() {
		if m.Trust == record.FileTrust || member != "" && !operator.Called(m, member) {
			continue
		}
		if b, _, err := MemberBreak(s, m); b != nil || err != nil {
			return b, err
		}
	}
	return nil, nil
}

// LeaderBreak finds the break of the leader's journal in the newest directory of a name.
func (o Operator) LeaderBreak(name waggle.TeamName) (*Broken, *journal.Break, error) {
	dirs, err := o.Home.Find(o.RootURL, name)
	if len(dirs) == 0 {
		return nil, nil, err
	}
	s := &operator.State{Dir: dirs[len(dirs)-1], Team: name, JournalOptions: journal.Options{Now: o.Minter.Now}}
	return findBreak(s, journal.Leader, "", control.NewLeader(nil))
}

// MemberBreak finds the break of a member's journal; nil: it is whole.
func MemberBreak(s *operator.State, m *control.Member) (*Broken, *journal.Break, error) {
	return findBreak(s, journal.Name(m.Instance), string(m.Name), control.NewWorker(nil))
}

func findBreak(s *operator.State, n journal.Name, member string, fold journal.Fold) (*Broken, *journal.Break, error) {
	at, err := s.Dir.Journals().FindBreak(n, fold, s.JournalOptions)
	if at == nil || err != nil {
		return nil, nil, err
	}
	return &Broken{Team: string(s.Team), Journal: string(n), Member: member, File: filepath.Join(s.Dir.JournalOf(string(n)), at.Err.File), Line: at.Err.Line,
		Seq: uint64(at.Err.Seq), Why: at.Err.Why, Readable: uint64(at.Prefix), Lost: at.Records, Bytes: at.Bytes, SHA256: at.SHA256,
		Members: []string{}, Dropped: []string{}}, at, nil
}

// Known returns the break in the form of a record.
func (b *Broken) Known(at *journal.Break, kept string) journal.Draft {
	return journal.Draft{Kind: record.KindAcknowledged, Must: true, Body: record.Acknowledged{Break: &record.KnownBreak{Journal: at.Err.Journal,
		File: at.Err.File, Line: at.Err.Line, Seq: b.Seq, Why: b.Why, Records: b.Lost, Bytes: b.Bytes, SHA256: b.SHA256, Kept: kept}}}
}

// Named refuses the acknowledgement of a break that does not exist or has another seq.
func (b *Broken) Named(seq uint64) error {
	switch {
	case b == nil:
		return &operator.Error{Kind: operator.NotFound, Op: "acknowledge", Msg: "that journal is whole: there is nothing to acknowledge"}
	case b.Seq != seq:
		return &operator.Error{Kind: operator.Refused, Op: "acknowledge", Msg: fmt.Sprintf("the break is at seq %d, not %d: look at it", b.Seq, seq), Near: []string{strconv.FormatUint(b.Seq, 10)}}
	}
	return nil
}

// Unasked closes the open requests of a member: the process that waited for an answer has ended,
// and the new instance asks again.
func Unasked(l *control.Leader, m *control.Member) (ds []journal.Draft) {
	for _, q := range l.Pending() {
		if q.Instance == m.Instance {
			ds = append(ds, journal.Draft{Kind: record.KindClosed, Must: true, Body: record.Closed{Key: &q.Key, Evidence: "a journal was broken, and the operator let it go on without its end"}})
		}
	}
	return ds
}

// Again returns a member as a new instance. The entries in its mailbox were for the old instance.
func Again(m *control.Member, i record.Instance, box []string) journal.Draft {
	j := m.Joined
	j.Instance, j.Baseline = i, box
	if j.Mode != "" {
		j.Mode = j.Mode.Meet(policy.ModeDefault)
	}
	return journal.Draft{Kind: record.KindJoined, Must: true, Body: j}
}

// Lying lists the entries in a member's mailbox. A mailbox that cannot be read counts
// as empty.
func (o Operator) Lying(ctx context.Context, name waggle.TeamName, member waggle.MemberName) (ids []string, err error) {
	box, err := o.Boxes(name).Open(member, mailbox.Options{})
	if err != nil {
		return nil, err
	}
	entries, err := box.Entries(ctx)
	if err != nil {
		return nil, fmt.Errorf("mailbox of %s: %w", member, err)
	}
	for _, e := range entries {
		ids = append(ids, e.ID.String())
	}
	return ids, nil
}

// LatterPolicies returns the readable policies after a break. They only forbid.
func LatterPolicies(s *operator.State, at *journal.Break) (sets []record.PolicySet) {
	_ = s.Dir.Journals().Salvage(journal.Leader, func(r journal.Record) { // records that cannot be read are left out
		var p record.PolicySet
		if r.Kind == record.KindPolicy && r.Seq > at.Prefix && json.Unmarshal(r.Body, &p) == nil {
			sets = append(sets, p)
		}
	})
	return sets
}

// DeniedTo returns the denials that were for one member alone when it left. They only forbid.
func DeniedTo(s *operator.State, i record.Instance) (rules []record.Scoped, hosts []record.HostGrant) {
	var set record.PolicySet
	over := false
	_ = s.Dir.Journals().Salvage(journal.Leader, func(r journal.Record) {
		var left record.Left
		switch {
		case over:
		case r.Kind == record.KindPolicy:
			set = record.PolicySet{}
			over = json.Unmarshal(r.Body, &set) != nil
		case r.Kind == record.KindLeft && json.Unmarshal(r.Body, &left) == nil:
			over = left.Instance == i
		}
	})
	for _, r := range set.Rules {
		if r.Deny && r.Instance == i {
			rules = append(rules, r)
		}
	}
	for _, h := range set.Hosts {
		if h.Deny && h.Instance == i {
			hosts = append(hosts, h)
		}
	}
	return rules, hosts
}

// GiveBack releases the tasks of members whose orders are gone.
func (o Operator) GiveBack(ctx context.Context, s *operator.State, ms []*control.Member, why string) error {
	board, err := task.Open(o.Root.TasksDir(s.Team), s.Team, task.Options{})
	if err != nil {
		return err
	}
	names := map[waggle.MemberName]bool{}
	for _, m := range ms {
		if m.Trust != record.FileTrust && !m.Leads() {
			names[m.Name] = true
		}
	}
	for _, n := range slices.Sorted(maps.Keys(names)) {
		if _, err := board.ReleaseNoted(ctx, n, task.NewReleased(n, why, o.Minter.Now())); err != nil {
			return err
		}
	}
	return nil
}
