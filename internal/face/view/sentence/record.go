package sentence

import (
	"cmp"
	"fmt"
	"net"
	"strings"
	"time"

	"waggle/internal/face/view/page"
	"waggle/journal"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
)

// LogSentences says in a sentence what each record of a log is. Records must come in the order of
// their journals, all of them: a record names an earlier one by its number.
type LogSentences struct {
	orders map[string]string // what a record of a leader's journal sends, by team and number
	ruled  map[string]string // what rules allowed without a request, by team, journal and id
}

// Of is the sentence of the next record. Its subject is the owner of the journal, which the face
// names beside it.
func (l *LogSentences) Of(r operator.LogRecord) string {
	if l.orders == nil {
		l.orders, l.ruled = map[string]string{}, map[string]string{}
	}
	s := logSentence{r: r, l: l}
	of := s.worker
	if r.Journal == journal.Leader || r.Journal == operator.OwnJournal {
		of = s.leader
	}
	if text := cmp.Or(of(), s.either()); text != "" {
		return text
	}
	return decide.ShownJSON(string(r.Body))
}

// logSentence is one record that is put into words.
type logSentence struct {
	r operator.LogRecord
	l *LogSentences
}

// body reads a record's body; fields that do not fit stay empty.
func body[T any](r operator.LogRecord) (b T) {
	b, _ = record.Body[T](r.Record) // a body of another version is shown as far as it can be read
	return b
}

func (s logSentence) ref(seq uint64) string {
	return fmt.Sprintf("%s/%s/%d", s.r.Team, s.r.Journal, seq)
}

// sends keeps what a record sends, for the records sent and closed that name it.
func (s logSentence) sends(what string) { s.l.orders[s.ref(uint64(s.r.Seq))] = what }

func (s logSentence) order(seq uint64) string {
	return cmp.Or(s.l.orders[s.ref(seq)], fmt.Sprintf("record %d", seq))
}

// who is the member that the record is about.
func (s logSentence) who() string {
	return cmp.Or(s.r.Member, "a member")
}

// call names what rules allowed.
func (s logSentence) call(k record.Key) string {
	return fmt.Sprintf("%s/%s/%s", s.r.Team, s.r.Journal, k.ID)
}

// request is the request that the record is about, by its handle. What rules allowed has none: it is
// called by what it does.
func (s logSentence) request(k record.Key) string {
	return cmp.Or(s.r.Request, s.l.ruled[s.call(k)], string(k.ID))
}

func (s logSentence) leader() string {
	switch s.r.Kind {
	case record.KindOpened:
		return "the team begins"
	case record.KindPolicy:
		b := body[record.PolicySet](s.r)
		return fmt.Sprintf("policy version %d holds, mode %s%s", b.Policy.Version, b.Policy.Mode, operator.Suffix(by(b.By)))
	case record.KindJoined:
		b := body[record.Joined](s.r)
		queued := ""
		if b.Queued {
			queued = ", and waits in the queue"
		}
		return fmt.Sprintf("%s joins, agent %s, backend %s%s", b.Name, b.Agent, b.Backend, queued)
	case record.KindProcess:
		b := body[record.Process](s.r)
		return fmt.Sprintf("%s runs as process %d%s", s.who(), b.ID.PID, again(b.Epoch))
	case record.KindLeft:
		b := body[record.Left](s.r)
		return fmt.Sprintf("%s has left: %s%s", s.who(), b.How, operator.Suffix(b.Detail))
	case record.KindSeen:
		return s.seen()
	case record.KindVoted:
		b := body[record.Decided](s.r)
		if b.Decision == record.DecisionEscalate {
			return fmt.Sprintf("%s leaves %s of %s to the operator%s", b.By, s.request(b.Key), s.who(), operator.Suffix(b.Reason))
		}
		return fmt.Sprintf("%s allows %s of %s, one vote of two", b.By, s.request(b.Key), s.who())
	case record.KindDecided:
		return s.decided()
	case record.KindCommanded:
		return s.commanded()
	case record.KindSent:
		b := body[record.Sent](s.r)
		return s.order(b.Ref) + " is in the mailbox" + operator.Suffix(b.Again)
	case record.KindClosed:
		b := body[record.Closed](s.r)
		if b.Key != nil {
			return fmt.Sprintf("%s of %s is closed without an answer: %s", s.request(*b.Key), s.who(), b.Evidence)
		}
		return s.order(b.Ref) + " is settled: " + b.Evidence
	case record.KindSaid:
		b := body[record.Words](s.r)
		if b.Mail == nil {
			return ""
		}
		text := ""
		if e, err := protocol.ParseEnvelope(b.Mail.Envelope); err == nil {
			text = ": " + firstLine(e.Text)
		}
		s.sends("the message to " + string(b.Mail.To))
		return fmt.Sprintf("message to %s%s", b.Mail.To, text)
	}
	return s.team()
}

