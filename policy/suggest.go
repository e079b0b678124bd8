package policy

import (
	"path"
	"slices"
	"strings"

	"waggle/internal/cmdline"
)

// Suggest proposes allow rules for a call, narrowest first, for a person who wants to be asked less
// often. Each rule alone allows the call under ModeDefault when no deny rule matches; a call that
// no single rule could or should allow gets no proposal. It proposes exact commands and short
// prefixes, single files and their directories, single hosts; never a shell, an interpreter, a
// wrapper such as sudo or xargs as a prefix, never a prefix or a directory for a call of RiskHigh,
// never a whole tool that takes patterns, never a plan's approval.
func Suggest(c Call) []Rule {
	q, err := newQuestion(c)
	if err != nil || q.doubt != "" {
		return nil
	}
	var proposals []string
	switch {
	case q.hasText:
		proposals = shellProposals(q.text, RiskOf(c))
	case len(q.targets) > 0:
		proposals = q.pathProposals(RiskOf(c))
	case q.host != "":
		proposals = []string{"WebFetch(" + domainPrefix + q.host + ")"}
	case knownTools[c.Tool] == noPattern && q.area != AreaSubmitPlan:
		proposals = []string{c.Tool}
	}
	var out []Rule
	for _, s := range proposals {
		r, err := ParseRule(s)
		if err != nil || slices.Contains(out, r) {
			continue
		}
		if (Policy{Mode: ModeDefault, Allow: []Rule{r}}).Judge(c).Decision == Allow {
			out = append(out, r)
		}
	}
	return out
}

func shellProposals(text string, risk Risk) []string {
	text = strings.Trim(text, " \t\n")
	proposals := []string{"Bash(" + text + ")"}
	words, err := cmdline.PlainCommand(text)
	if err != nil || risk == RiskHigh {
		return proposals
	}
	least := leastPrefix(words[0])
	for n := min(len(words), least+1); n >= least && least > 0; n-- {
		prefix := make([]string, n)
		for i, w := range words[:n] {
			prefix[i] = quoteWord(w)
		}
		proposals = append(proposals, "Bash("+strings.Join(prefix, " ")+":*)")
	}
	return proposals
}

// leastPrefix is how many words a prefix for a command needs at least; 0 is never.
func leastPrefix(name string) int {
	base := cmdline.BaseName(name)
	_, wraps := cmdline.Wrappers[base]
	switch base {
	case "go", "git", "cargo", "make", "just", "task", "gh", "dotnet", "mvn", "gradle", "bazel", "swift", "docker", "podman":
		return 2
	case "npm", "pnpm", "yarn", "bun", "uv", "poetry":
		return 3
	case "sh", "bash", "dash", "zsh", "ksh", "fish", "eval", "watch", "ssh", "trap", "alias", "find", "fd", "busybox", "source", ".", "sed", "gsed", "tar", "printf", "command":
		return 0
	}
	if wraps || cmdline.CodeReaders[cmdline.ProgramName(name)] || cmdline.CodeReaders[base] {
		return 0
	}
	return 1
}

// quoteWord writes a word so that a rule reads it back.
func quoteWord(w string) string {
	plain := w != "" && strings.IndexFunc(w, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@%+,", r))
	}) < 0
	if plain {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

func (q *question) pathProposals(risk Risk) []string {
	if len(q.targets) != 1 || q.targets[0].doubt != "" {
		return nil
	}
	t := q.targets[0]
	spelled := t.abs
	if t.inside {
		dir := path.Clean(q.call.Cwd)
		if !under(dir, t.abs) {
			dir = q.place.realCwd
		}
		spelled = strings.TrimPrefix(strings.TrimPrefix(t.abs, dir), "/")
	}
	if spelled == "" {
		spelled = "."
	}
	proposals := []string{q.call.Tool + "(" + escapeGlob(spelled) + ")"}
	if dir := path.Dir(spelled); dir != "." && dir != "/" && risk != RiskHigh {
		proposals = append(proposals, q.call.Tool+"("+escapeGlob(dir)+"/**)")
	}
	return proposals
}
