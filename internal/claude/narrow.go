package claude

import (
	"fmt"
	"slices"
	"strings"
)

// people are the tools by which a client reaches people and members: they ask, and no definition
// takes them away.
var people = []string{"AskUserQuestion", "ExitPlanMode", "SendMessage"}

// CheckTools refuses what is no name of a tool.
func CheckTools(names []string) error {
	for _, n := range names {
		if n == "" || strings.ContainsAny(n, " ,()*\t\n") || strings.HasPrefix(n, "-") {
			return fmt.Errorf("%q is no name of a tool: what a tool may do is said under policy", clipped(n))
		}
	}
	return nil
}

// lacks returns why a member has no such tool, "" when it has. That a member has a tool allows no
// call of it.
func (s Spec) lacks(tool string) string {
	names := func(list []string) bool {
		return slices.ContainsFunc(list, func(n string) bool {
			return n == tool || strings.HasPrefix(n, "mcp__") && strings.HasPrefix(tool, n+"__")
		})
	}
	switch {
	case slices.Contains(people, tool):
		return ""
	case names(s.NoTools), s.Tools != nil && !names(s.Tools):
		return "this member has no tool " + clipped(tool) + ": its type does not have it"
	}
	return ""
}

// offered are the built-in tools that the client is to offer, "" for all.
func (s Spec) offered() string {
	if s.Tools == nil {
		return ""
	}
	var list []string
	for _, n := range append(slices.Clone(s.Tools), people...) {
		if !strings.HasPrefix(n, "mcp__") && !slices.Contains(s.NoTools, n) && !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return strings.Join(list, ",")
}
