package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"waggle/internal/cmdline"
)

// JudgeVersion is the version of Judge's answers: it rises with every change of an answer for the
// same call and policy. A record of a verdict holds it, so that an audit knows which verdicts it
// can compute again.
const JudgeVersion = 9

// SameJudge reports whether Judge gives the answers of the judge of a version. Version 6 knew no call that
// is a member's own command (Call.Own).
func SameJudge(version int) bool { return version == JudgeVersion }

// Call is a tool call to be judged. Input is the raw JSON object; for Bash its "command" is the
// shell text, for file tools "file_path", "notebook_path" or "path" the path, for WebFetch "url"
// the address. Cwd is the absolute directory that relative paths and patterns start from; without
// one they cannot be judged and ask.
//
// With Links a path is judged in two spellings, as it is written and with its symbolic links
// resolved: a deny rule that matches either denies, an allow rule or a mode allows what it allows
// in both. The working directory and the literal part of every pattern are resolved alike. Without
// Links paths are judged as text.
//
// Stdin is the command's standard input, Env is added to its environment (NAME=VALUE). An input
// with a "stdin" of its own supplies the standard input itself.
type Call struct {
	Tool  string
	Input json.RawMessage
	Cwd   string
	Links Links
	// Home is a directory that "~" may stand for: deny rules are checked against it too. A path
	// with "~" asks all the same, since not every tool resolves it.
	Home string
	// Guarded are absolute paths that are guarded beside the Guarded names: the team
	// file that was accepted.
	Guarded []string
	Stdin   string
	Env     []string
	// OwnTree: Cwd is in a working tree that no other member and no person works in. It is for RiskOf alone.
	OwnTree bool
	// Sandboxed: it runs wholly inside a sandbox of the member that passed its self-test.
	Sandboxed bool
	// MustAsk says why a person decides where a rule or a mode would allow, in one sentence; "": the rules
	// decide. It allows nothing.
	MustAsk string
	// Own: it is the member's own command of the accepted team file; nil: it is not.
	Own *Own
}

// RuleMustAsk is the Rule of a Verdict that asks because of Call.MustAsk.
const RuleMustAsk = "must ask"

// Verdict is what policy says of a call.
type Verdict struct {
	Decision Decision
	// Rule is the rule or mode that decided: "allow Bash(go test:*)" (more than one
	// joined by ", "), "deny Bash(rm:*)", "mode plan", RuleSandboxed, Own.rule, RuleMustAsk, "no rule",
	// or "input" when the call itself cannot be judged.
	Rule string
	Why  string // one sentence for a person
}

// Decision is the answer to a question. Its zero value denies.
type Decision int

// The decisions.
const (
	Deny Decision = iota
	Allow
	Ask
)

var decisionNames = []string{Deny: "deny", Allow: "allow", Ask: "ask"}

func (d Decision) String() string {
	if d < 0 || int(d) >= len(decisionNames) {
		return fmt.Sprintf("decision(%d)", int(d))
	}
	return decisionNames[d]
}

// ParseDecision reads allow, deny or ask.
func ParseDecision(s string) (Decision, error) {
	if d := slices.Index(decisionNames, s); d >= 0 {
		return Decision(d), nil
	}
	return Deny, fmt.Errorf("policy: unknown decision %q (known: allow, ask, deny)", s)
}

// MarshalText writes allow, deny or ask, and refuses any other value.
func (d Decision) MarshalText() ([]byte, error) {
	if _, err := ParseDecision(d.String()); err != nil {
		return nil, err
	}
	return []byte(d.String()), nil
}

// UnmarshalText is ParseDecision.
func (d *Decision) UnmarshalText(text []byte) error {
	parsed, err := ParseDecision(string(text))
	if err == nil {
		*d = parsed
	}
	return err
}

// NotFreerThan orders decisions deny, ask, allow.
func (d Decision) NotFreerThan(o Decision) bool { return d.rank() <= o.rank() }

func (d Decision) rank() int { return max(0, slices.Index([]Decision{Deny, Ask, Allow}, d)) }

