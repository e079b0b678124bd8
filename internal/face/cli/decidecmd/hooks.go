package decidecmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waggle/internal/claude/claudesettings"
	"waggle/internal/claude/session"
	"waggle/internal/face/cli/app"
	"waggle/internal/face/view/page"
	"waggle/internal/fs/gitdir"
	"waggle/operator"
	"waggle/protocol"
	"waggle/spawn"
)

func Hooks(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hooks",
		Short: "Let waggle see and answer the questions of sessions that you start yourself",
		Long: `Manage the hooks of waggle in the settings of Claude Code, or with --for of Codex or
Gemini CLI. With them, the sessions that you start yourself report to waggle, and you can
answer their questions from anywhere (those of Gemini CLI in their own terminals only).

  claude  ~/.claude/settings.json ($CLAUDE_CONFIG_DIR); with --project
          .claude/settings.local.json at the top of the repository
  codex   ~/.codex/hooks.json ($CODEX_HOME); with --project .codex/hooks.json
  gemini  ~/.gemini/settings.json; with --project .gemini/settings.json

The files of a repository for codex and gemini are those of everybody who has it.

A session reads its hooks when it starts: a session that runs already has them after its
next start. A setting disableAllHooks (gemini: hooksConfig.enabled) keeps all hooks from
running. Codex asks you to trust each hook, and skips it until then: see /hooks in Codex.`,
	}
	cmd.AddCommand(hooksInstallCmd(a), hooksShowCmd(a), hooksUninstallCmd(a))
	return cmd
}

// hooksFlags are those of install and uninstall; show has no yes.
type hooksFlags struct {
	client       string
	project, yes bool
}

func (f *hooksFlags) add(cmd *cobra.Command) {
	f.where(cmd)
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do not ask")
}

// where are the flags that choose a settings file.
func (f *hooksFlags) where(cmd *cobra.Command) {
	clients := protocol.Strings(claudesettings.Clients)
	cmd.Flags().StringVar(&f.client, "for", string(claudesettings.Claude), "whose settings: "+strings.Join(clients, ", "))
	cmd.Flags().BoolVar(&f.project, "project", false, "the settings of this repository, not yours for all")
	app.OneOf(cmd, "for", clients...)
}

// command is a command about the same settings file.
func (f *hooksFlags) command(verb string) string {
	c := "waggle hooks " + verb
	if f.client != string(claudesettings.Claude) {
		c += " --for " + f.client
	}
	if f.project {
		c += " --project"
	}
	return c
}

// of is the client that the flags name.
func (f *hooksFlags) of() (claudesettings.Client, error) {
	c := claudesettings.Client(f.client)
	if !slices.Contains(claudesettings.Clients, c) {
		return "", &operator.Error{Kind: operator.Usage, Op: "hooks", Msg: fmt.Sprintf("waggle has no hooks for %q", f.client), Near: protocol.Strings(claudesettings.Clients)}
	}
	return c, nil
}

func hooksInstallCmd(a *app.App) *cobra.Command {
	var f hooksFlags
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Add the hooks to the settings, after showing the difference",
		Long: `Show the change to the settings file, ask, and write it. Everything else in the file stays
byte for byte: order, comments, unknown keys, line endings, mode, and a symbolic link
stays one. The hooks name the program by the link by which it is called, where there is
one: an upgrade replaces what it points to. A second install changes nothing; an install
from another path of this program changes the path. waggle's own directory, in which the
hooks record, is made. Without a terminal --yes is needed; exit 3 without it. A file that
is read-only, that is not valid settings, or that changed since the difference was shown
is refused (exit 6), and so is the command inside a session or a member.

--json: {"client","path","real","how","changed","diff","program","events","off"}; how is
installed or unchanged, off is null or {"path","key"}: the setting that keeps hooks from
running.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			program, err := hookProgram(a)
			if err != nil {
				return err
			}
			return changeHooks(a, cmd, f, "install", program, func(s claudesettings.Store, path string) (*claudesettings.Change, error) {
				return s.Install(path, program)
			})
		},
	}
	f.add(cmd)
	return cmd
}

func hooksUninstallCmd(a *app.App) *cobra.Command {
	var f hooksFlags
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove the hooks from the settings",
		Long: `Show the change to the settings file, ask, and write it. A file that is as the install
left it gets its former bytes back, or is removed when there was none. From a file that
has changed since, the command removes the entries of waggle and nothing else. Without a
terminal --yes is needed; exit 3 without it.

--json: {"client","path","real","how","changed","diff","program","events","off"}; how is
restored, deleted, removed (only the entries) or unchanged.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return changeHooks(a, cmd, f, "uninstall", "", claudesettings.Store.Uninstall)
		},
	}
	f.add(cmd)
	return cmd
}

