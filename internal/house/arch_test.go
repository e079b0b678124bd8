package house_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"waggle/internal/test/testenv"
)

type archRow struct {
	row int
	why string
}

// archRows are the import rows: a package imports only packages of lower rows.
// A row may stand before its package is written.
var archRows = map[string]archRow{
	"internal/cut":                   {-1, "the beginning or the end of what may be long; it does not know of what"},
	"internal/pattern":               {-1, "regular expressions that are compiled when they are first asked for; it does not know whose"},
	"internal/json/jsontext":         {-1, "JSON's grammar and its strings, which every reader of it shares; it does not know what a text says"},
	"protocol":                       {0, "the words: whoever speaks the protocol imports this and gets no I/O"},
	"internal/fs/atomicfile":         {0, "files under locks; it does not know what is in them"},
	"internal/json/jsonobj":          {0, "JSON objects whose unknown fields survive; it does not know whose"},
	"layout":                         {0, "which file is whose mailbox: the store and the registry must agree"},
	"internal/peer":                  {0, "who is at the other end of a socket"},
	"internal/fs/logfile":            {0, "a log that rotates; it does not know whose"},
	"internal/fs/gitdir":             {0, "where a repository is, by its files; what asks for it must agree on it"},
	"internal/fs/realpath":           {1, "which file a path reaches, and that file alone; agents and the worker's gate must agree on it"},
	"internal/program":               {2, "what a command name runs; the gate asks it, and policy stays pure"},
	"internal/screen":                {0, "what output looks like; it does not know whose"},
	"internal/face/ask":              {0, "the one reader of a terminal, for every face; it does not know what it asks about"},
	"internal/install":               {0, "what install.sh has put somewhere; it knows no team"},
	"internal/caught":                {0, "a panic as an error; it does not know whose"},
	"internal/modelserver":           {1, "a model that says what a script says; it knows no team"},
	"internal/sandbox/relay":         {2, "what runs inside a sandbox before the command; it knows no policy"},
	"internal/sandbox/proxy":         {2, "the way out of a sandbox; it asks whoever embeds it"},
	"journal":                        {1, "bodies are opaque: the record does not know what it records"},
	"mailbox":                        {1, "one member's store; it delivers what it does not understand"},
	"team":                           {1, "the registry"},
	"task":                           {1, "the board; it returns payloads and sends nothing"},
	"policy":                         {1, "pure: decides from its arguments, so that it can be tested as a table"},
	"spawn":                          {1, "processes, whatever runs in them"},
	"schema":                         {1, "describes the words and nothing else"},
	"spawn/terminal":                 {2, "processes in terminals; spawn itself stays without pseudo-terminals"},
	"internal/fs/worktree":           {2, "a member's own checkout; git is looked up as processes are, and it knows no team"},
	"agent":                          {3, "what thinks inside a worker; started through spawn"},
	"record":                         {2, "what the bodies of records are; pure, and journal never reads them"},
	"machine":                        {3, "tables: pure"},
	"internal/snapshot":              {3, "how a fold is kept as bytes; it knows no type of a fold"},
	"internal/budget":                {3, "what may be used and what was; it knows no journal"},
	"message":                        {3, "messages and the records they stand for; it decides nothing"},
	"control":                        {4, "pure machines over journal records and policy"},
	"boxes":                          {2, "a team's mailboxes as its dialect has them: between store and registry"},
	"transport":                      {2, "senders; the file sender is a mailbox"},
	"internal/cmdline":               {0, "what a command line would do; policy judges it"},
	"internal/json/jsonfile":         {1, "whole files of JSON; it does not know whose"},
	"internal/json/jsonc":            {1, "JSON with comments and the place of every value; it does not know whose"},
	"internal/claude/claudeaccount":  {4, "where the Claude Code client keeps its configuration, sessions and login; what of it a sandbox has"},
	"internal/claude/elicitation":    {4, "what a tool server or a model asks a person, and the answer in its form; it knows no team"},
	"internal/claude":                {5, "the real Claude Code as an agent; it asks the gate, and knows no worker and no journal"},
	"internal/face/pane":             {4, "a program on this process's own terminal; it knows no agent's protocol"},
	"internal/claude/claudesettings": {2, "settings files of another client; it knows no team"},
	"internal/claude/claudesessions": {2, "the sessions of another client; it looks at processes and knows no team"},
	"jetstream":                      {2, "another implementation of the stores of row 1"},
	"internal/bench":                 {2, "a mailbox beside the algorithm of others; the command and go test run it"},
	"internal/face/mcp":              {4, "serves a client of the Model Context Protocol; what its member is, a seat says"},
	"poll":                           {5, "the loop between a mailbox and a machine"},
	"home":                           {4, "where journals lie; knows the records that name a team"},
	"internal/sandbox":               {5, "enforces what policy decided"},
	"internal/claude/session":        {5, "what sessions that waggle does not run ask; a journal of its own, no team"},
	"internal/commands":              {5, "the commands of one member; it knows where their records lie, and no worker"},
	"internal/telemetry":             {5, "watches transitions; nothing depends on being watched"},
	"worker":                         {6, "a member's runtime; it never sees the leader's"},
	"leader":                         {6, "the lead's runtime; it never sees a worker's"},
	"operator":                       {7, "a person at a wire tree: teams opened, locks, errors; what the packages below it share"},
	"operator/teamfile":              {8, "what a person writes: the team file, the user's config"},
	"operator/proposal":              {8, "what agents propose to the person; files, no team, nothing that starts"},
	"internal/notice":                {8, "that somebody waits, told to the person; it does not know what for"},
	"operator/decide":                {9, "what waits for a person, and decisions"},
	"operator/mail":                  {10, "what a person sends and reads"},
	"operator/board":                 {11, "tasks as a person sees them"},
	"operator/process":               {12, "processes of members: started, found again, ended"},
	"operator/inspect":               {13, "looks; status needs what all the others know"},
	"operator/agentcheck":            {16, "an agent played through on a scratch team; it leads one"},
	"operator/reach":                 {16, "what a member's commands can reach, and a sandbox to look at"},
	"operator/teams":                 {14, "teams made, deleted, backed up"},
	"operator/doctor":                {14, "what works on this machine; it looks with the others and changes nothing"},
	"internal/face/seat":             {15, "members whose client connects: made, taken, given to the next"},
	"internal/confine":               {15, "a member's sandbox: what its membership asks for, as the worker wants it; programs hand it to workers"},
	"operator/supervise":             {15, "leads a team to its end with all of them"},
	"internal/backoff":               {0, "the pause before something that failed is tried again"},
	"internal/asleep":                {0, "how long this machine was suspended; it asks the system alone"},
	"internal/cgroup":                {1, "control groups of Linux: what a member started, found without a mark; workers enter them, operators end them"},
	"operator/repair":                {16, "journals that are broken or disagree: shown, and the team continued; it ends what runs with process and starts with supervise"},
	"operator/results":               {16, "what becomes of a member's work; the check is in the accepted team file"},
	"operator/draft":                 {12, "team files that waggle proposes; a text, which starts nothing"},
	"operator/fresh":                 {16, "work without a team file: a team opened and a member started for a task"},
	"internal/face/view/page":        {14, "what pages for people are made of; it does not know what they are about"},
	"internal/face/view/viewtest":    {15, "documents and pages beside their files"},
	"internal/face/view/sentence":    {15, "one sentence for a record, a message, an amount"},
	"internal/face/view/fileview":    {17, "what a team file says, for the person who accepts it"},
	"internal/face/view/policyview":  {17, "what policy, hosts and sandboxes are, for people and programs"},
	"internal/face/view":             {18, "documents and words that every face shows"},
	"internal/face/view/resultview":  {19, "what became of members' work: differences, reviews, merges, pull requests"},
	"internal/face/view/reportview":  {19, "the report of a team, for people, programs and continuous integration"},
	"internal/face/bridge":           {19, "a face: editors"},
	"internal/face/demo":             {19, "a face: a scripted person"},
	"internal/mcpserver":             {19, "a face"},
	"internal/face/tui":              {20, "a face"},
	"internal/face/tui/live":         {21, "what the face shows and does"},
	"internal/web":                   {19, "a face"},
	"internal/face/cli/app":          {20, "what every command needs"},
	"internal/face/cli/decidecmd":    {21, "commands about what waits for a person"},
	"internal/face/cli/teamcmd":      {22, "commands that make, run and end teams; up asks what waits"},
	"internal/face/cli":              {23, "the face that starts the others"},
	"cmd/waggle":                     {24, "main"},
	"schema/gen":                     {24, "a program of go generate"},
}

