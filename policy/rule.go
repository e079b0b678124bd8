package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"waggle/internal/cmdline"
	"waggle/internal/cut"
	"waggle/protocol"
)

// Rule is one permission rule (protocol §1.8; seed 000's allowedTools).
//
//	Tool                     every call of the tool
//	Bash(git:*)              commands whose first words are these: git, git status; not gitk
//	Bash(npm run test:*)     the same with more words
//	Bash(go vet ./...)       exactly this command, however it is quoted; or, byte for byte, exactly this text
//	Read(docs/**)            a path glob, relative to the working directory
//	Edit(/abs/dir/*.go)      a path glob from the root; //abs/dir is the same
//	WebFetch(domain:x.org)   a host; *.x.org are the hosts under it
//	mcp__server              every tool of an MCP server; mcp__server__* is the same
//	mcp__server__tool        one tool of it
//	mcp__server__get*        its tools whose names begin so
//
// Tool names are case-sensitive. An allow rule is for the tool it names. A deny
// rule reaches further: Read denies NotebookRead, Glob, Grep and LS too, Edit
// denies Write, MultiEdit and NotebookEdit, a command is found inside
// substitutions, wrappers and sh -c, behind a path, with its flags in any order
// and spelling, and names and paths are compared without regard to case.
//
// In an allow rule for edits a wildcard does not match a Guarded name; a rule
// that is meant to allow it spells it out: Edit(.git/**).
//
// A Rule made without ParseRule is checked when it is judged: one that cannot be
// judged allows nothing, and as a deny rule denies its whole tool.
type Rule struct {
	Tool    string
	Pattern string // "" means every call of the tool
}

// Limits of a rule, in bytes.
const (
	maxToolName = 256
	maxPattern  = 4096
)

// ParseRule parses a rule and refuses one that could not be judged, so that no rule in force can
// never match: an empty or overlong rule, unbalanced parentheses, control and invisible characters (a
// shell text may have line breaks and tabs),
// a tool name in the wrong case, a pattern for a tool that has none, a wildcard in a shell pattern
// other than a final ":*", a shell prefix that is not plain words, a glob that cannot be read, "~",
// "..", after a wildcard, a host that is not one.
func ParseRule(s string) (Rule, error) {
	r, err := splitRule(strings.TrimSpace(s))
	if err != nil {
		return Rule{}, fmt.Errorf("policy: rule %q: %w", clip(s), err)
	}
	m, err := compile(r)
	if err != nil {
		return Rule{}, fmt.Errorf("policy: rule %q: %w", clip(s), err)
	}
	return m.rule, nil
}

// MustRules parses rules that are known to be right, and panics otherwise: for
// tests and for rules written in a program.
func MustRules(texts ...string) []Rule {
	rules := make([]Rule, len(texts))
	for i, s := range texts {
		r, err := ParseRule(s)
		if err != nil {
			panic(err)
		}
		rules[i] = r
	}
	return rules
}

// FromWire reads a rule as team_permission_update carries it (protocol §1.8).
func FromWire(w protocol.PermissionRule) (Rule, error) {
	if strings.ContainsAny(w.ToolName, "()") {
		return Rule{}, fmt.Errorf("policy: rule for tool %q: the tool name holds a parenthesis", clip(w.ToolName))
	}
	if w.RuleContent == "" {
		return ParseRule(w.ToolName)
	}
	return ParseRule(w.ToolName + "(" + w.RuleContent + ")")
}

// Wire writes the rule as team_permission_update carries it (protocol §1.8).
func (r Rule) Wire() protocol.PermissionRule {
	return protocol.PermissionRule{ToolName: r.Tool, RuleContent: r.Pattern}
}

func (r Rule) String() string {
	if r.Pattern == "" {
		return r.Tool
	}
	return r.Tool + "(" + r.Pattern + ")"
}

// MarshalText writes the rule as ParseRule reads it, and refuses a rule that
// ParseRule would refuse or read otherwise.
func (r Rule) MarshalText() ([]byte, error) {
	back, err := ParseRule(r.String())
	if err != nil {
		return nil, err
	}
	if back != r {
		return nil, fmt.Errorf("policy: rule %q would be read back as %q", clip(r.String()), back)
	}
	return []byte(r.String()), nil
}

// UnmarshalText is ParseRule.
func (r *Rule) UnmarshalText(text []byte) error {
	parsed, err := ParseRule(string(text))
	if err == nil {
		*r = parsed
	}
	return err
}

// breaksIn are the characters that a rule may hold beside visible ones: in a shell text line breaks and tabs.
func breaksIn(rule string) string {
	if tool, _, _ := strings.Cut(rule, "("); knownTools[tool] == shellPattern {
		return "\n\t"
	}
	return ""
}