// hooksDocument is what install and uninstall print with --json.
type hooksDocument struct {
	Client  claudesettings.Client `json:"client"`
	Path    string                `json:"path"`
	Real    string                `json:"real"`
	How     claudesettings.How    `json:"how"`
	Changed bool                  `json:"changed"`
	Diff    string                `json:"diff"`
	Program string                `json:"program"`
	Events  []string              `json:"events"`
	Off     *claudesettings.Off   `json:"off"`
}

// hooksPath returns the settings file to change or to show.
func hooksPath(a *app.App, c claudesettings.Client, project bool) (string, error) {
	if !project {
		dir, err := clientPath(a, c)
		return c.UserFile(dir), err
	}
	cwd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	top := gitdir.Top(cwd)
	if top == "" {
		return "", &operator.Error{Kind: operator.Usage, Op: "hooks", Msg: "there is no repository at " + cwd + " or above it", Advice: "go into one, or leave --project out"}
	}
	return c.ProjectFile(top), nil
}

// file is the settings file of the flags, and the store of what was installed there.
func (f *hooksFlags) file(a *app.App) (c claudesettings.Client, path string, store claudesettings.Store, err error) {
	if c, err = f.of(); err == nil {
		path, err = hooksPath(a, c, f.project)
	}
	if err == nil {
		store, err = HookStore(a, c)
	}
	store.Project = f.project
	return c, path, store, err
}

// changeHooks shows a change, asks, and makes it.
func changeHooks(a *app.App, cmd *cobra.Command, f hooksFlags, verb, program string, plan func(claudesettings.Store, string) (*claudesettings.Change, error)) error {
	client, path, store, err := f.file(a)
	if err != nil {
		return err
	}
	op, err := a.Op()
	if err != nil {
		return err
	}
	c, err := plan(store, path)
	if err != nil {
		return hooksRefused(f, verb, err)
	}
	off, err := hooksOff(a, client)
	if err != nil {
		return err
	}
	doc := hooksDocument{Client: client, Path: c.Path, Real: c.Real, How: c.How, Diff: c.Diff(), Program: program, Off: off}
	if verb == "install" {
		for _, ev := range client.Events() {
			doc.Events = append(doc.Events, ev.Name)
		}
	}
	if c.How != claudesettings.Unchanged {
		diff := operator.VisibleLines(strings.TrimSuffix(doc.Diff, "\n"))
		if err := a.Consents(cmd.Context(), f.yes, app.Consent{Op: "hooks " + verb, Text: diff, Question: "write " + operator.Visible(doc.Path) + "?", Doc: doc, Else: "nothing was written", Advice: f.command(verb + " --yes")}); err != nil {
			return err
		}
		doc.Changed = true
	}
	if err := store.Apply(cmd.Context(), c); err != nil {
		return hooksRefused(f, verb, err)
	}
	if verb == "install" { // also where the hooks were there: without STATE they record nothing
		if err := session.At(op.Home.Path, a.Now).Prepare(); err != nil {
			return err
		}
	}
	sayHooksChanged(a, verb, doc)
	return a.Give(doc, nil)
}

