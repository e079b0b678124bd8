package view

import (
	"fmt"
	"strings"
	"time"

	"waggle/internal/face/view/page"
	"waggle/operator/decide"
	"waggle/policy"
	"waggle/record"
)

// Field is one field of a request. Nothing of Text is cut.
type Field struct {
	Name string
	Text string
	// Block says that Text is an agent's and may have several lines: none of them may look
	// like a field.
	Block bool
}

type fields []Field

func (f *fields) row(name, text string) {
	if text != "" {
		*f = append(*f, Field{Name: name, Text: text})
	}
}

func (f *fields) block(name, text string) {
	*f = append(*f, Field{Name: name, Text: text, Block: true})
}

// QuestionFields are everything that a decision is about, in order, with times where now is. parts are its RiskParts: finding
// them takes milliseconds for a long command.
func QuestionFields(q decide.Request, parts []policy.RiskPart, now time.Time) []Field {
	var f fields
	f.row("id", q.ID)
	f.row("handle", q.Handle)
	f.row("member", q.Member+" ("+record.Level(q.Trust).Words()+")")
	f.row("asks for", strings.TrimSuffix(q.Kind, "_request"))
	if q.Kind == decide.KindProposal {
		f.row("command", q.Proposed().Line())
		f.block("task", q.Proposed().Task)
	} else if f.row("tool", q.Tool); q.Tool != "" {
		f.row("input", decide.ShownJSON(string(q.Input)))
	}
	f.asked(q)
	f.bound(q)
	if q.Host != "" {
		f.row("host", decide.ShownHost(q.Host, q.Port))
	}
	f.row("cwd", q.Cwd)
	f.row("task", q.Task)
	f.row("reason", q.Reason)
	f.row("risk", q.Risk)
	f.row("why", riskWhy(q, parts))
	f.row("because", q.Because)
	f.row("digest", q.Digest)
	f.row("status", q.Status)
	f.row("asker", q.Asker)
	f.row("lead", q.LeadOut)
	f.row("expires", page.Moment(page.At(q.Expires), now))
	f.row("allowed", strings.Join(q.Votes, ", "))
	f.row("left by", q.Escalated)
	for i, rule := range q.Suggest {
		f.row(fmt.Sprintf("rule %d", i+1), rule)
		if i < len(q.Weights) {
			f.row("", fmt.Sprintf("would have matched %d of the last %s", q.Weights[i], page.Count(q.Weighed, "call")))
		}
	}
	if q.Hash != "" {
		f.row("revision", fmt.Sprintf("%d, sha256 %s", q.Revision, q.Hash))
		f.block("plan", q.Plan)
	}
	f.answer(q.Answer, now)
	return f
}

// asked is the text that would run or be answered.
func (f *fields) asked(q decide.Request) {
	if q.Command != "" {
		f.block("command", q.Command)
	}
	if text := q.Edits(); text != "" {
		f.block("edits", text)
	}
	for i, one := range q.Questions {
		f.row("about", one.Header)
		f.block(fmt.Sprintf("question %d", i+1), one.Text)
		for j, opt := range one.Options {
			f.row(fmt.Sprintf("%8d", j+1), strings.TrimSuffix(opt.Label+": "+opt.Description, ": "))
		}
		if one.Multiple {
			f.row("", "several: 1,2")
		}
		if one.Closed {
			f.row("", "one of these, no other words")
		}
	}
}

// bound is what the digest of a tool call covers besides its input.
func (f *fields) bound(q decide.Request) {
	if q.Stdin != "" {
		f.block("stdin", q.Stdin)
	}
	for _, kv := range q.Env {
		f.row("env", kv)
	}
	f.row("program", q.Program)
	for _, w := range q.Words {
		f.row("word", w.Name+" is "+w.Path)
	}
	for _, s := range q.Scripts {
		f.row("script", s.Path+", sha256 "+s.SHA256)
	}
	for _, p := range q.Paths {
		switch {
		case p.Real == "":
			f.row("path", p.Spelled+" cannot be resolved")
		case p.Real != p.Spelled:
			f.row("path", p.Spelled+" is "+p.Real)
		}
	}
	f.row("must ask", q.MustAsk)
	f.row("not held", q.Unheld)
}

func (f *fields) answer(n *decide.AnswerNow, now time.Time) {
	if n == nil {
		return
	}
	f.row("answer", fmt.Sprintf("%s by %s (%s) at %s, policy version %d", n.Decision, n.By, n.Via, page.Moment(n.At, now), n.Policy))
	f.row("rule", n.Rule)
	f.row("said", n.Reason)
	for i, text := range n.Answers {
		f.block(fmt.Sprintf("answer %d", i+1), text)
	}
	f.row("runs", decide.ShownJSON(string(n.Input)))
	f.row("digest", n.Digest)
	f.row("way", strings.TrimSuffix(n.State+": "+n.Evidence, ": "))
}