// archOnly narrows what a package may import inside its rows.
var archOnly = map[string]struct {
	only []string
	why  string
}{
	"journal": {[]string{"internal/fs/atomicfile", "internal/backoff"}, "a body that journal could read would soon be a body that it must read"},
	"policy":  {[]string{"protocol", "internal/cmdline", "internal/cut", "internal/json/jsonobj", "internal/json/jsontext"}, "pure: no store, no process"},
	"schema":  {[]string{"protocol"}, "describes the words and nothing else"},
	"record":  {[]string{"protocol", "policy", "journal", "spawn", "internal/json/jsontext"}, "pure: it names rules and process identities, and opens nothing"},
	"machine": {[]string{"protocol", "record"}, "pure: tables"},
	"control": {[]string{"protocol", "policy", "journal", "record", "machine", "message", "internal/budget", "internal/cut", "internal/snapshot"}, "pure: it folds records and opens nothing"},
}

// archHelpers are packages for tests. Only tests and other helpers import them.
// A suite such as mailbox/mailboxtest needs no entry: its name says so, and it
// stands in the row of its package, which it may import.
var archHelpers = map[string]archRow{
	"internal/house":                 {25, "tests of the repository itself, which has all the others"},
	"internal/test/testenv":          {0, "what tests ask of the machine"},
	"internal/test/testenv/seeded":   {1, "the seed of rapid's properties"},
	"internal/test/protocoltest":     {1, "generators of payloads"},
	"internal/test/claudetest":       {2, "the real Claude Code client against a scripted model; it knows nothing of waggle"},
	"internal/test/storetest":        {6, "the stores at their worst; the loop reads them there"},
	"internal/test/faulttest":        {23, "teams of the whole program in one process, whose file operations fail"},
	"internal/test/commandtest":      {23, "properties of single commands"},
	"internal/test/crashtest":        {23, "teams of the whole program, killed"},
	"internal/test/sessiontest":      {23, "sessions of the real client with hooks of the whole program"},
	"internal/test/claudemembertest": {23, "the whole program with members of the real client"},
	"internal/test/operatortest":     {17, "a team in one process, for the tests of the packages below operator"},
	"internal/test/foreigntest":      {23, "a member that is no waggle, in every flow; it needs the whole team around it"},
}

