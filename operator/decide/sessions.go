package decide

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"waggle/control"
	"waggle/internal/claude/session"
	"waggle/operator"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// SessionTeam is what stands for the team of a session, which is in none of ours.
const SessionTeam = "-"

// LevelAnswers is the trust level of a session's requests: waggle gives the answer and does not
// gate the call, and it does not see the calls that the session's own rules allow (trust §1).
const LevelAnswers = "answers, does not gate"

// sessionStore is the store of the sessions' journals.
func (o Operator) sessionStore() session.Store {
	return session.At(o.Home.Path, o.Minter.Now)
}

// running are the sessions that run.
func (o Operator) running() session.View {
	return o.sessionStore().List(o.ClaudeDir, session.Looking(o.Ancestors))
}

// SeenSessions reports whether STATE has a journal of any session.
func (o Operator) SeenSessions() (bool, error) {
	ids, err := o.sessionStore().IDs()
	return len(ids) > 0, err
}

// SessionRow is a session, or a teammate in one, as `status --json` lists it.
type SessionRow struct {
	Team    string    `json:"team"`
	Session string    `json:"session"`
	Client  string    `json:"client"`
	Name    string    `json:"name"`
	Under   string    `json:"under,omitempty"` // the session that a teammate runs in
	PID     int       `json:"pid"`
	State   string    `json:"state"`
	Since   time.Time `json:"since"` // zero: it is not known
	Why     string    `json:"why"`
	Handles []string  `json:"handles"` // of what it asks
	Pane    string    `json:"pane"`    // tmux
	Cwd     string    `json:"cwd"`
	Version string    `json:"version"`
	Hook    bool      `json:"hook"` // a hook of ours has spoken for it
	Reached bool      `json:"takes_words"`
	Trust   string    `json:"trust"`
}

// Sessions lists the running sessions of this user, adopted ones too, and their open requests; of a session that
// waits at a dialog without a request, KindDialog stands for it. Proposals of new members are among the requests. The clients that members of waggle run are none. It
// appends nothing. The error names the sessions that could not be read; the others are returned with it.
func (o Operator) Sessions() ([]SessionRow, []Request, error) {
	v := o.running()
	rows, qs := []SessionRow{}, []Request{}
	for _, r := range v.Rows {
		if len(r.Open) == 0 && o.ofOwn(r.PID) {
			continue // its team lists it, with what it asks
		}
		row := SessionRow{Team: SessionTeam, Session: string(r.ID), Client: string(r.Client), Name: r.Name, Under: r.Under, PID: r.PID, State: r.State,
			Why: r.Why, Handles: []string{}, Pane: r.Pane, Cwd: r.Cwd, Version: r.Version, Hook: r.Hooked, Reached: r.Socket != "", Trust: LevelAnswers, Since: r.Since}
		for i, req := range r.Open {
			q := o.sessionRequest(r.Name, r.Under, req)
			qs = append(qs, q)
			row.Handles = append(row.Handles, q.Handle)
			if i == 0 {
				row.Why = "asks: " + askLine(q)
			}
		}
		left := mapped(r.Left, func(req session.Request) Request { return o.leftDialog(row, r, req) })
		if len(left) > 0 && len(r.Open) == 0 {
			row.Why = left[0].Reason
		}
		rows = append(rows, row)
		switch {
		case len(left) > 0:
			qs = append(qs, left...)
		case r.AtDialog:
			qs = append(qs, dialog(row))
		}
		if r.AtLead != "" {
			teammate, _, _ := strings.Cut(r.AtLead, " ") // the first that the notification of its lead names
			row = SessionRow{Team: SessionTeam, Session: string(r.ID), Client: string(r.Client), Name: teammate, Under: r.Name, PID: r.PID,
				State: session.RowWaitingHuman, Why: r.AtLead + "; answer at the lead", Handles: []string{}, Pane: r.Pane, Cwd: r.Cwd, Trust: LevelAnswers, Since: row.Since, Hook: true}
			rows, qs = append(rows, row), append(qs, dialog(row))
		}
	}
	proposals, err := o.proposals(false)
	qs = append(qs, proposals...)
	SortRequests(qs)
	return rows, qs, errors.Join(append(v.Problems, err)...)
}

