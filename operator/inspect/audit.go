package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sort"
	"strings"
	"time"

	"waggle/control"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
)

// Audit lists the gated calls of a present or past team, oldest first (operator.Read). Events are
// returned also with an error, which locates the first break of each journal that the query is about
// (operator.JournalErrors).
func (o Operator) Audit(ctx context.Context, of string, q operator.AuditQuery) (*operator.State, []operator.AuditEvent, error) {
	r, err := o.Open(ctx, protocol.TeamName(of), operator.Read)
	if err != nil {
		return nil, nil, err
	}
	all, err := events(r, q.Member)
	all = slices.DeleteFunc(all, func(e operator.AuditEvent) bool { return !q.Wants(e) })
	return r, all, errors.Join(r.Damaged, err)
}

// events joins the calls of members with the leader's records about them. The error is about the journals of
// member, "" for all.
func events(r *operator.State, member string) ([]operator.AuditEvent, error) {
	var errs []error
	es := []operator.AuditEvent{}
	seen := map[record.Key]bool{}
	for _, m := range r.Lead.Members {
		w, err := r.Worker(m.Instance)
		if member == "" || member == string(m.Name) {
			errs = append(errs, r.Unread(journal.Name(m.Instance), err))
		}
		for _, c := range w.Calls {
			seen[c.Key] = true
			req, _ := r.Lead.Request(c.Key)
			es = append(es, eventOf(m, c, req))
		}
	}
	for _, req := range r.Lead.Requests { // requests of members whose journals do not have them
		if m, ok := r.Lead.ByInstance(req.Instance); ok && !seen[req.Key] {
			es = append(es, eventOf(m, &control.Call{Key: req.Key, Digest: req.Digest, Ask: req.Ask, Task: req.Task, Asked: req.Seen}, req))
		}
	}
	sort.SliceStable(es, func(i, j int) bool { return es[i].Asked.Before(es[j].Asked) })
	return es, errors.Join(errs...)
}

func eventOf(m *control.Member, c *control.Call, req *control.Request) operator.AuditEvent {
	shown := control.Request{Key: c.Key, Ask: c.Ask}
	e := operator.AuditEvent{ID: string(c.ID), Handle: decide.CallCode(c.Key, c.Digest), Kind: string(c.Kind), Member: string(m.Name), Instance: string(c.Instance), Trust: string(m.Trust), Task: c.Task,
		Tool: c.Ask.Tool, Input: decide.InputOf(&shown), Asks: decide.InOneLine(c.Kind, c.Ask), Cwd: c.Ask.Cwd, Reason: c.Ask.Reason, Digest: string(c.Digest), Risk: string(decide.RiskOf(m, &shown)),
		Asked: c.Asked, Outcome: outcome(c), Key: c.Key}
	if req != nil && req.Handle != "" {
		e.Handle = req.Handle
	}
	if f := c.Finished; f != nil {
		e.ExitCode = f.ExitCode
	}
	switch a := c.Answer; {
	case req != nil && req.Decided != nil:
		d := req.Decided
		e.Decision, e.By, e.Channel, e.Via, e.Rule, e.Said, e.Version = d.Decision, string(d.By), string(d.Channel), d.Via, d.Rule, d.Reason, d.Policy
		e.Decided, e.RunsDigest, e.Answers = req.At, string(d.UpdatedDigest), record.Texts(d.Answers)
		if d.UpdatedInput != "" {
			e.Runs = json.RawMessage(d.UpdatedInput)
		}
		if req.Order.TakenBack && e.Outcome == "" {
			e.Outcome = "taken back"
		}
	case a != nil && !a.Waited:
		e.Decision, e.By, e.Channel, e.Via, e.Rule, e.Said, e.Version = a.Decision, string(a.By), string(policy.ChannelJournal), "gate", a.Rule, a.Reason, a.Policy
		if c.AskedSeq == 0 { // decided when it was asked
			e.Decided = e.Asked
		}
	}
	return e
}

func outcome(c *control.Call) string {
	switch {
	case c.Unknown:
		return "unknown"
	case c.Finished != nil && c.Finished.Failed:
		return "failed"
	case c.Finished != nil:
		return "done"
	case c.Started:
		return "running"
	}
	return ""
}