func splitRule(s string) (Rule, error) {
	switch {
	case s == "":
		return Rule{}, errors.New("empty")
	case !utf8.ValidString(s):
		return Rule{}, errors.New("not valid UTF-8")
	case len(s) > maxToolName+maxPattern+2:
		return Rule{}, fmt.Errorf("longer than %d bytes", maxToolName+maxPattern+2)
	}
	if c, bad := cmdline.Invisible(s, breaksIn(s)); bad {
		return Rule{}, fmt.Errorf("holds the invisible character %U", c)
	}
	tool, rest, has := strings.Cut(s, "(")
	if !has {
		if strings.Contains(s, ")") {
			return Rule{}, errors.New("unbalanced parentheses")
		}
		return Rule{Tool: s}, nil
	}
	if !strings.HasSuffix(rest, ")") {
		if strings.Contains(rest, ")") {
			return Rule{}, errors.New("text after the closing parenthesis")
		}
		return Rule{}, errors.New("unbalanced parentheses")
	}
	pattern := strings.TrimSpace(rest[:len(rest)-1])
	if pattern == "" {
		return Rule{}, fmt.Errorf("empty pattern; %s alone is every call of it", tool)
	}
	return Rule{Tool: tool, Pattern: pattern}, nil
}

// Runs names the interpreter, the runner of a project's own programs or the wrapper that an allow rule is for: it
// allows whatever that is told to run. It is "" for every other rule, and for a rule that is one exact command.
func (r Rule) Runs() string {
	m, err := compile(r)
	if err != nil || !m.shell.Prefix {
		return ""
	}
	name := cmdline.BaseName(m.shell.Words[0])
	_, wraps := cmdline.Wrappers[name]
	switch {
	case wraps, cmdline.CodeReaders[cmdline.ProgramName(name)], runners[name] && len(m.shell.Words) == 1:
		return name
	case len(m.shell.Words) == 2 && runners[name+" "+m.shell.Words[1]]:
		return name + " " + m.shell.Words[1]
	}
	return ""
}

// runners are programs, and commands of them, that run what a project or their words name.
var runners = func() map[string]bool {
	all := cmdline.Names("npm npx pnpm yarn bun bunx uv uvx poetry pipx just task rake gradle mvn bazel docker podman find git go cargo")
	for _, c := range []string{"go run", "go generate", "npm run", "npm exec", "pnpm run", "pnpm exec", "yarn run", "bun run", "uv run", "poetry run", "cargo run", "docker run", "docker exec"} {
		all[c] = true
	}
	return all
}()

// syntaxOf says what a tool's pattern is written in.
type syntaxOf int

const (
	noPattern syntaxOf = iota
	shellPattern
	pathPattern
	hostPattern
)

// knownTools are the tools that rules are written for most; a name that differs
// from one only in case is a mistake.
var knownTools = map[string]syntaxOf{
	"Bash": shellPattern, "WebFetch": hostPattern,
	"Read": pathPattern, "NotebookRead": pathPattern, "Glob": pathPattern, "Grep": pathPattern, "LS": pathPattern,
	"Edit": pathPattern, "Write": pathPattern, "MultiEdit": pathPattern, "NotebookEdit": pathPattern,
	"WebSearch": noPattern, "Agent": noPattern, "Task": noPattern, "SendMessage": noPattern, "Skill": noPattern,
	"TaskCreate": noPattern, "TaskGet": noPattern, "TaskList": noPattern, "TaskUpdate": noPattern,
	"TaskStop": noPattern, "TaskOutput": noPattern, "ListAgents": noPattern, "TeamCreate": noPattern,
	"TeamDelete": noPattern, "EnterPlanMode": noPattern, "ExitPlanMode": noPattern, "TodoWrite": noPattern,
}

// matcher is a rule ready to be matched.
type matcher struct {
	rule  Rule
	shell cmdline.ShellRule
	glob  string // pathPattern, cleaned
	host  string // hostPattern, without "domain:"
}

// compile checks a rule and brings its pattern into its one form.
func compile(r Rule) (matcher, error) {
	if err := checkTool(r.Tool); err != nil {
		return matcher{}, err
	}
	m := matcher{rule: r}
	if r.Pattern == "" {
		if server, all := strings.CutSuffix(r.Tool, "__*"); all && isServer(server) {
			m.rule.Tool = server
		}
		return m, nil
	}
	if len(r.Pattern) > maxPattern {
		return matcher{}, fmt.Errorf("the pattern is longer than %d bytes", maxPattern)
	}
	if c, bad := cmdline.Invisible(r.Pattern, breaksIn(r.Tool+"(")); bad || !utf8.ValidString(r.Pattern) {
		return matcher{}, fmt.Errorf("the pattern holds the invisible character %U", c)
	}
	var err error
	switch knownTools[r.Tool] {
	case shellPattern:
		m.shell, err = compileShell(r.Pattern)
	case pathPattern:
		m.glob, err = compileGlob(r.Pattern)
		m.rule.Pattern = m.glob
	case hostPattern:
		host, ok := strings.CutPrefix(r.Pattern, domainPrefix)
		if !ok {
			return m, errors.New("write domain:example.com")
		}
		m.host, err = hostPatternOf(host)
		m.rule.Pattern = domainPrefix + m.host
	default:
		err = fmt.Errorf("patterns mean nothing for %s; %s alone is every call of it", r.Tool, r.Tool)
	}
	return m, err
}