// askLine describes a request in one line.
func askLine(q Request) string {
	switch {
	case q.Command != "":
		return q.Command
	case q.Plan != "":
		first, _, _ := strings.Cut(q.Plan, "\n")
		return "plan: " + first
	case len(q.Questions) > 0:
		return q.Questions[0].Text
	}
	return q.Tool + " " + string(q.Input)
}

// SortRequests puts the riskiest first, then the oldest.
func SortRequests(qs []Request) {
	slices.SortStableFunc(qs, func(a, b Request) int {
		return cmp.Or(cmp.Compare(riskOrder(b.Risk), riskOrder(a.Risk)), a.Asked.Compare(b.Asked.Time))
	})
}

// KindQuestion is how a request for words is listed: no message on the wire has it.
const KindQuestion = string(record.KindQuestion)

// KindDialog is how a dialog is listed that only its session's own terminal answers: no message has it, and it has
// no handle.
const KindDialog = "dialog"

// dialog lists a session that waits at a dialog.
func dialog(r SessionRow) Request {
	member, id := r.Name, KindDialog+"-"+r.Session
	if r.Under != "" {
		member, id = r.Under+"/"+r.Name, id+"-"+r.Name
	}
	return Request{PendingItem: PendingItem{Team: SessionTeam, ID: id, Kind: KindDialog, Member: member, Instance: r.Session, Input: json.RawMessage("{}"),
		Cwd: r.Cwd, Reason: r.Why, Risk: string(policy.RiskMedium), Asked: operator.Past{Time: r.Since}, Status: StatusUnanswerable}, Pattern: id, Trust: LevelAnswers, Suggest: []string{}}
}

// leftDialog lists a request that a session's own dialog asks.
func (o Operator) leftDialog(row SessionRow, r session.Row, req session.Request) Request {
	asked, d := o.sessionRequest(r.Name, r.Under, req), dialog(row)
	d.ID += "-" + asked.ID
	d.Pattern, d.Tool, d.Input, d.Risk, d.Asked = d.ID, asked.Tool, asked.Input, asked.Risk, asked.Asked
	d.Reason = "asks: " + askLine(asked) + "; " + r.Where()
	return d
}

// OfAdopted lists what the session of an adopted member asks; of any other member nothing.
func (o Operator) OfAdopted(ctx context.Context, name protocol.TeamName, member protocol.MemberName) (mine []Request) {
	s := o.recorded(ctx, name)
	if s == nil {
		return nil
	}
	m, ok := s.Lead.Member(member)
	if !ok || m.Left != nil || m.Process == nil || !m.Process.ID.Theirs || operator.Gone(m.Process.ID) {
		return nil
	}
	rows, qs, _ := o.Sessions() // pending reports what cannot be read
	for _, r := range rows {
		if r.Under == "" && r.PID == m.Process.ID.PID {
			for _, q := range qs {
				if q.Instance == r.Session && q.Kind != KindDialog {
					mine = append(mine, q)
				}
			}
		}
	}
	return mine
}

// ofOwn reports whether a process runs below one of a member that is no adopted session.
func (o Operator) ofOwn(pid int) bool {
	return slices.ContainsFunc(o.membersAt(pid), func(m *control.Member) bool { return m.Process == nil || !m.Process.ID.Theirs })
}

// membersAt are the members below one of whose processes a process runs.
func (o Operator) membersAt(pid int) (all []*control.Member) {
	if pid == 0 {
		return nil
	}
	names, _ := o.Root.Names() // without teams there are no members
	for _, name := range names {
		s, err := o.Open(context.Background(), name, operator.Brief)
		if err != nil {
			continue // of a team that cannot be read the member is not known
		}
		ms, _ := o.MembersAbove(s, pid)
		all = append(all, ms...)
	}
	return all
}

