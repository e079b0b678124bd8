package policy

import (
	"path"
	"slices"
	"strings"

	"waggle/internal/cmdline"
)

// Suggest is Policy.Suggest of a policy without rules in ModeDefault.
func Suggest(c Call) []Rule { return Policy{Mode: ModeDefault}.Suggest(c) }

// Suggest proposes allow rules for a call that asks, narrowest first, for a person who wants to be asked less often. Each
// one, added to the policy, allows the call; a call that no single rule could or should allow gets no proposal. Of a shell
// text it is a rule for the parts that nothing allows yet. It proposes exact commands and short prefixes, single files and
// their directories, single hosts; never a shell, an interpreter, a wrapper such as sudo or xargs as a prefix, never a
// prefix or a directory for a call of RiskHigh, never a whole tool that takes patterns, never a plan's approval.
func (p Policy) Suggest(c Call) []Rule {
	q, err := newQuestion(c)
	if err != nil || q.doubt != "" {
		return nil
	}
	var proposals []string
	switch {
	case q.hasText:
		proposals = p.shellProposals(q, RiskOf(c))
	case len(q.targets) > 0:
		proposals = q.pathProposals(RiskOf(c))
	case q.host != "":
		proposals = []string{"WebFetch(" + domainPrefix + q.host + ")"}
	case knownTools[c.Tool] == noPattern && q.area != AreaSubmitPlan:
		proposals = []string{c.Tool}
	}
	c.MustAsk = "" // it asks all the same, and the rule is for calls that need not
	var out []Rule
	for _, s := range proposals {
		r, err := ParseRule(s)
		if err != nil || slices.Contains(out, r) {
			continue
		}
		with := p
		with.Allow = append(slices.Clip(p.Allow), r)
		if with.Judge(c).Decision == Allow {
			out = append(out, r)
		}
	}
	return out
}

// shellProposals are the text itself, and what begins every part of it that the policy does not allow.
func (p Policy) shellProposals(q *question, risk Risk) []string {
	text := strings.Trim(q.text, " \t\n")
	proposals := []string{"Bash(" + text + ")"}
	if risk == RiskHigh {
		return proposals
	}
	parts := p.uncovered(q)
	if plain, err := cmdline.PlainCommand(text); len(parts) == 0 && err == nil {
		parts = [][]cmdline.Word{cmdline.Lits(plain)} // allowed as it is
	}
	if len(parts) == 0 {
		return proposals
	}
	words, _ := cmdline.LiteralWords(parts[0][:literalWords(parts[0])])
	if len(words) == 0 {
		return proposals
	}
	least := leastPrefix(parts[0], words)
	if slices.ContainsFunc(words[:min(least, len(words))], func(w string) bool { return strings.HasPrefix(w, "-") }) {
		return proposals // an option stands where the command's own words should
	}
	for n := min(len(words), least+1); n >= least && least > 0; n-- {
		prefix := cmdline.ShellRule{Prefix: true, Words: words[:n]}
		if slices.ContainsFunc(parts, func(w []cmdline.Word) bool { return !prefix.AllowsWords(w) }) {
			continue
		}
		if quoted, err := cmdline.Quote(words[:n]); err == nil {
			proposals = append(proposals, "Bash("+quoted+":*)")
		}
	}
	return proposals
}

func literalWords(words []cmdline.Word) int {
	if n := slices.IndexFunc(words, func(w cmdline.Word) bool { return w.Sure != cmdline.Literal }); n >= 0 {
		return n
	}
	return len(words)
}

// uncovered are the commands of a text that the policy does not allow; none where a part of it is not understood.
func (p Policy) uncovered(q *question) (all [][]cmdline.Word) {
	mode, _ := lookupMode(p.Mode)
	v := q.cover(mode, p.Allow, p.Deny)
	var look func(r cmdline.Reading) bool
	look = func(r cmdline.Reading) bool {
		for _, c := range r.Commands {
			switch {
			case len(c.Words) == 0, v.words(c).none():
			case c.Inner == nil:
				all = append(all, c.Words)
			case !look(*c.Inner):
				return false
			}
		}
		return len(r.Unclear) == 0
	}
	if !look(q.reading()) {
		return nil
	}
	return all
}

// leastPrefix is how many words a prefix for a command needs at least; 0 is never.
func leastPrefix(part []cmdline.Word, words []string) int {
	name := words[0]
	base := cmdline.BaseName(name)
	_, wraps := cmdline.Wrappers[base]
	switch base {
	case "go", "git", "docker", "podman":
		if len(words) > 1 && runsMore[base+" "+words[1]] {
			return 0
		}
		if len(words) > 1 && words[1] == "compose" {
			return 3
		}
		return 2
	case "cargo", "make", "just", "task", "gh", "dotnet", "mvn", "gradle", "bazel", "swift":
		return 2
	case "npm", "pnpm", "yarn", "bun", "uv", "poetry":
		return 3
	case "sh", "bash", "dash", "zsh", "ksh", "fish", "eval", "watch", "ssh", "trap", "alias", "find", "fd", "busybox", "source", ".", "sed", "gsed", "tar", "printf", "command", "cmake":
		return 0
	}
	if wraps || cmdline.CodeReaders[cmdline.ProgramName(name)] || cmdline.CodeReaders[base] {
		return 0
	}
	if fit, ok := cmdline.LookUp(part); ok && !fit.Any && (fit.Write || fit.Risk == cmdline.RiskLow) || fit.Any && fit.Write {
		return 0 // other options of it write, or run programs
	}
	return 1
}

// runsMore are commands whose other words run programs.
var runsMore = map[string]bool{"git config": true, "git submodule": true, "git bisect": true, "git remote": true, "git rebase": true, "git worktree": true,
	"git filter-branch": true, "git difftool": true, "git mergetool": true, "go tool": true}

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
