package policy_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/policy"
	"waggle/protocol"
)

// sendCaller is one call of MaySend or MaySendFile in control: the roles, the channel and the
// kinds that it can ask about.
type sendCaller struct {
	from, to []policy.Role
	by       policy.Channel
	kinds    []protocol.Kind // nil: every kind
}

// sendVariables are the arguments of those calls that are not constants, with their values.
var sendVariables = map[string]struct {
	roles []policy.Role
	kinds []protocol.Kind
}{
	"d.Kind":      {},
	"said.Kind()": {},
	"kind":        {},
	// A record of a command has one of the kinds in control's table of commands, in the name of the lead or the operator.
	"b.Mail.Kind": {kinds: []protocol.Kind{"mode_set_request", "team_permission_update", "shutdown_request", "task_assignment"}},
	"b.By":        {roles: []policy.Role{policy.RoleLeader, policy.RoleOperator}},
}

// TestSendTableIsReached: for every cell of the table of who may send what, control has a call
// that asks about it. A cell that no call asks about has no effect and does not belong there.
func TestSendTableIsReached(t *testing.T) {
	callers := sendCallers(t)
	if len(callers) < 6 {
		t.Fatalf("only %d calls were found", len(callers))
	}
	for _, row := range policy.SendTable() {
		for _, by := range row.By {
			for _, k := range row.Kinds {
				if !slices.ContainsFunc(callers, func(c sendCaller) bool {
					return slices.Contains(c.from, row.From) && slices.Contains(c.to, row.To) && c.by == by &&
						(c.kinds == nil || slices.Contains(c.kinds, k))
				}) {
					t.Errorf("%s: no call asks about %s from %s to %s by %s", row.Name, k, row.From, row.To, by)
				}
			}
		}
	}
}

func sendCallers(t *testing.T) (callers []sendCaller) {
	t.Helper()
	files, err := filepath.Glob("../control/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("the files of control: %v, %v", files, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		testenv.Must(t, err)
		file, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
		testenv.Must(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			args := make([]string, len(call.Args))
			for i, a := range call.Args {
				args[i] = types.ExprString(a)
			}
			switch types.ExprString(call.Fun) {
			case "policy.MaySend":
				callers = append(callers, callerOf(t, args, sendConstants[args[3]]))
			case "policy.MaySendFile":
				callers = append(callers, callerOf(t, args, string(policy.ChannelFile)))
			}
			return true
		})
	}
	return callers
}

// sendConstants are the roles and channels as control writes them.
var sendConstants = map[string]string{
	"policy.RoleOperator": string(policy.RoleOperator), "policy.RoleLeader": string(policy.RoleLeader), "policy.RoleWorker": string(policy.RoleWorker),
	"policy.ChannelJournal": string(policy.ChannelJournal), "policy.ChannelOperator": string(policy.ChannelOperator), "policy.ChannelFile": string(policy.ChannelFile),
}

func callerOf(t *testing.T, args []string, by string) sendCaller {
	t.Helper()
	roles := func(arg string) []policy.Role {
		if c := sendConstants[arg]; c != "" {
			return []policy.Role{policy.Role(c)}
		}
		return sendVariables[arg].roles
	}
	c := sendCaller{from: roles(args[1]), to: roles(args[2]), by: policy.Channel(by), kinds: sendVariables[args[0]].kinds}
	if _, known := sendVariables[args[0]]; !known || c.from == nil || c.to == nil || by == "" {
		t.Errorf("a call with %v: say in sendVariables which values it has", args)
	}
	return c
}
