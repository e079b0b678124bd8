// Package fileview says what a team file means, line by line, for the person who accepts it.
package fileview

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"waggle/agent"
	"waggle/internal/face/view/sentence"
	"waggle/internal/json/jsontext"
	"waggle/operator"
	"waggle/operator/fresh"
	"waggle/operator/teamfile"
	"waggle/policy"
	"waggle/record"
)

// Meaning is what a team file says once it is read: who decides, what is allowed, what
// each member and task runs. It is made of the decoded values, the ones that are acted
// on, so that nothing in the way a file is written shows something else. It is whole:
// nothing is cut, each line is safe to show (Visible), and a text of several lines has
// a line for each, behind a bar.
func Meaning(f *teamfile.File) []string {
	var m meaning
	m.say("team", "%s", f.Team)
	if f.Lead == nil {
		m.say("lead", "you, the operator")
	} else {
		m.say("lead", "%s, an agent", f.Lead.Name)
	}
	m.say("tool calls", "%s", decides(f.Decide[policy.GateTool]))
	m.say("plans", "%s", decides(f.Decide[policy.GatePlan]))
	m.say("network", "%s", decides(f.Decide[policy.GateNetwork]))
	if f.Deadline > 0 {
		m.say("deadline", "a question is denied after %s", f.Deadline)
	}
	m.policy("", f.Policy)
	if f.LeadPolicy != nil {
		m.policy("lead's ", *f.LeadPolicy)
	}
	m.say("mailboxes", "%s", f.Layout)
	m.sandbox(f)
	m.budget("budget", f.Budget)
	if f.Check != nil {
		m.check("check", f.Check, true)
	}
	if f.Prepare != nil {
		m.say("worktrees", "what those without a mapping of their own get, also of members that are added:")
		m.preparation("    ", nil, f.Prepare)
	}
	if f.Lead != nil {
		m.member(f, "leading", *f.Lead)
	}
	for _, member := range f.Members {
		m.member(f, "member", member)
	}
	for i, t := range f.Tasks {
		m.task(f, i, t)
	}
	return m.lines
}

// check says what decides that a task is done. back: the agent gets its output.
func (m *meaning) check(key string, k *record.Check, back bool) {
	returns := ""
	if back {
		returns = fmt.Sprintf("; its output goes back to the agent at most %d times", k.Returns)
	}
	m.say(key, "runs before a task is done, at most %s%s:", k.Timeout(), returns)
	m.quote(k.Command)
}

func (m *meaning) budget(key string, l *record.Limit) {
	if l != nil {
		m.say(key, "%s, then it asks you", l)
	}
}

// meaning collects lines.
type meaning struct{ lines []string }

func (m *meaning) say(key, format string, args ...any) {
	m.lines = append(m.lines, operator.Visible(fmt.Sprintf("%-14s "+format, append([]any{key}, args...)...)))
}

// each says every one of a list.
func (m *meaning) each(key, format string, values []string) {
	for _, v := range values {
		m.say(key, format, v)
	}
}

// set says a value that is not empty.
func (m *meaning) set(key, value string) {
	if value != "" {
		m.say(key, "%s", value)
	}
}

// quote has each line of a text behind a bar.
func (m *meaning) quote(text string) {
	for _, l := range strings.Split(text, "\n") {
		m.lines = append(m.lines, "      | "+operator.Visible(l))
	}
}

// text is a value of maybe several lines.
func (m *meaning) text(key, s string) {
	m.say(key+":", "%s", "")
	m.lines[len(m.lines)-1] = strings.TrimRight(m.lines[len(m.lines)-1], " ")
	m.quote(strings.TrimSuffix(s, "\n"))
}

func decides(d policy.Decider) string {
	switch d {
	case policy.DecideOperator:
		return "you decide"
	case policy.DecideRules:
		return "the rules decide, else you"
	case policy.DecideAuto:
		return "approved without anybody looking"
	case policy.DecideLeader:
		return "the lead decides"
	case policy.DecideTwo:
		return "the lead and you decide, both"
	}
	return string(d)
}

func (m *meaning) policy(whose string, p policy.Policy) {
	mode := string(p.Mode)
	for _, i := range policy.Modes() {
		if i.Mode == p.Mode {
			mode += ": " + i.Meaning
		}
	}
	m.say(whose+"mode", "%s", mode)
	if p.Sandboxed {
		m.say(whose+"sandboxed", "allow: %s", sentence.Sandboxed)
	}
	m.rules(whose+"allow", p.Allow)
	m.rules(whose+"deny", p.Deny)
}

