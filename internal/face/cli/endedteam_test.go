package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waggle/internal/face/cli"
	"waggle/internal/face/cli/app"
	"waggle/internal/test/testenv"
)

// Reasons why a command says nothing of an ended team.
const (
	acts      = "it acts: what has ended is not changed"
	elsewhere = "it is not about a team"
	nobody    = "it needs a process of the member, or the member's answer"
)

// ofEnded are all commands: the lines with which one reads a team that has ended, whose name is gone and
// whose member NAME has changes in a worktree, or the reason why there is none. DENIED is the id and HANDLE the
// handle of a request of it, MESSAGE the id of a message.
var ofEnded = map[string]struct {
	lines []string
	why   string
}{
	"waggle":              {lines: []string{"--team gone"}},
	"audit":               {lines: []string{"audit query gone"}},
	"audit export":        {lines: []string{"audit export gone", "audit export --redact gone"}},
	"audit query":         {lines: []string{"audit query gone", "audit query ann", "audit query --team gone"}},
	"audit show":          {lines: []string{"audit show DENIED --team gone", "audit show HANDLE --team gone"}},
	"audit verify":        {lines: []string{"audit verify gone"}},
	"budget":              {lines: []string{"budget --team gone"}},
	"compare":             {lines: []string{"compare ann ann --team gone"}},
	"diff":                {lines: []string{"diff ann --team gone", "diff ann", "diff ann --stat"}},
	"recap":               {lines: []string{"recap gone", "recap --team gone"}},
	"doctor":              {lines: []string{"doctor --team gone"}},
	"gc":                  {lines: []string{"gc gone", "gc --team gone"}},
	"inbox":               {lines: []string{"inbox --team gone", "inbox ann", "inbox ann --team gone", "inbox ann --archive --team gone", "inbox --raw --team gone"}},
	"init":                {lines: []string{"init --plan --from-team --team gone"}},
	"log":                 {lines: []string{"log gone", "log ann", "log --team gone", "log ann --team gone"}},
	"mode":                {lines: []string{"mode --team gone"}},
	"msg":                 {lines: []string{"msg list --team gone"}},
	"msg list":            {lines: []string{"msg list --team gone", "msg list --all --team gone"}},
	"msg show":            {lines: []string{"msg show MESSAGE --team gone"}},
	"net":                 {lines: []string{"net --team gone"}},
	"net list":            {lines: []string{"net list --team gone", "net list ann"}},
	"net pending":         {lines: []string{"net pending --team gone"}},
	"completion":          {why: "it prints a script"},
	"completion bash":     {why: "it prints a script"},
	"completion fish":     {why: "it prints a script"},
	"completion zsh":      {why: "it prints a script"},
	"path":                {lines: []string{"path ann", "path ann --team gone"}},
	"open":                {why: "it starts your editor where path says"},
	"shell":               {why: "it starts your shell where path says"},
	"wait":                {lines: []string{"wait ann --until done --team gone", "wait ann --until done"}},
	"logs":                {lines: []string{"logs ann --json", "logs ann --json --team gone"}},
	"peek":                {lines: []string{"peek ann", "peek ann --team gone"}},
	"pending":             {lines: []string{"pending --team gone", "pending --all --team gone", "pending --long --team gone"}},
	"plan":                {lines: []string{"plan --team gone"}},
	"plan diff":           {lines: []string{"plan diff cid 1 2", "plan diff cid 1 2 --team gone"}},
	"plan list":           {lines: []string{"plan list --team gone", "plan list --all --team gone"}},
	"plan show":           {lines: []string{"plan show cid --team gone"}},
	"policy":              {lines: []string{"policy --team gone"}},
	"policy explain":      {lines: []string{"policy explain DENIED --team gone", "policy explain HANDLE --team gone", "policy explain Bash(ls) --team gone"}},
	"policy list":         {lines: []string{"policy list --team gone", "policy list ann", "policy list ann --team gone"}},
	"policy suggest":      {lines: []string{"policy suggest --team gone"}},
	"policy test":         {lines: []string{"policy test Bash(ls) --team gone", "policy test Bash(ls) --for ann --team gone", "policy test Bash(ls) --for ann", "policy test Bash(ls) --as ann"}},
	"show":                {lines: []string{"show DENIED --team gone", "show DENIED", "show HANDLE --team gone", "show HANDLE"}},
	"status":              {lines: []string{"status gone", "status --team gone", "status --line --team gone"}},
	"take":                {why: acts},
	"task":                {lines: []string{"task list --team gone"}},
	"task artifacts":      {lines: []string{"task artifacts --team gone", "task artifacts ann", "task artifacts ann output.log --team gone"}},
	"task list":           {lines: []string{"task list --team gone", "task list --all --team gone"}},
	"task show":           {lines: []string{"task show 1 --team gone"}},
	"team":                {lines: []string{"team show gone"}},
	"team export":         {lines: []string{"team export gone", "team export --format state gone"}},
	"team show":           {lines: []string{"team show gone", "team show --team gone"}},
	"team validate":       {lines: []string{"team validate gone"}},
	"top":                 {lines: []string{"top --team gone", "top --plain --team gone"}},
	"why":                 {lines: []string{"why ann", "why ann --team gone"}},
	"merge":               {lines: []string{"merge ann --plan --team gone"}},
	"adopt":               {why: acts},
	"answer":              {why: acts},
	"approve":             {why: acts},
	"attach":              {why: nobody},
	"bench":               {why: elsewhere},
	"bridge":              {why: acts},
	"budget set":          {why: acts},
	"demo":                {why: elsewhere},
	"deny":                {why: acts},
	"detach":              {why: acts},
	"doctor agent":        {why: elsewhere},
	"down":                {why: acts},
	"guest":               {why: acts},
	"away":                {why: elsewhere},
	"away off":            {why: elsewhere},
	"away on":             {why: elsewhere},
	"notify":              {why: elsewhere},
	"notify off":          {why: elsewhere},
	"notify on":           {why: elsewhere},
	"notify test":         {why: elsewhere},
	"hooks":               {why: elsewhere},
	"hooks install":       {why: elsewhere},
	"hooks show":          {why: elsewhere},
	"hooks uninstall":     {why: elsewhere},
	"join":                {why: acts},
	"mcp":                 {why: nobody},
	"msg withdraw":        {why: acts},
	"net allow":           {why: acts},
	"net deny":            {why: acts},
	"net revoke":          {why: acts},
	"new":                 {why: acts},
	"plan approve":        {why: acts},
	"plan escalate":       {why: acts},
	"plan reject":         {why: acts},
	"policy add":          {why: acts},
	"policy rm":           {why: acts},
	"policy sandboxed":    {why: acts},
	"policy sessions":     {why: elsewhere},
	"policy sessions add": {why: elsewhere},
	"policy sessions off": {why: elsewhere},
	"policy sessions on":  {why: elsewhere},
	"policy sessions rm":  {why: elsewhere},
	"pr":                  {why: acts},
	"protocol":            {why: elsewhere},
	"protocol decode":     {why: elsewhere},
	"protocol encode":     {why: elsewhere},
	"protocol kinds":      {why: elsewhere},
	"protocol schema":     {why: elsewhere},
	"repair":              {why: acts},
	"resume":              {why: acts},
	"review":              {why: nobody},
	"run":                 {why: acts},
	"sandbox":             {why: elsewhere},
	"sandbox explain":     {why: "it says what would confine a command of the member that starts now"},
	"sandbox run":         {why: acts},
	"sandbox test":        {why: "it says what would confine a command of the member that starts now"},
	"send":                {why: acts},
	"serve":               {why: acts},
	"skill":               {why: elsewhere},
	"spawn":               {why: acts},
	"stop":                {why: acts},
	"task add":            {why: acts},
	"task assign":         {why: acts},
	"task block":          {why: acts},
	"task claim":          {why: acts},
	"task done":           {why: acts},
	"task release":        {why: acts},
	"task rm":             {why: acts},
	"task start":          {why: acts},
	"task unblock":        {why: acts},
	"team add":            {why: acts},
	"team backup":         {why: "it backs up the files in the tree; those of an ended team are in its archive"},
	"team create":         {why: acts},
	"team delete":         {why: acts},
	"team list":           {why: "it lists the tree; waggle names what has ended lately"},
	"team migrate":        {why: acts},
	"team remove":         {why: acts},
	"team restore":        {why: elsewhere},
	"team token":          {why: acts},
	"uninstall":           {why: elsewhere},
	"undo":                {why: acts},
	"up":                  {why: acts},
	"version":             {why: elsewhere},
}