func sayHooksChanged(a *app.App, verb string, doc hooksDocument) {
	path := operator.Visible(doc.Path)
	switch doc.How {
	case claudesettings.Installed:
		lists := ""
		if doc.Client == claudesettings.Claude {
			lists = " (waggle doctor lists them)"
		}
		a.Talk("the hooks are in %s; sessions that run already get them when they are started again%s", path, lists)
		if trust := doc.Client.Trust(); trust != "" {
			a.Talk("%s %s", app.Yellow("note:"), trust)
		}
	case claudesettings.Restored:
		a.Talk("%s is byte for byte what it was before the install", path)
	case claudesettings.Deleted:
		a.Talk("%s was made by the install and is removed", path)
	case claudesettings.Removed:
		a.Talk("%s has changed since the install: the entries of waggle are removed, the rest is as it was", path)
	case claudesettings.Unchanged:
		if verb == "install" {
			a.Talk("the hooks are in %s already", path)
		} else {
			a.Talk("%s has no hooks of waggle", path)
		}
	}
	if doc.Off != nil && verb == "install" {
		a.Talk("%s %s in %s keeps hooks from running: no session will report", app.Yellow("but:"), doc.Off.Key, operator.Visible(doc.Off.Path))
	}
}

// hooksOff returns the setting that keeps a client's hooks from running in this directory.
func hooksOff(a *app.App, c claudesettings.Client) (*claudesettings.Off, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	dir, err := clientPath(a, c)
	if err != nil {
		return nil, err
	}
	off, problems := c.Off(dir, cwd)
	for _, p := range problems {
		a.Talk("%s %s", app.Yellow("note:"), operator.Visible(p.Error()))
	}
	return off, nil
}

// hooksRefused adds to a refusal its exit code and hint.
func hooksRefused(f hooksFlags, verb string, err error) error {
	if r, ok := errors.AsType[*claudesettings.RefusedError](err); ok {
		return &operator.Error{Kind: operator.Refused, Op: "hooks " + verb, Err: err, Advice: strings.Replace(r.Next, "waggle hooks show", f.command("show"), 1)}
	}
	return err
}

// shownProgram is a program that waggle's hooks run.
type shownProgram struct {
	Path  string `json:"path"`
	State string `json:"state"` // this, other, missing
}

// shownHooks is the document of show.
type shownHooks struct {
	Client    claudesettings.Client  `json:"client"`
	Path      string                 `json:"path"`
	Real      string                 `json:"real"`
	Exists    bool                   `json:"exists"`
	Installed bool                   `json:"installed"`
	Since     time.Time              `json:"since"` // zero when not known
	Ours      []claudesettings.Entry `json:"hooks"`
	Missing   []string               `json:"missing"`
	Programs  []shownProgram         `json:"programs"`
	Others    []claudesettings.Entry `json:"others"` // on the first event
	Off       *claudesettings.Off    `json:"off"`
}

func hooksShowCmd(a *app.App) *cobra.Command {
	var f hooksFlags
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show the installed hooks, and other hooks that decide",
		Long: `Show the hooks of waggle in the settings file, with their events, their age and the
program that they run; the other hooks that answer PermissionRequest; and a setting that
keeps all hooks from running. The command changes nothing.

--json: {"client","path","real","exists","installed","since","hooks":[{"event","matcher",
"command","timeout"}],"missing":[],"programs":[{"path","state"}],"others":[…],"off"}.
installed is about PermissionRequest (gemini: Notification); state is this, other (another
binary) or missing (no such file).`,
		RunE: func(*cobra.Command, []string) error {
			doc, err := hooksShown(a, f)
			if err != nil {
				return err
			}
			return a.Give(doc, nil, func() { sayHooks(a, f, doc) })
		},
	}
	f.where(cmd)
	return cmd
}

func hooksShown(a *app.App, f hooksFlags) (*shownHooks, error) {
	client, path, store, err := f.file(a)
	if err != nil {
		return nil, err
	}
	l, err := store.Look(path)
	if err != nil {
		return nil, hooksRefused(f, "show", err)
	}
	self, err := spawn.Self(a.Environ)
	if err != nil {
		return nil, err
	}
	doc := &shownHooks{Client: client, Path: l.Path, Real: l.Real, Exists: l.Exists, Installed: l.Installed, Missing: l.Missing}
	if doc.Installed {
		doc.Since = l.Since
	}
	seen := map[string]bool{}
	for _, e := range l.Entries {
		switch {
		case e.Ours:
			doc.Ours = append(doc.Ours, e)
			if !seen[e.Program] {
				seen[e.Program] = true
				doc.Programs = append(doc.Programs, shownProgram{e.Program, programState(e.Program, self)})
			}
		case e.Event == client.Events()[0].Name:
			doc.Others = append(doc.Others, e)
		}
	}
	doc.Off, err = hooksOff(a, client)
	return doc, err
}