func (m *meaning) rules(key string, rules []policy.Rule) {
	if len(rules) == 0 {
		m.say(key, "nothing by a rule")
	}
	for _, r := range rules {
		m.say(key, "%s", r)
	}
}

func (m *meaning) sandbox(f *teamfile.File) {
	m.confined("sandbox", f.Sandbox)
	for _, h := range f.Network {
		m.say("  network", "%s", strings.TrimPrefix(h.String(), "net "))
	}
}

// confined says what a sandbox block asks for. s may be nil.
func (m *meaning) confined(key string, s *record.Sandbox) {
	switch {
	case !s.Asked():
		m.say(key, "none: members run as you, with your files and network")
		return
	case s.Mode == record.SandboxAuto:
		m.say(key, "where there is one; without it members run as you, with your files and network")
	default:
		m.say(key, "required: without one no member starts")
	}
	m.each("  cache", "%s", s.Caches)
	m.set("  unix sockets", string(s.UnixSockets))
	m.each("  secret", "%s", s.Secrets)
	m.each("  readable", "%s", s.Readable)
	m.each("  writable", "%s, outside of its tree", s.Writable)
	m.each("  variable", "%s, of your environment", s.Variables)
	if l := s.Limits; l != nil {
		m.say("  limits", "%s", limitsText(*l))
	}
}

func limitsText(l record.SandboxLimits) string {
	var parts []string
	ms := func(n int64) string { return (time.Duration(n) * time.Millisecond).String() }
	for _, p := range []struct {
		set  bool
		text string
	}{{l.CPU > 0, "processor time " + ms(l.CPU)}, {l.Memory > 0, fmt.Sprintf("memory %d bytes", l.Memory)}, {l.Processes > 0, fmt.Sprintf("%d processes", l.Processes)},
		{l.Time > 0, "time " + ms(l.Time)}, {l.Output > 0, fmt.Sprintf("output %d bytes", l.Output)}} {
		if p.set {
			parts = append(parts, p.text)
		}
	}
	return strings.Join(parts, ", ")
}

func (m *meaning) member(f *teamfile.File, what string, x teamfile.FileMember) {
	m.say(what, "%s: agent %s, backend %s", x.Name, x.Agent, x.Backend)
	if x.Worktree {
		m.say("  in", "a new git worktree of %s", x.Cwd)
		m.preparation("    ", x.Included, x.Prepare)
	} else {
		m.say("  in", "%s", x.Cwd)
	}
	if d := x.Definition; d != nil {
		m.say("  type", "%s: prompt, model and tools of %s, SHA-256 %s", d.Name, d.Path, d.SHA256)
	}
	m.set("  model", string(x.Model))
	m.set("  mode", string(x.Mode))
	if x.PlanRequired {
		m.say("  plan", "asks before it works")
	}
	m.set("  color", string(x.Color))
	m.say("  restart", "%s", restartText(x.Restart))
	if x.Sandbox != f.Sandbox {
		m.confined("  sandbox", x.Sandbox)
	}
	m.budget("  budget", x.Budget)
	if x.Check != nil && x.Check != f.Check {
		m.check("  check", x.Check, agent.SaysSo(x.Agent))
	}
	m.say("  environment", "yours; the file adds nothing")
	switch x.Agent {
	case "exec":
		var s agent.ExecSpec
		if json.Unmarshal(x.Spec, &s) != nil || len(s.Command) == 0 {
			m.say("  runs", "its tasks' instructions, each as a shell text")
			return
		}
		m.text("  runs", quoted(s.Command))
	case "script":
		m.script(x.Spec)
	default:
		m.text("  settings", string(x.Spec))
	}
}

// quoted writes each word of a command so that its ends are visible.
func quoted(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = strconv.Quote(a)
	}
	return strings.Join(words, " ")
}

func restartText(r *record.Restart) string {
	if r == nil {
		return "never"
	}
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	return fmt.Sprintf("when its process dies, at most %d times in %s, after %s up to %s", r.Most, ms(r.Window), ms(r.First), ms(r.Longest))
}