const endedFile = `team: gone
sandbox: {mode: off}
policy: {mode: default, allow: [Write, "Bash(touch:*)"]}
members:
  - {name: ann, agent: exec, worktree: true}
  - {name: bob, agent: exec}
  - name: cid
    agent: script
    plan: required
    steps: [{plan: ["look", "look twice"]}]
tasks:
  - {subject: make, owner: ann, instructions: "touch made.txt"}
  - {subject: clean, owner: bob, instructions: "rm -rf build7"}
  - {subject: think, owner: cid}
`

// TestEndedTeam: every command that reads works on a team that has ended, by its name, and writes nothing. Where
// nothing can be read the table has the reason, and the command says that the team has ended.
func TestEndedTeam(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	var out bytes.Buffer
	known := map[string]bool{}
	for _, cmd := range cli.Shown(cli.Root(&app.App{Out: &out, Err: &out})) {
		path := strings.TrimPrefix(cmd.CommandPath(), "waggle ")
		known[path] = true
		if c, ok := ofEnded[path]; cmd.Runnable() && (!ok || (len(c.lines) == 0) == (c.why == "")) {
			t.Errorf("%s: the table does not say how it reads an ended team, or why it does not", path)
		}
	}
	for path := range ofEnded {
		if !known[path] {
			t.Errorf("%s is no command", path)
		}
	}
	g := endTeam(t)
	for path, c := range ofEnded {
		for _, line := range c.lines {
			said, code := unwritten(t, g.words.Replace(line), g.run, g.root, g.state)
			if code != 0 || strings.Contains(said, "no team") || strings.TrimSpace(said) == "" && !strings.Contains(line, "--line") && !strings.Contains(line, "output.log") {
				t.Errorf("%s: waggle %s: code %d\n%s", path, line, code, said)
			}
		}
	}
	g.says(t, "status gone", "ended", "(taken down)", "1 uncommitted file", "waggle/gone/ann", "ended by itself", "failed", "waggle recap gone", "waggle diff ann --team gone")
	g.says(t, "pending --team gone", "nothing waits", "it ended", "(taken down)")
	g.says(t, "recap gone", "--team gone")
	for _, line := range []string{"stop ann --team gone", "down gone", "resume gone"} {
		if said, code := g.run(line); code != 9 || !strings.Contains(said, "team gone has ended") || !strings.Contains(said, "waggle status gone") {
			t.Errorf("waggle %s: code %d\n%s", line, code, said)
		}
	}
	for _, line := range []string{"status gome", "pending --team gome", "log --team gome"} {
		if said, code := g.run(line); code != 9 || !strings.Contains(said, "gone") {
			t.Errorf("waggle %s: code %d, and no near name\n%s", line, code, said)
		}
	}
	if said, code := g.run("inbox --mark-read --team gone"); code != 6 {
		t.Errorf("marked the mail of an ended team: %d\n%s", code, said)
	}
	var waiting struct{ Pending, Groups []any }
	if said, _ := g.run("pending --json --team gone"); json.Unmarshal([]byte(said), &waiting) != nil || waiting.Pending == nil || len(waiting.Pending)+len(waiting.Groups) != 0 {
		t.Errorf("pending --json: %s", said)
	}
	var status struct {
		State, EndedAt string
		Members        []any
		Worktrees      []struct{ Branch string }
	}
	said, _ := g.run("status --json gone")
	if err := json.Unmarshal([]byte(strings.ReplaceAll(said, "ended_at", "EndedAt")), &status); err != nil || status.State != "ended" || status.EndedAt == "" || len(status.Members) != 3 || len(status.Worktrees) != 1 {
		t.Errorf("status --json: %v\n%s", err, said)
	}
}