// archLight is every module that the packages of the library may bring to those
// who import them.
var archLight = struct {
	pkgs    []string
	modules map[string]string
}{
	[]string{"protocol", "layout", "mailbox", "team", "task", "journal", "policy", "record", "machine", "control", "transport", "poll", "boxes", "home", "spawn", "agent", "worker", "leader"},
	map[string]string{
		"golang.org/x/sys":              "system calls of the locks and of processes",
		"github.com/gofrs/flock":        "our own queue in front of the shared lock",
		"github.com/fsnotify/fsnotify":  "wakes a waiting mailbox",
		"github.com/bmatcuk/doublestar": "path patterns of the rules",
		"mvdan.cc/sh":                   "the shell's grammar for the rules",
		"github.com/google/uuid":        "ids of messages, from a reader that is passed in",
		"golang.org/x/net":              "host names as the network knows them, where a worker asks for one",
		"golang.org/x/text":             "what x/net needs of Unicode for that",
	},
}

// archWorld says where library code may look at the clock, at chance or at the
// environment by itself. Everywhere else they come in as arguments; the command
// line, main programs and tests are free.
var archWorld = map[string]map[string]string{
	"journal": {"time.Now": "the default of Options.Now"},
	"mailbox": {"time.Now": "the default of Options.Now"},
	"team": {
		"time.Now":    "the default of the options' Now",
		"crypto/rand": "the name of a file that nobody else may have",
	},
	"internal/fs/atomicfile": {
		"time.Now":     "a lock's age is measured against real file times; the default of Options.Now",
		"time.Since":   "the same",
		"time.Until":   "the same",
		"math/rand/v2": "the spread of waiting times, and names of temporary files",
	},
	"spawn/terminal": {"time.Now": "a deadline on a socket is an instant of the real clock"},
	"spawn":          {"time.Now": "a deadline on a pipe is an instant of the real clock"},
	"internal/face/ask": {
		"time.Now":   "when a key came and a question stood is measured at the terminal",
		"time.Until": "the same, as the time limit of a system call",
	},
	"transport": {"time.Now": "a deadline on a connection is an instant of the real clock"},

	"internal/claude/claudesessions": {"time.Now": "the age of a file is measured against real file times"},

	"internal/sandbox/proxy": {"time.Now": "a deadline on a connection is an instant of the real clock"},
	"internal/sandbox/relay": {"time.Now": "the same"},
}