// sessionRequest is a session's request as it is shown.
func (o Operator) sessionRequest(name, under string, r session.Request) Request {
	if under != "" {
		name = under + "/" + name
	}
	call := r.Ask.Call()
	q := Request{PendingItem: PendingItem{Team: SessionTeam, ID: string(r.ID), Handle: r.Handle, Kind: string(protocol.KindPermissionRequest), Member: name,
		Instance: string(r.Instance), Tool: r.Ask.Tool, Input: json.RawMessage(r.Ask.Input), Cwd: r.Ask.Cwd, Digest: string(r.Digest),
		Risk: string(policy.RiskOf(call)), Asked: operator.Past{Time: r.At}, Status: sessionStatus(r)},
		Bound: r.Ask.Bound, Unheld: "the session runs it: its program is not looked up, its paths are checked, not held", Trust: LevelAnswers, Suggest: []string{}}
	if r.Why != "" {
		q.Asker = "unverified: " + r.Why + "; it takes no answer here"
	}
	switch r.Form {
	case session.FormPlan:
		q.Kind, q.Plan, q.Risk = string(protocol.KindPlanApprovalRequest), r.Ask.Plan, string(policy.RiskMedium)
		q.Hash, q.Revision, q.Pattern = record.HashText(r.Ask.Plan), 1, "plan "+string(r.ID)
	case session.FormQuestion:
		q.Kind, q.Risk, q.Pattern = KindQuestion, string(policy.RiskLow), "question "+string(r.ID)
		q.Questions = asked(q.Input)
	default:
		q.Pattern, q.Command = policy.PatternOf(call), CommandOf(call)
		q.Suggest = ruleTexts(policy.Suggest(call))
	}
	if d := r.Decided; d != nil {
		q.Answer = &AnswerNow{Decision: d.Decision, By: string(d.By), Via: d.Via, Rule: d.Rule, Reason: d.Reason, At: r.DecAt,
			State: string(r.State), Digest: string(d.UpdatedDigest), Answers: record.Texts(d.Answers)}
		if d.UpdatedInput != "" {
			q.Answer.Input = json.RawMessage(d.UpdatedInput)
		}
	}
	if r.Closed != nil {
		if q.Answer == nil {
			q.Answer = &AnswerNow{Decision: "closed", By: "session", At: r.EndAt, State: string(r.State)}
		}
		q.Answer.Evidence = r.Closed.Evidence
	}
	return q
}

func sessionStatus(r session.Request) string {
	switch {
	case r.State == session.StateClosed:
		return StatusClosed
	case r.State != session.StateOpen:
		return StatusDecided
	case r.Why != "":
		return StatusUnanswerable
	}
	return StatusOpen
}

// findSession finds a session's request; nil when no session has one of this name.
func (o Operator) findSession(what string) (*session.Found, error) {
	found, err := o.sessionStore().Find(what)
	switch {
	case len(found) == 1:
		return &found[0], nil
	case len(found) > 1:
		return nil, &operator.Error{Kind: operator.Usage, Op: "find", Msg: what + " names several requests",
			Near: mapped(found, func(f session.Found) string { return string(f.Request.ID) })}
	case strings.HasPrefix(what, KindDialog+"-"):
		return nil, &operator.Error{Kind: operator.Refused, Op: "find", Msg: what + " is a dialog of a session, which only its own terminal answers"}
	}
	return nil, err
}

// SessionsPast lists the requests of ended sessions and the answered proposals, oldest first, as far as they are kept.
func (o Operator) SessionsPast() ([]Request, error) {
	var qs []Request
	broken := o.ofSessions(func(shown Request, r session.Request) {
		if r.State != session.StateOpen {
			qs = append(qs, shown)
		}
	})
	proposals, err := o.proposals(true)
	qs = append(qs, proposals...)
	slices.SortStableFunc(qs, func(a, b Request) int { return a.Asked.Compare(b.Asked.Time) })
	return qs, errors.Join(broken, err)
}

// ofSessions calls add with each request of each session, as it is shown and as it is on record. The error names the
// sessions that could not be read.
func (o Operator) ofSessions(add func(Request, session.Request)) error {
	running := o.running()
	all, problems := o.sessionStore().All()
	for _, one := range all {
		for _, r := range one.Requests() {
			add(o.requestOf(running, one, r), r)
		}
	}
	return errors.Join(problems...)
}

// sessionName returns the name of a running or ended session.
func sessionName(running session.View, one *session.Session) string {
	if r, ok := running.Of(one.ID); ok {
		return r.Name
	}
	name := ""
	one.View(func(f *session.Fold) {
		if f.Process != nil {
			name = filepath.Base(f.Process.Cwd)
		}
	})
	if name == "" || name == "." || name == "/" {
		name = string(one.ID)
	}
	return name
}

// requestOf is a request of a running or ended session as it is shown.
func (o Operator) requestOf(running session.View, one *session.Session, r session.Request) Request {
	name, under := sessionName(running, one), ""
	if r.Agent != "" {
		name, under = r.AgentName, name
	}
	return o.sessionRequest(name, under, r)
}