// team is the sentence of a record about the team or a member's process.
func (s logSentence) team() string {
	switch s.r.Kind {
	case record.KindLeading:
		b := body[record.LeadingProcess](s.r)
		how := ""
		if b.Detached {
			how = " in the background"
		}
		if b.Up {
			how += ", and every member is ready"
		}
		return fmt.Sprintf("process %d leads%s", b.ID.PID, how)
	case record.KindDied:
		b := body[record.Died](s.r)
		next := ""
		switch {
		case b.GaveUp:
			next = "; it is given up"
		case b.Again != nil:
			next = "; it is started again"
		}
		return fmt.Sprintf("the process of %s has died%s%s", s.who(), operator.Suffix(b.Detail), next)
	case record.KindStopping:
		b := body[record.Stopping](s.r)
		return fmt.Sprintf("%s is stopped%s%s", s.who(), operator.Suffix(b.Why), operator.Suffix(b.Step))
	case record.KindEnding:
		return "the team is to end" + operator.Suffix(body[record.Ending](s.r).Reason)
	case record.KindDetached:
		return "a process without a terminal is to lead"
	case record.KindDiverged:
		return fmt.Sprintf("the journal of %s says more than the leader's: %s", s.who(), body[record.Diverged](s.r).Why)
	case record.KindAcknowledged:
		b := body[record.Acknowledged](s.r)
		if b.Break != nil {
			return fmt.Sprintf("the operator goes on without %s of a broken journal", page.Count(b.Break.Records, "record"))
		}
		return "the operator has acknowledged the divergence"
	case record.KindDone:
		return "the operator sets task " + body[record.Done](s.r).Task + " to done"
	case record.KindEnded:
		return "the team has ended: " + body[record.Ended](s.r).How
	case record.KindSpent:
		return s.who() + " has used " + Spent(body[record.Spent](s.r).Usage)
	case record.KindBudget:
		return "the budgets are set"
	case record.KindBorrowed:
		return fmt.Sprintf("process %d takes the session of %s", body[record.Borrowed](s.r).By.PID, s.who())
	case record.KindHalted:
		return "the operator stops all work" + operator.Suffix(body[record.Halted](s.r).Reason)
	case record.KindTakenBack:
		return "the operator takes the answer to " + s.request(body[record.TakenBack](s.r).Key) + " back"
	case record.KindResumed:
		return "the operator lets the work go on"
	case record.KindBegun:
		return s.who() + " leaves the queue and is started"
	case record.KindReturned:
		return fmt.Sprintf("%s has its session back%s", s.who(), operator.Suffix(body[record.Returned](s.r).Why))
	}
	return ""
}

func (s logSentence) seen() string {
	b := body[record.Seen](s.r)
	if b.Ask != nil {
		return fmt.Sprintf("%s asks %s: %s", s.who(), s.request(record.Key{ID: b.ID}), decide.InOneLine(b.Kind, *b.Ask))
	}
	return s.who() + " " + report(b.Kind, b.Task, b.Failed, b.Note)
}

func (s logSentence) decided() string {
	b := body[record.Decided](s.r)
	s.sends(fmt.Sprintf("the answer to %s of %s", s.request(b.Key), s.who()))
	word := map[string]string{record.DecisionAllow: "allows", record.DecisionDeny: "denies", record.DecisionAnswer: "answers"}[b.Decision]
	why := b.Reason
	if b.Rule != "" {
		why = strings.TrimPrefix(why+", rule "+b.Rule, ", ")
	}
	var words []string
	for _, a := range b.Answers {
		words = append(words, a.Answer)
	}
	if len(words) > 0 {
		why = strings.Join(words, "; ")
	}
	via := ""
	if b.Via != "" && b.Via != string(b.By) {
		via = " (" + b.Via + ")"
	}
	return fmt.Sprintf("%s%s %s %s of %s%s", b.By, via, word, s.request(b.Key), s.who(), operator.Suffix(why))
}