// archPackage is what go list says of a package, over all systems.
type archPackage struct {
	imports, tests map[string]bool // of this module, by path below it
}

var archSystems = []string{"linux", "darwin", "windows"}

func archList(t *testing.T, env []string, args ...string) []listed {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, stderr.Bytes())
	}
	var list []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

type listed struct {
	ImportPath, Name, Export           string
	Standard, DepOnly                  bool
	Module                             *struct{ Path string }
	CgoFiles                           []string
	Imports, TestImports, XTestImports []string
}

// below returns a package's path below this module.
func below(importPath string) (string, bool) {
	return strings.CutPrefix(importPath, archModule()+"/")
}

// archModule is the path of this module.
var archModule = sync.OnceValue(func() string {
	out, err := exec.Command("go", "list", "-m").Output()
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(out))
})

func archPackages(t *testing.T) map[string]archPackage {
	t.Helper()
	pkgs := map[string]archPackage{}
	for _, system := range archSystems {
		for _, l := range archList(t, []string{"GOOS=" + system}, "-json=ImportPath,Imports,TestImports,XTestImports", "./...") {
			name, ok := below(l.ImportPath)
			if !ok {
				t.Fatalf("%s is not in this module", l.ImportPath)
			}
			p, ok := pkgs[name]
			if !ok {
				p = archPackage{imports: map[string]bool{}, tests: map[string]bool{}}
				pkgs[name] = p
			}
			for _, i := range l.Imports {
				if i, ok := below(i); ok {
					p.imports[i] = true
				}
			}
			for _, i := range append(l.TestImports, l.XTestImports...) {
				if i, ok := below(i); ok {
					p.tests[i] = true
				}
			}
		}
	}
	return pkgs
}

// helperOf returns the row of a package that is for tests, and the package whose
// suite it is, if any.
func helperOf(name string) (r archRow, owner string, helper bool) {
	if r, ok := archHelpers[name]; ok {
		return r, "", true
	}
	dir := path.Dir(name)
	if r, ok := archRows[dir]; ok && strings.HasSuffix(name, "test") {
		return r, dir, true
	}
	return archRow{}, "", false
}

// archCheck says what is wrong with one import, nothing if it may be.
func archCheck(from, to string, fromTest bool) string {
	own, owner, helper := helperOf(from)
	if !helper {
		own = archRows[from]
	}
	if _, _, toHelper := helperOf(to); toHelper {
		if fromTest || helper {
			return ""
		}
		return "is for tests"
	}
	if owner == to || fromTest && from == to {
		return "" // a suite and its package; an outside test and its package
	}
	target, ok := archRows[to]
	if !ok {
		return "has no row"
	}
	if only, ok := archOnly[from]; ok && !fromTest && !slices.Contains(only.only, to) {
		return fmt.Sprintf("is not one of %v: %s", only.only, only.why)
	}
	// A test may stand up its neighbour: a worker is tested against a leader.
	if target.row > own.row || !fromTest && target.row == own.row {
		return fmt.Sprintf("is of row %d (%s), not below row %d (%s)", target.row, target.why, own.row, own.why)
	}
	return ""
}

func TestArchRows(t *testing.T) {
	for name, p := range archPackages(t) {
		if _, _, helper := helperOf(name); !helper && archRows[name].why == "" {
			t.Errorf("package %s has no row: give it one in arch_test.go, with the reason", name)
			continue
		}
		for _, i := range slices.Sorted(maps.Keys(p.imports)) {
			if why := archCheck(name, i, false); why != "" {
				t.Errorf("%s imports %s, which %s", name, i, why)
			}
		}
		for _, i := range slices.Sorted(maps.Keys(p.tests)) {
			if why := archCheck(name, i, true); why != "" {
				t.Errorf("the tests of %s import %s, which %s", name, i, why)
			}
		}
	}
}

