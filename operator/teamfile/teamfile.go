package teamfile

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"waggle/agent"
	"waggle/internal/claude"
	"waggle/internal/fs/atomicfile"
	"waggle/internal/json/jsonobj"
	"waggle/mailbox"
	"waggle/operator"
	"waggle/policy"
	"waggle/protocol"
	"waggle/record"
	"waggle/team"
)

// File is a team file that was read and checked.
type File struct {
	Path   string // absolute
	Dir    string // the file's directory: relative directories start here
	Data   []byte
	SHA256 string

	Team protocol.TeamName
	// Description and Metadata are copied into the registry.
	Description string
	Metadata    json.RawMessage
	Decide      record.Deciders
	Policy      policy.Policy
	Deadline    time.Duration
	Layout      mailbox.Layout // of the mailboxes
	// Sandbox confines the commands of members without a block of their own; nil: nothing does.
	Sandbox *record.Sandbox
	Network []record.HostGrant // hosts that every member may reach
	Budget  *record.Limit      // of all members together; nil: none
	// Check must succeed before a member's work is merged, and decides whether the tasks of members
	// without a check of their own are done, where the agent says so itself; nil: there is none.
	Check *record.Check
	// Prepare is what the worktrees of members get that have no mapping of their own, also of those
	// that are added while the team is up; nil: nothing.
	Prepare *record.Preparation
	Members []FileMember // without the lead
	// Lead is the agent that decides for the lead; nil: a person does. LeadPolicy is what that
	// agent may do itself without asking; nil: the team's policy.
	Lead       *FileMember
	LeadPolicy *policy.Policy
	Tasks      []FileTask
	// Definitions are what members have taken from agent definitions (Define).
	Definitions Definitions
}

// FileMember is a member as the file describes it.
type FileMember struct {
	Name         protocol.MemberName
	Agent        string
	Backend      string
	Color        string
	Cwd          string
	PlanRequired bool
	Worktree     bool                // it gets a git worktree of its own, made of the checkout that Cwd is in
	Prepare      *record.Preparation // of that worktree; nil: none
	Begin        Begin               // where the branch of that worktree begins
	Included     []string            // files that .worktreeinclude names; nil: they were not looked up (Include)
	Model        string              // "": the agent's own choice
	Mode         policy.Mode         // "": the policy's
	Restart      *record.Restart     // nil: never
	Sandbox      *record.Sandbox     // the team's, narrowed; nil: its commands are not confined
	Budget       *record.Limit       // nil: none of its own
	Check        *record.Check       // of its tasks that have none; nil: its agent says when they are done
	AtOnce       int                 // of a member that waggle new makes (record.Joined)
	// Definition is the one that Type names, once it was read (Define).
	Definition *record.Definition
	Spec       json.RawMessage
	File       string // SHA-256 of the accepted team file that it stands in; "": of none
	// Type, Prompt and Metadata are copied into the registry; waggle does not act on them.
	Type     string // what kind of agent it is; "": general-purpose. Of agent claude: its definition
	Prompt   string // its instructions
	Metadata json.RawMessage
}

// Begin is where the branch of a member's worktree begins; waggle new says it, and no file.
type Begin struct {
	Base   string // a commit, or a branch, which it is merged into; "": HEAD of the checkout
	Branch string // an existing branch that it is on, or one that only a remote has; "": a new one
}

// FileTask is a task as the file describes it.
type FileTask struct {
	Subject      string
	Owner        protocol.MemberName
	Instructions string
	After        []string
	Required     bool
	Timeout      time.Duration
	Cwd          string
	Check        *record.Check // nil: the member's
}

// yamlFile is the schema of the file. Unknown keys are an error with their line.
type yamlFile struct {
	Team     string           `yaml:"team"`
	About    string           `yaml:"description"`
	Metadata yaml.MapSlice    `yaml:"metadata"`
	Lead     string           `yaml:"lead"`
	LeadMay  *yamlPolicy      `yaml:"lead_policy"`
	Decide   yamlDecide       `yaml:"decide"`
	Deadline *yamlDuration    `yaml:"deadline"`
	Policy   yamlPolicy       `yaml:"policy"`
	Layout   string           `yaml:"layout"`
	Sandbox  *yamlSandbox     `yaml:"sandbox"`
	Budget   *yamlBudget      `yaml:"budget"`
	Check    *yamlCheck       `yaml:"check"`
	Worktree *yamlPreparation `yaml:"worktree"`
	Members  []yamlMember     `yaml:"members"`
	Tasks    []yamlTask       `yaml:"tasks"`
}

