package fresh

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"waggle/operator"
	"waggle/operator/decide"
	"waggle/protocol"
	"waggle/record"
)

// splitTask is the task of a member that is to propose the parts of a task.
const splitTask = `Split this task into parts that different agents can do at the same time, each in its own git worktree:

%s

Read what you need, change nothing. Propose a plan that is one numbered list: each item is one part, written as a
complete task for an agent that sees nothing else, with the files that it may change, so that no two parts change the
same file. When the plan is approved your task is done: do not begin with the parts.`

// item is the first line of a part in a plan.
var item = regexp.MustCompile(`^ {0,3}(\d+)[.)]\s+(.*)$`)

// Parts are the tasks that the approved plan of a member lists: its numbered items, each with the
// lines below it.
func (o Operator) Parts(ctx context.Context, name protocol.TeamName, member string) ([]string, error) {
	p, err := decide.Of(o.Operator).Plan(ctx, name, member, 0)
	if err != nil {
		return nil, err
	}
	if p.Answer == nil || p.Answer.Decision != record.DecisionAllow {
		return nil, &operator.Error{Kind: operator.Refused, Op: "new", Msg: fmt.Sprintf("revision %d of the plan of %s is not approved", p.Revision, p.Member),
			Next: operator.Next{Step: operator.NextShowThenDecide, ID: p.Handle}}
	}
	parts := partsOf(p.Plan)
	if len(parts) == 0 {
		return nil, &operator.Error{Kind: operator.Failed, Op: "new", Msg: fmt.Sprintf("the plan of %s has no numbered parts", p.Member), Next: operator.Next{Step: operator.NextShow, ID: p.Handle}}
	}
	return parts, nil
}

// partsOf reads the numbered items of a plan.
func partsOf(plan string) (parts []string) {
	open := false
	for line := range strings.Lines(plan) {
		line = strings.TrimRight(line, " \r\n")
		if m := item.FindStringSubmatch(line); m != nil {
			parts, open = append(parts, m[2]), true
			continue
		}
		if strings.HasPrefix(line, "#") {
			open = false // a heading ends the list
		}
		if open {
			parts[len(parts)-1] += "\n" + strings.TrimSpace(line)
		}
	}
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}
