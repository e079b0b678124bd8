package claude

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"waggle/agent"
	"waggle/policy"
	"waggle/spawn"
)

// ownRules are the permission rules of a client's own settings: an administrator's, the project's and the
// user's. What they deny is denied, and about what they ask a person is asked, whatever the team's rules allow.
// What they allow the team's rules decide.
type ownRules struct {
	deny, ask []ownRule
	said      []string // lines for the member's output
}

// ownRule is a rule of the client's own.
type ownRule struct {
	text  string        // as it stands, and where
	about policy.Policy // denies what the rule is about, and allows all else
}

// rulesOf reads the rules of a client in dir. A file that cannot be read has none for the client either.
func rulesOf(env []string, dir string) (own ownRules) {
	list, problems := sourcesOf(env, dir).Permissions()
	for _, p := range list {
		for _, part := range []struct {
			texts []string
			then  string
		}{{p.Deny, "denies %s: so does waggle"}, {p.Ask, "asks about %s: so does waggle"}, {p.Allow, "allows %s: here the team's rules decide"}} {
			if len(part.texts) > 0 {
				own.said = append(own.said, p.Path+" "+fmt.Sprintf(part.then, some(part.texts)))
			}
		}
		home := spawn.Getenv(env, "HOME")
		for _, text := range p.Ask {
			own.take(&own.ask, text, home, p.Path)
		}
		for _, text := range p.Deny {
			own.take(&own.deny, text, home, p.Path)
		}
	}
	for _, err := range problems {
		own.said = append(own.said, "permission rules are not known: "+err.Error())
	}
	return own
}

// take adds a rule to a list. About every call of a tool a person is asked when a rule about some of them is not
// understood.
func (own *ownRules) take(list *[]ownRule, text, home, path string) {
	rules, exact := readRule(text, home, path)
	switch {
	case rules == nil:
		own.said = append(own.said, fmt.Sprintf("the rule %q of %s is not understood, and left to the client", clipped(text), path))
		return
	case !exact:
		list = &own.ask
	}
	*list = append(*list, ownRule{text + " of " + path, policy.Policy{Mode: policy.ModeBypassPermissions, Deny: rules}})
}

// judge returns why a call is denied, or why a person decides it, "" where no rule says so. About a call that a
// rule may be about a person is asked.
func (own ownRules) judge(c agent.Call) (denied, mustAsk string) {
	call := policy.Call{Tool: c.Tool, Input: c.Input, Cwd: c.Cwd}
	for _, r := range own.deny {
		switch r.about.Judge(call).Decision {
		case policy.Deny:
			return "The client's own settings deny it: " + r.text + ".", ""
		case policy.Ask:
			mustAsk = "The client's own settings may deny it: " + r.text + "."
		}
	}
	for _, r := range own.ask {
		if mustAsk == "" && r.about.Judge(call).Decision != policy.Allow {
			mustAsk = "The client's own settings ask about it: " + r.text + "."
		}
	}
	return "", mustAsk
}

// readRule reads a rule of the settings file at path as the client means it. exact is false for one that is not
// understood and is read as one about its whole tool; nil: not even that. A path that begins with "//" is
// absolute, with "/" it is below the project or the home of the settings, with "~/" below home; one without a
// slash is anywhere.
func readRule(text, home, path string) (rules []policy.Rule, exact bool) {
	exact = true
	text = strings.TrimSuffix(text, "__*") // every tool of a server
	tool, pattern, has := strings.Cut(strings.TrimSuffix(text, ")"), "(")
	texts := []string{text}
	if has && slices.Contains(pathTools, tool) {
		base := filepath.Dir(filepath.Dir(path))
		switch {
		case strings.HasPrefix(pattern, "//"):
			pattern = pattern[1:]
		case strings.HasPrefix(pattern, "/"):
			pattern = base + pattern
		case strings.HasPrefix(pattern, "~/") && home != "":
			pattern = home + pattern[1:]
		default:
			pattern = strings.TrimPrefix(pattern, "./")
		}
		texts = []string{tool + "(" + pattern + ")"}
		if !strings.Contains(pattern, "/") {
			texts = append(texts, tool+"(**/"+pattern+")")
		}
	}
	for _, t := range texts {
		r, err := policy.ParseRule(t)
		if err != nil {
			exact = false
			if r, err = policy.ParseRule(tool); err != nil {
				return nil, false
			}
		}
		rules = append(rules, r)
	}
	return rules, exact
}

// pathTools are the tools whose rules name files.
var pathTools = append([]string{"Edit", "Write", "MultiEdit", "NotebookEdit"}, reads...)

// some names the first of many rules.
func some(texts []string) string {
	const most = 8
	if more := len(texts) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(texts[:most], ", "), more)
	}
	return strings.Join(texts, ", ")
}