// TestArchCheck: archCheck refuses each import that the rows forbid and accepts the others.
func TestArchCheck(t *testing.T) {
	for _, tc := range []struct {
		from, to string
		test, ok bool
	}{
		{"mailbox", "protocol", false, true},
		{"protocol", "mailbox", false, false},
		{"mailbox", "team", false, false},
		{"worker", "leader", false, false},
		{"control", "mailbox", false, false},
		{"control", "journal", false, true},
		{"journal", "protocol", false, false},
		{"poll", "unheard/of", false, false},
		{"mailbox", "mailbox", true, true},
		{"mailbox", "poll", true, false},
		{"mailbox", "mailbox/mailboxtest", true, true},
		{"mailbox", "mailbox/mailboxtest", false, false},
		{"mailbox/mailboxtest", "mailbox", false, true},
		{"mailbox/mailboxtest", "team", false, false},
		{"mailbox", "internal/test/testenv", true, true},
		{"mailbox", "internal/test/testenv", false, false},
		{"internal/test/protocoltest", "protocol", false, true},
		{"internal/test/testenv", "protocol", false, false},
		{"internal/test/testenv/seeded", "internal/test/testenv", false, true},
		{"internal/face/cli", "operator", false, true},
		{"operator", "internal/face/cli", false, false},
	} {
		if why := archCheck(tc.from, tc.to, tc.test); (why == "") != tc.ok {
			t.Errorf("%s imports %s (from a test: %v): %q", tc.from, tc.to, tc.test, why)
		}
	}
}

// version is the ending of a module's path from its second major version on.
var version = regexp.MustCompile(`/v[0-9]+$`)

func TestArchLightLibrary(t *testing.T) {
	used := map[string]bool{}
	for _, system := range archSystems {
		var pkgs []string
		for _, p := range archLight.pkgs {
			pkgs = append(pkgs, "./"+p)
		}
		for _, l := range archList(t, []string{"GOOS=" + system}, append([]string{"-deps", "-json=ImportPath,Standard,Module"}, pkgs...)...) {
			if l.Standard || l.Module == nil || l.Module.Path == archModule() {
				continue
			}
			module := version.ReplaceAllString(l.Module.Path, "")
			if used[module] {
				continue // each module is reported once
			}
			used[module] = true
			if archLight.modules[module] == "" {
				t.Errorf("on %s the library brings %s (%s) to those who import it", system, l.Module.Path, l.ImportPath)
			}
		}
	}
	for module := range archLight.modules {
		if !used[module] {
			t.Errorf("the library no longer uses %s: take it off the list", module)
		}
	}
}

func TestArchNoCgo(t *testing.T) {
	for _, l := range archList(t, []string{"CGO_ENABLED=1"}, "-deps", "-json=ImportPath,Standard,CgoFiles", "./...") {
		if !l.Standard && len(l.CgoFiles) > 0 {
			t.Errorf("%s needs cgo: %v", l.ImportPath, l.CgoFiles)
		}
	}
}

// archFile is a parsed Go file of this module.
type archFile struct {
	path, pkg string
	test      bool
	lines     int
	fset      *token.FileSet
	syntax    *ast.File
}

func (f archFile) at(pos token.Pos) string {
	return fmt.Sprintf("%s:%d", f.path, f.fset.Position(pos).Line)
}

// names maps the names of a file's imports to their paths.
func (f archFile) names() map[string]string {
	m := map[string]string{}
	for _, spec := range f.syntax.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // cannot happen: the parser has checked the literal
		}
		name := path.Base(version.ReplaceAllString(p, ""))
		if spec.Name != nil {
			name = spec.Name.Name
		}
		m[name] = p
	}
	return m
}

// archWalk calls fn with every file of the repository that is ours to keep clean.
func archWalk(fn func(name string) error) error {
	return filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() {
			return fn(filepath.ToSlash(name))
		}
		switch d.Name() {
		case ".git", "testdata", "node_modules", "out":
			return fs.SkipDir
		}
		if name == "dist" {
			return fs.SkipDir
		}
		return nil
	})
}

var archFiles = sync.OnceValues(func() ([]archFile, error) {
	var files []archFile
	err := archWalk(func(name string) error {
		if path.Ext(name) != ".go" {
			return nil
		}
		fset := token.NewFileSet()
		syntax, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, archFile{path: name, pkg: path.Dir(name), test: strings.HasSuffix(name, "_test.go"),
			lines: fset.File(syntax.Pos()).LineCount(), fset: fset, syntax: syntax})
		return nil
	})
	return files, err
})