type yamlDecide struct {
	Tool     string `yaml:"tool"`
	Plan     string `yaml:"plan"`
	Network  string `yaml:"network"`
	Question string `yaml:"question"`
}

type yamlPolicy struct {
	Mode  string   `yaml:"mode"`
	Allow []string `yaml:"allow"`
	Deny  []string `yaml:"deny"`
	// Sandboxed is allow or ask.
	Sandboxed string `yaml:"sandboxed"`
}

type yamlMember struct {
	Name     string        `yaml:"name"`
	Agent    string        `yaml:"agent"`
	Backend  string        `yaml:"backend"`
	Color    string        `yaml:"color"`
	Cwd      string        `yaml:"cwd"`
	Plan     string        `yaml:"plan"`
	Worktree yamlWorktree  `yaml:"worktree"`
	Model    string        `yaml:"model"`
	Mode     string        `yaml:"mode"`
	Restart  *yamlRestart  `yaml:"restart"`
	Sandbox  *yamlSandbox  `yaml:"sandbox"`
	Budget   *yamlBudget   `yaml:"budget"`
	Check    *yamlCheck    `yaml:"check"`
	Command  []string      `yaml:"command"`
	Program  string        `yaml:"program"` // of an agent that is a program of somebody else
	Args     []string      `yaml:"args"`    // and further arguments of it
	Steps    []yamlStep    `yaml:"steps"`
	OnMail   []yamlStep    `yaml:"on_mail"`
	Decide   *yamlRule     `yaml:"decide"` // of a script that is the lead
	Type     string        `yaml:"type"`
	Prompt   string        `yaml:"prompt"`
	Metadata yaml.MapSlice `yaml:"metadata"`
}

// objectOf writes a mapping with the user's own keys as JSON, in their order; nil when there is
// none.
func objectOf(y yaml.MapSlice) (json.RawMessage, error) {
	if len(y) == 0 {
		return nil, nil
	}
	raw, err := yaml.MarshalWithOptions(y, yaml.JSON())
	if err != nil {
		return nil, err
	}
	return json.RawMessage(strings.TrimSpace(string(raw))), nil
}

type yamlTask struct {
	Subject      string        `yaml:"subject"`
	Owner        string        `yaml:"owner"`
	Instructions string        `yaml:"instructions"`
	After        []string      `yaml:"after"`
	Required     *bool         `yaml:"required"`
	Timeout      *yamlDuration `yaml:"timeout"`
	Cwd          string        `yaml:"cwd"`
	Check        *yamlCheck    `yaml:"check"`
}

// ReadFile reads and checks a team file. Errors name the file and the line.
func ReadFile(path string) (*File, error) { return readFile(path, false) }

// ReadSettings is ReadFile for what a file says about worktrees and their check: it needs neither team: nor members:.
func ReadSettings(path string) (*File, error) { return readFile(path, true) }

func readFile(path string, settings bool) (*File, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(abs)
	if err == nil && info.IsDir() {
		return nil, &operator.Error{Kind: operator.Usage, Op: "team file", Msg: path + " is a directory", Advice: "name the file in it: " + filepath.Join(path, "waggle.yaml")}
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil, &operator.Error{Kind: operator.NotFound, Op: "team file", Msg: "there is no " + path, Next: operator.NextInit.With()}
	}
	if err != nil {
		return nil, &operator.Error{Kind: operator.Failed, Op: "team file", Err: err}
	}
	data, err := ReadBounded(abs)
	if errors.Is(err, atomicfile.ErrTooLarge) {
		return nil, TooLarge("team file", path)
	}
	if err != nil {
		return nil, &operator.Error{Kind: operator.Failed, Op: "team file", Err: err}
	}
	return parseFile(abs, data, settings)
}