// programState reports whether a hook's program is this one, another one, or missing.
func programState(path, self string) string {
	fi, err := os.Stat(path)
	if err != nil || fi.IsDir() {
		return "missing"
	}
	if own, err := os.Stat(self); err == nil && os.SameFile(fi, own) {
		return "this"
	}
	return "other"
}

func sayHooks(a *app.App, f hooksFlags, doc *shownHooks) {
	state := "not installed"
	if doc.Installed {
		state = "installed"
		if !doc.Since.IsZero() {
			state += " since " + page.Clock(doc.Since, a.Clock())
		}
	}
	a.Say("%s: %s", operator.Visible(doc.Path), app.Bold(state))
	if doc.Real != doc.Path {
		a.Say("  the file itself is %s", operator.Visible(doc.Real))
	}
	var rows [][]string
	unit := " s"
	if doc.Client == claudesettings.Gemini {
		unit = " ms"
	}
	for _, h := range doc.Ours {
		rows = append(rows, []string{h.Event, h.Matcher, h.Timeout + unit, h.Command})
	}
	if len(rows) > 0 {
		a.List([]string{"EVENT", "MATCHER", "TIME-OUT", "COMMAND"}, rows)
	}
	install := f.command("install")
	if n := len(doc.Missing); n > 0 && len(doc.Ours) > 0 {
		a.Say("%s no hook for %s; %s adds what is missing", app.Yellow("note:"), strings.Join(doc.Missing, ", "), install)
	}
	for _, p := range doc.Programs {
		switch p.State {
		case "missing":
			a.Say("%s %s is not there any more: the hooks do nothing; %s sets the path", app.Red("problem:"), operator.Visible(p.Path), install)
		case "other":
			a.Say("%s the hooks run %s, which is not this program; %s sets the path", app.Yellow("note:"), operator.Visible(p.Path), install)
		}
	}
	for _, h := range doc.Others {
		a.Say("%s another hook answers %s too: %s", app.Yellow("note:"), h.Event, operator.Visible(fmt.Sprintf("%q", h.Command)))
	}
	if doc.Off != nil {
		a.Say("%s %s in %s keeps hooks from running", app.Red("problem:"), doc.Off.Key, operator.Visible(doc.Off.Path))
	}
	if !doc.Installed {
		a.Talk("%s adds them", install)
	} else if trust := doc.Client.Trust(); trust != "" {
		a.Talk("%s %s", app.Yellow("note:"), trust)
	}
}

// ClaudePath returns the config directory of Claude Code: CLAUDE_CONFIG_DIR, ~/.claude. A wire tree
// that --root names may be elsewhere; settings and sessions never are.
func ClaudePath(a *app.App) (string, error) { return clientPath(a, claudesettings.Claude) }

// clientPath returns the directory of a client's settings.
func clientPath(a *app.App, c claudesettings.Client) (string, error) {
	home, err := a.Home()
	dir := c.Dir(a.Env, home)
	if err != nil && !filepath.IsAbs(dir) {
		return "", err
	}
	return filepath.Abs(dir)
}

// HookStore returns the store of what installs of a client's hooks found and wrote.
func HookStore(a *app.App, c claudesettings.Client) (claudesettings.Store, error) {
	state, err := a.StatePath()
	return claudesettings.StoreIn(state, c, a.Now), err
}

// hookProgram returns the binary that hooks run: this one, unless go run made it and will remove
// it.
func hookProgram(a *app.App) (string, error) {
	self, err := spawn.Self(a.Environ)
	if err != nil {
		return "", err
	}
	parts := strings.FieldsFunc(self, func(r rune) bool { return r == '/' || r == '\\' })
	if slices.ContainsFunc(parts, func(p string) bool { return strings.HasPrefix(p, "go-build") }) {
		return "", &operator.Error{Kind: operator.Refused, Op: "hooks install",
			Msg:    fmt.Sprintf("this program is a temporary one of go run (%s), and hooks need one that stays", self),
			Advice: "go install ./cmd/waggle, or make build; then give the command with that binary"}
	}
	return self, nil
}