// SessionAudit lists the requests of sessions in the form of gated calls, oldest first.
func (o Operator) SessionAudit(q operator.AuditQuery) ([]operator.AuditEvent, error) {
	es := []operator.AuditEvent{}
	err := o.ofSessions(func(shown Request, r session.Request) {
		if e := sessionEvent(shown, r); q.Wants(e) {
			es = append(es, e)
		}
	})
	slices.SortStableFunc(es, func(a, b operator.AuditEvent) int { return a.Asked.Compare(b.Asked) })
	return es, err
}

func sessionEvent(shown Request, r session.Request) operator.AuditEvent {
	e := operator.AuditEvent{ID: string(r.ID), Handle: shown.Handle, Asks: InOneLine(r.Kind, r.Ask), Kind: shown.Kind, Member: shown.Member, Instance: shown.Instance, Trust: LevelAnswers, Tool: shown.Tool, Input: shown.Input,
		Cwd: shown.Cwd, Digest: shown.Digest, Risk: shown.Risk, Asked: r.At, Key: r.Key}
	if d := r.Decided; d != nil {
		a := shown.Answer
		e.Decision, e.By, e.Channel, e.Via, e.Rule, e.Said, e.Decided = a.Decision, a.By, string(d.Channel), a.Via, a.Rule, a.Reason, a.At
		e.Runs, e.RunsDigest, e.Answers = a.Input, a.Digest, a.Answers
	}
	if r.Closed != nil {
		e.Said = cmp.Or(e.Said, r.Closed.Evidence)
		if r.Closed.InDialog {
			e.By, e.Via = "session", "its own dialog"
			if r.Decided != nil {
				e.Outcome = "answered at home"
			}
		}
	}
	return e
}

// showSession is Show of a request of a session, or of a proposal.
func (o Operator) showSession(what string) (*Request, error) {
	f, err := o.findSession(what)
	if err != nil {
		return nil, err
	}
	q, err := o.Proposal(what)
	switch {
	case f == nil || err != nil && !IsUnknown(err):
		return q, err
	case err == nil:
		return nil, &operator.Error{Kind: operator.Usage, Op: "find", Msg: what + " names a request of a session and a proposal", Near: []string{string(f.Request.ID), q.ID}}
	}
	shown := o.requestOf(o.running(), f.Session, f.Request)
	return &shown, nil
}

// sessionChanged is Changed of a session's request.
func (o Operator) sessionChanged(what, input string) (*Request, error) {
	f, err := o.findSession(what)
	if err == nil && f == nil {
		err = unknown(what)
	}
	if err != nil {
		return nil, err
	}
	if err := changes(f.Request.Form == session.FormTool, input); err != nil {
		return nil, err
	}
	r := f.Request
	r.Digest, r.Ask.Input = session.ChangedDigest(r, input), input
	q := o.sessionRequest(string(f.Session.ID), "", r)
	return &q, nil
}

// decideSessions answers requests of sessions, and refuses proposals, one after the other.
func (o Operator) decideSessions(ctx context.Context, answers []Answer) (results []Decided, err error) {
	for _, a := range answers {
		d, err := o.decideSession(ctx, a)
		if err != nil {
			return results, err
		}
		results = append(results, *d)
	}
	return results, nil
}

// decideSession answers one request of a session, or refuses a proposal.
func (o Operator) decideSession(ctx context.Context, a Answer) (*Decided, error) {
	f, err := o.findSession(a.ID)
	if err != nil {
		return nil, err
	}
	if f == nil {
		return o.decideProposal(ctx, a)
	}
	if err := o.Guard(ctx, nil, a.Via); err != nil {
		return nil, err
	}
	r := f.Request
	v := a.to(r.Key, r.Digest)
	if a.Digest != "" && (len(a.Digest) < 16 || !strings.HasPrefix(string(r.Digest), a.Digest)) {
		return nil, &operator.Error{Kind: operator.Refused, Op: a.Via, Msg: "the digest is not that of what " + r.Handle + " asks", Next: operator.Next{Step: operator.NextShowAgain, ID: r.Handle}}
	}
	if a.Words != nil { // without them the session's own record refuses a question
		if v.Answers, err = answersTo(r.Form == session.FormQuestion, r.Handle, r.Ask.Input, a); err != nil {
			return nil, err
		}
	}
	out, err := f.Session.Decide(ctx, o.Writer(), v, session.Looking(o.Ancestors))
	o.TidySessions(ctx)
	d := &Decided{ID: r.Handle, Changed: out.Changed, key: r.Key}
	if now := out.Request; now.Decided != nil {
		d.Decision, d.By, d.At, d.Digest = now.Decided.Decision, string(now.Decided.By), now.DecAt, string(now.Decided.UpdatedDigest)
	}
	var no *session.RefusedError
	switch {
	case errors.As(err, &no):
		d.err = &operator.Error{Kind: operator.Refused, Op: a.Via, Msg: err.Error()}
		return d, nil
	case err != nil:
		return nil, err
	}
	return d, o.given(ctx, f.Session, a.Via, d)
}