// Judge decides a call: deny rules first, then what the mode forbids, then allow rules, then what
// the mode allows, then the sandbox (Policy.Sandboxed), then the accepted team file (Call.Own), else
// ask; a silent mode turns ask into deny. Modes is the table of modes.
//
// Shell text is judged on its parsed grammar. It is allowed when a rule covers every command, when
// an exact rule is this very text, or when each of its commands is allowed: by a rule for its first
// words, or because it only prints, reads files that Read may read and writes files that Write may
// write. Redirections are such reads and writes. Lists, pipes, subshells, if, for, while, case,
// comments and here-documents are structure; harmless variables may be set; timeout, nice, env,
// xargs, find -exec and sh -c TEXT are opened. What a word is must follow from the text: it is
// literal, a wildcard, a variable that the text sets, or what an allowed command prints. Other
// expansions, functions, background jobs and texts over 16 KiB ask. A deny rule is looked for in
// every command that the text may run, also inside substitutions, functions, wrappers (sudo, env,
// xargs, timeout, ...) and sh -c, one for files in what listed commands read and write; where it may
// match but need not, or where a command is not known before it runs, the call asks and nothing
// allows it.
//
// An input that is not one JSON object that every decoder reads alike, and a key that differs from
// a known one only in case, are denied. Control characters ask.
//
// Judge never fails; it does not allow what it cannot parse (protocol §1.7, §1.8).
func (p Policy) Judge(c Call) Verdict {
	mode, known := lookupMode(p.Mode)
	if !known {
		return Verdict{Deny, "mode " + clip(string(p.Mode)), "This mode is not known, so nothing is allowed."}
	}
	q, err := newQuestion(c)
	if err != nil {
		return Verdict{Deny, "input", sentence(err.Error())}
	}
	v := p.judge(mode, q)
	if v.Decision == Allow && c.MustAsk != "" {
		v = Verdict{Ask, RuleMustAsk, c.MustAsk}
	}
	if v.Decision == Ask && mode.Silent {
		return Verdict{Deny, "mode " + string(mode.Mode), strings.TrimSuffix(v.Why, ".") + "; mode " + string(mode.Mode) + " does not ask."}
	}
	return v
}

func (p Policy) judge(mode ModeInfo, q *question) Verdict {
	found, rule := q.denied(p.Deny)
	if found == cmdline.Yes {
		return Verdict{Deny, "deny " + rule, "A deny rule matches."}
	}
	cell := mode.Cell(q.area)
	used, gap := p.allows(mode, q)
	if gap.reads && cell == Deny {
		cell = Ask // what only reads is judged as Read is
	}
	if !gap.none() && cell == Ask && found == cmdline.No {
		for _, by := range []func(ModeInfo, *question) (Verdict, bool){p.bySandbox, p.byFile} {
			if v, ok := by(mode, q); ok {
				return v
			}
		}
	}
	switch {
	case !gap.none() && cell == Deny:
		return Verdict{Deny, "mode " + string(mode.Mode), fmt.Sprintf("Mode %s does not allow this (%s): %s.", mode.Mode, q.area, gap.why)}
	case !gap.none() && cell == Ask:
		why := q.whyAsk(mode, gap)
		if found == cmdline.Maybe && p.Sandboxed && q.call.Sandboxed {
			why += fmt.Sprintf(" The sandbox does not allow it, because deny %s may match: that cannot be known before it runs.", rule)
		}
		return Verdict{Ask, "no rule", why}
	case found == cmdline.Maybe:
		return Verdict{Ask, "deny " + rule, "A deny rule may match; that cannot be known before it runs."}
	case q.doubt != "":
		return Verdict{Ask, "input", sentence(q.doubt)}
	case len(used) > 0:
		return Verdict{Allow, "allow " + strings.Join(used, ", "), "Allow rules cover all of it."}
	case gap.none() && q.hasText:
		return Verdict{Allow, "mode " + string(mode.Mode), fmt.Sprintf("Mode %s allows what it reads and writes.", mode.Mode)}
	}
	return Verdict{Allow, "mode " + string(mode.Mode), fmt.Sprintf("Mode %s allows this (%s).", mode.Mode, q.area)}
}