// ReadBounded reads a YAML file, through symbolic links too: a person may keep the file elsewhere.
func ReadBounded(path string) ([]byte, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	return atomicfile.ReadFile(real, atomicfile.Options{MaxSize: operator.MaxYAML})
}

// ParseFile checks the content of a team file. path is for messages and for relative directories,
// backends are the names of further backends (Operator.Backends).
func ParseFile(path string, data []byte, backends ...string) (*File, error) {
	return parseFile(path, data, false, backends...)
}

func parseFile(path string, data []byte, settings bool, backends ...string) (*File, error) {
	f := &File{Path: path, Dir: filepath.Dir(path), Data: data, SHA256: record.HashText(string(data))}
	tree, err := parseYAML("team file", path, data, reflect.TypeFor[yamlFile](), true)
	if err != nil {
		return nil, err
	}
	if len(tree.Docs) != 1 || tree.Docs[0].Body == nil {
		return nil, usage("team file", path, errors.New("want one YAML document with a team"))
	}
	var y yamlFile
	if err := yaml.NodeToValue(tree.Docs[0].Body, &y, yaml.Strict()); err != nil {
		return nil, usage("team file", path, err)
	}
	c := &checker{path: path, tree: tree, settings: settings, backends: append(operator.Backends(), backends...)}
	c.file(f, &y)
	if len(c.errs) > 0 {
		return nil, &operator.Error{Kind: operator.Usage, Op: "team file", Err: errors.Join(c.errs...)}
	}
	return f, nil
}

// Mapping is the file as a mapping in its order, with each text and each short form as it is written there.
func (f *File) Mapping() (m yaml.MapSlice, err error) {
	tree, err := parseYAML("team file", f.Path, f.Data, reflect.TypeFor[yamlFile](), false)
	if err != nil {
		return nil, err
	}
	return m, yaml.NodeToValue(tree.Docs[0].Body, &m, yaml.UseOrderedMap())
}

func usage(op, path string, err error) error {
	var ye yaml.Error
	if errors.As(err, &ye) && ye.GetToken() != nil && ye.GetToken().Position != nil {
		msg := fmt.Sprintf("%s:%d: %s", path, ye.GetToken().Position.Line, ye.GetMessage())
		if at := ye.GetToken().Value; !strings.Contains(msg, at) {
			msg += fmt.Sprintf(", at %.60q", at)
		}
		return &operator.Error{Kind: operator.Usage, Op: op, Msg: msg}
	}
	return &operator.Error{Kind: operator.Usage, Op: op, Msg: path + ": " + err.Error()}
}

// maxBad is how many problems of a file are reported.
const maxBad = 50

// checker collects the problems of a file, each with its line.
type checker struct {
	path string
	tree *ast.File
	errs []error

	backends []string // the words for backends
	settings bool     // it is read for worktree: and check: only
}

// bad records a problem at a YAML path such as $.members[0].name.
func (c *checker) bad(at, format string, args ...any) {
	switch {
	case len(c.errs) == maxBad:
		c.errs = append(c.errs, fmt.Errorf("%s: and more", c.path))
		fallthrough
	case len(c.errs) > maxBad: // the line of each problem is looked up in the tree
		return
	}
	line := 0
	if p, err := yaml.PathString(at); err == nil {
		if n, err := p.FilterFile(c.tree); err == nil && n != nil && n.GetToken() != nil {
			line = n.GetToken().Position.Line
		}
	}
	where := c.path
	if line > 0 {
		where = fmt.Sprintf("%s:%d", c.path, line)
	}
	c.errs = append(c.errs, fmt.Errorf("%s: %s: "+format, append([]any{where, strings.TrimPrefix(at, "$.")}, args...)...))
}