func (s logSentence) commanded() string {
	b := body[record.Commanded](s.r)
	switch {
	case b.What == record.CommandAssigned && b.Task != nil:
		s.sends(fmt.Sprintf("task %s for %s", b.Task.ID, s.who()))
		return fmt.Sprintf("%s gets task %s %q", s.who(), b.Task.ID, b.Task.Subject)
	case b.What == record.CommandShutdown:
		s.sends("the shutdown request to " + s.who())
		return s.who() + " is asked to end"
	case b.What == record.CommandMode:
		s.sends(fmt.Sprintf("the mode of %s", s.who()))
		return fmt.Sprintf("%s gets mode %s", s.who(), b.Mode)
	case b.What == record.CommandPolicy:
		s.sends(fmt.Sprintf("policy version %d for %s", b.Version, s.who()))
		return fmt.Sprintf("%s gets policy version %d", s.who(), b.Version)
	}
	return ""
}

func (s logSentence) worker() string {
	switch s.r.Kind {
	case record.KindOpened:
		b := body[record.Opened](s.r)
		return "begins" + again(b.Epoch)
	case record.KindAsked, record.KindPaused:
		b := body[record.Asked](s.r)
		return fmt.Sprintf("asks %s: %s", s.request(b.Key), decide.InOneLine(b.Kind, b.Ask))
	case record.KindSaid:
		b := body[record.Said](s.r)
		return report(b.Kind, b.Task, b.Failed, b.Note)
	case record.KindAnswered:
		return s.answered()
	case record.KindStarted:
		b := body[record.Started](s.r)
		if s.r.Request == "" && s.l.ruled[s.call(b.Key)] != "" {
			return "starts " + s.request(b.Key)
		}
		return strings.TrimSuffix("starts "+s.request(b.Key)+" with "+b.Tool, " with ")
	case record.KindFinished:
		return s.finished()
	case record.KindUnknown:
		b := body[record.UnknownEnd](s.r)
		return fmt.Sprintf("does not know how %s ended: %s", s.request(b.Key), b.Why)
	case record.KindApplied:
		b := body[record.Applied](s.r)
		if b.Task != nil {
			return fmt.Sprintf("has task %s %q", b.Task.ID, b.Task.Subject)
		}
		return "applies the order: " + b.What
	case record.KindTaken:
		b := body[record.Taken](s.r)
		if b.Task != "" {
			return "begins task " + b.Task
		}
		return "reads " + page.Count(len(b.Entries), "message")
	case record.KindReady:
		b := body[record.Ready](s.r)
		return fmt.Sprintf("is ready: agent %s, mode %s, in %s", b.Agent, b.Mode, b.Cwd)
	}
	return s.agent()
}

// agent is the sentence of a record by which a worker says what its agent says of itself.
func (s logSentence) agent() string {
	switch s.r.Kind {
	case record.KindHeard:
		return "hears " + page.Count(len(body[record.Heard](s.r).Entries), "message") + " in its turn"
	case record.KindUsed:
		return "has used " + Spent(body[record.Usage](s.r)) + " more"
	case record.KindSteps:
		return "plans " + page.Count(len(body[record.Steps](s.r).Steps), "step")
	case record.KindChecked:
		b := body[record.Checked](s.r)
		if b.Passed {
			return "passes the check of task " + b.Task + ": " + b.Command
		}
		return "does not pass the check of task " + b.Task + ": " + b.Command + operator.Suffix(b.Why)
	case record.KindLimited:
		b := body[record.Limited](s.r)
		return "is limited" + operator.Suffix(b.Reason)
	case record.KindConversation:
		return "has conversation " + body[record.Conversation](s.r).ID
	case record.KindYielded:
		return "lets its session go to a person"
	case record.KindRests:
		return "rests: all work is stopped"
	case record.KindPane:
		if waits := body[record.Pane](s.r).Waits; waits != "" {
			return "waits in its pane: " + firstLine(waits)
		}
		return "waits in its pane no more"
	case record.KindConnected:
		var hosts []string
		for _, c := range body[record.Connected](s.r).Connections {
			why := ""
			if c.Reason != "" {
				why = " (" + c.Reason + ")"
			}
			hosts = append(hosts, net.JoinHostPort(c.Host, c.Port)+" "+c.Event+why)
		}
		return "connections: " + strings.Join(hosts, ", ")
	}
	return ""
}