// TidySessions closes requests that cannot be answered any more. A failure is logged; the next list
// reports it.
func (o Operator) TidySessions(ctx context.Context) {
	_ = o.sessionStore().TidyAll(ctx, o.Writer(), session.Looking(o.Ancestors))
}

// given waits a moment for the hook to give the answer to its client. A request that is over without it is
// d's error.
func (o Operator) given(ctx context.Context, s *session.Session, via string, d *Decided) error {
	return o.await(ctx, s.Refresh, func() (bool, error) {
		for _, r := range s.Requests() {
			if r.Key == d.key && (r.State == session.StateAnswered || r.State == session.StateClosed) {
				if d.Delivered = !r.Given.IsZero(); !d.Delivered && d.Changed {
					d.err = &operator.Error{Kind: operator.Refused, Op: via, Msg: "request " + d.ID + ": " + r.Closed.Evidence}
				}
				return true, nil
			}
		}
		return false, nil
	})
}

// Attend says that this process shows a person what waits, until release: hooks that hold their client's own
// dialog back wait then. From inside a session or a member it says nothing, as no person is there.
func (o Operator) Attend() (release func() error, err error) {
	if o.ofAgent(o.PID) {
		return func() error { return nil }, nil
	}
	return o.sessionStore().Attend()
}

// Attended reports whether a person is there to answer elsewhere than in a session's own dialog: the user has
// said so, or a process attends that is not inside a session or a member.
func (o Operator) Attended() bool {
	if a, err := o.sessionStore().Away(); err == nil && a.At(o.Minter.Now()) { // what cannot be read says nothing
		return true
	}
	return slices.ContainsFunc(o.sessionStore().Attending(), func(pid int) bool { return pid == 0 || !o.ofAgent(pid) })
}

// Away is the user's word that answers come from the list.
type Away struct {
	On       bool       `json:"on"`
	Until    *time.Time `json:"until"` // null: without an end, or off
	Changed  bool       `json:"changed"`
	Attended bool       `json:"attended"` // somebody is there to answer, by this or by a screen
}

// Away returns the user's word that answers come from the list.
func (o Operator) Away() (w Away, err error) {
	a, err := o.sessionStore().Away()
	if w.On = a.At(o.Minter.Now()); w.On {
		w.Until = a.Until
	}
	w.Attended = o.Attended()
	return w, awayError(err)
}

// awayError adds to the error of a file that is no word of the user what to do about it.
func awayError(err error) error {
	var bad *session.AwayError
	if !errors.As(err, &bad) {
		return err
	}
	return &operator.Error{Kind: operator.Failed, Op: "away", Err: err, Advice: "remove " + bad.Path + ": then away is off"}
}

// SetAway replaces the user's word that answers come from the list; until nil: without an end. Changed is false where it
// was the same.
func (o Operator) SetAway(ctx context.Context, on bool, until *time.Time) (w Away, err error) {
	if err := o.Guard(ctx, nil, "away"); err != nil {
		return w, err
	}
	changed, err := o.sessionStore().SetAway(ctx, session.Away{On: on, Until: until})
	if err != nil {
		return w, awayError(err)
	}
	w, err = o.Away()
	w.Changed = changed
	return w, err
}

// ofAgent reports whether a process runs inside a session, or below a process of a member.
func (o Operator) ofAgent(pid int) bool {
	if o.Ancestors == nil {
		return false
	}
	above, _ := o.Ancestors(pid) // those that can be seen
	_, in := o.sessionStore().Above(o.ClaudeDir, above, nil, session.Looking(o.Ancestors))
	return in || len(o.membersAt(pid)) > 0
}
