package draft

import (
	"fmt"
	"slices"
	"strings"

	"waggle/operator"
)

// The templates of team files. The zero one is a member for each check of the directory.
const (
	Checks  = ""
	Review  = "review"
	Bugfix  = "bugfix"
	CI      = "ci"
	Migrate = "migrate"
)

// Templates are the templates that have a name.
func Templates() []string { return []string{Review, Bugfix, CI, Migrate} }

// check is a command that a project is checked by.
type check struct{ member, rule, command, subject string }

// checks are those of the directory.
func (f Facts) checks() (cs []check) {
	if f.has("go.mod") {
		cs = append(cs, check{"fmt", "gofmt:*", "gofmt -d .", "Check the format"}, check{"vet", "go vet:*", "go vet ./...", "Vet"},
			check{"test", "go test:*", "go test ./...", "Run the tests"})
	}
	if f.has("package.json") {
		cs = append(cs, check{"npm", "npm test", "npm test", "Run the npm tests"})
	}
	if f.has(python...) {
		cs = append(cs, check{"python", "python3 -m pytest:*", "python3 -m pytest", "Run the Python tests"})
	}
	if f.has("Cargo.toml") {
		cs = append(cs, check{"cargo", "cargo test:*", "cargo test", "Run the Rust tests"})
	}
	if f.has("Makefile") && f.target("test") {
		cs = append(cs, check{"make", "make test:*", "make test", "Run make test"})
	}
	if len(cs) == 1 { // else each is named after its program
		cs[0].member = "test"
	}
	return cs
}

// target reports a target of the Makefile.
func (f Facts) target(name string) bool {
	return slices.ContainsFunc(strings.Split(string(f.read("Makefile")), "\n"), func(l string) bool { return strings.HasPrefix(l, name+":") })
}

// hello is the check of a directory in which nothing is known.
var hello = check{"hello", "echo:*", "echo hello from a worker", "Say hello"}

// Template writes the team file of a template for a directory. One whose members are coding agents
// needs an installed one.
func Template(name string, f Facts) (string, error) {
	cs := f.checks()
	switch name {
	case Checks:
		if len(cs) == 0 {
			cs = []check{hello}
		}
	case CI:
		if len(cs) == 0 {
			return "", &operator.Error{Kind: operator.NotFound, Op: "init", Msg: fmt.Sprintf("nothing to check is in %s: none of %s, and no Makefile with a target test", f.Dir, strings.Join(marks[:len(marks)-1], ", ")),
				Next: operator.NextOwnChecks.With()}
		}
	case Review, Bugfix, Migrate:
		if !slices.Contains(f.Agents, KnownAgents[0]) {
			return "", f.noAgent(name)
		}
	default:
		return "", &operator.Error{Kind: operator.Usage, Op: "init", Msg: fmt.Sprintf("there is no template %q", name), Near: Templates()}
	}
	d := drafting{f: f, name: name, checks: cs}
	d.write()
	return d.b.String(), nil
}

// noAgent is the error of a template that needs an agent where none is installed.
func (f Facts) noAgent(template string) error {
	why := KnownAgents[0] + " is not in PATH"
	if len(f.Agents) > 0 {
		why += fmt.Sprintf("; %s has no agent of its own in a team file, and can be the command of a member of agent exec", strings.Join(f.Agents, " and "))
	}
	return &operator.Error{Kind: operator.NotFound, Op: "init", Msg: fmt.Sprintf("template %s needs a coding agent, and %s", template, why), Next: operator.NextInstallAgent.With()}
}

// drafting is one template that is written.
type drafting struct {
	f      Facts
	name   string
	checks []check
	b      strings.Builder
}

func (d *drafting) line(format string, args ...any) { fmt.Fprintf(&d.b, format+"\n", args...) }

func (d *drafting) write() {
	d.line("# A team for waggle.")
	d.line("team: %s", scalar(TeamName(d.f.Dir)))
	d.line("lead: operator                  # a person decides")
	d.line("")
	d.line("# Who decides what no rule allows: operator (a person) | rules (policy, else operator).")
	d.line("decide: {tool: operator, plan: operator, network: operator}")
	d.policy()
	d.line("# As much of a sandbox as this machine has. {mode: required} starts no member without")
	d.line("# all of it, {mode: off} lets members run as you.")
	d.sandbox()
	d.line("")
	if cs := d.f.checks(); (d.merges() || d.hasDev()) && len(cs) > 0 {
		d.line("# What must succeed in a member's worktree before its task is done, and before its work is merged.")
		d.line("check: %q", joined(cs))
		d.line("")
	}
	d.members()
	d.tasks()
	if len(d.f.Agents) > 0 {
		d.line("")
		d.line("# Found on this machine: %s.", strings.Join(d.f.Agents, ", "))
	}
}

// merges reports a template whose members change files.
func (d *drafting) merges() bool { return d.name == Bugfix || d.name == Migrate }

// hasDev reports a file with a coding agent that waits for tasks: the plain one, where an agent is installed
// and can have a worktree.
func (d *drafting) hasDev() bool {
	return d.name == Checks && d.f.commits && slices.Contains(d.f.Agents, KnownAgents[0])
}