func (s logSentence) answered() string {
	b := body[record.Answered](s.r)
	what := s.request(b.Key)
	if b.Ask != nil {
		what = decide.Brief(b.Kind, *b.Ask)
	}
	switch {
	case b.Waited:
		return "stops waiting for the answer to " + what
	case b.Revoked:
		return "revokes " + what + operator.Suffix(b.Reason)
	case b.Ask != nil && b.By == policy.RoleRules:
		s.l.ruled[s.call(b.Key)] = what
		return fmt.Sprintf("%s by its rules: %s%s", past(b.Decision), what, operator.Suffix(b.Rule))
	}
	return fmt.Sprintf("takes the answer to %s: %s by %s%s", what, b.Decision, b.By, operator.Suffix(b.Reason))
}

func (s logSentence) finished() string {
	b := body[record.Finished](s.r)
	end := ""
	if b.ExitCode != nil {
		end = fmt.Sprintf(", exit status %d", *b.ExitCode)
	}
	if b.Failed {
		return fmt.Sprintf("%s has failed%s%s", s.request(b.Key), end, operator.Suffix(b.Error))
	}
	return s.request(b.Key) + " has ended" + end
}

// either is the sentence of a record that both kinds of journals have.
func (s logSentence) either() string {
	switch s.r.Kind {
	case record.KindUnverified:
		b := body[record.Unverified](s.r)
		if b.Box == "config.json" { // leader.RegistryBox
			return "another program changed the registry: " + b.Why
		}
		return strings.TrimSpace(fmt.Sprintf("%s from %s in the mailbox of %s has no effect: %s", b.Kind, b.From, b.Box, b.Why))
	case record.KindNoticed:
		b := body[record.Noticed](s.r)
		return "the team's directory " + b.Path + ": " + b.What
	case journal.KindRepaired:
		return "a line of the journal that could not be used is set aside"
	case record.KindCheckpoint:
		return "checkpoint"
	case record.KindSlept:
		return "the machine was asleep for " + body[record.Slept](s.r).For().Round(time.Second).String() + ", which counts for no deadline"
	}
	return ""
}

// report is what a member reports to the lead.
func report(k protocol.Kind, task string, failed bool, note string) string {
	switch {
	case k == protocol.KindTaskCompleted && failed:
		return "has failed task " + task + operator.Suffix(note)
	case k == protocol.KindTaskCompleted:
		return "has completed task " + task + operator.Suffix(note)
	case k == protocol.KindTaskProgress:
		return "reports progress" + operator.Suffix(note)
	case k == protocol.KindIdleNotification && failed:
		return "is idle after its turn failed" + operator.Suffix(note)
	case k == protocol.KindIdleNotification:
		return "is idle" + operator.Suffix(note)
	case k == protocol.KindShutdownApproved:
		return "agrees to end"
	case k == protocol.KindShutdownRejected:
		return "refuses to end" + operator.Suffix(note)
	case k == "":
		return "sends a message" + operator.Suffix(note)
	}
	return "sends " + string(k) + operator.Suffix(note)
}

func past(decision string) string {
	if decision == record.DecisionAllow {
		return "allowed"
	}
	return "denied"
}

// by names a principal, "" for none.
func by(r policy.Role) string {
	if r == "" {
		return ""
	}
	return "set by " + string(r)
}

// again says which start of a member it is, where it is not the first.
func again(epoch uint64) string {
	if epoch < 2 {
		return ""
	}
	return fmt.Sprintf(", start %d", epoch)
}

func firstLine(text string) string {
	line, _, more := strings.Cut(text, "\n")
	if more {
		line += " …"
	}
	return line
}