// script shows each step of a script as it is stored.
func (m *meaning) script(spec json.RawMessage) {
	var s struct {
		Steps  []json.RawMessage `json:"steps"`
		OnMail []json.RawMessage `json:"on_mail"`
		Decide json.RawMessage   `json:"decide"`
	}
	if err := json.Unmarshal(spec, &s); err != nil {
		m.text("  settings", string(spec))
		return
	}
	if len(s.Decide) > 0 {
		m.text("  answers", plainJSON(s.Decide))
	}
	m.steps("step", s.Steps)
	m.steps("on mail, step", s.OnMail)
}

func (m *meaning) steps(what string, steps []json.RawMessage) {
	for i, step := range steps {
		m.text(fmt.Sprintf("  %s %d", what, i+1), plainJSON(step))
		var t struct {
			Tool *agent.ToolStep `json:"tool"`
		}
		if json.Unmarshal(step, &t) == nil && t.Tool != nil && t.Tool.Name == "Bash" {
			if command := jsontext.TextAt(t.Tool.Input, "command"); command != "" {
				m.text("  which runs", command)
			}
		}
	}
}

// plainJSON writes a value's characters as they are: json.Marshal escapes & and <.
func plainJSON(raw json.RawMessage) string {
	if v, err := jsontext.Value(raw); err == nil {
		if b, err := jsontext.Marshal(v); err == nil {
			raw = b
		}
	}
	return string(raw)
}

func (m *meaning) task(f *teamfile.File, i int, t teamfile.FileTask) {
	m.say(fmt.Sprintf("task %d", i+1), "%s, owner %s", strconv.Quote(t.Subject), t.Owner)
	m.each("  after", "%q", t.After)
	if !t.Required {
		m.say("  required", "no: the run may succeed without it")
	}
	if t.Timeout > 0 {
		m.say("  timeout", "%s", t.Timeout)
	}
	var owner teamfile.FileMember
	for _, x := range f.Members {
		if x.Name == t.Owner {
			owner = x
		}
	}
	if t.Check != nil {
		m.check("  check", t.Check, agent.SaysSo(owner.Agent))
	}
	m.say("  in", "%s", taskDir(owner, t))
	if owner.Agent != "exec" {
		m.text("  instructions", t.Instructions)
		return
	}
	c, err := agent.ExecCommand(owner.Spec, agent.Task{Subject: t.Subject, Instructions: t.Instructions})
	if err != nil {
		m.say("  runs", "nothing: %s", err)
		return
	}
	if len(c.Argv) == 3 && c.Argv[0] == "sh" && c.Argv[1] == "-c" {
		m.text("  runs with sh", c.Argv[2])
	} else {
		m.text("  runs", quoted(c.Argv))
	}
	if c.Stdin != "" {
		m.text("  which reads", c.Stdin)
	}
}

// taskDir is where a task of a member runs; a worktree is not made yet.
func taskDir(owner teamfile.FileMember, t teamfile.FileTask) string {
	dir := cmp.Or(t.Cwd, owner.Cwd)
	if t.Cwd != "" && !filepath.IsAbs(t.Cwd) {
		dir = filepath.Join(owner.Cwd, t.Cwd)
	}
	switch {
	case owner.Worktree && filepath.IsAbs(t.Cwd):
		return dir + ", in its worktree when that is in the checkout"
	case owner.Worktree:
		return "its worktree of " + dir
	}
	return dir
}

// preparation says what worktrees get, and what runs in them. included are the files that
// .worktreeinclude names.
func (m *meaning) preparation(indent string, included []string, p *record.Preparation) {
	m.each(indent+"copied", "%s, named in .worktreeinclude", included)
	if p == nil {
		return
	}
	m.each(indent+"copied", "%s, which git ignores", p.Copy)
	m.each(indent+"linked", "%s, which git ignores", p.Link)
	for _, text := range p.Setup {
		m.text(indent+"setup runs as you", text)
	}
}

// PreparationText shows what the worktrees of new members get by a team file that was only found,
// before a question about it.
func PreparationText(f fresh.Found) string {
	what := fmt.Sprintf("found %s (sha256 %.16s).", operator.Visible(f.File.Path), f.File.SHA256)
	if f.Changed {
		what = fmt.Sprintf("%s has changed since you accepted it (sha256 %.16s).", operator.Visible(f.File.Path), f.File.SHA256)
	}
	var m meaning
	m.preparation("", f.Included, f.File.Prepare)
	if f.File.Check != nil {
		m.text("check before it is done, and merged", f.File.Check.Command)
	}
	return what + " A new member gets:\n\n" + strings.Join(m.lines, "\n")
}