// AuditDetail is one call with every record about it, of both journals.
type AuditDetail struct {
	Event   operator.AuditEvent `json:"event"`
	Records []AuditRecord       `json:"records"`
}

// AuditRecord is one record about a call.
type AuditRecord struct {
	Journal string          `json:"journal"`
	Owner   string          `json:"owner"`
	Seq     uint64          `json:"seq"`
	Time    time.Time       `json:"time"`
	Writer  journal.Writer  `json:"writer"` // as the journal has it
	Kind    string          `json:"kind"`
	Body    json.RawMessage `json:"body"`
}

// AuditShow returns one call by its id, or an unambiguous beginning of it.
func (o Operator) AuditShow(ctx context.Context, of, id string) (*AuditDetail, error) {
	r, err := o.Open(ctx, protocol.TeamName(of), operator.Read)
	if err != nil {
		return nil, err
	}
	all, broken := events(r, "")
	if q, ok := r.Lead.ByHandle(id); ok {
		id = string(q.ID)
	}
	hits := slices.DeleteFunc(slices.Clone(all), func(e operator.AuditEvent) bool { return e.ID != id })
	if len(hits) == 0 {
		hits = slices.DeleteFunc(all, func(e operator.AuditEvent) bool {
			return id == "" || !strings.HasPrefix(e.ID, id) && e.Handle != record.CleanHandle(id)
		})
	}
	switch {
	case len(hits) == 0:
		return nil, errors.Join(&team.NotFoundError{What: "call", Name: id}, r.Damaged, broken)
	case len(hits) > 1:
		e := &operator.Error{Kind: operator.Usage, Op: "audit show", Msg: id + " begins several calls"}
		for _, x := range hits[:min(len(hits), 5)] {
			e.Near = append(e.Near, x.ID+" of "+x.Member)
		}
		return nil, e
	}
	d := &AuditDetail{Event: hits[0]}
	d.Records, err = about(ctx, r, o, hits[0].Key)
	return d, err
}

// about finds the records that name a request, and those that refer to them.
func about(ctx context.Context, r *operator.State, o Operator, k record.Key) ([]AuditRecord, error) {
	l, err := o.OpenLog(ctx, r.ID())
	if err != nil {
		return nil, err
	}
	recs, err := l.Next(ctx)
	err = operator.About(err, r.Owner(journal.Name(k.Instance)))
	out := []AuditRecord{}
	refs := map[uint64]bool{} // leader's records that the request's own records refer to
	for _, rec := range recs {
		if rec.Journal != r.JournalName && rec.Journal != journal.Name(k.Instance) {
			continue
		}
		var b struct {
			record.Key
			Closed *record.Key `json:"key"`
			Ref    uint64      `json:"ref"`
		}
		if json.Unmarshal(rec.Body, &b) != nil {
			continue
		}
		own := b.Key == k || b.Closed != nil && *b.Closed == k
		about := rec.Journal == r.JournalName && (rec.Kind == record.KindSent || rec.Kind == record.KindClosed) && refs[b.Ref]
		if !own && !about {
			continue
		}
		if own && rec.Journal == r.JournalName {
			refs[uint64(rec.Seq)] = true
		}
		out = append(out, auditRecord(rec))
	}
	return out, err
}

func auditRecord(rec operator.LogRecord) AuditRecord {
	body := rec.Body
	if len(body) == 0 {
		body = json.RawMessage("null")
	}
	return AuditRecord{Journal: string(rec.Journal), Owner: rec.Name, Seq: uint64(rec.Seq), Time: rec.Time, Writer: rec.Writer, Kind: rec.Kind, Body: body}
}

// Export calls write with every record of a team, in order of time. A redactor is applied to each
// body; the journals are never changed.
func (o Operator) Export(ctx context.Context, of string, redact *Redactor, write func(AuditRecord) error) error {
	l, err := o.OpenLog(ctx, of)
	if err != nil {
		return err
	}
	recs, broken := l.Next(ctx)
	for _, rec := range recs {
		out := auditRecord(rec)
		if redact != nil {
			out.Body = redact.JSON(out.Body)
		}
		if err := write(out); err != nil {
			return err
		}
	}
	return errors.Join(broken, ctx.Err())
}
