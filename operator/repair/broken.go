package repair

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"

	"waggle/control"
	"waggle/journal"
	"waggle/operator"
	"waggle/protocol"
	"waggle/record"
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

// broken finds a broken journal of a team: the leader's, else that of the first member that has one,
// or of this member. Nil: none is broken.
func (o Operator) broken(ctx context.Context, name protocol.TeamName, member string) (*Broken, error) {
	s, err := o.Open(ctx, name, operator.Act)
	if operator.Broken(err) {
		b, _, err := o.leaderBreak(name)
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
		if b, _, err := memberBreak(s, m); b != nil || err != nil {
			return b, err
		}
	}
	return nil, nil
}

// leaderBreak finds the break of the leader's journal in the newest directory of a name.
func (o Operator) leaderBreak(name protocol.TeamName) (*Broken, *journal.Break, error) {
	dirs, err := o.Home.Find(o.RootURL, name)
	if len(dirs) == 0 {
		return nil, nil, err
	}
	s := &operator.State{Dir: dirs[len(dirs)-1], Team: name, JournalOptions: journal.Options{Now: o.Minter.Now}}
	return findBreak(s, journal.Leader, "", control.NewLeader(nil))
}

// memberBreak finds the break of a member's journal; nil: it is whole.
func memberBreak(s *operator.State, m *control.Member) (*Broken, *journal.Break, error) {
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

// known returns the break in the form of a record.
func (b *Broken) known(at *journal.Break, kept string) journal.Draft {
	return journal.Draft{Kind: record.KindAcknowledged, Must: true, Body: record.Acknowledged{Break: &record.KnownBreak{Journal: at.Err.Journal,
		File: at.Err.File, Line: at.Err.Line, Seq: b.Seq, Why: b.Why, Records: b.Lost, Bytes: b.Bytes, SHA256: b.SHA256, Kept: kept}}}
}

// named refuses the acknowledgement of a break that does not exist or has another seq.
func (b *Broken) named(seq uint64) error {
	switch {
	case b == nil:
		return &operator.Error{Kind: operator.NotFound, Op: "repair", Msg: "that journal is whole: there is nothing to acknowledge"}
	case b.Seq != seq:
		return &operator.Error{Kind: operator.Refused, Op: "repair", Msg: fmt.Sprintf("the break is at seq %d, not %d: look at it", b.Seq, seq), Near: []string{strconv.FormatUint(b.Seq, 10)}}
	}
	return nil
}

// Divergence is a contradiction of the journals that stops every decision: a member took an answer
// or an order that the leader's journal does not have (trust §4).
type Divergence struct {
	Team   string `json:"team"`
	Seq    uint64 `json:"seq"` // of its record: what Repair names
	Member string `json:"member"`
	Leader uint64 `json:"leader_seq"` // the seq of the leader's journal that the member's journal names
	Why    string `json:"why"`
	Lifted bool   `json:"acknowledged"`
}

// divergenceOf returns the unacknowledged divergence of a team, nil when the journals agree.
func divergenceOf(s *operator.State) *Divergence {
	d := s.Lead.Divergence
	if d == nil {
		return nil
	}
	return &Divergence{Team: string(s.Team), Seq: uint64(d.Seq), Member: s.Owner(journal.Name(d.Instance)), Leader: d.Leader, Why: d.Why}
}

// lift records that the operator has seen the divergence with this seq. Deciding goes on;
// the journals' records stay.
func (o Operator) lift(ctx context.Context, name protocol.TeamName, seq uint64) (*Divergence, error) {
	s, err := o.Open(ctx, name, operator.Lead("an acknowledgement"))
	if err != nil {
		return nil, err
	}
	var d *Divergence
	_, err = s.Journal.Append(ctx, o.Writer(), func() ([]journal.Draft, error) {
		d = divergenceOf(s)
		switch {
		case d == nil:
			return nil, &operator.Error{Kind: operator.NotFound, Op: "repair", Msg: "the journals agree: there is nothing to acknowledge"}
		case d.Seq != seq:
			return nil, &operator.Error{Kind: operator.Refused, Op: "repair", Msg: fmt.Sprintf("the open divergence is seq %d, not %d: look at it", d.Seq, seq), Near: []string{strconv.FormatUint(d.Seq, 10)}}
		}
		return []journal.Draft{{Kind: record.KindAcknowledged, Must: true, Body: record.Acknowledged{Ref: seq}}}, nil
	})
	if err != nil {
		return nil, err
	}
	d.Lifted = s.Lead.Divergence == nil
	return d, nil
}
