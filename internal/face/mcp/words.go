package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"waggle/protocol"
)

// maxWait is the longest wait of check_messages: clients end a call after a minute.
const maxWait = 50 * time.Second

// working is the default phase of work.
const working = "implementing"

type none struct{}

type sendArgs struct {
	To      string `json:"to" jsonschema:"a member's name; team-lead for the lead; * for all"`
	Text    string `json:"text"`
	Summary string `json:"summary,omitempty" jsonschema:"a few words for a list; default: the first line"`
}

type sent struct {
	Sent bool   `json:"sent"`
	To   string `json:"to"`
}

type checkArgs struct {
	Wait int `json:"wait_seconds,omitempty" jsonschema:"how long to wait for something to come, 0 to 50; default 25"`
}

type progressArgs struct {
	Phase   string `json:"phase,omitempty" jsonschema:"analyzing, implementing, verifying, blocked or done; default: implementing"`
	Message string `json:"message"`
}

type roster struct {
	Team    string   `json:"team"`
	You     string   `json:"you"`
	Members []Member `json:"members"`
}

var errEmpty = errors.New("the text is empty: say something")

// addWords adds the tools for messages.
func (s *Server) addWords() {
	add(s.mcp, "send_message", "Send a message", "Sends words to a member of the team. They are delivered once and kept if the reader is busy.",
		hints{}, func(ctx context.Context, a sendArgs) (sent, error) {
			if a.Text == "" {
				return sent{}, errEmpty
			}
			return sent{true, a.To}, s.seat.Say(ctx, a.To, a.Text, a.Summary)
		})
	add(s.mcp, "check_messages", "Check for messages and work",
		"Returns what has come since the last call: messages and the task to work on. Waits until something comes. Calling it says that you have finished what it returned before, but for a task, which complete_task ends.",
		hints{}, func(ctx context.Context, a checkArgs) (Work, error) {
			wait := 25 * time.Second
			if a.Wait != 0 {
				wait = time.Duration(a.Wait) * time.Second
			}
			if wait < 0 || wait > maxWait {
				return Work{}, fmt.Errorf("wait_seconds is %d: 1 to %d", a.Wait, int(maxWait/time.Second))
			}
			w, err := s.seat.Check(ctx, wait)
			if w.Messages == nil {
				w.Messages = []Mail{}
			}
			return w, err
		})
	add(s.mcp, "list_members", "List the members", "Lists who is in the team, how each is and what it works on.",
		hints{reads: true}, func(ctx context.Context, _ none) (roster, error) {
			ms, err := s.seat.Members(ctx)
			id := s.seat.Identity()
			return roster{string(id.Team), string(id.Member), ms}, err
		})
	add(s.mcp, "report_progress", "Report progress", "Tells the lead and the people who look how far the work is.",
		hints{}, func(ctx context.Context, a progressArgs) (sent, error) {
			if a.Message == "" {
				return sent{}, errEmpty
			}
			return sent{true, string(protocol.Lead)}, s.seat.Progress(ctx, cmp.Or(a.Phase, working), a.Message)
		})
	add(s.mcp, "brief", "What you need to know", "Tells who you are, your task, what is open and what was said last, in at most 1,500 tokens: for after a lost context.",
		hints{reads: true}, func(ctx context.Context, _ none) (Brief, error) {
			return s.brief(ctx)
		})
}
