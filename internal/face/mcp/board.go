package mcp

import (
	"context"
	"errors"
	"fmt"

	"waggle/agent"
	"waggle/protocol"
)

type tasks struct {
	Tasks []agent.BoardTask `json:"tasks"`
}

type claimArgs struct {
	ID string `json:"id,omitempty" jsonschema:"default: the first that can be had"`
}

type updateArgs struct {
	ID   string `json:"id"`
	Note string `json:"note" jsonschema:"how far it is"`
}

type completeArgs struct {
	ID      string `json:"id"`
	Summary string `json:"summary" jsonschema:"what was done, in a sentence or two"`
	Failed  bool   `json:"failed,omitempty" jsonschema:"true: it could not be done; the summary says why"`
}

// owns refuses a task of another member, or of nobody.
func (s *Server) owns(ctx context.Context, id string) error {
	ts, err := s.seat.Tasks(ctx)
	for _, t := range ts {
		if t.ID == id && protocol.SameName(protocol.MemberName(t.Owner), s.seat.Identity().Member) {
			return nil
		}
	}
	return errors.Join(fmt.Errorf("task %q is not yours", id), err)
}

// addBoard adds the tools for the shared tasks.
func (s *Server) addBoard() {
	add(s.mcp, "list_tasks", "List the tasks", "Lists the team's tasks.", hints{reads: true},
		func(ctx context.Context, _ none) (tasks, error) {
			ts, err := s.seat.Tasks(ctx)
			return tasks{ts}, err
		})
	add(s.mcp, "claim_task", "Take a task", "Makes you the owner of a task that nobody owns.", hints{},
		func(ctx context.Context, a claimArgs) (agent.BoardTask, error) { return s.seat.Claim(ctx, a.ID) })
	add(s.mcp, "update_task", "Say how far a task is", "Reports progress of a task of yours.", hints{},
		func(ctx context.Context, a updateArgs) (noted, error) {
			if a.Note == "" {
				return noted{}, errEmpty
			}
			if err := s.owns(ctx, a.ID); err != nil {
				return noted{}, err
			}
			return noted{true}, s.seat.Progress(ctx, working, "task "+a.ID+": "+a.Note)
		})
	add(s.mcp, "complete_task", "End a task", "Ends the task that you work on, done or failed.", hints{},
		func(ctx context.Context, a completeArgs) (agent.BoardTask, error) {
			return s.seat.Complete(ctx, a.ID, a.Summary, a.Failed)
		})
}