func (c *checker) file(f *File, y *yamlFile) {
	var err error
	if f.Team, err = team.CheckName(y.Team); err != nil && !(c.settings && y.Team == "") {
		c.bad("$.team", "%v", err)
	}
	f.Description = y.About
	if err := team.CheckDescription(y.About); err != nil {
		c.bad("$.description", "%v", err)
	}
	if f.Metadata, err = objectOf(y.Metadata); err != nil {
		c.bad("$.metadata", "%v", err)
	}
	f.Deadline = c.span("$.deadline", y.Deadline)
	c.decide(f, y.Decide, y.Lead != "" && y.Lead != "operator")
	f.Policy = c.policy("$.policy", y.Policy)
	if y.LeadMay != nil {
		p := c.policy("$.lead_policy", *y.LeadMay)
		if y.LeadMay.Sandboxed != "" {
			c.bad("$.lead_policy.sandboxed", "it holds for every member and the lead: say it under policy")
		}
		f.LeadPolicy = &p
	}
	if y.Layout != "" {
		if f.Layout, err = mailbox.ParseLayout(y.Layout); err != nil {
			c.bad("$.layout", "%v", err)
		}
	}
	c.sandbox(f, y.Sandbox)
	f.Budget = c.budget("$.budget", y.Budget)
	f.Check = c.check("$.check", y.Check, f.Dir)
	if y.Worktree != nil {
		f.Prepare = c.preparation("$.worktree", *y.Worktree)
	}
	c.members(f, y.Members)
	c.lead(f, y.Lead)
	c.tasks(f, y.Tasks)
}

// lead moves the member that leads out of the list of members.
func (c *checker) lead(f *File, name string) {
	if name == "" || name == "operator" {
		if f.LeadPolicy != nil {
			c.bad("$.lead_policy", "the lead is the operator, whom no policy of an agent binds")
		}
		return
	}
	for i, m := range f.Members {
		if !protocol.SameName(m.Name, protocol.MemberName(name)) {
			continue
		}
		f.Lead, f.Members = &m, slices.Delete(f.Members, i, i+1)
		if m.Agent == agent.KindMCP {
			c.bad("$.lead", "%s is an MCP client, which connects as a worker: the lead is a member that waggle starts", m.Name)
		}
		if m.Worktree {
			c.bad("$.lead", "%s leads and has no tasks, so it has no worktree", m.Name)
		}
		if m.Agent == claude.Kind && InPane(m.Backend) && f.leadDecides() {
			c.bad("$.lead", "a client in a pane has no tools to answer with, and decide gives it questions to answer: write backend: process")
		}
		if a, err := agent.New(m.Agent, m.Spec); err == nil {
			// Any other agent decides by calls of its own processes, as its MCP server.
			if _, ok := a.(agent.Decider); !ok && m.Agent == "exec" && f.leadDecides() {
				c.bad("$.lead", "agent %s decides nothing, and decide gives it questions to answer", m.Agent)
			}
		}
		return
	}
	c.bad("$.lead", "%q is neither operator nor one of the members", name)
}

// leadDecides reports a file in which the lead decides requests.
func (f *File) leadDecides() bool {
	for _, d := range f.Decide {
		if d == policy.DecideLeader || d == policy.DecideTwo {
			return true
		}
	}
	return false
}

func (c *checker) decide(f *File, y yamlDecide, led bool) {
	f.Decide = record.Deciders{}
	for _, g := range []struct {
		gate policy.Gate
		key  string
		val  string
	}{{policy.GateTool, "tool", y.Tool}, {policy.GatePlan, "plan", y.Plan}, {policy.GateNetwork, "network", y.Network}, {policy.GateQuestion, "question", y.Question}} {
		if g.val == "" && g.gate == policy.GateQuestion {
			continue // the operator's, as in files of before
		}
		if g.val == "" {
			f.Decide[g.gate] = policy.DecideOperator
			continue
		}
		d, err := policy.ParseDecider(g.gate, g.val)
		switch {
		case err != nil:
			c.bad("$.decide."+g.key, "%v", err)
		case !led && (d == policy.DecideLeader || d == policy.DecideTwo):
			c.bad("$.decide."+g.key, "%s needs an agent as lead, and this team's lead is the operator", d)
		}
		f.Decide[g.gate] = d
	}
}

func (c *checker) policy(at string, y yamlPolicy) policy.Policy {
	p := policy.Policy{Version: 1, Mode: c.mode(at, y.Mode, policy.ModeDefault)}
	p.Allow, p.Deny = c.rules(at+".allow", y.Allow), c.rules(at+".deny", y.Deny)
	p.Sandboxed = c.sandboxed(at, y.Sandboxed)
	return p
}

