package teamcmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"waggle/internal/cli/app"
	"waggle/operator"
	"waggle/operator/teamfile"
	"waggle/team"
)

func Init(a *app.App) *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a commented waggle.yaml for this directory; touches nothing else",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := os.Getwd()
			if err != nil {
				return err
			}
			text := starter(a, dir)
			if _, err := teamfile.ParseFile(filepath.Join(dir, "waggle.yaml"), []byte(text)); err != nil {
				return err
			}
			if dry {
				fmt.Fprint(a.Out, text)
				return nil
			}
			f, err := os.OpenFile(filepath.Join(dir, "waggle.yaml"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if errors.Is(err, fs.ErrExist) {
				return &operator.Error{Kind: operator.Failed, Op: "init", Msg: "there is a waggle.yaml here already", Advice: "waggle init --dry-run prints what would be written"}
			}
			if err != nil {
				return err
			}
			if _, err := f.WriteString(text); err != nil {
				return errors.Join(err, f.Close())
			}
			if err := f.Close(); err != nil {
				return err
			}
			if a.Flags.JSON {
				return a.Document(map[string]string{"path": f.Name()})
			}
			fmt.Fprint(a.Out, text)
			a.Talk("%s %s", app.Green("wrote"), f.Name())
			a.Talk("%s waggle run waggle.yaml", app.Faint("next:"))
			return nil
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only print it")
	return cmd
}

// starter returns a team file that fits the files of a directory.
func starter(a *app.App, dir string) string {
	has := func(name string) bool { _, err := os.Stat(filepath.Join(dir, name)); return err == nil }
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, filepath.Base(dir))
	name = strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r == '-' }), "-")
	if _, err := team.CheckName(name); err != nil {
		name = "team"
	}
	type check struct{ member, rule, command, subject string }
	var checks []check
	if has("go.mod") {
		checks = append(checks, check{member: "fmt", rule: "gofmt:*", command: "gofmt -d .", subject: "Check the format"},
			check{member: "vet", rule: "go vet:*", command: "go vet ./...", subject: "Vet"}, check{member: "test", rule: "go test:*", command: "go test ./...", subject: "Run the tests"})
	}
	if has("package.json") {
		checks = append(checks, check{member: "npm", rule: "npm test:*", command: "npm test", subject: "Run the npm tests"})
	}
	if len(checks) == 0 {
		checks = append(checks, check{member: "hello", rule: "echo:*", command: "echo hello from a worker", subject: "Say hello"})
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# A team for waggle. Run it: waggle run waggle.yaml
team: %s
lead: operator                  # a person decides

# Who decides what no rule allows: operator (a person) | rules (policy, else operator).
decide: {tool: operator, plan: operator, network: operator}

policy:
  mode: default
  # Whoever may run a build or test command runs whatever code is there.
  allow:
`, name)
	for _, c := range checks {
		fmt.Fprintf(&b, "    - \"Bash(%s)\"\n", c.rule)
	}
	b.WriteString("  deny:\n    - \"Bash(rm -rf:*)\"\n\n# No sandbox: members run as you. Say so on purpose:\nsandbox: {mode: off}\n\nmembers:\n")
	for _, c := range checks {
		fmt.Fprintf(&b, "  - {name: %s, agent: exec}\n", c.member)
	}
	b.WriteString("\ntasks:\n")
	for _, c := range checks {
		fmt.Fprintf(&b, "  - {subject: %q, owner: %s, instructions: %q}\n", c.subject, c.member, c.command)
	}
	if found := clients(a); len(found) > 0 {
		fmt.Fprintf(&b, "\n# Found on this machine: %s.\n", strings.Join(found, ", "))
	}
	return b.String()
}

// clients lists the coding agents that are installed.
func clients(a *app.App) []string {
	var found []string
	for _, c := range []string{"claude", "codex", "gemini"} {
		if _, err := exec.LookPath(c); err == nil {
			found = append(found, c)
		}
	}
	return found
}