// allows returns the allow rules that cover a call, or why rules and mode do not.
func (p Policy) allows(mode ModeInfo, q *question) (used []string, why gap) {
	if q.hasText {
		v := q.cover(mode, p.Allow, p.Deny)
		return v.used, v.gap
	}
	if mode.rulesReach(q.area) {
		used, why = q.allowed(p.Allow)
	}
	if len(used) == 0 && why.none() && mode.Cell(q.area) != Allow {
		why = because("no rule allows this (%s)", q.area)
	}
	return used, why
}

func (q *question) whyAsk(mode ModeInfo, why gap) string {
	switch {
	case q.doubt != "":
		return sentence(q.doubt)
	case !mode.rulesReach(q.area) && !why.reads:
		return fmt.Sprintf("Mode %s asks about this whatever the rules say (%s).", mode.Mode, q.area)
	}
	return sentence(why.why)
}

func sentence(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

// question is a call that has been read.
type question struct {
	call    Call
	place   place
	area    Area
	text    string           // the shell text
	hasText bool             // there is one
	stdin   string           // what it reads
	read    *cmdline.Reading // its commands; made when first needed
	carried *cmdline.Carried // all that it may run
	// rules are rules that were compiled.
	rules map[Rule]compiled
	// resolved are paths that were resolved, by their spelling.
	resolved map[string]target
	targets  []target // the paths
	search   bool     // Grep with content: files below the first target would be shown
	url      string
	host     string // "" when the URL cannot be read
	doubt    string // why the call must ask; no rule and no mode may allow it
}

// Keys of the inputs that are read.
var (
	shellKeys = []string{"command", "stdin", unsandboxed}
	pathKeys  = []string{"file_path", "notebook_path", "path"}
	fileKeys  = append([]string{"pattern", "output_mode"}, pathKeys...)
	webKeys   = []string{"url"}
)

// unsandboxed is the Bash input by which an agent asks to leave its sandbox.
const unsandboxed = "dangerouslyDisableSandbox"

func newQuestion(c Call) (*question, error) {
	if c.Tool == "" || len(c.Tool) > maxToolName {
		return nil, fmt.Errorf("the tool has no name, or one longer than %d bytes", maxToolName)
	}
	if r, bad := cmdline.Invisible(c.Tool, ""); bad {
		return nil, fmt.Errorf("the tool's name holds the invisible character %U", r)
	}
	fields, err := readInput(c.Input)
	if err != nil {
		return nil, err
	}
	q := &question{call: c, place: placeOf(c), area: AreaOther}
	keys := []string(nil)
	switch knownTools[c.Tool] {
	case shellPattern:
		keys = shellKeys
		q.readShell(fields)
		if err := q.readSupplied(fields); err != nil {
			return nil, err
		}
	case pathPattern:
		keys = fileKeys
		q.readPaths(fields)
	case hostPattern:
		keys = webKeys
		q.url, _, _ = stringField(fields, "url")
		q.host = hostOf(q.url)
	default:
		q.area = plainArea(c.Tool)
	}
	if key, as, bad := misspelled(fields, keys); bad {
		return nil, fmt.Errorf("the input spells %q as %q; another reader may take the one for the other", as, clip(key))
	}
	return q, nil
}

// AreaOf says which area a call falls into; false when its input cannot be read.
func AreaOf(c Call) (Area, bool) {
	q, err := newQuestion(c)
	if err != nil {
		return AreaOther, false
	}
	return q.area, true
}

// ReadsTeam reports a tool that only reads the team's lists.
func ReadsTeam(tool string) bool { return plainArea(tool) == AreaTeam }

func plainArea(tool string) Area {
	switch tool {
	case "TaskList", "TaskGet", "ListAgents", "EnterPlanMode":
		return AreaTeam
	case "ExitPlanMode":
		return AreaSubmitPlan
	}
	return AreaOther
}

func (q *question) readShell(fields map[string]json.RawMessage) {
	text, _, ok := stringField(fields, "command")
	q.text, q.hasText = text, ok
	if !ok {
		q.doubt = `there is no shell text under "command"`
		return
	}
	if r, bad := cmdline.Invisible(text, "\n\t"); bad {
		q.doubt = fmt.Sprintf("the shell text holds the invisible character %U", r)
	}
	if v, has := fields[unsandboxed]; has && string(v) != "false" {
		q.doubt = "the call asks to run outside the sandbox"
	}
}

// leadsBelow reports whether a directory is below the working directory when its links are
// resolved.
func (q *question) leadsBelow(dir string) bool {
	t := q.resolve(dir)
	return t.inside && t.doubt == ""
}

func (q *question) resolve(p string) target {
	t, ok := q.resolved[p]
	if !ok {
		t = q.place.resolve(q.call.Cwd, p)
		if q.resolved == nil {
			q.resolved = map[string]target{}
		}
		q.resolved[p] = t
	}
	return t
}

func (q *question) readPaths(fields map[string]json.RawMessage) {
	for _, key := range pathKeys {
		p, present, ok := stringField(fields, key)
		switch {
		case !present:
		case !ok:
			q.targets = append(q.targets, target{doubt: fmt.Sprintf("%q is not a path", key)})
		default:
			q.targets = append(q.targets, q.resolve(p))
		}
	}
	searches := slices.Contains([]string{"Glob", "Grep", "LS"}, q.call.Tool)
	if len(q.targets) == 0 {
		t := target{doubt: "the call names no path"}
		if searches {
			t = q.resolve("")
		}
		q.targets = append(q.targets, t)
	}
	if q.call.Tool == "Glob" {
		q.readGlobPattern(fields)
	}
	if mode, _, _ := stringField(fields, "output_mode"); q.call.Tool == "Grep" && mode == "content" {
		q.search = true
	}
	q.area = pathArea(q.targets, slices.Contains(editTools, q.call.Tool))
}

// readGlobPattern adds where a Glob's own pattern leads.
func (q *question) readGlobPattern(fields map[string]json.RawMessage) {
	pattern, present, ok := stringField(fields, "pattern")
	if !present {
		return
	}
	if !ok {
		q.targets = append(q.targets, target{doubt: "the pattern is not a text"})
		return
	}
	dir, _, _ := stringField(fields, "path")
	root, doubt := globRoot(dir, pattern)
	t := q.resolve(root)
	if t.doubt == "" && doubt != "" {
		t.doubt, t.inside = doubt, false
	}
	q.targets = append(q.targets, t)
}

func pathArea(targets []target, edits bool) Area {
	inside, guarded := true, false
	for _, t := range targets {
		inside = inside && t.inside
		guarded = guarded || len(t.guarded) > 0
	}
	switch {
	case !edits && inside:
		return AreaReadInside
	case !edits:
		return AreaReadOutside
	case !inside:
		return AreaEditOutside
	case guarded:
		return AreaEditGuarded
	}
	return AreaEditInside
}

// allowed returns the allow rules that cover a call that is no shell text, or why they do not.
func (q *question) allowed(rules []Rule) (used []string, why gap) {
	for _, r := range rules {
		if !r.names(q.call.Tool) {
			continue
		}
		m, err := q.compile(r)
		if err != nil {
			continue // a rule that cannot be judged allows nothing
		}
		if m.rule.Pattern == "" || q.covered(m) {
			return []string{m.rule.String()}, gap{}
		}
	}
	for _, t := range q.targets {
		if t.doubt != "" {
			return nil, gap{why: t.doubt}
		}
	}
	return nil, gap{}
}

// allowedBy returns those of the rules that cover the call together, under the mode default.
func (q *question) allowedBy(rules ...Rule) []string {
	mode, _ := lookupMode(ModeDefault)
	used, why := Policy{Allow: rules}.allows(mode, q)
	if !why.none() {
		return nil
	}
	return used
}

// covered matches a pattern that is not a shell pattern.
func (q *question) covered(m matcher) bool {
	switch {
	case m.glob != "":
		for _, t := range q.targets {
			if !q.place.allowsPath(m.glob, q.call.Cwd, t, slices.Contains(editTools, q.call.Tool)) {
				return false
			}
		}
		return len(q.targets) > 0
	case m.host != "":
		return q.host != "" && allowsHost(m.host, q.host)
	}
	return false
}

// compiled is what compile returns.
type compiled struct {
	matcher
	err error
}

func (q *question) compile(r Rule) (matcher, error) {
	c, ok := q.rules[r]
	if !ok {
		if q.rules == nil {
			q.rules = map[Rule]compiled{}
		}
		c.matcher, c.err = compile(r)
		q.rules[r] = c
	}
	return c.matcher, c.err
}

// denied returns the strongest answer of the deny rules, and the first rule that
// gives it.
func (q *question) denied(rules []Rule) (found cmdline.Match, rule string) {
	for _, r := range rules {
		if m := q.deniedBy(r); m > found {
			found, rule = m, clip(r.String())
		}
	}
	return found, rule
}

func (q *question) deniedBy(r Rule) cmdline.Match {
	if r.Tool == "" {
		return cmdline.Yes // cannot be judged, so it denies
	}
	if q.hasText && (r.Tool == "Read" || r.Tool == "Edit" || r.Tool == "Write") {
		if m, err := q.compile(r); err == nil {
			return q.deniedFiles(r.Tool, m.glob)
		}
	}
	reached, alias := r.reaches(q.call.Tool)
	if !reached {
		return cmdline.No
	}
	m, err := q.compile(r)
	switch {
	case err != nil || m.rule.Pattern == "":
		return cmdline.Yes
	case alias:
		return cmdline.Maybe
	case knownTools[r.Tool] == shellPattern:
		return q.deniedText(m.shell)
	case m.glob != "":
		return q.deniedPath(m.glob)
	case q.host != "" && deniesHost(m.host, q.host), q.host == "" && mentionsHost(m.host, q.url):
		return cmdline.Yes
	case q.host == "":
		return cmdline.Maybe
	}
	return cmdline.No
}

func (q *question) deniedText(r cmdline.ShellRule) cmdline.Match {
	if !q.hasText {
		return cmdline.Maybe
	}
	found := max(r.Denies(q.carries(), q.call.Cwd), q.deniedSupplied(r))
	if found == cmdline.Yes || q.call.Links == nil || r.Words == nil {
		return found
	}
	return max(found, q.deniedFollowed(r))
}

// deniedFollowed matches the commands that are named by a path under the names that
// their links lead to: ./x that is a link to /bin/rm is rm. A rule for a path counts
// for what that path leads to, too.
func (q *question) deniedFollowed(r cmdline.ShellRule) cmdline.Match {
	rules := []cmdline.ShellRule{r}
	if strings.HasPrefix(r.Words[0], "/") {
		if real, err := q.place.real(r.Words[0]); err == nil && real != r.Words[0] {
			led := r
			led.Words = append([]string{real}, r.Words[1:]...)
			rules = append(rules, led)
		}
	}
	found := cmdline.No
	for _, c := range q.carries().Commands {
		if len(c) == 0 || c[0].Sure == cmdline.Unknown || !strings.Contains(c[0].Text, "/") {
			continue
		}
		t := q.resolve(c[0].Text)
		if len(t.real) == 0 && c[0].Sure == cmdline.Literal {
			found = max(found, cmdline.Maybe)
		}
		for _, name := range append([]string{c[0].Text}, t.real...) {
			led := append([]cmdline.Word{{Text: name, Sure: c[0].Sure}}, c[1:]...)
			for _, rule := range rules {
				found = max(found, rule.Hits(led, q.call.Cwd))
			}
		}
	}
	return found
}

func (q *question) deniedPath(glob string) cmdline.Match {
	found := cmdline.No
	for _, t := range q.targets {
		found = max(found, q.place.deniesPath(glob, q.call.Cwd, t))
	}
	if found == cmdline.No && q.search && q.place.mayLieBelow(glob, q.call.Cwd, q.targets[0]) {
		found = cmdline.Maybe
	}
	return found
}