// mode reads a mode, with another one where none is named.
func (c *checker) mode(at, word string, otherwise policy.Mode) policy.Mode {
	if word == "" {
		return otherwise
	}
	m, err := policy.ParseMode(word)
	if err != nil {
		c.bad(at+".mode", "%v", err)
	}
	return m
}

// sandboxed reads whether calls that run in a verified sandbox are allowed without asking.
func (c *checker) sandboxed(at, text string) bool {
	switch text {
	case "allow":
		return true
	case "", "ask":
	default:
		c.bad(at+".sandboxed", "want allow or ask, not %q", text)
	}
	return false
}

func (c *checker) rules(at string, texts []string) []policy.Rule {
	rules := []policy.Rule{}
	for i, s := range texts {
		r, err := policy.ParseRule(s)
		if err != nil {
			c.bad(fmt.Sprintf("%s[%d]", at, i), "%v", err)
		}
		rules = append(rules, r)
	}
	return rules
}

func (c *checker) members(f *File, ys []yamlMember) {
	if ys == nil && !c.settings {
		c.bad("$.members", "a team needs at least one member; members: [] is a team to which members are added while it is up")
	}
	for i, y := range ys {
		at := fmt.Sprintf("$.members[%d]", i)
		name, err := protocol.ParseNewMember(y.Name)
		if err != nil {
			c.bad(at+".name", "%v", err)
		}
		for _, m := range f.Members {
			if err == nil && protocol.SameName(m.Name, name) {
				c.bad(at+".name", "%s is there twice", name)
				break
			}
		}
		m := FileMember{Name: name, Agent: y.Agent, Backend: cmp.Or(y.Backend, operator.BackendAuto), Color: y.Color, Cwd: within(f.Dir, y.Cwd), PlanRequired: y.Plan == "required"}
		c.worktree(f, at, &m, y.Worktree)
		if y.Plan != "" && y.Plan != "required" && y.Plan != "none" {
			c.bad(at+".plan", "%q is not one of required, none", y.Plan)
		}
		if !slices.Contains(c.backends, m.Backend) {
			c.bad(at+".backend", "backend %q is not one of %s", y.Backend, strings.Join(c.backends, ", "))
		} else if err := m.Fit(); err != nil {
			c.bad(at+".backend", "%v", err)
		}
		m.Type, m.Prompt = y.Type, y.Prompt
		if m.Metadata, err = objectOf(y.Metadata); err != nil {
			c.bad(at+".metadata", "%v", err)
		}
		m.Model, m.Mode = y.Model, c.mode(at, y.Mode, "")
		if m.Restart, err = y.Restart.restart(); err != nil {
			c.bad(at+".restart", "%v", err)
		}
		m.Sandbox = c.ownSandbox(f, at, y.Sandbox)
		m.Budget = c.budget(at+".budget", y.Budget)
		if m.Check = c.check(at+".check", y.Check, m.Cwd); m.Check == nil && m.Checks() {
			m.Check = f.Check
		}
		if m.Spec, err = spec(y); err != nil {
			c.bad(at, "%v", err)
		} else if m.Agent == agent.KindMCP {
			c.client(at, &m, y)
		} else if _, err := agent.New(m.Agent, m.Spec); err != nil {
			c.bad(at+".agent", "%v", err)
		}
		f.Members = append(f.Members, m)
	}
}

// client checks a member whose agent is a client that connects by itself.
func (c *checker) client(at string, m *FileMember, y yamlMember) {
	if y.Backend != "" {
		c.bad(at+".backend", "nothing is started for agent %s: it takes no backend", agent.KindMCP)
	}
	if y.Restart != nil {
		c.bad(at+".restart", "nothing is started for agent %s: it takes no restart", agent.KindMCP)
	}
	m.Backend, m.Restart = operator.BackendMCP, nil
}

// within resolves a directory of the file against dir.
func within(dir, p string) string {
	switch {
	case p == "":
		return dir
	case filepath.IsAbs(p):
		return filepath.Clean(p)
	}
	return filepath.Join(dir, p)
}