func eachFile(t *testing.T, fn func(archFile)) {
	t.Helper()
	for _, f := range archSources(t) {
		fn(f)
	}
}

// eachTest calls fn with every file of tests.
func eachTest(t *testing.T, fn func(archFile)) {
	t.Helper()
	eachFile(t, func(f archFile) {
		if f.test {
			fn(f)
		}
	})
}

// selected is the name in front of a selector's dot and the one behind it; "" where there is none.
func selected(n ast.Node) (of, name string) {
	sel, ok := n.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	if id, ok := sel.X.(*ast.Ident); ok {
		of = id.Name
	}
	return of, sel.Sel.Name
}

// worldly returns the places where a file uses the clock, chance or the environment, and the
// function or package that it uses there.
func worldly(f archFile) map[token.Pos]string {
	found := map[token.Pos]string{}
	names := f.names()
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		of, name := selected(n)
		switch p := names[of]; p {
		case "":
		case "crypto/rand", "math/rand", "math/rand/v2":
			found[n.Pos()] = p
		default:
			switch what := path.Base(p) + "." + name; what {
			case "os.Getenv", "os.LookupEnv", "os.Environ", "os.ExpandEnv", "time.Now", "time.Since", "time.Until",
				"uuid.New", "uuid.NewString", "uuid.NewRandom", "uuid.NewUUID", "uuid.NewV6", "uuid.NewV7":
				found[n.Pos()] = what
			}
		}
		return true
	})
	return found
}

func TestArchWorld(t *testing.T) {
	used := map[string]bool{}
	eachFile(t, func(f archFile) {
		_, _, helper := helperOf(f.pkg)
		if f.test || helper || f.pkg == "internal/face/cli" || strings.HasPrefix(f.pkg, "internal/face/cli/") || f.syntax.Name.Name == "main" {
			return
		}
		for pos, what := range worldly(f) {
			used[f.pkg+" "+what] = true
			if archWorld[f.pkg][what] == "" {
				t.Errorf("%s: %s: take it as an argument, or give the reason in arch_test.go", f.at(pos), what)
			}
		}
	})
	for pkg, list := range archWorld {
		for what := range list {
			if !used[pkg+" "+what] {
				t.Errorf("%s no longer uses %s: take it off the list", pkg, what)
			}
		}
	}
}

func TestArchNoGoroutines(t *testing.T) {
	pure := []string{"protocol", "record", "machine", "control", "policy"}
	eachFile(t, func(f archFile) {
		if f.test || !slices.Contains(pure, f.pkg) {
			return
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if n, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s: a goroutine in a package that only computes", f.at(n.Pos()))
			}
			return true
		})
	})
}

func TestArchNoLog(t *testing.T) {
	eachFile(t, func(f archFile) {
		if strings.HasPrefix(f.path, "examples/") {
			return // programs of others
		}
		for _, p := range f.names() {
			if p == "log" {
				t.Errorf("%s imports log: libraries return errors, and what is logged goes to the slog.Logger that was passed in", f.path)
			}
		}
	})
}

// TestArchNoFaults: only tests have file operations fail.
func TestArchNoFaults(t *testing.T) {
	eachFile(t, func(f archFile) {
		if f.test {
			return
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if c, ok := n.(*ast.SelectorExpr); ok && c.Sel.Name == "FailOps" {
				t.Errorf("%s: FailOps is for tests", f.at(c.Pos()))
			}
			return true
		})
	})
}

// unfinished are the words that say a thing is not done.
var unfinished = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)

func TestArchFinished(t *testing.T) {
	kept := []string{".go", ".md", ".yaml", ".yml", ".sh", ".js", ".mod"}
	err := archWalk(func(name string) error {
		if !slices.Contains(kept, path.Ext(name)) && name != "Makefile" && path.Dir(name) != ".ci" {
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, at := range unfinished.FindAllIndex(data, -1) {
			t.Errorf("%s:%d: %s", name, 1+bytes.Count(data[:at[0]], []byte("\n")), data[at[0]:at[1]])
		}
		return nil
	})
	testenv.Must(t, err)
}
