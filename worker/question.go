package worker

import (
	"cmp"
	"context"

	"waggle/agent"
	"waggle/journal"
	"waggle/record"
)

// noQuestions is the answer to the agent of a guest: the other program has no message for a
// question, so that none is sent.
const noQuestions = record.NoAnswer + ": the lead of this team is another program's and takes no questions; say it in words"

// Question implements agent.Gate. The leader reads the question in this worker's journal, and the
// worker reads the answer in the leader's: no message has either.
func (h host) Question(ctx context.Context, q agent.Question) (agent.Answers, error) {
	if err := record.CheckQuestions(q.Parts); err != nil { // before JSON replaces invalid UTF-8
		return agent.Answers{}, err
	}
	a := record.Ask{Input: record.QuestionInput(q.Parts)}
	if h.w.p.Fold.Guest {
		return agent.Answers{Reason: noQuestions, By: "system"}, nil
	}
	inner, leave := h.within(ctx)
	defer leave()
	call, err := h.ask(inner, record.KindQuestion, a, true)
	if no, ok := denied(err); ok {
		return agent.Answers{Reason: record.NoAnswer + ": " + no.Reason, By: no.By}, nil
	}
	if err != nil {
		return agent.Answers{}, h.takeBack(ctx, call.key, err)
	}
	return answersOf(q, call), nil
}

// answersOf makes the answers for the agent. A denial without answers has a text that says so.
func answersOf(q agent.Question, call answered) agent.Answers {
	out := agent.Answers{Reason: call.Reason, By: call.By}
	if len(call.replies) == 0 {
		out.Reason = cmp.Or(out.Reason, record.NoAnswer)
		return out
	}
	out.Given = true
	for i, r := range call.replies {
		one := agent.Reply{Labels: r.Labels(q.Parts[i])}
		if len(r.Chosen) == 0 {
			one.Text = r.Answer
		}
		out.Replies = append(out.Replies, one)
	}
	return out
}

// takeAnswers takes the answers to questions from the leader's journal, and closes requests whose answers were taken
// back.
func (w *Worker) takeAnswers(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	due := func() []journal.Draft { return append(w.p.Fold.TakeAnswers(w.p.Lead), w.p.Fold.Reask(w.p.Lead)...) }
	if w.p.Fold.Guest || len(due()) == 0 {
		return nil
	}
	return w.append(ctx, func() ([]journal.Draft, error) {
		if err := w.p.Leader.Refresh(ctx); err != nil {
			return nil, err
		}
		return due(), nil
	})
}