// project is a git checkout with a waggle.yaml, a wire tree and a STATE of its own, in which commands are run.
type project struct {
	base, dir, root, state string
	env                    []string
	words                  *strings.Replacer // replaces DENIED, HANDLE and MESSAGE in a line of the table by ids
}

// newProject makes a project with a team file.
func newProject(t *testing.T, file string) *project {
	t.Helper()
	testenv.Require(t, "git")
	base, err := filepath.EvalSymlinks(t.TempDir())
	testenv.Must(t, err)
	owns(t, base)
	g := &project{base: base, dir: filepath.Join(base, "project"), root: filepath.Join(base, "root"), state: filepath.Join(base, "state")}
	home := filepath.Join(base, "home")
	for _, d := range []string{g.dir, g.root, g.state, home, filepath.Join(base, "trees")} {
		testenv.Must(t, os.MkdirAll(d, 0o700))
	}
	g.env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_RUNTIME_DIR=", "CLAUDE_CONFIG_DIR=", "WAGGLE_TEAM=", "WAGGLE_ROOT="+g.root, "WAGGLE_STATE="+g.state,
		"WAGGLE_WORKTREES="+filepath.Join(base, "trees"), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	testenv.Must(t, errors.Join(os.WriteFile(filepath.Join(g.dir, ".gitignore"), []byte("*.yaml\n"), 0o600), os.WriteFile(filepath.Join(g.dir, "waggle.yaml"), []byte(file), 0o600)))
	for _, line := range []string{"init --quiet", "add --all", "commit --quiet --message first"} {
		cmd := exec.Command("git", strings.Fields(line)...)
		cmd.Dir, cmd.Env = g.dir, g.env
		if b, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", line, err, b)
		}
	}
	return g
}