func joined(cs []check) string {
	var texts []string
	for _, c := range cs {
		texts = append(texts, c.command)
	}
	return strings.Join(texts, " && ")
}

func (d *drafting) policy() {
	d.line("")
	d.line("policy:")
	if d.merges() {
		d.line("  # Edits in a member's own worktree do not ask: you look at them before the merge.")
		d.line("  mode: %s", d.f.mode())
	} else {
		d.line("  mode: default")
	}
	rules := []string{}
	for _, c := range d.checks {
		rules = append(rules, fmt.Sprintf("Bash(%s)", c.rule))
	}
	if d.hasDev() || d.merges() {
		for _, r := range d.f.work() {
			rules = append(rules, fmt.Sprintf("Bash(%s)", r))
		}
	}
	if d.name == Review {
		rules = append(rules, "Read", "Grep", "Glob", "Bash(git diff:*)", "Bash(git log:*)", "Bash(git show:*)")
	}
	if len(rules) > 0 {
		d.line("  # Whoever may run a build or test command runs whatever code is there. Commits are on a member's own branch.")
		d.line("  allow:")
		for _, r := range rules {
			d.line("    - %q", r)
		}
		proposed := slices.DeleteFunc(slices.Clone(d.f.allowed), func(r string) bool { return slices.Contains(rules, r) })
		if len(proposed) > 0 {
			d.line("    # Your Claude Code settings allow these to every session; a team has them when you say so:")
		}
		for _, r := range proposed {
			d.line("    # - %q", r)
		}
	}
	if d.name == Review {
		d.line("  deny:")
		d.line("    - \"Edit\"")
		d.line("    - \"Write\"")
	} else {
		d.line("  # What nobody may allow. Under such a rule a command that might do it unseen asks: python3 -c, $(...).")
		d.line("  # deny: [\"Bash(git push:*)\"]")
	}
	d.line("  # A shell call that runs wholly inside a sandbox that passed its self-test does not ask.")
	d.line("  sandboxed: %s", d.f.sandboxed())
	d.line("")
}

func (d *drafting) members() {
	d.line("members:")
	switch d.name {
	case Review:
		d.line("  - {name: reviewer, agent: claude, worktree: true}")
	case Bugfix:
		d.line("  - {name: fixer, agent: claude, worktree: true}")
	case Migrate:
		d.line("  # It changes nothing before you have approved its plan.")
		d.line("  - {name: migrator, agent: claude, worktree: true, plan: required}")
	}
	if d.hasDev() {
		d.line("  # A coding agent in a worktree of its own, where its edits do not ask: you look at them before")
		d.line("  # the merge. It waits for work.")
		d.line("  - {name: dev, agent: claude, worktree: true, mode: %s}", d.f.mode())
	}
	if d.merges() {
		return
	}
	for _, c := range d.checks {
		d.line("  - {name: %s, agent: exec}", c.member)
	}
}

func (d *drafting) tasks() {
	d.line("")
	d.line("tasks:")
	if !d.merges() {
		for _, c := range d.checks {
			d.line("  - {subject: %q, owner: %s, instructions: %q}", c.subject, c.member, c.command)
		}
	}
	switch d.name {
	case Review:
		d.line(`  - subject: "Review the changes"
    owner: reviewer
    instructions: |
      Review what the branch of this checkout changes against the main branch: git log and git diff.
      Change nothing. For each problem say the file, the line, what happens and what should. Say
      which of them must be fixed before a merge, and say so plainly when there is none.`)
	case Bugfix:
		d.line(`  - subject: "Fix the bug"
    owner: fixer
    instructions: |
      # Say here what happens, what should happen, and how to see it.
      Find the cause first. Write a test that fails because of it, then fix it, then run all tests.`)
	case Migrate:
		d.line(`  - subject: "Migrate"
    owner: migrator
    instructions: |
      # Say here from what to what.
      Propose a plan first: the order of steps, what each changes, how each is checked, and how to
      go back. After it is approved do one step after the other, each in a commit of its own that
      builds and passes the tests.`)
	}
}

// sandbox writes the block. The hosts are in it and not in Open's, because the person reads this file.
func (d *drafting) sandbox() {
	hosts := d.f.registries()
	if len(hosts) == 0 {
		d.line("sandbox: {mode: auto%s}", d.f.caches())
		return
	}
	d.line("sandbox:")
	d.line("  mode: auto")
	d.line("  %s", strings.TrimPrefix(d.f.caches(), ", "))
	d.line("  # Where packages come from: members reach these hosts without a question, every other one asks.")
	d.line("  network: [%s]", `"`+strings.Join(hosts, `", "`)+`"`)
}

// Open is the file of a team without members: edits in a member's own tree are free, a person decides what no rule
// allows, and commands are confined as far as the machine can.
func Open(name string, f Facts) string {
	return fmt.Sprintf(`team: %s
lead: operator
decide: {tool: operator, plan: operator, network: operator}
policy: {mode: %s, sandboxed: %s}
sandbox: {mode: auto%s}
members: []
`, scalar(name), f.mode(), f.sandboxed(), f.caches())
}