// spec writes a member's settings in the form that its agent reads.
func spec(y yamlMember) (json.RawMessage, error) {
	switch {
	case len(y.Steps) > 0 && y.Agent != "script":
		return nil, fmt.Errorf("steps are for agent script, not %q", y.Agent)
	case len(y.OnMail) > 0 && y.Agent != "script":
		return nil, fmt.Errorf("on_mail is for agent script, not %q", y.Agent)
	case y.Decide != nil && y.Agent != "script":
		return nil, fmt.Errorf("decide is for agent script, not %q", y.Agent)
	case len(y.Command) > 0 && y.Agent != "exec":
		return nil, fmt.Errorf("command is for agent exec, not %q", y.Agent)
	case y.Program != "" && y.Agent != claude.Kind, len(y.Args) > 0 && y.Agent != claude.Kind:
		return nil, fmt.Errorf("program and args are for agent claude, not %q", y.Agent)
	case y.Agent == claude.Kind:
		s := claude.Spec{Program: y.Program, Model: y.Model, Prompt: y.Prompt, Args: y.Args}
		if y.Mode == claude.ModePlan {
			s.Mode = y.Mode
		}
		return jsonobj.Marshal(s)
	case y.Agent == "exec":
		return jsonobj.Marshal(agent.ExecSpec{Command: y.Command})
	case y.Agent == "script":
		var s agent.ScriptSpec
		if d := y.Decide; d != nil {
			s.Decide = &agent.DecideStep{Answer: d.Answer, Reason: d.Reason, After: agent.Duration(d.After), Words: d.Words}
		}
		var err error
		if s.Steps, err = steps("steps", y.Steps); err == nil {
			s.OnMail, err = steps("on_mail", y.OnMail)
		}
		if err != nil {
			return nil, err
		}
		return jsonobj.Marshal(s)
	}
	return nil, nil
}

// InPane reports whether a backend shows its processes in panes, splits or windows.
func InPane(backend string) bool {
	return slices.Contains([]string{operator.BackendTmux, operator.BackendTmuxWindow, operator.BackendITerm2}, backend)
}

// Fit chooses the backend of an agent that does not run in every one.
func (m *FileMember) Fit() error {
	switch {
	case m.Agent != claude.Kind || m.Backend == operator.BackendProcess || InPane(m.Backend):
	case m.Backend == operator.BackendAuto:
		m.Backend = operator.BackendProcess
	default:
		return fmt.Errorf("agent claude runs headless in backend process, or in a pane (tmux, tmux-window, iterm2), not in %q", m.Backend)
	}
	return nil
}

// SpecOf is the settings of a member that no file describes.
func (m *FileMember) SpecOf(command []string) (json.RawMessage, error) {
	b, err := spec(yamlMember{Agent: m.Agent, Command: command, Model: m.Model, Prompt: m.Prompt, Mode: string(m.Mode)})
	if err != nil {
		return nil, err
	}
	_, err = agent.New(m.Agent, b)
	return b, err
}

func (c *checker) tasks(f *File, ys []yamlTask) {
	index := map[string]int{}
	for i, y := range ys {
		at := fmt.Sprintf("$.tasks[%d]", i)
		t := FileTask{Subject: y.Subject, Instructions: y.Instructions, After: y.After, Required: y.Required == nil || *y.Required,
			Timeout: c.span(at+".timeout", y.Timeout), Cwd: y.Cwd, Check: c.check(at+".check", y.Check, "")}
		if y.Subject == "" {
			c.bad(at, "a task needs a subject")
		}
		if _, dup := index[y.Subject]; dup {
			c.bad(at+".subject", "subject %q is there twice", y.Subject)
		}
		index[y.Subject] = i
		for _, m := range f.Members {
			if string(m.Name) == y.Owner {
				t.Owner = m.Name
			}
		}
		if t.Owner == "" {
			c.bad(at+".owner", "%q is not a member of this file", y.Owner)
		}
		f.Tasks = append(f.Tasks, t)
	}
	for i, t := range f.Tasks {
		for _, a := range t.After {
			if j, ok := index[a]; !ok {
				c.bad(fmt.Sprintf("$.tasks[%d].after", i), "there is no task %q", a)
			} else if j >= i {
				c.bad(fmt.Sprintf("$.tasks[%d].after", i), "task %q must stand before it", a)
			}
		}
	}
}