// endTeam brings up a team, ends it, and returns where its files are.
func endTeam(t *testing.T) *project {
	t.Helper()
	g := newProject(t, endedFile)
	g.must(t, "up --detach waggle.yaml")
	ended := false
	t.Cleanup(func() {
		if !ended {
			g.run("down --force gone")
		}
	})
	testenv.Eventually(t, "all have asked, and ann is done", func() bool {
		said, _ := g.run("log --team gone")
		list, _ := g.run("task list --team gone")
		return strings.Contains(said, "rm -rf build7") && strings.Contains(said, ": plan") && strings.Contains(list, "completed")
	})
	g.must(t, "plan reject cid -m again")
	testenv.Eventually(t, "cid has changed its plan", func() bool {
		_, code := g.run("plan diff cid 1 2")
		return code == 0
	})
	g.must(t, "send ann hello")
	var waits struct {
		Pending []struct{ ID, Handle, Member string }
	}
	var sent struct {
		Messages []struct {
			ID string `json:"msg_id"`
		}
	}
	if err := errors.Join(json.Unmarshal([]byte(g.must(t, "pending --json")), &waits), json.Unmarshal([]byte(g.must(t, "msg list --json")), &sent)); err != nil || len(waits.Pending) != 2 || len(sent.Messages) == 0 {
		t.Fatalf("%+v %+v %v", waits, sent, err)
	}
	i := slices.IndexFunc(waits.Pending, func(q struct{ ID, Handle, Member string }) bool { return q.Member == "bob" })
	g.words = strings.NewReplacer("DENIED", waits.Pending[i].ID, "HANDLE", waits.Pending[i].Handle, "MESSAGE", sent.Messages[0].ID)
	if said, code := g.run("down gone"); code != 3 { // bob's question was not answered
		t.Fatalf("down: code %d\n%s", code, said)
	}
	ended = true
	return g
}

// run runs a command, and returns what it says and its exit code.
func (g *project) run(line string) (string, int) {
	cmd := exec.Command("waggle", strings.Fields(line)...)
	cmd.Dir, cmd.Env = g.dir, g.env
	b, _ := cmd.CombinedOutput()
	return string(b), cmd.ProcessState.ExitCode()
}

func (g *project) must(t *testing.T, line string) string {
	t.Helper()
	said, code := g.run(line)
	if code != 0 {
		t.Fatalf("waggle %s: code %d\n%s", line, code, said)
	}
	return said
}

// says checks that a command ends with 0 and says these words.
func (g *project) says(t *testing.T, line string, words ...string) {
	t.Helper()
	said := g.must(t, line)
	for _, w := range words {
		if !strings.Contains(said, w) {
			t.Errorf("waggle %s does not say %q:\n%s", line, w, said)
		}
	}
}