func checkTool(tool string) error {
	if tool == "" {
		return errors.New("no tool name")
	}
	if len(tool) > maxToolName {
		return fmt.Errorf("the tool name is longer than %d bytes", maxToolName)
	}
	named, some := strings.CutSuffix(tool, "*")
	if rest, mcp := strings.CutPrefix(named, "mcp__"); some && (!mcp || strings.Count(rest, "__") != 1) {
		return errors.New("a wildcard is understood at the end of the tools of an MCP server only: mcp__server__*, mcp__server__get*")
	}
	for i, c := range named {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || !('0' <= c && c <= '9' || strings.ContainsRune("_-.:", c))) {
			return fmt.Errorf("%q cannot be in a tool name", c)
		}
	}
	for known := range knownTools {
		if tool != known && strings.EqualFold(tool, known) {
			return fmt.Errorf("tool names are case-sensitive: write %s", known)
		}
	}
	if rest, mcp := strings.CutPrefix(tool, "mcp__"); mcp {
		if server, name, has := strings.Cut(rest, "__"); server == "" || has && name == "" {
			return errors.New("write mcp__server, mcp__server__tool or mcp__server__get*")
		}
	} else if len(tool) >= 4 && strings.EqualFold(tool[:4], "mcp_") {
		return errors.New("write mcp__server, mcp__server__tool or mcp__server__get*")
	}
	return nil
}

// Families of tools that a deny rule reaches beyond its own name.
var (
	readTools = []string{"Read", "NotebookRead", "Glob", "Grep", "LS"}
	editTools = []string{"Edit", "Write", "MultiEdit", "NotebookEdit"}
)

// names reports whether an allow rule's tool is the call's tool. A rule for an
// MCP server is for tools of that server only: mcp__a is not for mcp__a__b__c,
// whose server may be a__b.
func (r Rule) names(tool string) bool {
	if r.Tool == tool {
		return true
	}
	begin, some := r.begins()
	rest, ok := strings.CutPrefix(tool, begin)
	switch {
	case r.Pattern != "" || !some || !ok:
		return false
	case strings.HasSuffix(begin, "__"):
		return rest != "" && rest[0] != '_' && !strings.Contains(rest, "__")
	}
	rest = begin[len(begin)-1:] + rest // the name of another server may go on with a second _
	return !strings.Contains(rest, "__")
}

// begins is what the names of the tools begin with for which a rule is, when it is for several.
func (r Rule) begins() (begin string, some bool) {
	if isServer(r.Tool) {
		return r.Tool + "__", true
	}
	return strings.CutSuffix(r.Tool, "*")
}

// reaches reports whether a deny rule is about the call's tool; alias is true
// when the tool is only spelled in another case.
func (r Rule) reaches(tool string) (reached, alias bool) {
	begin, some := r.begins()
	switch {
	case r.Tool == tool,
		r.Tool == "Read" && slices.Contains(readTools, tool),
		r.Tool == "Edit" && slices.Contains(editTools, tool),
		some && len(tool) >= len(begin) && strings.EqualFold(tool[:len(begin)], begin):
		return true, false
	}
	return strings.EqualFold(r.Tool, tool), true
}

func isServer(tool string) bool {
	rest, mcp := strings.CutPrefix(tool, "mcp__")
	return mcp && !strings.Contains(rest, "__")
}

// clip keeps an error message short.
func clip(s string) string { return cut.Bytes(s, 120) }

// compileShell reads the pattern of a Bash rule.
func compileShell(p string) (cmdline.ShellRule, error) {
	if prefix, ok := strings.CutSuffix(p, ":*"); ok {
		words, err := cmdline.PlainCommand(prefix)
		if err != nil {
			return cmdline.ShellRule{}, fmt.Errorf("the words before :* must be plain: %w", err)
		}
		return cmdline.ShellRule{Prefix: true, Words: words}, nil
	}
	words, err := cmdline.PlainCommand(p)
	if err == nil {
		return cmdline.ShellRule{Words: words, Text: p}, nil
	}
	file, err := cmdline.ParseShell(p)
	if err != nil {
		return cmdline.ShellRule{}, fmt.Errorf("not readable as a shell command: %w", err)
	}
	if cmdline.HasStar(file) {
		return cmdline.ShellRule{}, errors.New(`a wildcard is only understood as a final ":*": Bash(git:*); Bash alone is every command; a star that is meant goes into quotes`)
	}
	if len(file.Stmts) == 0 {
		return cmdline.ShellRule{}, errors.New("no command in it")
	}
	return cmdline.ShellRule{Text: p, Printed: cmdline.PrintShell(file)}, nil
}
